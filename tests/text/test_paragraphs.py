"""Paragraphs that many documents repeat, and lists of a language's words."""

from pathlib import Path

import numpy as np
import pytest

from tests.text.corpora import quiet, read, recipe_of, text, text_of, write_rows
from tests.text.test_select import one_file, selected, why
from tongues.errors import UserError
from tongues.text import check_text, find_sources
from tongues.text.corpus import Corpus
from tongues.text.gather import gather
from tongues.text.select import write_selection
from tongues.text.summary import read_summary
from tongues.tokens.prepare import prepare_tokens
from tongues.tokens.store import read_manifest

NOTICE = "All rights reserved; write to the editors before you copy any of this text."


def cleaned(folder: Path, files: dict[str, str], **clean: object) -> tuple[Corpus, list[str]]:
    settings, lines = text_of(files, clean), list[str]()
    corpus = read(settings, folder / "corpus")
    write_selection(settings, corpus, find_sources(settings), lines.append)
    return corpus, lines


def texts(corpus: Corpus) -> list[str]:
    return [row for part in corpus.parts for row in corpus.texts(part, np.arange(part.count))]


def test_a_notice_is_cut_out_beyond_some_documents(tmp_path: Path) -> None:
    own = [text(seed) for seed in range(20)]
    rows = [f"{row}\n{NOTICE}\nshort line\n" for row in own]
    files = {"de": str(write_rows(tmp_path / "de.jsonl", rows))}
    files["sw"] = str(write_rows(tmp_path / "sw.jsonl", rows[:3]))  # counted by language
    corpus, lines = cleaned(tmp_path, files, paragraphs=3)
    there = texts(corpus)
    assert sum(NOTICE in row for row in there[:20]) == 3 and all(
        NOTICE in row for row in there[20:]
    )
    assert {row.replace(f"{NOTICE}\n", "") for row in there} == {f"{x}\nshort line\n" for x in own}
    size = 17 * len(f"{NOTICE}\n")
    about = read_summary(corpus.path)["languages"]
    row = about["de"]["removed"]["repeated paragraphs"]
    assert (row["places"], row["bytes"], row["samples"][0]) == (17, size, NOTICE)
    assert not about["sw"]["removed"]
    assert any("repeated paragraphs 17" in line for line in lines)
    assert corpus.sizes.tolist() == [len(row) for row in there]
    cleaned(tmp_path, files)  # the same corpus, without
    again = read(text_of(files), tmp_path / "corpus")
    assert texts(again) == [*rows, *rows[:3]]


def test_the_order_of_files_does_not_choose_the_documents(tmp_path: Path) -> None:
    rows = [f"{text(seed)}\n{NOTICE}" for seed in range(12)]
    kept = []
    for name, order in (("a", rows), ("b", rows[::-1])):
        corpus, _ = cleaned(
            tmp_path / name,
            {"de": str(write_rows(tmp_path / name / "x.jsonl", order))},
            paragraphs=2,
        )
        kept.append({row for row in texts(corpus) if NOTICE in row})
    assert kept[0] == kept[1] and len(kept[0]) == 2


def test_refrains_and_documents_of_notices_alone_stay(tmp_path: Path) -> None:
    song = "\n".join([NOTICE, text(1), NOTICE, text(2), NOTICE])
    rows = [song, *(f"{NOTICE}\n{NOTICE}{' ' * number}" for number in range(1, 5))]
    corpus, _ = cleaned(tmp_path, {"de": str(write_rows(tmp_path / "x.jsonl", rows))}, paragraphs=1)
    assert texts(corpus)[1:] == rows[1:]
    assert texts(corpus)[0] in (song, f"{text(1)}\n{text(2)}\n")


def test_tokens_are_of_the_text_without_them(tmp_path: Path) -> None:
    rows = [f"{text(seed, 200)}\n{NOTICE}" for seed in range(60)]
    files = {"de": str(write_rows(tmp_path / "x.jsonl", rows))}
    counts = []
    for name, paragraphs in (("a", "keep"), ("b", 1)):
        settings = recipe_of(text_of(files, {"paragraphs": paragraphs}), byte_fallback="allow")
        path = prepare_tokens(settings, tmp_path / name, quiet, ranks=1)
        splits = read_manifest(path)["languages"]["de"].values()
        counts.append(sum(each["bytes"] for each in splits))
    assert counts[0] - counts[1] == 59 * len(NOTICE)


def test_documents_without_the_language_s_words_are_dropped(tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "wo.txt").write_text("\n".join(sorted(set(text(0, 4000).split()))))
    good = [text(seed) for seed in range(1, 11)]
    junk = [text(seed, alphabet="xqyjwhac") for seed in range(10)]
    settings = one_file(tmp_path, [*good, *junk], "wo", words=str(lists), listed_words="on")
    corpus, selection = selected(settings, tmp_path)
    assert why(selection) == ["kept"] * 10 + ["few listed words"] * 10
    assert selection.thresholds == {"wo": {"listed_words": 0.2}}
    assert corpus.numbers("listed_words").tolist() == [pytest.approx(1, abs=0.5)] * 10 + [0.0] * 10
    other = one_file(tmp_path, good, "de", listed_words="on")  # no list: nothing is measured
    corpus, selection = selected(other, tmp_path / "other")
    assert set(why(selection)) == {"kept"} and np.isnan(corpus.numbers("listed_words")).all()
    (lists / "wo.txt").write_text(" \n")
    with pytest.raises(UserError, match="holds no word"):
        read(settings, tmp_path / "again")


def test_progress_is_shown_soon_and_over_all_sources(tmp_path: Path) -> None:
    rows = [text(seed, 3000) for seed in range(60)]
    files = {lang: str(write_rows(tmp_path / f"{lang}.jsonl", rows)) for lang in ("de", "sw")}
    lines: list[str] = []
    settings = text_of(files)
    gather(find_sources(settings), lines.append, settings, tmp_path / "corpus")
    assert len(lines) == 1 and "sw.jsonl: " in lines[0] and " read, " in lines[0]


def test_a_folder_without_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no text of a language") as error:
        check_text(one_file(tmp_path, ["a"], "wo", words=str(tmp_path / "none")))
    assert error.value.where == "text.clean.words"
