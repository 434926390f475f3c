"""The same model by llama.cpp: its texts, its log-probabilities, and the API over it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.experts.ensemble.making import make_expert, make_tokenizer
from tests.models.families import save_tiny, tiny
from tests.serve.gguf_files import write_gguf
from tests.serve.serving import Server, serving
from tongues.errors import UserError
from tongues.experts.ensemble.model import Model, open_model
from tongues.experts.ensemble.request import Sampling, Token
from tongues.serve.gguf import GgufModel, gguf_file, open_gguf
from tongues.serve.opening import open_served, probe_step
from tongues.serve.text_rules import GgufRules, has_template

pytest.importorskip("llama_cpp")

TEMPLATE = "{% for one in messages %}{{ one.content }}<|end|>{% endfor %}"
PROMPTS = ("the ban", "of a mal is", "an art and so on we go to the end of all that is said", "a")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, GgufModel]:
    """The same weights, opened by transformers and by llama.cpp."""
    place = tmp_path_factory.mktemp("gguf")
    folder = make_expert(place / "e", make_tokenizer(place / "tokenizer"), seed=1)
    file = write_gguf(folder, folder / "model-f32.gguf", TEMPLATE)
    return open_model(str(folder), place), open_gguf("gguf", file)


@pytest.fixture(scope="module")
def both(pair: tuple[Model, GgufModel]) -> Iterator[Server]:
    with serving({"own": replace(pair[0], name="own"), "gguf": pair[1]}) as server:
        yield server


def written(model: Model, *, scored: bool, texts: int = 4) -> list[list[Token]]:
    writer = model.writer(texts, None, pace=16)
    sampling = Sampling(temperature=0)
    options = {"sampling": sampling, "alternatives": 2, "score_prompt": scored}
    begun = [writer.add(model.request(model.read(text), 20, **options)) for text in PROMPTS]
    tokens: dict[int, list[Token]] = {id(text): [] for text in begun}
    while writer.running:
        for text, token in writer.step():
            tokens[id(text)].append(token)
    return [tokens[id(text)] for text in begun]


@pytest.mark.parametrize("scored", [False, True])
def test_the_texts_and_log_probabilities_are_the_same(
    pair: tuple[Model, GgufModel], *, scored: bool
) -> None:
    for own, other in zip(*(written(model, scored=scored) for model in pair), strict=True):
        assert [token.id for token in own] == [token.id for token in other]
        values, others = ([token.log_prob for token in tokens] for tokens in (own, other))
        np.testing.assert_allclose(values, others, atol=3e-3)  # keys and values are 16 bits there
        first = [[token.alternatives[0][0] for token in tokens] for tokens in (own, other)]
        assert first[0] == first[1]


def test_its_tokens_are_the_same(pair: tuple[Model, GgufModel]) -> None:
    own, other = pair
    assert own.token_bytes == other.token_bytes[: len(own.token_bytes)]
    for text in ("the <|end|> ban", "émigré 🙂 \n\n a", ""):
        assert own.encode(text).tolist() == other.encode(text).tolist()
    assert (own.special, own.stops, own.first) == (other.special, other.stops, other.first)
    assert own.cache_bytes == 2 * other.cache_bytes


def test_heads_may_have_a_width_of_their_own(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path / "tokenizer")
    folder = save_tiny(tiny("llama", 300, head_dim=32), tmp_path / "wide", tokenizer)
    own = open_model(str(folder), tmp_path)
    wide = open_gguf("wide", write_gguf(folder, folder / "wide.gguf"))
    assert own.cache_bytes == 2 * wide.cache_bytes
    assert [[token.id for token in of] for of in written(own, scored=False)] == [
        [token.id for token in of] for of in written(wide, scored=False)
    ]


def test_what_an_ended_text_left_is_used_again(pair: tuple[Model, GgufModel]) -> None:
    _, model = pair
    text, other = model.encode(PROMPTS[2]), model.encode("the ban")
    writer = model.writer(2, None)
    sampling = Sampling(temperature=0)
    results = []
    for tokens in (text, other, text[:-2], text):
        begun = writer.add(model.request(model.prompt(tokens), 4, sampling=sampling))
        before, own = begun.sequence.computed, []
        while writer.running:
            own += [token.id for _, token in writer.step()]
        results.append((own, begun.sequence.computed - before))
    assert results[0][0] == results[3][0]
    assert results[0][1] == len(text) + 4
    assert results[2][1] == 4  # the last token of the prompt, and three of the text
    assert results[3][1] < 8


def test_more_texts_than_cells_are_refused_and_fewer_forget_the_ended(
    pair: tuple[Model, GgufModel],
) -> None:
    _, model = pair
    writer = model.writer(4, 64 * model.cache_bytes)
    for prompt in PROMPTS * 2:
        begun = writer.add(model.request(model.read(prompt), 8, sampling=Sampling(temperature=0)))
        alone = [token.id for token in written(model, scored=False)[PROMPTS.index(prompt)][:8]]
        while writer.running:
            writer.step()
        assert begun.written == alone


def test_the_api_is_the_same(both: Server) -> None:
    said = {"prompt": "the ban", "max_tokens": 12, "temperature": 0, "logprobs": 2}
    own, other = (both.complete(model=name, **said).choices[0] for name in ("own", "gguf"))
    assert own.text == other.text
    assert own.logprobs.tokens == other.logprobs.tokens
    parts = both.complete(model="gguf", stream=True, **said)
    assert "".join(part.choices[0].text for part in parts) == own.text
    chat = both.converse(
        model="gguf", messages=[{"role": "user", "content": "the ban"}], max_tokens=3
    )
    assert chat.usage.prompt_tokens == len(PROMPTS[0].split()) + 1
    models = {model.id: model.model_dump()["tongues"] for model in both.openai.models.list()}
    assert (models["gguf"]["chat"], models["own"]["chat"]) == (True, False)


def test_a_conversation_is_written_by_its_template(pair: tuple[Model, GgufModel]) -> None:
    own, other = pair
    file = other.ensemble.tokenizer
    assert has_template(file)
    rules = GgufRules(file)
    messages = [{"role": "user", "content": "the <|end|>"}]
    ids = rules.conversation(messages)
    assert ids == [*own.encode("the <|end|>").tolist(), own.ensemble.frame.end]


def test_folders_are_opened_by_the_file_in_them(
    pair: tuple[Model, GgufModel], tmp_path: Path
) -> None:
    folder = pair[1].ensemble.tokenizer.parent
    opened, rules = open_served([str(folder)], tmp_path, say=print, llama_cpp=True)
    assert isinstance(opened[str(folder)], GgufModel)
    for each in rules.values():
        each.close()
    with pytest.raises(UserError, match="holds no GGUF"):
        gguf_file(tmp_path)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(UserError, match="cannot be loaded"):
        open_gguf("broken", broken)


def test_nan_is_found_before_it_is_served(pair: tuple[Model, GgufModel], tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = pair[1].ensemble.tokenizer.parent
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] = np.nan
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    bad = open_gguf("bad", write_gguf(tmp_path, tmp_path / "bad.gguf"))
    with pytest.raises(UserError, match="predicts NaN"):
        probe_step(bad)
