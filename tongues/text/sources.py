"""The text of a language, wherever the recipe takes it from."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from langcodes import tag_is_valid

from tongues import recipe
from tongues.errors import UserError
from tongues.text.document import Document
from tongues.text.files import find_files, read_files
from tongues.text.made import (
    Drift,
    Language,
    World,
    documents,
    make_family,
    shared_order,
    shared_words,
)

__all__ = ["check_text", "describe_made", "open_text", "text_files"]

_APART = 10**9  # documents between the first ones of two made languages


def open_text(settings: recipe.Text, lang: str) -> Iterator[Document]:
    """Stream the documents of one language of the recipe, the same at every call.

    A made language is generated up to `settings.made.size` bytes of UTF-8, at least one
    document; each language tells other documents of the world.
    """
    if settings.made and lang in settings.made.languages:
        return _generate(settings.made, lang)
    return read_files(find_files(settings.files[lang], f"text.files.{lang}"), lang)


def text_files(settings: recipe.Text) -> dict[str, list[Path]]:
    """The files each language's text is read from, in reading order; made ones have none."""
    return {lang: find_files(files, f"text.files.{lang}") for lang, files in settings.files.items()}


def check_text(settings: recipe.Text) -> None:
    """Raise the UserErrors that can be found without reading the text.

    Unknown tags and mothers, missing or empty files, patterns that match nothing.
    """
    for lang in settings.files:
        if not tag_is_valid(lang):
            hint = "use a BCP-47 tag, such as `de`, `no`, `pt-BR` or `zh-Hant`"
            raise UserError(f"`{lang}` is no language tag", where=f"text.files.{lang}", hint=hint)
    text_files(settings)
    if settings.made:
        try:
            _family(settings.made)
        except UserError as error:
            where = f"text.made.languages.{error.where}".rstrip(".")
            raise UserError(error.what, where=where, hint=error.hint) from None


def describe_made(settings: recipe.Made) -> list[str]:
    """A sentence for each daughter language: how near it is to its mother."""
    family = _family(settings)
    said: list[str] = []
    for tag, drift in settings.languages.items():
        if drift.mother:
            mother, daughter = family[drift.mother], family[tag]
            said.append(
                f"`{tag}` drifted from `{drift.mother}` by {drift.distance:g}: it shares "
                f"{shared_words(mother, daughter):.0%} of the running words and "
                f"{shared_order(mother, daughter):.0%} of the choices of word order."
            )
    return said


def _generate(settings: recipe.Made, lang: str) -> Iterator[Document]:
    left = settings.size
    first = int(lang[1:], base=36) * _APART
    for number, document in enumerate(documents(_family(settings)[lang], start=first)):
        left -= len(document.text.encode())
        if left < 0 and number > 0:
            return
        yield document


def _family(settings: recipe.Made) -> dict[str, Language]:
    drifts = tuple((tag, d.mother, d.distance) for tag, d in settings.languages.items())
    return _cached_family(settings.seed, drifts)


@lru_cache(maxsize=4)
def _cached_family(
    seed: int, drifts: tuple[tuple[str, str | None, float], ...]
) -> dict[str, Language]:
    family = {tag: Drift(mother, distance) for tag, mother, distance in drifts}
    return make_family(World.of(seed), family, seed)
