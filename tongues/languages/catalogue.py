"""The catalogue: what public tables have on every language, in the package, read in a moment.

`catalogue.tsv.gz` is built by benchmarks/catalogue.py; `texts.csv` has corpora that came later.
`sources.csv` names the source, version and licence of every field.
"""

import csv
import gzip
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from tongues.core.errors import UserError, nearest
from tongues.languages.language import AvailableText, Language

_COLUMNS = ("tag", "code", "other_codes", "script", "name", "names", "family", "macroarea")
_COLUMNS += ("latitude", "longitude", "countries", "speakers", "byte_premium", "texts")
_COLUMNS += ("identified_by", "tasks")
_WORDS = ("tag", "code", "script", "name", "macroarea")
_LISTS = {"other_codes": " ", "names": "|", "family": "/", "countries": " "}
_LISTS |= {"identified_by": " ", "tasks": " "}
_CODE, _OTHERS, _SCRIPT, _NAME, _TEXTS = 1, 2, 3, 4, 13  # places of columns
# Scripts that the catalogue does not tell apart from another.
_VARIANTS = {"Hans": "Hani", "Hant": "Hani", "Kore": "Hang", "Aran": "Arab"}


def languages(code: str = "", min_text: float = 0) -> tuple[Language, ...]:
    """Every language of the catalogue in each of its scripts, by code.

    code: of one language. min_text: bytes of FineWeb-2's text at least.
    """
    return tuple(
        _language(tag)
        for tag, row in _rows().items()
        if code in ("", row[_CODE]) and (not min_text or _first_bytes(row) >= min_text)
    )


def find_language(text: str, where: str = "") -> Language:
    """By tag, code or name: `sw`, `swh_Latn`, `swa` and `Swahili` are one.

    A UserError if there is none, or if the text means several: `Mon` is a language of Myanmar, and
    `mon` is Mongolian.

    Of a language of several scripts, the usual one is taken where the text names none. Of one in a
    script that the tables do not have it in, only what does not depend on the script is known.
    where: what the error names, such as `--language`.
    """
    if not text.strip():
        raise UserError("names no language", where=where, hint="such as `sw` or `Swahili`")
    found = _find(text)
    if not found:
        rows, wanted = _rows().values(), text.strip()
        names = [name for row in rows for name in (row[_NAME], *_many(row[_NAME + 1], "|"))]
        holding = [name for name in names if wanted.casefold() in name.casefold().split()]
        hint = f"did you mean `{holding[0]}`?" if holding else ""
        if len(wanted) > 3 and not holding:  # any three letters are near some code
            hint = nearest(wanted, names)
        if not hint.startswith("did"):
            hint = "write a tag or name, such as `sw` or `Swahili`; `tongues languages` lists them"
        raise UserError(f"the catalogue has no language `{text}`", where=where, hint=hint)
    if len(found) > 1:
        meanings = ", ".join(f"`{one.tag}` ({one.name})" for one in found)
        what, hint = f"`{text}` may be several languages", f"write one of {meanings}"
        raise UserError(what, where=where, hint=hint, code="ambiguous_language")
    return found[0]


def language_name(tag: str) -> str:
    """The English name; the tag itself where the catalogue does not have it."""
    found = _find(tag)
    return found[0].name if len(found) == 1 else tag


def expected_scripts(text: str) -> frozenset[str]:
    """Scripts (ISO 15924) that text in a language may be in; none where it is not known.

    The script that a tag names, else all in which a corpus has text of the language.
    """
    found = _find(text)
    if len(found) != 1:
        return frozenset()
    language = found[0]
    every = [other for other in languages(language.code) if other.texts]
    named = language.script.casefold() in _key(text).split("-")
    return frozenset({language.script, *(() if named else (other.script for other in every))})


def catalogue_tag(language: str) -> str:
    """The catalogue's tag of one as others write it; of traditional Chinese, with its script."""
    from langcodes import standardize_tag, tag_is_valid  # 60 ms

    known = tag_is_valid(language)
    standard = standardize_tag(language, macro=True) if known else language
    try:
        return standard if standard == "zh-Hant" else find_language(standard).tag
    except UserError:
        return standard


def field_sources() -> list[dict[str, str]]:
    """Where each field comes from: field, source, version, licence and reference."""
    return packaged_rows("sources.csv")


