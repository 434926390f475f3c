"""A tokenizer with more pieces for some languages, which reads the others as before.

It continues the tokenizer's own byte-pair encoding on target text. All of its own merges come
first, so a text changes only if a new merge finds its two pieces side by side in what they
leave. A pair that is ever side by side in the text to keep is therefore never merged, and that
text keeps every id. A word that the text to keep has not can also become a piece as a whole, past
all merges, where that saves more: so it costs one piece and meets no pair that is kept apart.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from tokenizers import Regex, Tokenizer, pre_tokenizers

from tongues.errors import UserError
from tongues.tokens.merges import Pair, Segmentation
from tongues.tokens.pieces import byte_pieces, is_bytewise, token_bytes, unknown_id
from tongues.tokens.tokenizer import vocabulary_size

__all__ = ["Extended", "changed_share", "extend_tokenizer", "shorten"]

# SentencePiece merges letters, or other signs, with the spaces before them, but no digits.
_RUNS = r"▁*[\p{L}\p{M}]+|▁*\p{N}|▁*[^▁\p{L}\p{M}\p{N}]+|▁+"
_LONGEST = 200  # letters of a word that are looked at together
_COVERED = 0.9995  # of all characters; the rarer ones stay spelt in bytes
_LEAST = 2  # times that a pair stands side by side, to be worth a piece
_PRECISION = 1000  # of the weights that make languages equal
_TEXTS = 256  # encoded at a time


@dataclass(frozen=True, slots=True)
class Extended:
    """A tokenizer with new pieces, whose ids follow those of its base.

    added: the new pieces as the vocabulary writes them, by id.
    parts: the base's ids that each new piece was made of; they spell the same bytes.
    """

    tokenizer: Tokenizer
    added: list[str]
    parts: list[list[int]]


def extend_tokenizer(
    base: Tokenizer, target: Mapping[str, Sequence[str]], keep: Sequence[str], pieces: int
) -> Extended:
    """Add up to `pieces` pieces for the target languages, each of which weighs the same.

    Every text of `keep` is encoded to the same ids as before. Only byte-pair encoding can be
    continued; another kind of tokenizer is a UserError.
    """
    growing = _Growing(base)
    counted = [_words(base, texts) for texts in target.values()]
    sizes = [sum(len(word) * count for word, count in some.items()) for some in counted]
    words: Counter[str] = Counter()
    for some, size in zip(counted, sizes, strict=True):
        scale = round(_PRECISION * max(sizes) / max(size, 1))
        words.update({word: scale * count for word, count in some.items()})
    if not is_bytewise(base):
        for letter in _letters(words, besides=_words(base, keep))[:pieces]:
            growing.add_letter(letter)

    model = growing.tokenizer().model
    segments = [[token.id for token in model.tokenize(word)] for word in words]
    segmentation = Segmentation(segments, list(words.values()), growing.merges())
    numbers = {word: number for number, word in enumerate(words)} if growing.whole_words else {}
    spelt = list(numbers)
    kept_words = set(_words(base, keep)) if growing.whole_words else set()
    kept_pairs = _side_by_side(base, keep)
    short = (word for word in spelt if len(word) < _LONGEST)  # longer ones are cut
    segmentation.offer(numbers[word] for word in short if word not in kept_words)
    least = _LEAST * min(words.values(), default=1)
    while len(growing.added) < pieces:
        heaviest = segmentation.heaviest()
        if heaviest is None or heaviest[1] < least:
            break
        pair, weight = heaviest
        piece = growing.joined(pair)
        if piece is None or pair in kept_pairs or piece in kept_words:
            segmentation.pass_over()
            continue
        whole = segmentation.heaviest_word()
        if whole is not None and whole[1] > weight:
            number = whole[0]
            made = growing.add_word(spelt[number], segmentation.words[number])
            segmentation.make_whole(number, made)
            continue
        segmentation.merge(pair, growing.merge(pair))
        if piece in numbers:
            segmentation.make_whole(numbers[piece], growing.ids[piece])
    return Extended(growing.tokenizer(), growing.added, growing.parts)


def shorten(tokenizer: Tokenizer, size: int) -> Tokenizer:
    """An extended tokenizer with its ids below `size` only, as if it had been extended less."""
    layout = json.loads(tokenizer.to_str())
    model = layout["model"]
    left_out = {piece for piece, number in model["vocab"].items() if number >= size}
    model["vocab"] = {piece: model["vocab"][piece] for piece in model["vocab"].keys() - left_out}
    merges = takewhile(lambda merge: merge[0] + merge[1] not in left_out, model["merges"])
    model["merges"] = list(merges)
    return _opened(layout)


def changed_share(before: Tokenizer, after: Tokenizer, texts: Sequence[str]) -> float:
    """Share of the tokens of texts by one tokenizer that are others by its extension."""
    changed = total = 0
    for old, new in zip(_placed(before, texts), _placed(after, texts), strict=True):
        changed += len(old) - int(np.isin(old, new).sum())
        total += len(old)
    return changed / max(total, 1)


def _opened(layout: dict[str, Any]) -> Tokenizer:
    tokenizer = Tokenizer.from_str(json.dumps(layout))
    tokenizer.encode_special_tokens = True
    return tokenizer


class _Growing:
    """The vocabulary and merges of a tokenizer, being added to."""

    def __init__(self, base: Tokenizer) -> None:
        self._layout = json.loads(base.to_str())
        model = self._layout["model"]
        joined = model["type"] == "BPE" and not model["continuing_subword_prefix"]
        if not joined or model["end_of_word_suffix"]:
            reason = f"a tokenizer of kind {model['type']} cannot be extended as this one is"
            hint = "only byte-pair encoding can be continued; take another base, or train anew"
            raise UserError(reason, where="tokens.extend", hint=hint)
        self.ids: dict[str, int] = model["vocab"]
        special = base.get_added_tokens_decoder()
        # Whether a word that is a piece is taken whole, so that it needs no merges. It may be, with
        # no change to the base, where the merges lead to every piece. Without a pre-tokenizer there
        # are no words.
        self.whole_words = bool(model["ignore_merges"])
        if not self.whole_words and is_bytewise(base) and base.pre_tokenizer is not None:
            others = self.ids.keys() - {token.content for token in special.values()}
            self.whole_words = all(len(base.model.tokenize(piece)) == 1 for piece in others)
        model["ignore_merges"] = self.whole_words
        self.added: list[str] = []
        self.parts: list[list[int]] = []
        self._merges: list[list[str]] = model["merges"]
        self._first = vocabulary_size(base)
        self._bytes = byte_pieces(base)
        self._unknown = unknown_id(base)
        # Without their place in the vocabulary these would move behind the new pieces.
        self.ids |= {token.content: number for number, token in special.items()}
        self._reserved = {*special, *self._bytes.values(), self._unknown}
        self._spelt = {number: piece for piece, number in self.ids.items()}

    def merges(self) -> dict[Pair, int]:
        """The piece that each pair becomes, in order."""
        ids = self.ids
        return {(ids[left], ids[right]): ids[left + right] for left, right in self._merges}

    def joined(self, pair: Pair) -> str | None:
        """The piece that a pair would become; none when one of the three has another meaning."""
        piece = self._spelt[pair[0]] + self._spelt[pair[1]]
        return None if self._reserved & {*pair, self.ids.get(piece, -1)} else piece

    def merge(self, pair: Pair) -> int:
        """Add a merge, and its piece if it is new; the id of the piece."""
        left, right = (self._spelt[number] for number in pair)
        self._merges.append([left, right])
        if left + right not in self.ids:
            self._add(left + right, [*self._parts_of(pair[0]), *self._parts_of(pair[1])])
        return self.ids[left + right]

    def add_word(self, word: str, segments: Sequence[int]) -> int:
        """Add a word that no merges lead to; its id. `segments` are the pieces it was in."""
        self._add(word, [part for number in segments for part in self._parts_of(number)])
        return self.ids[word]

    def add_letter(self, letter: str) -> None:
        """Add a letter that was spelt in bytes, or unknown."""
        spelt = [self._bytes.get(byte, self._unknown) for byte in letter.encode()]
        if letter not in self.ids:
            self._add(letter, [number for number in spelt if number is not None])

    def tokenizer(self) -> Tokenizer:
        """The tokenizer with what was added so far."""
        return _opened(self._layout)

    def _add(self, piece: str, parts: list[int]) -> None:
        number = self._first + len(self.added)
        self.added.append(piece)
        self.parts.append(parts)
        self.ids[piece] = number
        self._spelt[number] = piece

    def _parts_of(self, number: int) -> list[int]:
        return [number] if number < self._first else self.parts[number - self._first]


def _words(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """How often each word stands in texts, written as the vocabulary writes it."""
    runs = pre_tokenizers.Split(Regex(_RUNS), behavior="isolated")
    steps = [tokenizer.pre_tokenizer, None if is_bytewise(tokenizer) else runs]
    split = pre_tokenizers.Sequence([step for step in steps if step is not None])
    words: Counter[str] = Counter()
    for text in texts:
        clean = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text
        words.update(word for word, _ in split.pre_tokenize_str(clean))
    for word in [word for word in words if len(word) > _LONGEST]:
        count = words.pop(word)
        for start in range(0, len(word), _LONGEST):
            words[word[start : start + _LONGEST]] += count
    return words


def _letters(words: Counter[str], besides: Iterable[str]) -> list[str]:
    """The characters that words are written in, but for the rarest, the commonest first."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for letter in word:
            counts[letter] += count
    common = sorted(counts, key=lambda letter: (-counts[letter], letter))
    up_to = np.cumsum([counts[letter] for letter in common])
    common = common[: int(np.searchsorted(up_to, _COVERED * up_to[-1])) + 1] if common else []
    known = set().union(*besides)
    return [letter for letter in common if letter not in known and letter.isprintable()]


def _side_by_side(tokenizer: Tokenizer, texts: Sequence[str]) -> set[Pair]:
    """The pairs of ids that ever stand side by side within a word of the texts."""
    shift = vocabulary_size(tokenizer)
    found: set[int] = set()
    for start in range(0, len(texts), _TEXTS):
        some = list(texts[start : start + _TEXTS])
        for encoding in tokenizer.encode_batch(some, add_special_tokens=False):
            ids, words = np.array(encoding.ids, dtype=np.int64), np.array(encoding.word_ids)
            together = words[1:] == words[:-1]
            found.update(np.unique((ids[:-1] * shift + ids[1:])[together]).tolist())
    return {divmod(both, shift) for both in found}


def _placed(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[np.ndarray]:
    """Each text's tokens as numbers that tell the token and the byte where it begins."""
    sizes = token_bytes(tokenizer)
    for start in range(0, len(texts), _TEXTS):
        some = list(texts[start : start + _TEXTS])
        for encoding in tokenizer.encode_batch_fast(some, add_special_tokens=False):
            ids = np.array(encoding.ids, dtype=np.int64)
            yield (np.cumsum(sizes[ids]) - sizes[ids]) * 2**24 + ids
