"""Losses by the source of held-out documents, from preparation to table."""

import json
import math
from pathlib import Path

import pytest

import tongues
from tests.text.corpora import OFF, text, write_rows
from tongues.core.pages import as_text
from tongues.evaluate.documents import read_texts
from tongues.evaluate.evaluation import Evaluation
from tongues.report.evaluation.tables import Measure
from tongues.report.evaluation.view import score_blocks

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
