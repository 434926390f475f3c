from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.experts.ensemble.making import (
    CONTEXT,
    VOCABULARY,
    Generated,
    counted_reads,
    generate,
    make_ensemble,
    score,
    texts,
)
from tests.models.families import FAMILIES, tiny
from tongues.core.errors import UserError
from tongues.experts.ensemble import parse_routing
from tongues.experts.ensemble.ensemble import Ensemble, map_model, open_ensemble
from tongues.experts.ensemble.request import Sampling
from tongues.text.tokens import load_tokenizer
from tongues.text.tokens.tokenizer import vocabulary_size

GREEDY = Sampling(temperature=0)
WAYS = ("filter", "filter:1", "tfidf", "tfidf:1", "tfidf:2")


def prompts() -> list[np.ndarray]:
    return [text.astype(np.int64) for text in texts(4, 30)]


def same(found: Generated, expected: Generated) -> None:
    assert found.tokens.tolist() == expected.tokens.tolist()
    np.testing.assert_allclose(found.nats, expected.nats, atol=1e-4)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-5)


def as_transformers(folder: Path, prompt: np.ndarray, most: int) -> list[int]:
    """What its own generation writes of the tokenizer's ids."""
    model: Any = map_model(folder)
    given = torch.tensor([[0, *prompt]])
    none = list(range(vocabulary_size(load_tokenizer(folder)), VOCABULARY))
    found = model.generate(
        given, max_new_tokens=most, do_sample=False, eos_token_id=None, suppress_tokens=none
    )
    return found[0, 1 + len(prompt) :].tolist()


@pytest.mark.parametrize(
    ("way", "sampling"),
    [
        ("tfidf", GREEDY),
        ("tfidf:1", GREEDY),
        ("tfidf:2", Sampling(top_k=20, top_p=0.9, seed=5)),
        ("filter:1", Sampling(temperature=0.8)),
        ("filter", Sampling(top_p=0.9)),
    ],
)
def test_a_batch_equals_one_by_one(ensemble: Ensemble, way: str, sampling: Sampling) -> None:
    routing = parse_routing(way)
    together = generate(ensemble, prompts(), routing, most=12, sampling=sampling)
    for prompt, found in zip(prompts(), together, strict=True):
        same(found, generate(ensemble, [prompt], routing, most=12, sampling=sampling)[0])
        np.testing.assert_allclose(found.weights.sum(axis=1), 1)


@pytest.mark.parametrize("way", ["filter:1", "tfidf", "tfidf:1", "tfidf:2"])
def test_what_is_written_has_the_probabilities_that_scoring_finds(
    ensemble: Ensemble, way: str
) -> None:
    routing = parse_routing(way)
    texts_found = generate(ensemble, prompts(), routing, most=20)
    for prompt, found in zip(prompts(), texts_found, strict=True):
        whole = np.concatenate([prompt, found.tokens])
        scored = score(ensemble, [whole], routing)[0]
        np.testing.assert_allclose(scored.nats[len(prompt) :], found.nats, atol=1e-4)
        np.testing.assert_allclose(scored.weights[len(prompt) :], found.weights, atol=1e-5)


def test_copies_of_a_model_write_what_it_writes(copies: Ensemble, folders: list[Path]) -> None:
    expected = [as_transformers(folders[1], prompt, 20) for prompt in prompts()]
    for way in WAYS:
        found = generate(copies, prompts(), parse_routing(way), most=20, sampling=GREEDY, stop=())
        assert [one.tokens.tolist() for one in found] == expected


def test_only_experts_with_a_weight_run(ensemble: Ensemble) -> None:
    for m in (1, 2):
        found = generate(ensemble, prompts(), parse_routing(f"tfidf:{m}"), most=40)
        for one in found:
            assert ((one.weights > 0).sum(axis=1) == m).all()
    with counted_reads(ensemble) as counts:
        generate(ensemble, prompts()[:1], parse_routing("tfidf:2"), most=40)
    assert sum(counts) < 3 * (30 + 40)


def test_a_model_that_is_closed_and_opened_again_changes_nothing(
    ensemble: Ensemble, folder: Path
) -> None:
    routing = parse_routing("tfidf:2")
    expected = generate(ensemble, prompts(), routing, most=15)
    closed = generate(open_ensemble(folder, memory=1), prompts(), routing, most=15)
    for one, other in zip(expected, closed, strict=True):
        same(other, one)


