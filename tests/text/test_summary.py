"""`corpus.json`: every number in it against the documents themselves."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.text.corpora import changed, select_again, text, text_of, write_rows
from tongues import recipe
from tongues.files import read_json

ENGLISH = "The river was wide and slow, and the old man who lived on its bank knew every boat. "
SWAHILI = "Mto ulikuwa mpana na wa polepole, na mzee aliyeishi kando yake alijua kila mashua. "


def summary_of(settings: recipe.Text, folder: Path) -> dict[str, Any]:
    select_again(settings, folder)
    return read_json(folder / "corpus.json")


def codes(summary: dict[str, Any]) -> list[str]:
    return [caution["code"] for caution in summary["cautions"]]


@pytest.fixture
def settings(tmp_path: Path) -> recipe.Text:
    swahili = [SWAHILI * (4 + i) + f"Siku ya {i}." for i in range(12)] + ["?", "?"]
    mixed = [SWAHILI * 8 + "\n" + ENGLISH * 4]
    english = [ENGLISH * 5 + text(i, 9) for i in range(4)]
    rows = [{"text": each} for each in swahili + mixed + english] + [{"no": 1}, {"text": " "}]
    files = {
        "sw": str(write_rows(tmp_path / "sw.jsonl", rows)),
        "de": str(write_rows(tmp_path / "de.jsonl", [text(i, 40) for i in range(9)])),
    }
    return text_of(files, {"language": 0.5, "near": 0.9})


def test_what_came_in_was_kept_or_dropped_for_a_reason(
    tmp_path: Path, settings: recipe.Text
) -> None:
    corpus, selection, _ = select_again(settings, tmp_path / "corpus")
    summary = read_json(tmp_path / "corpus/corpus.json")
    for code, lang in enumerate(corpus.languages):
        about = summary["languages"][lang]
        here = corpus.lang == code
        texts = np.array(corpus.chosen_texts(np.flatnonzero(here)), dtype=object)
        fates = {"kept": about["kept"], **about["dropped"]}
        for number, why in enumerate(summary["reasons"]):
            chosen = texts[selection.reason[here] == number].tolist()
            amounts = {
                "documents": len(chosen),
                "bytes": sum(len(each.encode()) for each in chosen),
                "characters": sum(map(len, chosen)),
            }
            assert fates.get(why, dict.fromkeys(amounts, 0)) == amounts
            samples = [row["text"] for row in about["samples"].get(why, [])]
            assert len(samples) == min(len(chosen), 5)
            assert set(samples) <= {each[:400] for each in chosen}
        for word in ("documents", "bytes", "characters"):
            assert about["read"][word] == sum(fate[word] for fate in fates.values())
        assert sum(about["labels"].values()) == about["read"]["documents"]
        assert sum(about["scripts"].values()) == about["read"]["documents"]


def test_foreign_documents_go_and_foreign_text_inside_is_measured(
    tmp_path: Path, settings: recipe.Text
) -> None:
    about = summary_of(settings, tmp_path / "corpus")["languages"]["sw"]
    assert about["dropped"]["other language"]["documents"] >= 4
    assert about["labels"]["en"] == 4
    inside = 4 * len(ENGLISH) / about["kept"]["bytes"]
    assert about["foreign"] == pytest.approx(inside, abs=0.01)
    assert about["foreign"] == pytest.approx(1 - about["identified"]["sw"], abs=0.02)


def test_faults_and_places_that_hold_nothing_are_cautioned(
    tmp_path: Path, settings: recipe.Text
) -> None:
    (tmp_path / "none.jsonl").write_text('[]\n"')
    files = {lang: list(each.paths) for lang, each in settings.files.items()}
    files["de"].append(f"{tmp_path}/none.jsonl")
    summary = summary_of(text_of(files), tmp_path / "corpus")
    told = codes(summary)
    assert (told.count("unreadable_places"), told.count("empty_source")) == (2, 1)
    swahili, (german, nothing) = (summary["languages"][lang]["sources"] for lang in ("sw", "de"))
    assert swahili[0]["faults"] == {"no text": 1, "empty": 1}
    assert [row["reason"] for row in swahili[0]["fault_samples"]] == ["no text", "empty"]
    assert swahili[0]["documents"] == 19
    assert german["faults"] == {}
    assert nothing["documents"] == 0
    assert sum(nothing["faults"].values()) == 2


def test_much_foreign_text_is_a_caution(tmp_path: Path) -> None:
    rows = [SWAHILI * 6 + ENGLISH * 4 + text(i, 9) for i in range(9)]
    settings = text_of({"sw": str(write_rows(tmp_path / "sw.jsonl", rows))}, {"language": 0.3})
    summary = summary_of(settings, tmp_path / "corpus")
    assert codes(summary) == ["other_languages_inside"]
    assert summary["languages"]["sw"]["foreign"] > 0.3


def test_clusters_of_copies_are_counted(tmp_path: Path) -> None:
    rows = [text(1, 100)] * 4 + [changed(text(1, 100), [3]), text(2), text(3), text(3), text(4)]
    settings = text_of({"de": str(write_rows(tmp_path / "a.jsonl", rows))}, {"near": 0.7})
    about = summary_of(settings, tmp_path / "corpus")["languages"]["de"]
    assert about["clusters"] == {"clusters": 2, "documents": 7, "largest": [5, 2]}
    assert about["dropped"]["copy"]["documents"] == 4
    assert about["dropped"]["near copy"]["documents"] == 1


def test_what_cannot_be_told_is_null_and_all_of_it_is_json(tmp_path: Path) -> None:
    made = {"size": "20 kB", "languages": {"qaa": {}}}
    (tmp_path / "a.jsonl").write_text("{}\n")
    settings = recipe.Text.model_validate(
        {"synthetic": made, "files": {"de": [f"{tmp_path}/a.jsonl"]}}
    )
    summary = summary_of(settings, tmp_path / "corpus")
    for lang in ("qaa", "de"):
        assert summary["languages"][lang]["foreign"] is None
    strict = json.loads((tmp_path / "corpus/corpus.json").read_text(), parse_constant=pytest.fail)
    assert strict == summary
