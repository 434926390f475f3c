"""A language in a new script is added with tokens of its own; what was there stays as it was."""

import json
import random
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from shutil import copy

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

from tests.experts.ensemble.making import Equal, counted_reads, generate, score
from tests.experts.test_whole import tongues
from tongues.evaluate.evaluation import read_evaluation
from tongues.evaluate.texts import token_nats
from tongues.experts.ensemble.caches import TokenSequence
from tongues.experts.ensemble.ensemble import Ensemble, expert_log_probs, open_alone, open_ensemble
from tongues.experts.ensemble.mapped import map_model
from tongues.experts.ensemble.model import open_model
from tongues.experts.ensemble.own_caches import open_caches
from tongues.experts.ensemble.request import Request, Sampling
from tongues.experts.ensemble.routing import ONE_MODEL, parse_routing
from tongues.experts.ensemble.writer import Writer
from tongues.experts.heldout import documents_of
from tongues.text.tokens import load_tokenizer, open_tokens
from tongues.use.serve.opening import probe_step
from tongues.verbs.main import command

CONTEXT = 64
TRAIN = "threads: 1, batch: 512 tokens, context: 64 tokens, learning_rate: 5.0e-3, num_evals: 1"
TEXT = """\
text:
  synthetic:
    seed: 5
    size: 60 kB
    languages:
      qaa: {}
      qab: {parent: qaa, divergence: 0.2}
"""
SEED = f"""\
name: old
{TEXT}tokens: {{vocab_size: 300, held_out: 2k tokens}}
model: {{shape: 0.05M}}
train: {{run: seed, mixture: {{qaa: 50%, qab: 50%}}, budget: 4k tokens, {TRAIN}}}
"""
EXPERTS = f"""\
name: old
{TEXT}tokens: {{vocab_size: 300, held_out: 2k tokens}}
train: {{base: seed, budget: 8k tokens, {TRAIN}}}
experts: {{partitions: [{{by: languages}}]}}
"""
MORE = f"""\
name: NAME
{TEXT}      qac: {{}}
tokens:
  base: tokens/old/tokenizer.json
  held_out: 2k tokens
  extend: {{new_tokens: 120, languages: [qac], preserve: [qaa, qab]}}
train: {{budget: 8k tokens, {TRAIN}}}
experts: {{add_to: old/languages-s1, add: {{qac: qaa}}}}
"""


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two experts, and a third with more tokens for a script that the others spell in bytes."""
    folder = tmp_path_factory.mktemp("extended")
    for name, recipe in (("seed", SEED), ("experts", EXPERTS), ("more", MORE)):
        (folder / f"{name}.yaml").write_text(recipe.replace("NAME", "new"))
    tongues(folder, "prepare", "seed.yaml")
    tongues(folder, "train", "seed.yaml")
    tongues(folder, "experts", "train", "experts.yaml")
    tongues(folder, "prepare", "more.yaml")
    tongues(folder, "experts", "train", "more.yaml")
    return folder


@pytest.fixture(scope="module")
def old(family: Path) -> Ensemble:
    return open_ensemble(family / "ensembles/old/languages-s1")


@pytest.fixture(scope="module")
def new(family: Path) -> Ensemble:
    return open_ensemble(family / "ensembles/new/added-s1")


@pytest.fixture(scope="module")
def alone(new: Ensemble) -> Ensemble:
    """The added expert by itself."""
    return open_alone(new.models.folders[2], "new")


def held_out(family: Path, lang: str) -> list[np.ndarray]:
    shard = open_tokens(family / "tokens/new").shard(lang, "valid")
    return documents_of(shard.tokens, shard.bounds, range(4))


def test_the_added_expert_answers_as_by_itself(
    family: Path, new: Ensemble, alone: Ensemble, old: Ensemble
) -> None:
    texts = held_out(family, "qac")
    assert new.vocabulary == old.vocabulary + 120
    assert all((text >= old.vocabulary).any() for text in texts)
    way, langs = parse_routing("language"), ["qac"] * len(texts)
    wanted = expert_log_probs(alone, texts)
    found = score(new, texts, way, langs)
    for one, own in zip(found, wanted, strict=True):
        np.testing.assert_allclose(-one.nats, own[:, 0], atol=1e-6)
    model = open_model("new/added-s1@language", family)
    for one, own in zip(token_nats(model, texts, languages=langs), found, strict=True):
        np.testing.assert_allclose(one, own.nats, atol=1e-5)
    greedy = Sampling(temperature=0)
    prompts = [text[:9] for text in texts]
    texts_of = [
        generate(each, prompts, routing, most=20, languages=langs, sampling=greedy)
        for each, routing in ((new, way), (alone, ONE_MODEL))
    ]
    for one, own in zip(*texts_of, strict=True):
        assert one.tokens.tolist() == own.tokens.tolist()
        np.testing.assert_allclose(one.nats, own.nats, atol=1e-6)


def test_text_that_has_no_new_token_is_read_as_before(
    family: Path, new: Ensemble, old: Ensemble
) -> None:
    texts = held_out(family, "qaa") + held_out(family, "qab")
    assert all((text < old.vocabulary).all() for text in texts)
    before, after = expert_log_probs(old, texts), expert_log_probs(new, texts)
    for one, own in zip(after, before, strict=True):
        np.testing.assert_allclose(one[:, :2], own, atol=1e-6)
    way, langs = parse_routing("language"), ["qaa"] * 4 + ["qab"] * 4
    prompts, sampling = [text[:20] for text in texts], Sampling(seed=3)
    written = [
        generate(each, prompts, way, most=30, languages=langs, sampling=sampling)
        for each in (new, old)
    ]
    for one, own in zip(*written, strict=True):
        assert one.tokens.tolist() == own.tokens.tolist()
        np.testing.assert_allclose(one.nats, own.nats, atol=1e-6)


def own_ids(expert: Ensemble, number: int, new: Ensemble, text: np.ndarray) -> list[int]:
    """A text as the tokenizer of an expert cuts it."""
    spelt = load_tokenizer(new.tokenizer).decode(text.tolist(), skip_special_tokens=False)
    cut = load_tokenizer(expert.models.folders[number]).encode(spelt, add_special_tokens=False)
    return cut.ids


def test_an_older_expert_reads_new_tokens_as_its_own(
    family: Path, new: Ensemble, old: Ensemble
) -> None:
    for text in held_out(family, "qac"):
        ids = np.array(own_ids(old, 0, new, text))
        assert len(ids) > 1.5 * len(text) and (ids < old.vocabulary).all()
        (found,) = expert_log_probs(new, [text])
        wanted = expert_log_probs(old, [ids])[0].sum(axis=0)
        np.testing.assert_allclose(found[:, :2].sum(axis=0), wanted, atol=1e-5)
    for way in ("filter:1", "filter", "tfidf:1"):
        losses = score(new, held_out(family, "qac"), parse_routing(way))
        assert all(np.isfinite(one.nats).all() for one in losses)
    for text in (text[:12] for text in held_out(family, "qac")):
        assert new.own[0].spelt(text)[1][-1] < CONTEXT
        model = replace(open_model("new/added-s1", family), routing=Equal())
        (nats,) = token_nats(model, [text])
        wanted = np.exp(expert_log_probs(new, [text])[0]).mean(axis=1)
        np.testing.assert_allclose(nats, -np.log(wanted), atol=1e-5)


def test_a_window_longer_in_own_tokens_is_read_in_parts(family: Path, new: Ensemble) -> None:
    model, text = open_model("new/added-s1@language", family), held_out(family, "qac")[0][:CONTEXT]
    (nats,) = token_nats(model, [text], languages=["qaa"])
    ids, ends = new.own[0].spelt(np.concatenate([[model.first], text]))
    expected, stop = np.zeros(len(ids)), len(ids)
    assert stop > CONTEXT + 1
    while stop > 1:
        part = torch.tensor(ids[max(0, stop - 1 - CONTEXT) : stop].tolist())
        with torch.no_grad():
            logs = map_model(new.models.folders[0])(part[None, :-1]).logits[0].log_softmax(1)
        expected[stop - len(part) + 1 : stop] = -logs.gather(1, part[1:, None])[:, 0].numpy()
        stop -= len(part) - 1
    wanted = [expected[start:end].sum() for start, end in pairwise(ends.tolist())]
    np.testing.assert_allclose(nats, wanted, atol=1e-4)


def test_the_router_finds_a_new_script_by_its_tokens(family: Path, new: Ensemble) -> None:
    about, way = new.about(parse_routing("filter:1")), parse_routing("filter:1")
    for lang, wanted in (("qaa", 0.0), ("qab", 0.0), ("qac", 1.0)):
        weights = np.concatenate([way.weights(text, about) for text in held_out(family, lang)])
        assert weights[:, 2].mean() == pytest.approx(wanted, abs=0.02)
    first = held_out(family, "qac")[0]
    switched = np.concatenate([held_out(family, "qaa")[0][:20], first[first >= 300][:3], [0]])
    assert way.weights(switched, about)[-1].tolist() == [0, 0, 1]


def test_a_mixture_writes_by_the_mean_over_the_larger_vocabulary(
    family: Path, new: Ensemble, old: Ensemble
) -> None:
    prompt = np.concatenate([held_out(family, "qac")[0][:6], held_out(family, "qaa")[0][:6]])
    (text,) = generate(new, [prompt], Equal(), most=12, sampling=Sampling(temperature=0))
    mean = torch.zeros(len(text.tokens), new.vocabulary)
    whole = np.concatenate([prompt, text.tokens])
    for number, folder in enumerate(new.models.folders):
        model = map_model(folder)
        for place in range(len(text.tokens)):
            before, ids = whole[: len(prompt) + place], list[int]()
            for token in before.tolist():
                own = own_ids(old, 0, new, np.array([token])) if number < 2 else [token]
                ids += own if token >= old.vocabulary else [token]
            with torch.no_grad():
                logits = model(torch.tensor([[new.frame.first, *ids]])).logits[0, -1]
            size = old.vocabulary if number < 2 else new.vocabulary
            mean[place, :size] += logits.softmax(0)[:size] / 3
    assert mean.argmax(1).tolist() == text.tokens.tolist()
    np.testing.assert_allclose(text.nats, -mean.max(1).values.log(), atol=1e-5)


def test_a_text_too_long_for_an_older_expert_goes_on(family: Path, new: Ensemble) -> None:
    prompt = held_out(family, "qac")[0][: CONTEXT - 24]
    assert new.own[0].spelt(prompt)[1][-1] > CONTEXT
    for way in (parse_routing("language"), Equal()):
        (text,) = generate(new, [prompt], way, most=24, languages=["qaa"], stop=[])
        assert len(text.tokens) == 24 and np.isfinite(text.nats).all()
    text = TokenSequence([new.frame.first, *prompt.tolist()], CONTEXT)
    logits = open_caches(new).logits(0, [text])[0]
    parts = [new.own[0].spelt(prompt[start:])[0] for start in range(len(prompt))]
    last = next(part for part in parts if len(part) < CONTEXT // 2)
    with torch.no_grad():
        read = torch.tensor([[new.frame.first, *last.tolist()]])
        expected = map_model(new.models.folders[0])(read).logits[0, -1]
    torch.testing.assert_close(logits.softmax(0)[:300], expected.softmax(0)[:300])
    model = open_model("new/added-s1", family)
    probe_step(model)
    request = model.request(model.prompt(prompt[:6]), 4)
    assert model.cache_need([request]) == CONTEXT * model.cache_bytes


def test_a_prompt_is_read_in_steps_in_any_tokens(family: Path, new: Ensemble) -> None:
    prompt, way = held_out(family, "qac")[0][:12], Equal()
    greedy = Sampling(temperature=0)
    with counted_reads(new) as usual:
        wanted = generate(new, [prompt], way, most=9, sampling=greedy, stop=[])[0]
    for pace in (1, 5):
        writer, tokens = Writer(new, pace=pace), list[int]()
        request = Request(prompt, way, 9, sampling=greedy, stops=frozenset())
        writer.add(request)
        steps = 0
        with counted_reads(new) as counts:
            while writer.running:
                tokens += [token.id for _, token in writer.step()]
                steps += 1
        assert tokens == wanted.tokens.tolist() and steps == 8 - (-13 // pace)
        assert sum(counts) == sum(usual)


def test_all_of_it_is_measured_next_to_the_ensemble_before(family: Path) -> None:
    tongues(family, "experts", "measure", "more.yaml", "--eval-tokens", "500")
    evaluation = read_evaluation(family / "evaluations/new-experts")
    (text,) = evaluation.texts.values()
    sizes = {name: of["qac"].tokens for name, of in text.losses.items() if "qac" in of}
    assert len(set(sizes.values())) == 1  # all in nats per token of the extension
    before, after = (
        text.losses[f"{name}"]["qac"] for name in ("before@filter:1", "added@language")
    )
    assert after.nats_per_token < before.nats_per_token < 30
    same = [text.losses[f"{name}@language"]["qaa"].nats_per_token for name in ("before", "added")]
    assert same[0] == pytest.approx(same[1], abs=1e-6)
    told = evaluation.experts
    assert told and not told.same_tokenizer


def test_what_cannot_be_is_refused_with_what_to_do(family: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(family, tmp_path / "copy"))
    out = ("export", "new/added-s1", "--moe", "-o", "moe")
    assert "differ in their tokens" in tongues(folder, *out, fails=True)
    other = MORE.replace("NAME", "two").replace("qac", "qad")
    (folder / "two.yaml").write_text(other.replace("old/languages-s1", "new/added-s1"))
    tongues(folder, "prepare", "two.yaml")
    said = tongues(folder, "experts", "train", "two.yaml", fails=True)
    assert "neither the ensemble's nor an extension" in said and "e0" not in said
    place = "runs/new/qac-s1/model/tokenizer.json"
    assert f"name {place} by `tokens.base`" in said
    upon = (folder / "two.yaml").read_text().replace("tokens/old/tokenizer.json", place)
    (folder / "two.yaml").write_text(upon)
    tongues(folder, "prepare", "two.yaml", "--overwrite")
    tongues(folder, "experts", "train", "two.yaml")
    ensemble = open_ensemble(folder / "ensembles/two/added-s1")
    sizes = [ensemble.own[number].size for number in range(3)]
    assert sizes == [300, 300, 420] and ensemble.vocabulary == 540 and 3 not in ensemble.own
    before, prompt = open_ensemble(folder / "ensembles/new/added-s1"), held_out(family, "qac")[0]
    texts = [
        generate(each, [prompt[:9]], parse_routing("language"), most=9, languages=["qac"])[0].nats
        for each in (before, ensemble)
    ]
    np.testing.assert_allclose(
        texts[0], texts[1], atol=1e-6
    )  # rows behind the 420 tokens mean nothing


def test_a_copy_elsewhere_is_whole_and_a_changed_tokenizer_is_found(
    family: Path, new: Ensemble, tmp_path: Path
) -> None:
    tongues(family, "export", "new/added-s1", "-o", str(tmp_path / "out"))
    again = open_ensemble(tmp_path / "out", tmp_path)
    text = held_out(family, "qac")[:1]
    np.testing.assert_array_equal(expert_log_probs(again, text)[0], expert_log_probs(new, text)[0])
    made = json.loads((tmp_path / "out/ensemble.json").read_text())
    file = tmp_path / "out" / made["experts"][0]["folder"] / "tokenizer.json"
    file.write_bytes((again.tokenizer / "tokenizer.json").read_bytes())
    with pytest.raises(Exception, match=r"`tokenizer\.json` has changed"):
        open_ensemble(tmp_path / "out", tmp_path)


EXAMPLES = Path(__file__).parents[2] / "docs/examples"
SMALL = (
    "tokens.held_out=1k tokens",
    "text.clean.language=off",
    "train.budget=4k tokens",
    "train.batch=512 tokens",
    "train.context=32 tokens",
    "train.threads=1",
    "train.num_evals=1",
)


def write_texts(folder: Path, lang: str, documents: int, length: int) -> None:
    """Documents of a language's own words; those of one number are of one group."""
    chance = random.Random(lang)
    words = ["".join(chance.choices("abdegiklmnorstu", k=5)) for _ in range(100)]
    (folder / "texts" / lang).mkdir(parents=True)
    with (folder / "texts" / lang / "all.jsonl").open("w") as file:
        for number in range(documents):
            text = " ".join(chance.choices(words, k=length))
            file.write(json.dumps({"text": text, "group": str(number)}) + "\n")