@cache
def packaged_rows(name: str) -> list[dict[str, str]]:
    """Cells of a CSV file of this package, by column."""
    with (files("tongues.languages") / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def unpack(name: str) -> list[list[str]]:
    """Cells of a packed table of this package by rows, the head first."""
    packed = (files("tongues.languages") / name).read_bytes()
    return [line.split("\t") for line in gzip.decompress(packed).decode().split("\n")]


def _find(text: str) -> list[Language]:
    """All that a tag, code or name may mean; a capital letter as in a name may make it one."""
    if text in _rows():
        return [_language(text)]  # without the index, which takes a moment
    written, key = text.strip(), _key(text)
    places = _names().get(key, [])
    if code := _codes().get(key):
        named = [of for of in places if written == _rows()[of][_NAME]]
        places = [code, *(of for of in named if _rows()[of][_CODE] != _rows()[code][_CODE])]
    one = None if places else _by_standard(text)
    return [one] if one else [_language(of) for of in places]


def _by_standard(text: str) -> Language | None:
    """The language of a tag that langcodes understands, such as `zh-Hant-TW`, `iw` or `az-Arab`."""
    import langcodes  # 60 ms

    try:
        tag = langcodes.get(text.strip())
    except ValueError:
        return None
    base = _codes().get(tag.language or "")
    base = base or _codes().get(tag.prefer_macrolanguage().language or "")
    if not base:
        return None
    usual, script = _language(base), _VARIANTS.get(tag.script or "", tag.script)
    if not script:
        return usual
    if place := _codes().get(f"{usual.code}-{script.casefold()}"):
        return _language(place)
    if not langcodes.tag_is_valid(f"und-{script}"):
        return None
    other = replace(usual, tag=f"{usual.tag}-{script}", script=script, speakers=None)
    return replace(other, byte_premium=None, texts=(), identified_by=(), tasks=())


def _key(text: str) -> str:
    return "-".join(text.replace("_", " ").replace("-", " ").split()).casefold()


@cache
def _rows() -> dict[str, list[str]]:
    """Cells of each row by tag."""
    columns, *rows = unpack("catalogue.tsv.gz")
    if columns != [*_COLUMNS]:
        raise ValueError("catalogue.tsv.gz has other columns; build it by benchmarks/catalogue.py")
    return {row[0]: row for row in rows}


@cache
def _codes() -> dict[str, str]:
    """Tags by tag and code, with a script or without."""
    rows = _rows()
    index = {tag.casefold(): tag for tag in rows}
    for place in (_CODE, _OTHERS):
        for tag, row in rows.items():
            script = row[_SCRIPT].casefold()
            for code in row[place].split():
                index.setdefault(code, tag)  # the usual script is first
                index.setdefault(f"{code}-{script}", tag)
    return index


@cache
def _names() -> dict[str, list[str]]:
    """Tags by name: of what is called so first of all, else of what has it as another name."""
    main: dict[str, dict[str, str]] = {}
    others: dict[str, dict[str, str]] = {}
    for tag, row in _rows().items():
        main.setdefault(_key(row[_NAME]), {}).setdefault(row[_CODE], tag)  # the usual script
        for name in _many(row[_NAME + 1], "|"):
            others.setdefault(_key(name), {}).setdefault(row[_CODE], tag)
    return {name: list(by_code.values()) for name, by_code in (others | main).items()}


@cache
def _language(tag: str) -> Language:
    cells: dict[str, str] = dict(zip(_COLUMNS, _rows()[tag], strict=True))
    values: dict[str, Any] = {name: cells[name] for name in _WORDS}
    values |= {name: _many(cells[name], by) for name, by in _LISTS.items()}
    return Language(
        **values,
        speakers=_count(cells["speakers"]),
        byte_premium=_number(cells["byte_premium"]),
        texts=_texts(tag, cells["texts"]),
    )


def _first_bytes(row: list[str]) -> int:
    text = row[_TEXTS]
    return int(text.split(":", 2)[1]) if text else 0


def _texts(tag: str, cell: str) -> tuple[AvailableText, ...]:
    """The corpora of a cell and those of `texts.csv`, the largest first, what was removed last."""
    texts = _more_texts().get(tag, [])
    for text in _many(cell, "|"):
        source, size, words, documents, bible, wikipedia = text.split(":")
        shares = (_number(bible), _number(wikipedia))
        counts = (_count(words), _count(documents))
        texts = [*texts, AvailableText(source, int(size), *counts, *shares)]
    return tuple(sorted(texts, key=lambda of: (of.source.endswith("removed"), -of.bytes)))


@cache
def _more_texts() -> dict[str, list[AvailableText]]:
    """Corpora by tag, where only bytes and documents are known."""
    texts: dict[str, list[AvailableText]] = {}
    for row in packaged_rows("texts.csv"):
        size, documents = int(row["bytes"]), int(row["documents"])
        text = AvailableText(row["source"], size, documents=documents)
        texts.setdefault(row["language"], []).append(text)
    return texts


def _many(cell: str, by: str) -> tuple[str, ...]:
    return tuple(cell.split(by)) if cell else ()


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _count(cell: str) -> int | None:
    return int(cell) if cell else None
