"""The catalogue: what public tables have on every language, in the package, read in a moment.

`catalogue.tsv.gz` is built by benchmarks/catalogue.py; `sources.csv` names the source, version and
licence of every field.
"""

import gzip
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from tongues.errors import UserError, nearest
from tongues.languages.language import AvailableText, Language

__all__ = ["find_language", "languages"]


def languages() -> tuple[Language, ...]:
    """Every language of the catalogue in each of its scripts, by code."""
    return tuple(_language(tag) for tag in _rows())


def find_language(text: str) -> Language:
    """By tag, code or name: `sw`, `swh_Latn`, `swa` and `Swahili` are one; a UserError if none.

    Of a language of several scripts, the usual one is taken where the text names none.
    """
    place = _index().get(_key(text)) or _by_standard(text)
    if place is None:
        rows, wanted = _rows().values(), text.strip()
        names = [name for row in rows for name in (row["name"], *row["names"].split("|")) if name]
        holding = [name for name in names if wanted.casefold() in name.casefold().split()]
        known = names if len(wanted) > 3 else [row["code"] for row in rows]
        hint = f"did you mean `{holding[0]}`?" if holding else nearest(wanted, known)
        raise UserError(f"the catalogue has no language `{text}`", hint=hint)
    return _language(place)


def _by_standard(text: str) -> str | None:
    """The place of a tag that langcodes understands, such as `zh-Hant-TW` or `iw`."""
    from langcodes import Language as Standard  # 60 ms

    try:
        tag = Standard.get(text.strip())
    except ValueError:
        return None
    script = {"Hans": "Hani", "Hant": "Hani", "Kore": "Hang"}.get(tag.script or "", tag.script)
    base = _index().get(tag.language or "")
    base = base or _index().get(tag.prefer_macrolanguage().language or "")
    if base and script:
        return _index().get(_key(f"{_rows()[base]['code']}_{script}"))
    return base


def _key(text: str) -> str:
    return "-".join(text.replace("_", " ").replace("-", " ").split()).casefold()


@cache
def _rows() -> dict[str, Mapping[str, str]]:
    """Rows of the table by tag."""
    packed = (files("tongues.languages") / "catalogue.tsv.gz").read_bytes()
    head, *lines = gzip.decompress(packed).decode().splitlines()
    columns = head.split("\t")
    rows = (dict(zip(columns, line.split("\t"), strict=True)) for line in lines)
    return {row["tag"]: row for row in rows}


@cache
def _index() -> dict[str, str]:
    """Tags by all that people may write: what is more exact takes a word first."""
    rows = _rows()
    index = {_key(tag): tag for tag in rows}
    for of in ("code", "same", "name", "names"):
        for tag, row in rows.items():
            for word in row[of].split("|"):
                if word and (of not in ("code", "same") or "-" not in tag):
                    index.setdefault(_key(word), tag)
                if word and of in ("code", "same"):
                    index.setdefault(_key(f"{word}_{row['script']}"), tag)
    return index


@cache
def _language(tag: str) -> Language:
    row = _rows()[tag]
    return Language(
        tag=tag,
        code=row["code"],
        script=row["script"],
        name=row["name"],
        names=_many(row["names"], "|"),
        family=_many(row["family"], "/"),
        macroarea=row["macroarea"],
        latitude=_number(row["latitude"]),
        longitude=_number(row["longitude"]),
        countries=_many(row["countries"], " "),
        speakers=_count(row["speakers"]),
        byte_premium=_number(row["byte_premium"]),
        texts=tuple(_text(text) for text in _many(row["texts"], "|")),
        identified_by=_many(row["identified_by"], " "),
        tasks=_many(row["tasks"], " "),
    )


def _text(cells: str) -> AvailableText:
    source, size, words, documents, bible, wikipedia = cells.split(":")
    shares = (_number(bible), _number(wikipedia))
    return AvailableText(source, int(size), _count(words), _count(documents), *shares)


def _many(cell: str, by: str) -> tuple[str, ...]:
    return tuple(cell.split(by)) if cell else ()


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _count(cell: str) -> int | None:
    return int(cell) if cell else None