@pytest.mark.slow
def test_a_folder_of_texts_becomes_an_ensemble_and_a_language_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in EXAMPLES.glob("own*.yaml"):
        copy(file, tmp_path)
    for lang in ("de", "en", "hi", "sw"):
        write_texts(tmp_path, lang, 60, 80)

    def tongues(*words: str, small: tuple[str, ...] = ()) -> Result:
        return CliRunner().invoke(command, [*words, *small], catch_exceptions=False)

    own = (*SMALL, "tokens.vocab_size=300")
    tongues("prepare", "own.yaml", small=own)
    tongues("train", "own.yaml", "model.shape=0.05M", small=own)
    tongues("experts", "train", "own-experts.yaml", small=own)
    told = tongues("generate", "own/topics-2-s1", "Es war", "--max-tokens", "3", "--experts")
    assert told.stdout.startswith("Es war")
    write_texts(tmp_path, "nl", 120, 20)  # translates the others, in short
    tongues("prepare", "own-more.yaml", small=SMALL)
    added = tongues("experts", "train", "own-more.yaml", small=SMALL)
    assert "`sw` 1.08k of 2.14k (" in added.stderr
    told = tongues("generate", "own-more/added-s1", "Er was", "--max-tokens", "3", "--experts")
    assert told.stdout.startswith("Er was")
    assert "own-more/added-s1" in tongues("ls").stdout
