"""Which documents are kept, from their signals: thresholds, copies, benchmarks, limits."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.golden import inputs
from tests.text.corpora import (
    OFF,
    USUAL,
    changed,
    contents,
    jaccard,
    quiet,
    read,
    select_again,
    shingles,
    text,
    text_of,
    words,
    write_rows,
)
from tongues import recipe
from tongues.core.files import read_json
from tongues.text import find_sources
from tongues.text.corpus import Corpus, Selection
from tongues.text.select import select, write_selection

SCRIPTS: dict[str, str] = inputs("texts-of-sources")["letters"]
ENGLISH = "The river was wide and slow, and the old man who lived on its bank knew every boat. "
SWAHILI = "Mto ulikuwa mpana na wa polepole, na mzee aliyeishi kando yake alijua kila mashua. "


def selected(settings: recipe.Text, folder: Path) -> tuple[Corpus, Selection]:
    corpus = read(settings, folder / "corpus")
    return corpus, select(settings, corpus, find_sources(settings))


def why(selection: Selection) -> list[str]:
    return [selection.reasons[number] for number in selection.reason]


def one_file(folder: Path, rows: list[Any], lang: str = "de", **clean: Any) -> recipe.Text:
    return text_of({lang: str(write_rows(folder / f"{lang}.jsonl", rows))}, clean)


def test_with_everything_off_only_copies_go(tmp_path: Path) -> None:
    rows = [text(1), changed(text(1), [7]), text(1), "", "?!" * 400, ENGLISH, SWAHILI * 5]
    rows += ["kurz", "kurz", "?!", "?!", "?"]
    _, selection = selected(one_file(tmp_path, rows), tmp_path)
    copies = ["kept", "copy", "kept", "copy", "kept"]
    assert why(selection) == ["kept", "kept", "copy", "kept", "kept", "kept", *copies]
    assert selection.thresholds == {"de": {}}


@pytest.mark.parametrize(
    ("clean", "rows", "reason"),
    [
        ({"language": 0.5}, [ENGLISH * 4, SWAHILI * 4], "other language"),
        ({"language": 0.7}, [ENGLISH * 6 + SWAHILI * 4, SWAHILI * 4], "other language"),
        ({"script": 0.5}, [text(1, 80, SCRIPTS["ru"]), text(2), text(3)], "other script"),
        ({"script": 0.8}, [text(1, 40, SCRIPTS["ru"]) + text(1), text(2)], "other script"),
        ({"characters": 100}, ["short", text(1)], "short"),
        ({"repetition": 0.4}, ["one two three four " * 9, text(1)], "repetitive"),
        ({"repeated_lines": 0.4}, [f"{text(1)}\n{text(1)}\n{text(1)}", text(2)], "repeated lines"),
        ({"symbols": 0.3}, ["=== ** [a] (b) {c} <d> " * 5, text(1)], "symbols"),
        ({"mojibake": 0.5}, [f"{ENGLISH} “żółw’".encode().decode("cp1252"), ENGLISH], "mojibake"),
        ({"digits": 0.3}, ["12 34 ab 123 " * 9, text(1)], "digits"),
    ],
)
def test_each_threshold_drops_what_it_is_for(
    tmp_path: Path, clean: dict[str, Any], rows: list[str], reason: str
) -> None:
    _, selection = selected(one_file(tmp_path, rows, "sw", **clean), tmp_path)
    assert why(selection) == [reason] + ["kept"] * (len(rows) - 1)
    assert selection.thresholds == {"sw": clean}
    assert selection.cluster.tolist() == [-1, *range(1, len(rows))]


def test_usual_text_is_kept(tmp_path: Path) -> None:
    usual = USUAL | {"language": "off"}
    rows = [text(seed, 30 + seed) + "!1" * seed for seed in range(60)]
    _, selection = selected(one_file(tmp_path, rows, **usual), tmp_path)
    assert set(why(selection)) == {"kept"}


def test_the_first_reason_counts(tmp_path: Path) -> None:
    rows = [ENGLISH, *(text(n, 40 + n, SCRIPTS["ru"]) for n in range(5))]
    clean = {"language": "off", "script": 0.5, "characters": len(ENGLISH) + 1}
    _, selection = selected(one_file(tmp_path, rows, "ru", **clean), tmp_path)
    assert why(selection) == ["other script"] + ["kept"] * 5


def test_the_script_is_the_languages_own_though_most_documents_are_in_another(
    tmp_path: Path,
) -> None:
    rows = [text(1), text(2), text(3), text(4, 80, SCRIPTS["ru"])]
    _, selection = selected(one_file(tmp_path, rows, "ru", script=0.5), tmp_path)
    assert why(selection) == ["other script"] * 3 + ["kept"]
    _, selection = selected(one_file(tmp_path, rows, "qaa", script=0.5), tmp_path / "private")
    assert why(selection) == ["kept"] * 3 + ["other script"]


def test_made_text_is_never_dropped(tmp_path: Path) -> None:
    made = {"size": "40 kB", "languages": {"qaa": {}, "qab": {"parent": "qaa"}}}
    strict = {"characters": 10**6, "language": 1.0, "near": 0.01, "digits": 0.0}
    settings = recipe.Text.model_validate({"synthetic": made, "clean": OFF | strict})
    _, selection = selected(settings, tmp_path)
    assert set(why(selection)) == {"kept"}


@pytest.mark.parametrize("lang", SCRIPTS)
def test_near_copies_are_found_in_every_script(tmp_path: Path, lang: str) -> None:
    rng = np.random.default_rng(1)
    originals = [text(seed, 110, SCRIPTS[lang]) for seed in range(100)]
    copies = [changed(each, sorted(rng.choice(108, 4, replace=False))) for each in originals]
    far = [changed(each, range(2, 110, 9)) for each in originals[:50]]
    similar = [jaccard(shingles(a), shingles(b)) for a, b in zip(originals, copies, strict=True)]
    assert min(similar) > 0.78
    assert all(
        jaccard(shingles(a), shingles(b)) < 0.55 for a, b in zip(originals[:50], far, strict=True)
    )
    settings = one_file(tmp_path, [*originals, *copies, *far], lang, near=0.7)
    _, selection = selected(settings, tmp_path)
    reasons = why(selection)
    assert Counter(reasons[:200])["near copy"] >= 98
    assert set(reasons[:200]) == {"kept", "near copy"}
    assert reasons[200:].count("near copy") <= 2
    for original in range(100):
        pair = {reasons[original], reasons[100 + original]}
        assert "kept" in pair
        if "near copy" in pair:
            assert selection.cluster[original] == selection.cluster[100 + original] == original
            assert selection.component[original] == selection.component[100 + original]


def test_the_longest_of_near_copies_stays_whatever_the_order(tmp_path: Path) -> None:
    long = text(1, 120)
    versions = [long, " ".join(long.split()[:-4]), long.upper(), changed(long, [60]), text(2)]
    kept = set()
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        folder = tmp_path / "".join(map(str, order))
        rows = [versions[i] for i in order]
        corpus, selection = selected(one_file(folder, rows, near=0.7), folder)
        kept.add(frozenset(corpus.chosen_texts(selection.kept)))
    assert kept == {frozenset([changed(long, [60]), text(2)])}


def test_copies_in_another_language_stay_but_on_one_side(tmp_path: Path) -> None:
    files = {
        lang: str(write_rows(tmp_path / f"{lang}.jsonl", rows))
        for lang, rows in {
            "de": [text(1), text(2), changed(text(3), [5]), text(4)],
            "sw": [text(1), text(5), text(3), text(6)],
        }.items()
    }
    _, selection = selected(text_of(files, {"near": 0.7}), tmp_path)
    assert set(why(selection)) == {"kept"}
    component = selection.component.tolist()
    assert component[0] == component[4]
    assert component[2] == component[6]
    assert len(set(component)) == 6


def test_groups_and_likeness_chain_into_one_component(tmp_path: Path) -> None:
    texts = [text(1), text(2), changed(text(2), [9]), text(3), text(3), text(4), text(5)]
    chain = [{"text": x, "group": group} for x, group in zip(texts, "aabbccd", strict=True)]
    _, selection = selected(one_file(tmp_path, chain), tmp_path)
    assert len(set(selection.component[:6].tolist())) == 1
    assert selection.component[6] != selection.component[0]


def test_what_holds_text_of_a_benchmark_goes(tmp_path: Path) -> None:
    item = {"question": " ".join(words(7, 12)), "choices": [text(8, 9), "ja"], "label": 1}
    (tmp_path / "bench.jsonl").write_text(json.dumps(item))
    question, choice = item["question"], item["choices"][0]
    rows = [
        text(1) + " " + question.upper().replace(" ", ", ") + ". " + text(2),
        text(3) + " " + " ".join(question.split()[2:10]),
        text(4) + " " + " ".join(question.split()[2:9]) + " " + text(5),
        choice,
        text(6) + " ja",
    ]
    file = str(write_rows(tmp_path / "a.jsonl", rows))
    for clean, reasons in (
        ({"benchmark": 1}, ["benchmark", "benchmark", "kept", "benchmark", "kept"]),
        ({"benchmark": 3}, ["benchmark", "kept", "kept", "kept", "kept"]),
        ({}, ["kept"] * 5),
    ):
        settings = text_of({"de": file}, clean, benchmarks=[f"{tmp_path}/bench.jsonl"])
        _, selection = selected(settings, tmp_path)
        assert why(selection) == reasons


@pytest.mark.parametrize("most", ["9 documents", "1 kB"])
def test_a_limit_is_of_all_files_together(tmp_path: Path, most: str) -> None:
    files = [
        str(write_rows(tmp_path / f"{name}.jsonl", [text(ord(name) + i, 20) for i in range(6)]))
        for name in "ak"
    ]
    limited = {"paths": files, "limit": most}
    corpus, selection = selected(text_of({"de": limited}), tmp_path)
    reasons = why(selection)
    kept = reasons.count("kept")
    assert reasons == ["kept"] * kept + ["over the size limit"] * (len(reasons) - kept)
    sizes = np.cumsum(corpus.numbers("bytes"))
    if most == "9 documents":
        assert kept == 9
    else:
        assert sizes[kept - 2] < 1000 <= sizes[kept - 1]


def test_a_language_that_cannot_be_told_is_not_judged_by_it(tmp_path: Path) -> None:
    _, selection = selected(
        one_file(tmp_path, [ENGLISH * 4, text(1)], "qaa", language=0.5), tmp_path
    )
    assert why(selection) == ["kept", "kept"]
    assert selection.thresholds == {"qaa": {}}


@pytest.fixture
def file(tmp_path: Path) -> str:
    rows = [text(i, 10 + i) + " 7" * (i % 7) for i in range(120)]
    rows += [changed(text(i, 10 + i), [5]) for i in range(0, 120, 2)]
    return str(write_rows(tmp_path / "de.jsonl", rows))


def test_a_threshold_changes_without_reading_and_as_if_from_scratch(
    tmp_path: Path, file: str
) -> None:
    corpus = tmp_path / "corpus"
    reasons = []
    cleans: list[dict[str, Any]] = [
        {},
        {"characters": 250},
        {"characters": 200, "digits": 0.0},
        {"near": 0.8},
        {},
    ]
    for number, clean in enumerate(cleans):
        settings = text_of({"de": file}, clean)
        _, selection, _ = select_again(settings, corpus)
        reasons.append(selection.reason)
        stamps = {path: path.stat().st_mtime_ns for path in corpus.rglob("*.parquet")}
        select_again(settings, corpus)
        assert stamps == {path: path.stat().st_mtime_ns for path in corpus.rglob("*.parquet")}
        select_again(settings, tmp_path / f"scratch{number}")
        assert contents(corpus) == contents(tmp_path / f"scratch{number}")
    parts = [path for path in corpus.rglob("*.parquet") if path.name != "selected.parquet"]
    (oldest,) = parts
    assert oldest.stat().st_mtime_ns < (tmp_path / "scratch0/corpus.json").stat().st_mtime_ns
    assert (reasons[0] == reasons[-1]).all()
    assert len({each.tobytes() for each in reasons}) == 4


def test_what_was_decided_is_read_as_it_was(tmp_path: Path, file: str) -> None:
    settings = text_of({"de": file}, {"characters": 250, "near": 0.7})
    corpus, selection, _ = select_again(settings, tmp_path / "corpus")
    direct = select(settings, corpus, find_sources(settings))
    for name in ("reason", "cluster", "component"):
        ours, theirs = getattr(selection, name), getattr(direct, name)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
    assert selection.thresholds == direct.thresholds


@pytest.mark.parametrize("when", ["select", "summarise", "write_json"])
def test_a_kill_leaves_no_selection_of_other_settings(
    tmp_path: Path, file: str, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    first, other = text_of({"de": file}), text_of({"de": file}, {"characters": 350})
    corpus, before, _ = select_again(first, tmp_path / "corpus")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"tongues.text.select.{when}", killed)
        with pytest.raises(KeyboardInterrupt):
            write_selection(other, corpus, find_sources(other), quiet)
    _, after, _ = select_again(first, tmp_path / "corpus")
    assert np.array_equal(before.reason, after.reason)


@pytest.mark.parametrize("name", ["corpus.json", "selected.parquet"])
def test_what_was_removed_is_made_again(tmp_path: Path, file: str, name: str) -> None:
    settings = text_of({"de": file})
    corpus, _, _ = select_again(settings, tmp_path / "corpus")
    before = contents(corpus.path)
    (corpus.path / name).unlink()
    select_again(settings, corpus.path)
    assert contents(corpus.path) == before


def test_the_outcome_is_told_each_time(tmp_path: Path, file: str) -> None:
    with Path(file).open("a") as lines:
        lines.write('{"te')
    settings = text_of({"de": file}, {"near": 0.7, "characters": 150})
    _, selection, told = select_again(settings, tmp_path / "corpus")
    kept = len(selection.kept)
    assert told[0].startswith("de: 180 documents read, ")
    assert f"; {kept} kept (short " in told[0]
    assert "near copy " in told[0]
    assert told[1].startswith("caution: de: 1 place (cut off 1; ")
    assert told[1].endswith(" (unreadable_places)")
    assert select_again(settings, tmp_path / "corpus")[2] == told
    _, _, told = select_again(text_of({"de": file}), tmp_path / "other")
    assert "kept" not in told[0]
    assert read_json(tmp_path / "corpus/corpus.json")["reasons"][0] == "kept"
