"""Partitions by language that need no distances: one each, all in one, and as a file says."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tongues.errors import UserError, nearest
from tongues.experts.partition.partition import Partition, of_languages

__all__ = ["by_language", "dense", "from_file"]


def by_language(languages: Sequence[str]) -> Partition:
    """A part for every language: monolingual experts."""
    return of_languages("languages", [(lang,) for lang in languages])


def dense(languages: Sequence[str]) -> Partition:
    """All languages in one part: the dense model that experts are compared with."""
    return of_languages("dense", [tuple(languages)])


def from_file(path: Path, languages: Sequence[str]) -> Partition:
    """The parts that a JSON or YAML file lists: `[[en, es], [de, el]]`, or by name in a mapping.

    Every one of the languages must stand in exactly one part, and no other.
    """
    where = str(path)
    clusters = _read(path)
    places: dict[str, int] = {}
    for i, cluster in enumerate(clusters):
        if not cluster:
            raise UserError(f"part {i + 1} is empty", where=where)
        for lang in cluster:
            if lang in places:
                what = f"`{lang}` stands twice, in parts {places[lang] + 1} and {i + 1}"
                raise UserError(what, where=where, hint="leave it in one")
            if lang not in languages:
                hint = nearest(lang, languages)
                raise UserError(f"there is no language `{lang}`", where=where, hint=hint)
            places[lang] = i
    for lang in languages:
        if lang not in places:
            raise UserError(f"`{lang}` stands in no part", where=where, hint="add it to one")
    return of_languages("file", clusters)


def _read(path: Path) -> list[list[str]]:
    try:
        text = path.read_text(encoding="utf-8")
        as_json = path.suffix.lower() == ".json"
        data: Any = json.loads(text) if as_json else YAML(typ="safe", pure=True).load(text)
    except (OSError, ValueError, YAMLError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"cannot be read ({reason})", where=str(path)) from None
    parts = list(data.values()) if isinstance(data, dict) else data
    rows = parts if isinstance(parts, list) else []
    if not rows or not all(
        isinstance(row, list) and all(isinstance(lang, str) for lang in row) for row in rows
    ):
        hint = "write `[[en, es], [de, el]]`, or a mapping from names to such lists"
        raise UserError("is no list of parts", where=str(path), hint=hint)
    return rows
