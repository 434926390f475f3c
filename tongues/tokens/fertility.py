"""How well a tokenizer fits each language, and whether more pieces are worth it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from tokenizers import Tokenizer, models

from tongues.text.signals.units import units
from tongues.tokens.extend import extend_tokenizer, shorten
from tongues.tokens.pieces import piece_bytes, token_bytes, unknown_id
from tongues.tokens.tokenizer import encode, vocabulary_size

__all__ = ["BYTEWISE", "ExtensionAdvice", "Fertility", "advise_extension", "measure"]
__all__ += ["unused_pieces"]

BYTEWISE = 1.25  # bytes per token, under which a language is spelt out and not read

_SIZES = (500, 1000, 2000, 4000, 8000, 16_000, 32_000)  # of extensions that are tried
_WORTH = 0.2  # of the tokens saved, to extend at all
_GROWTH = 0.05  # of the tokens saved, to double the new pieces
_UNSEEN = 5  # one in so many texts is kept from the trial
_LEAST_SHARED = 2  # groups, to compare what two languages cost
_TEXTS = 256  # encoded at a time

_Group = tuple[int, int]  # tokens and documents


@dataclass(frozen=True, slots=True, eq=False)
class Fertility:
    """What a tokenizer makes of a language's text.

    words: in scripts that write no spaces between them, characters.
    unknown: tokens that stand for text the vocabulary cannot spell.
    partial: tokens that are only a part of a character.
    multiplier: tokens for each that the reference language needs to say the same, where both
        have documents of the same groups.
    uses: how often each id occurs.
    prepared: bytes per token of all the text to train on, each document's end token included,
        where `tokens.json` knows it; else the ratio is that of this text.
    """

    bytes: int
    characters: int
    words: int
    tokens: int
    unknown: int
    partial: int
    multiplier: float | None
    uses: np.ndarray
    prepared: float | None = None

    @property
    def bytes_per_token(self) -> float:
        """Bytes of UTF-8 per token."""
        return self.bytes / max(self.tokens, 1) if self.prepared is None else self.prepared

    @property
    def tokens_per_word(self) -> float:
        """Tokens per word, which many call fertility."""
        return self.tokens / max(self.words, 1)

    @property
    def spelt_out(self) -> bool:
        """Whether the language is spelt nearly byte by byte."""
        return self.bytes / max(self.tokens, 1) < BYTEWISE


@dataclass(frozen=True, slots=True)
class ExtensionAdvice:
    """Whether to extend a tokenizer for a language.

    curve: bytes per token of unseen text, by the number of pieces added; it begins with none.
    pieces: the number that is worth it; 0 for leaving the tokenizer as it is.
    """

    curve: dict[int, float]
    pieces: int

    @property
    def saved(self) -> float:
        """Share of the tokens that these pieces save."""
        return 1 - self.curve[0] / self.curve[self.pieces]


def measure(
    tokenizer: Tokenizer, documents: Mapping[str, Sequence[tuple[str, str]]], reference: str = "en"
) -> dict[str, Fertility]:
    """Encode documents, each a group and a text, of each language, and count."""
    pieces = piece_bytes(tokenizer)
    partial = np.array([piece.decode(errors="ignore").encode() != piece for piece in pieces])
    unknown = unknown_id(tokenizer)
    uses: dict[str, np.ndarray] = {}
    by_group: dict[str, dict[str, _Group]] = {}
    for lang, some in documents.items():
        uses[lang], by_group[lang] = _count(tokenizer, some, len(pieces))

    def multiplier(groups: Mapping[str, _Group]) -> float | None:
        """The median over groups of equally many documents in both: others are not the same."""
        other = by_group.get(reference, {})
        shared = [(*groups[name], *other[name]) for name in groups.keys() & other.keys()]
        ratios = [size / of for size, count, of, number in shared if count == number and of]
        return median(ratios) if len(ratios) >= _LEAST_SHARED else None

    return {
        lang: Fertility(
            bytes=sum(len(text.encode()) for _, text in some),
            characters=sum(len(text) for _, text in some),
            words=len(units([text for _, text in some]).hashes),
            tokens=int(uses[lang].sum()),
            unknown=0 if unknown is None else int(uses[lang][unknown]),
            partial=int(uses[lang][partial].sum()),
            multiplier=multiplier(by_group[lang]),
            uses=uses[lang],
        )
        for lang, some in documents.items()
    }


def unused_pieces(tokenizer: Tokenizer, measured: Mapping[str, Fertility]) -> np.ndarray:
    """Ids of the pieces of two bytes or more that occur in none of the languages."""
    used = np.sum([fertility.uses for fertility in measured.values()], axis=0)
    return np.flatnonzero((used == 0) & (token_bytes(tokenizer) > 1))


def advise_extension(
    tokenizer: Tokenizer, texts: Sequence[str], keep: Sequence[str]
) -> ExtensionAdvice | None:
    """Try extensions of a tokenizer for a language; none where it cannot be extended.

    The pieces advised are the most whose last doubling still saves 5 % of the tokens, if they
    save at least 20 %. `keep` is text that must not change, as in `extend_tokenizer`.
    """
    if not texts or not isinstance(tokenizer.model, models.BPE):
        return None
    seen = [text for number, text in enumerate(texts) if number % _UNSEEN]
    unseen = texts[::_UNSEEN]
    size = sum(len(text.encode()) for text in unseen)
    most = extend_tokenizer(tokenizer, {"": seen}, keep, _SIZES[-1])
    curve = {0: size / max(_tokens(tokenizer, unseen), 1)}
    for count in _SIZES:
        if count <= len(most.added):
            shorter = shorten(most.tokenizer, vocabulary_size(tokenizer) + count)
            curve[count] = size / max(_tokens(shorter, unseen), 1)
    steps = pairwise(curve)
    worth = [more for less, more in steps if 1 - curve[less] / curve[more] >= _GROWTH]
    advice = ExtensionAdvice(curve, max(worth, default=0))
    return advice if advice.saved >= _WORTH else ExtensionAdvice(curve, 0)


def _count(
    tokenizer: Tokenizer, documents: Sequence[tuple[str, str]], size: int
) -> tuple[np.ndarray, dict[str, _Group]]:
    """How often each id occurs, and what each group has."""
    uses = np.zeros(size, dtype=np.int64)
    groups: defaultdict[str, _Group] = defaultdict(lambda: (0, 0))
    for start in range(0, len(documents), _TEXTS):
        some = documents[start : start + _TEXTS]
        texts = [text for _, text in some]
        ids, lengths = encode(tokenizer, texts, end_id=size, dtype=np.dtype(np.int64))
        uses += np.bincount(ids, minlength=size + 1)[:size]
        for (group, _), length in zip(some, lengths.tolist(), strict=True):
            tokens, count = groups[group]
            groups[group] = tokens + length - 1, count + 1
    return uses, groups


def _tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> int:
    documents = [("", text) for text in texts]
    return int(_count(tokenizer, documents, vocabulary_size(tokenizer))[0].sum())
