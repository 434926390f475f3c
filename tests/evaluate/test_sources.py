"""Losses by the source of held-out documents, from preparation to table."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tongues
from tests.experts.ensemble.making import Equal, make_ensemble, make_expert, make_tokenizer
from tests.text.corpora import OFF, text, write_rows
from tongues.evaluate.documents import read_texts
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.mixed import MixedText, mixed_nats, mixed_scores, mixed_texts
from tongues.experts.ensemble.ensemble import Ensemble, expert_log_probs, open_ensemble
from tongues.experts.ensemble.routing import parse_routing
from tongues.pages import as_text
from tongues.report.evaluation.measures import Measure
from tongues.report.evaluation.view import score_blocks
from tongues.tokens import load_tokenizer

LETTERS = {"web": "abcdefghij", "news": "абвгдежзик"}
MODELS = ["e0", "e1"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tokens of two files and a folder of many, each in letters of its own."""
    place = tmp_path_factory.mktemp("sources")
    files = [
        str(write_rows(place / f"{name}.jsonl", [text(n, 40, letters) for n in range(60)]))
        for name, letters in LETTERS.items()
    ]
    books = place / "books"
    books.mkdir()
    for n in range(60):
        (books / f"{n}.txt").write_text(text(n, 40, "klmnopqrst"))
    recipe = {
        "name": "mixed",
        "text": {"files": {"de": [*files, str(books)]}, "clean": OFF},
        "tokens": {"vocab_size": 300, "held_out": "20%"},
    }
    return tongues.prepare(recipe, workspace=place, quiet=True)


@pytest.fixture(scope="module")
def evaluation(house: Path, prepared: Path) -> Evaluation:
    models = [str(house / "models" / name) for name in MODELS]
    return tongues.evaluate(
        models, house, text=str(prepared), name="sources", page=False, quiet=True
    )


def test_every_held_out_document_has_its_source(prepared: Path) -> None:
    found = read_texts(str(prepared), prepared.parent)["de"]
    place = prepared.parents[1]
    for document in found:
        letters = {str(place / f"{name}.jsonl"): letters for name, letters in LETTERS.items()}
        letters[str(place / "books")] = "klmnopqrst"  # many files of one document: their folder
        assert set(document.text) - {" ", "\n"} <= set(letters[document.source])
    assert len({document.source for document in found}) == 3


def test_losses_by_source_are_sums_over_its_documents(
    evaluation: Evaluation, house: Path, prepared: Path
) -> None:
    (scores,) = evaluation.texts.values()
    assert scores.by_source
    documents = read_texts(str(prepared), prepared.parent)["de"]
    units = (house / "evaluations/sources/units").rglob("*.json")
    read = [json.loads(unit.read_text()) for unit in units]
    assert len(read) == len(MODELS)
    for model, unit in ((one["unit"]["model"], one["result"]) for one in read):
        assert unit["ids"] == [document.id for document in documents]
        for key, loss in scores.by_source.losses[model].items():
            own = [n for n, of in enumerate(documents) if f"de: {of.source}" == key]
            bits = sum(unit["nats"][n] for n in own) / math.log(2)
            size = sum(unit["bytes"][n] for n in own)
            assert loss.bits_per_byte.value == pytest.approx(bits / size)
            assert loss.documents == len(own)
    plain = json.loads(json.dumps(evaluation.to_json()))
    assert Evaluation.from_json(plain).to_json() == evaluation.to_json()


def test_the_table_pairs_the_models_by_source(evaluation: Evaluation) -> None:
    (measure,) = Measure.of(evaluation)
    table = measure.source_table()
    (scores,) = evaluation.texts.values()
    assert table and scores.by_source
    (compared,) = scores.by_source.compared
    tested = [of.among for of in compared.languages.values() if of.p is not None]
    assert max(tested) == len(tested) > 1  # Holm-corrected for all sources with enough documents
    for row, key in zip(table.cells, scores.by_source.languages, strict=True):
        assert f"{row[0].text}: {row[1].text}" == key
        assert row[-1].value == compared.languages[key]
    shown = as_text(score_blocks(evaluation, compare=True))
    assert "by source" in shown and "news.jsonl" in shown
    assert "news.jsonl" not in as_text(score_blocks(evaluation))


