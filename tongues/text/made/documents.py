"""The documents of a made world, in any of its languages."""

from collections.abc import Iterator, Sequence
from itertools import count

from tongues.errors import UserError
from tongues.text.document import Document
from tongues.text.made.language import Language
from tongues.text.made.meaning import DOCUMENTS_PER_BLOCK, make_block

__all__ = ["documents", "parallel"]


def documents(language: Language, start: int = 0, stop: int | None = None) -> Iterator[Document]:
    """Stream documents `start` to `stop` of the language's world; endless without `stop`.

    Document i has the same content, and the same group, in every language of a world.
    """
    for (document,) in parallel([language], start, stop):
        yield document


def parallel(
    languages: Sequence[Language], start: int = 0, stop: int | None = None
) -> Iterator[tuple[Document, ...]]:
    """Stream the same documents in several languages of one world, side by side."""
    if start < 0:
        raise UserError(f"documents are numbered from 0, not from {start}")
    worlds = {language.world.seed for language in languages}
    if len(worlds) != 1:
        raise UserError("parallel documents need languages of one world")
    world = languages[0].world
    for number in count(start // DOCUMENTS_PER_BLOCK):
        offset = number * DOCUMENTS_PER_BLOCK
        begin = max(start - offset, 0)
        end = DOCUMENTS_PER_BLOCK if stop is None else min(stop - offset, DOCUMENTS_PER_BLOCK)
        if begin >= end:
            return
        block = make_block(world, number)
        groups = [f"made:{world.seed}:{offset + i}" for i in range(begin, end)]
        columns = [
            [
                Document(f"{group}:{language.tag}", language.tag, text, group, "made")
                for group, text in zip(groups, language.say(block, begin, end), strict=True)
            ]
            for language in languages
        ]
        yield from zip(*columns, strict=True)
