"""What is taken out of documents: passages in other languages, private data."""

import gzip
import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.text.corpora import quiet, read, text_of, write_rows
from tongues import recipe
from tongues.errors import UserError
from tongues.text import Document, check_text, find_sources
from tongues.text.rewriting import Removed, rewrite
from tongues.text.select import write_selection
from tongues.text.signals import load_identifier
from tongues.text.summary import read_summary

DATA = Path(__file__).parents[2] / "../shared/data/text"
real = pytest.mark.skipif(not DATA.is_dir(), reason="the shared real text is not on this machine")
EMAIL = "e-mail address"


def texts(source: str, lang: str, count: int) -> list[str]:
    with gzip.open(DATA / source / f"{lang}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in islice(lines, count)]


def clean(**settings: str) -> recipe.Clean:
    return text_of({"de": "x"}, dict(settings)).clean


def rewritten(lang: str, rows: list[str], **settings: str) -> tuple[list[str], dict[str, Removed]]:
    documents = [Document(f"{n}", lang, row, f"{n}", "") for n, row in enumerate(rows)]
    changed, removed = rewrite(documents, clean(**settings), load_identifier(None))
    assert [each.id for each in changed] == [each.id for each in documents]
    return [each.text for each in changed], removed


@real
@pytest.mark.parametrize("lang", ["sw", "tr", "he"])
def test_foreign_paragraphs_are_cut_out_and_nothing_else(lang: str) -> None:
    foreign = [each.replace("\n", " ")[:700] for each in texts("bible", "fr", 20)]
    own = texts("bible", lang, 20)
    halves = [(row[: row.find("\n", 200) + 1], row[row.find("\n", 200) + 1 :]) for row in own]
    planted = [f"{a}{other}\n{b}" for (a, b), other in zip(halves, foreign, strict=True)]
    assert rewritten(lang, own, passages="drop") == (own, {})
    changed, removed = rewritten(lang, planted, passages="drop")
    assert changed == own
    row = removed["foreign passages"]
    assert row["places"] == len(planted)
    assert row["bytes"] == sum(len(f"{each}\n".encode()) for each in foreign)
    assert row["samples"][0] in " ".join(planted[0].split())


@real
def test_a_document_that_is_all_foreign_is_left_to_its_filter() -> None:
    rows = texts("bible", "fr", 2)
    assert rewritten("tr", rows, passages="drop") == (rows, {})


@real
def test_little_clean_text_is_cut_out() -> None:
    for lang in ("sw", "vi", "pl", "he"):
        rows = texts("bible", lang, 30)
        _, removed = rewritten(lang, rows, passages="drop")
        lost = sum(each["bytes"] for each in removed.values())
        assert lost < 0.005 * sum(len(row.encode()) for row in rows)


def test_without_the_packages_private_data_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"de": str(write_rows(tmp_path / "a.jsonl", ["a"]))}
    monkeypatch.setattr("tongues.extras.find_spec", lambda name: None)
    with pytest.raises(UserError, match="is not installed") as error:
        check_text(text_of(files, {"private": "drop"}))
    assert error.value.where == "text.clean.private" and "tongues[private]" in error.value.hint


# Numbers with sound check digits that belong to nobody: those of manuals.
PRIVATE = [
    ("en", "write to jane.doe+news@example.co.uk.", "write to <e-mail address>.", EMAIL),
    ("ru", "почта: иван@пример.рф!", "почта: <e-mail address>!", EMAIL),
    ("en", "card 4111 1111 1111 1111, please", "card <card number>, please", "card number"),
    ("de", "IBAN DE89 3704 0044 0532 0130 00.", "IBAN <account number>.", "account number"),
    ("de", "Ruf: 030 / 901820", "Ruf: <phone number>", "phone number"),
    ("sw", "piga +255 22 211 8990 leo", "piga <phone number> leo", "phone number"),
    ("fr", "tél. 01 42 68 53 00", "tél. <phone number>", "phone number"),
    ("pl", "PESEL 44051401359", "PESEL <national number>", "national number"),
    ("es", "DNI 54362315K", "DNI <national number>", "national number"),
    ("tr", "no 17291716060.", "no <national number>.", "national number"),
]
PUBLIC = [
    "In 2024 there were 1,234,567 of them, 3.14159265 times more.",
    "From 1998-2004, on 2024-12-31 at 12:30:45, see 10.1000/182 and 192.168.100.254.",
    "ISBN 978-3-16-148410-0, card 4111 1111 1111 1112, version 10.15.7, 1000000 and 5551234567.",
    "UTF-8, @media (min-width: 600px), user@host, #1234567 and 0x7fffffff.",
    "Of 1000009 or 1-000-009 there is no person.",
    "The file has 536870912 bytes, the order is 123456782.",
]


