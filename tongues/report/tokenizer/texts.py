"""Text to try tokenizers on: some of every language, of the groups that languages share."""

from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.recipe import Recipe, load_recipe
from tongues.text import Document, Piece, find_pieces, open_piece
from tongues.text.corpus import Corpus, Part, column, read_columns, reopen_corpus
from tongues.text.document import normalised

__all__ = ["Documents", "documents_on"]

Documents = dict[str, list[tuple[str, str]]]  # group and text, by language

_SEARCHED = 50  # times as much text is looked through for groups that languages share


def documents_on(place: Path, size: int) -> Documents:
    """About `size` bytes of each language of a recipe, or of what is kept of a corpus."""
    if (place / "corpus.json").is_file():
        return _of_corpus(place, size)
    if place.is_dir():
        hint = "name a recipe, or a folder in corpus/ that `tongues prepare` made"
        raise UserError("is neither a recipe nor a corpus", where=str(place), hint=hint)
    return _of_recipe(load_recipe(place), size)


def _of_corpus(path: Path, size: int) -> Documents:
    """The kept documents whose groups have the least hashes, so the same in every language."""
    corpus = reopen_corpus(path)
    reasons = column(read_columns(path / "selected.parquet", ["reason"]), "reason")
    found: Documents = {}
    for lang in corpus.languages:
        numbers, groups, sizes = _searched(corpus, lang, reasons, _SEARCHED * size)
        order = np.lexsort((numbers, groups))
        enough = int(np.searchsorted(np.cumsum(sizes[order]), size)) + 1
        chosen = order[:enough]
        if enough < len(
            order
        ):  # a group that the sample cuts is left out, if it is not all there is
            whole = chosen[groups[chosen] != groups[order[enough]]]
            chosen = whole if len(whole) else chosen
        texts = corpus.chosen_texts(numbers[chosen])
        found[lang] = list(zip(map(str, groups[chosen].tolist()), texts, strict=True))
    return found


def _searched(
    corpus: Corpus, lang: str, reasons: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number, hash of the group and bytes of kept documents, from every source in turn."""
    columns = [(np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.int64))]
    seen = 0
    for part in _in_turn([part for part in corpus.parts if part.lang == lang]):
        kept = np.flatnonzero(reasons[part.first : part.first + part.count] == 0)
        table = read_columns(part.path, ["group_hash", "bytes"])
        sizes = column(table, "bytes")[kept].astype(np.int64)
        columns.append((kept + part.first, column(table, "group_hash")[kept], sizes))
        seen += int(sizes.sum())
        if seen >= most:
            break
    numbers, groups, sizes = (np.concatenate(each) for each in zip(*columns, strict=True))
    return numbers, groups, sizes


def _in_turn(parts: list[Part]) -> Iterator[Part]:
    """The first part of every piece, then the second ones, and so on."""
    by_piece: dict[str, list[Part]] = {}
    for part in parts:
        by_piece.setdefault(part.piece, []).append(part)
    yield from filter(None, chain.from_iterable(zip_longest(*by_piece.values())))


def _of_recipe(recipe: Recipe, size: int) -> Documents:
    """The beginning of every source, as it is read."""
    pieces = find_pieces(recipe.text)
    found: Documents = {}
    for lang in recipe.text.languages:
        own = [piece for piece in pieces if piece.lang == lang]
        found[lang] = [one for piece in own for one in _beginning(piece, size // len(own))]
    return found


def _beginning(piece: Piece, size: int) -> Iterator[tuple[str, str]]:
    for item, _ in open_piece(piece):
        if isinstance(item, Document):
            text = normalised(item.text)
            yield item.group, text
            size -= len(text.encode())
            if size <= 0:
                return