def test_an_older_folder_is_one_source(prepared: Path, tmp_path: Path) -> None:
    older = tmp_path / "tokens/mixed"
    older.mkdir(parents=True)
    for file in prepared.iterdir():
        (older / file.name).symlink_to(file)
    manifest = json.loads((prepared / "tokens.json").read_text())
    del manifest["sources"]
    (older / "tokens.json").unlink()
    (older / "tokens.json").write_text(json.dumps(manifest))
    (found,) = read_texts("mixed", tmp_path).values()
    assert len({document.source for document in found}) == 1


SENTENCE = "the {} of many languages is an art of many. "
TEXTS = {lang: [SENTENCE.format(f"{lang}{n}") * 9 for n in range(6)] for lang in ("ab", "cd", "ef")}


def test_sentences_of_two_languages_follow_each_other(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(make_tokenizer(tmp_path))
    texts = mixed_texts(TEXTS, tokenizer)
    assert len(texts) == 6  # of three languages, one is left out each time
    used: Counter[str] = Counter()
    for mixed in texts:
        langs = list(dict.fromkeys(mixed.languages))
        switches = sum(a != b for a, b in zip(mixed.languages[1:], mixed.languages, strict=False))
        assert len(langs) == 2 and switches == 3
        assert len(mixed.tokens) == len(mixed.languages) <= 4 * 60
        for lang in langs:
            own = mixed.tokens[np.array(mixed.languages) == lang]
            read = tokenizer.decode(own.tolist())
            used[min(lang + str(n) for n in range(6) if f"{lang}{n}" in read)] += 1
            assert not any(other in read for other in TEXTS if other != lang)
    assert max(used.values()) == 1  # no document twice
    again, other = mixed_texts(TEXTS, tokenizer), mixed_texts(TEXTS, tokenizer, seed=1)
    assert [t.tokens.tolist() for t in again] == [t.tokens.tolist() for t in texts]
    assert [t.tokens.tolist() for t in other] != [t.tokens.tolist() for t in texts]


def test_one_language_makes_no_mixed_text(tmp_path: Path) -> None:
    assert mixed_texts({"ab": TEXTS["ab"]}, load_tokenizer(make_tokenizer(tmp_path))) == []
    assert mixed_scores([], [], lambda name: pytest.fail(name)) is None


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Ensemble:
    """Two random experts, of `qaa` and `qab`."""
    folder = tmp_path_factory.mktemp("mixed")
    tokenizer = make_tokenizer(folder)
    experts = [make_expert(folder / f"e{n}", tokenizer, seed=n) for n in range(2)]
    return open_ensemble(make_ensemble(folder, experts, tokenizer), folder)


def test_where_the_language_is_given_each_token_is_its_experts(ensemble: Ensemble) -> None:
    chance = np.random.default_rng(0)
    texts = [
        MixedText(chance.integers(1, 300, 40), [*["qaa"] * 15, *["qab"] * 25]) for _ in range(7)
    ]
    ways = {name: parse_routing(name) for name in ("language", "filter:1")}
    ways["equal"] = Equal()
    given, followed, alike = mixed_nats(texts, ensemble, [*ways.values()])
    read = expert_log_probs(ensemble, [text.tokens for text in texts])
    np.testing.assert_allclose(given, [-(x[:15, 0].sum() + x[15:, 1].sum()) for x in read])
    np.testing.assert_allclose(alike, [-np.log(np.exp(x).mean(1)).sum() for x in read])
    assert not np.allclose(given, followed)
    short = mixed_nats(texts, ensemble, [ways["language"]], context=8)[0]
    assert not np.allclose(given, short)
    twice = mixed_scores(texts, [(["one", "other"], ways)], lambda name: ensemble)
    assert twice and (twice.texts, twice.tokens) == (7, 280)
    losses = twice.losses
    assert losses["language"].versus_given is None
    assert losses["equal"].loss.value == pytest.approx(alike.sum() / 280)
    versus = losses["equal"].versus_given
    assert versus and versus.value == pytest.approx((alike - given).sum() / 280)
    assert versus.among == 2 and versus.low is not None