@pytest.mark.parametrize(("lang", "text", "wanted", "kind"), PRIVATE)
def test_private_data_is_replaced_or_dropped(lang: str, text: str, wanted: str, kind: str) -> None:
    pytest.importorskip("phonenumbers", reason="tongues[private] is not installed")
    changed, removed = rewritten(lang, [text, "nothing"], private="replace")
    assert changed == [wanted, "nothing"]
    size = len(text.encode()) - len(wanted.replace(f"<{kind}>", "").encode())
    assert removed == {kind: {"places": 1, "bytes": size, "samples": []}}
    changed, again = rewritten(lang, [text], private="drop")
    assert changed == [wanted.replace(f"<{kind}>", "")] and again == removed


@pytest.mark.parametrize("lang", ["en", "de", "fr", "pl", "tr", "es", "he"])
def test_other_numbers_stay(lang: str) -> None:
    pytest.importorskip("phonenumbers", reason="tongues[private] is not installed")
    assert rewritten(lang, PUBLIC, private="replace") == (PUBLIC, {})


@pytest.mark.parametrize(
    ("lang", "number"),
    [
        ("de", "(030) 901820"),
        ("de", "0171 2345678"),
        ("fr", "01.42.68.53.00"),
        ("en", "(212) 736-5000"),
        ("en", "1-212-736-5000"),
        ("es", "91 412 34 56"),
        ("pt", "(11) 91234-5678"),
        ("zh", "010 6552 9988"),
        ("it", "06 6982 1234"),
        ("ru", "8 (495) 123-45-67"),
        ("ja", "03-3580-3311"),
        ("he", "02-670-5555"),
        ("es-AR", "011 4343-2000"),
        ("de", "030 901820 / 030 901821"),
    ],
)
def test_numbers_in_a_country_s_groups_are_found_before_the_slow_parser(
    lang: str, number: str
) -> None:
    pytest.importorskip("phonenumbers", reason="tongues[private] is not installed")
    assert rewritten(lang, [f"a {number}; b"], private="replace")[0] == ["a <phone number>; b"]


def test_few_numbers_of_a_table_reach_the_slow_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: all did, and a megabyte of them took up to 20 s."""
    phonenumbers = pytest.importorskip("phonenumbers", reason="tongues[private] is not installed")
    parsed: list[str] = []
    parser = phonenumbers.PhoneNumberMatcher
    monkeypatch.setattr(
        phonenumbers,
        "PhoneNumberMatcher",
        lambda text, *more: parsed.append(text) or parser(text, *more),
    )
    rng = np.random.default_rng(1)
    cells = [f"{x:.2f}\t{round(1e6 * x):,}".replace(",", " ") for x in 1e4 * rng.random(500)]
    for lang in ("de", "fr", "en", "ja"):
        rewritten(lang, ["\n".join(cells)], private="replace")
        assert len(parsed) < 100, lang  # of 1,000
        parsed.clear()


def test_a_language_of_no_known_country_has_no_country_s_numbers() -> None:
    pytest.importorskip("phonenumbers", reason="tongues[private] is not installed")
    for lang in ("qaa", "und", "tok"):
        assert rewritten(lang, ["Call (212) 555-0123, 078-05-1121."], private="replace")[1] == {}


@real
def test_what_is_taken_out_is_counted_in_the_corpus(tmp_path: Path) -> None:
    own, foreign = texts("bible", "sw", 12), texts("bible", "fr", 1)[0].replace("\n", " ")[:600]
    rows = [f"{row}\n{foreign}\n" if number < 5 else row for number, row in enumerate(own)]
    files = {"sw": str(write_rows(tmp_path / "sw.jsonl", rows))}
    settings = text_of(files, {"passages": "drop"})
    assert recipe.Text.model_validate(settings.model_dump(mode="json")) == settings
    corpus = read(settings, tmp_path / "corpus")
    sources, lines = find_sources(settings), list[str]()
    write_selection(settings, corpus, sources, lines.append)
    size = 5 * len(f"{foreign}\n".encode())
    assert (
        read_summary(corpus.path)["languages"]["sw"]["removed"]["foreign passages"]["bytes"] == size
    )
    assert any("taken out of documents: foreign passages 5" in line for line in lines)
    (part,) = corpus.parts
    kept = [row + "\n" * (number < 5) for number, row in enumerate(own)]
    assert sorted(corpus.texts(part, np.arange(part.count))) == sorted(kept)
    before = recipe.Text.model_validate({**settings.model_dump(mode="json"), "clean": {}})
    write_selection(before, read(before, tmp_path / "corpus"), sources, quiet)  # read again
    assert not read_summary(corpus.path)["languages"]["sw"]["removed"]
    check_text(settings)