def test_languages_choose_their_experts(ensemble: Ensemble) -> None:
    write = partial(generate, ensemble, routing=parse_routing("language"), most=5)
    found = write(prompts()[:2], languages=["qab", "qac"])
    assert [one.weights[0].argmax() for one in found] == [1, 2]
    for languages, said in ((["qad"], "no expert learned `qad`"), (None, "language is not given")):
        with pytest.raises(UserError, match=said):
            write(prompts()[:1], languages=languages)


def test_a_stop_token_ends_a_text_alone(ensemble: Ensemble) -> None:
    free = generate(ensemble, prompts(), parse_routing("tfidf"), most=30, stop=())
    assert not any(one.stopped for one in free)
    token = int(free[0].tokens[10])
    found = generate(ensemble, prompts(), parse_routing("tfidf"), most=30, stop={token})
    for one, whole in zip(found, free, strict=True):
        written = whole.tokens.tolist()
        assert one.stopped == (token in written)
        expected = written[: written.index(token)] if one.stopped else written
        assert one.tokens.tolist() == expected


def test_a_prompt_that_comes_twice_gives_two_texts(ensemble: Ensemble) -> None:
    one, other = generate(ensemble, prompts()[:1] * 2, parse_routing("tfidf"), most=20)
    again = generate(ensemble, prompts()[:1] * 2, parse_routing("tfidf"), most=20)
    assert one.tokens.tolist() != other.tokens.tolist()
    assert [each.tokens.tolist() for each in again] == [one.tokens.tolist(), other.tokens.tolist()]


def test_tokens_are_drawn_as_the_mixture_says(copies: Ensemble, folders: list[Path]) -> None:
    prompt = prompts()[0]
    with torch.no_grad():
        model: Any = map_model(folders[1])
        logits = model(torch.tensor([[0, *prompt]])).logits[0, -1]
    count = 1000
    draw = partial(generate, copies, routing=parse_routing("filter:1"), most=1, stop=())
    drawn = draw([prompt] * count, sampling=Sampling(temperature=0.7))
    found = np.bincount([int(one.tokens[0]) for one in drawn], minlength=VOCABULARY) / count
    expected = (logits / 0.7).softmax(0).numpy()
    assert np.abs(found - expected).max() < 4 * (0.25 / count) ** 0.5
    drawn = draw([prompt] * 300, sampling=Sampling(top_p=0.5))
    order = logits.softmax(0).sort(descending=True)
    few = order.indices[: int((order.values.cumsum(0) < 0.5).sum()) + 1].tolist()
    found = {int(one.tokens[0]) for one in drawn}
    assert set(few[:5]) <= found <= set(few)


def test_what_cannot_be_written_is_refused(ensemble: Ensemble) -> None:
    write = partial(generate, ensemble, prompts(), parse_routing("tfidf"))
    with pytest.raises(UserError, match=f"experts see {CONTEXT}"):
        write(most=CONTEXT)
    with pytest.raises(UserError, match="nothing to write"):
        write(most=0)
    wrong: list[dict[str, Any]] = [{"temperature": -1}, {"top_k": 0}, {"top_p": 0}]
    for said in wrong:
        with pytest.raises(UserError):
            Sampling(**said)
    assert generate(ensemble, [], parse_routing("tfidf"), most=3) == []


@pytest.mark.parametrize("name", FAMILIES)
def test_any_family_writes_what_transformers_writes(
    workspace: Path, tokenizer: Path, tmp_path: Path, name: str
) -> None:
    for number in range(2):
        model = tiny(name, VOCABULARY)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight), alpha=0.1 * (number + 1))
        model.save_pretrained(tmp_path / f"runs/e{number}")
        (tmp_path / f"runs/e{number}/tokenizer.json").write_bytes(tokenizer.read_bytes())
    places = [tmp_path / f"runs/e{number}" for number in range(2)]
    ensemble = open_ensemble(make_ensemble(tmp_path, places, tokenizer))
    given = [prompt[:20] for prompt in prompts()]
    how, langs = {"most": 20, "sampling": GREEDY, "stop": ()}, ["qaa", "qab"] * 2
    found = generate(ensemble, given, parse_routing("language"), languages=langs, **how)
    for number, prompt, one in zip((0, 1, 0, 1), given, found, strict=True):
        assert one.tokens.tolist() == as_transformers(places[number], prompt, 20)
    together = generate(ensemble, given[:2], parse_routing("tfidf:1"), most=10, stop=())
    for prompt, one in zip(given, together, strict=False):
        same(one, generate(ensemble, [prompt], parse_routing("tfidf:1"), most=10, stop=())[0])
