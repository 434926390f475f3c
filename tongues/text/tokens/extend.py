"""A tokenizer with more tokens for some languages, which encodes the others as before.

It continues the tokenizer's own byte-pair encoding on text of the new languages. All old merges
come first, so a text changes only if a new merge finds its pair adjacent after them. A pair that is
ever adjacent in the preserved text is therefore never merged, and that text keeps every id. Where
the base takes words past all merges, as Llama 3 does, a word that does not occur in the preserved
text can also become one token, if that saves more. Only words with letters count, and of a language
in a script that the preserved text does not have, only words in that script: its digits, signs and
foreign words stay as they are. So do words with a capital after their first letter. Most are names
and code, such as JavaScript, which text of the preserved languages has too.
"""

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from tokenizers import Regex, Tokenizer, pre_tokenizers

from tongues.core.errors import UserError
from tongues.text.signals.characters import SHARED_SCRIPTS, script_of
from tongues.text.tokens.merges import Pair, Segmentation
from tongues.text.tokens.spelling import byte_alphabet, byte_tokens, is_bytewise, unknown_id
from tongues.text.tokens.tokenizer import vocabulary_size

# SentencePiece merges letters, or other signs, with the spaces before them, but no digits.
_RUNS = r"▁*[\p{L}\p{M}]+|▁*\p{N}|▁*[^▁\p{L}\p{M}\p{N}]+|▁+"
_LONGEST = 200  # letters of a word; longer ones are cut
_COVERED = 0.9995  # of all characters; the rarer ones stay spelled in bytes
_LEAST = 2  # occurrences of a pair that are worth a token
_PRECISION = 1_000_000  # of the weights that make languages equal
_TEXTS = 256  # encoded at a time
_MAIN = 0.05  # of the letters, for a script to be one that a language is written in
_BYTE_OF = {letter: byte for byte, letter in byte_alphabet().items()}


@dataclass(frozen=True, slots=True)
class Extended:
    """A tokenizer with new tokens, whose ids follow those of its base.

    added: the new tokens as the vocabulary writes them, by id.
    parts: the base's ids that each new token was merged from; they spell the same bytes.
    """

    tokenizer: Tokenizer
    added: list[str]
    parts: list[list[int]]


def extend_tokenizer(
    base: Tokenizer, target: Mapping[str, Sequence[str]], preserve: Sequence[str], new_tokens: int
) -> Extended:
    """Add up to `new_tokens` for the target languages, each of which weighs the same.

    Every text of `preserve` is encoded to the same ids as before. Only byte-pair encoding can be
    continued; another kind of tokenizer is a UserError.
    """
    extension = _Extension(base)
    counts = _words(base, preserve)
    preserved = set(counts)
    known = _scripts(base, counts)
    counted = [_written(base, _words(base, texts), known) for texts in target.values()]
    sizes = [sum(len(word) * count for word, count in some.items()) for some in counted]
    words: Counter[str] = Counter()
    for some, size in zip(counted, sizes, strict=True):
        scale = round(_PRECISION * max(sizes) / max(size, 1))
        words.update({word: scale * count for word, count in some.items()})
    if not is_bytewise(base):
        for letter in _letters(words, preserved)[:new_tokens]:
            extension.add_letter(letter)

    model = extension.tokenizer().model
    segments = [[token.id for token in model.tokenize(word)] for word in words]
    segmentation = Segmentation(segments, list(words.values()), extension.merges())
    numbers = {word: n for n, word in enumerate(words)} if extension.whole_words else {}
    spelling = list(numbers)
    preserved = preserved if extension.whole_words else set()
    adjacent = _adjacent(base, preserve)
    letters = _letter_bytes(base, words)
    short = (word for word in spelling if len(word) < _LONGEST)
    segmentation.offer(numbers[word] for word in short if word not in preserved)
    least = _LEAST * min(words.values(), default=1)
    while len(extension.added) < new_tokens:
        heaviest = segmentation.heaviest()
        if heaviest is None or heaviest[1] < least:
            break
        pair, weight = heaviest
        joined = extension.joined(pair)
        unfit = pair in adjacent or joined in preserved
        if joined is None or unfit or not _has_letter(_bytes(base, joined), letters):
            segmentation.skip()
            continue
        word = segmentation.heaviest_word()
        if word is not None and word[1] > weight:
            number = word[0]
            token = extension.add_word(spelling[number], segmentation.words[number])
            segmentation.make_whole(number, token)
            continue
        segmentation.merge(pair, extension.merge(pair))
        if joined in numbers:
            segmentation.make_whole(numbers[joined], extension.ids[joined])
    return Extended(extension.tokenizer(), extension.added, extension.parts)


def shorten(tokenizer: Tokenizer, size: int) -> Tokenizer:
    """An extended tokenizer with its ids below `size` only, as if it had been extended less."""
    layout = json.loads(tokenizer.to_str())
    model = layout["model"]
    left_out = {token for token, number in model["vocab"].items() if number >= size}
    model["vocab"] = {token: model["vocab"][token] for token in model["vocab"].keys() - left_out}
    merges = takewhile(lambda merge: merge[0] + merge[1] not in left_out, model["merges"])
    model["merges"] = list(merges)
    return _tokenizer(layout)


def _tokenizer(layout: dict[str, Any]) -> Tokenizer:
    tokenizer = Tokenizer.from_str(json.dumps(layout))
    tokenizer.encode_special_tokens = True
    return tokenizer


class _Extension:
    """The vocabulary and merges of a tokenizer, and what is added to them."""

    def __init__(self, base: Tokenizer) -> None:
        self._layout = json.loads(base.to_str())
        model = self._layout["model"]
        joined = model["type"] == "BPE" and not model["continuing_subword_prefix"]
        if not joined or model["end_of_word_suffix"]:
            what = f"a tokenizer of kind {model['type']} cannot be extended as this one is"
            hint = "only byte-pair encoding can be continued; take another base, or train one"
            raise UserError(what, where="tokens.extend", hint=hint)
        self.ids: dict[str, int] = model["vocab"]
        special = base.get_added_tokens_decoder()
        # Whether a word of the vocabulary is one token without merges: as the base has it, for
        # llama.cpp knows it by the name of the base's pre-tokenizer and cannot be told otherwise.
        self.whole_words = bool(model["ignore_merges"])
        self.added: list[str] = []
        self.parts: list[list[int]] = []
        self._merges: list[list[str]] = model["merges"]
        self._first = vocabulary_size(base)
        self._bytes = byte_tokens(base)
        self._unknown = unknown_id(base)
        # Without their place in the vocabulary these would move behind the new tokens.
        self.ids |= {token.content: number for number, token in special.items()}
        self._reserved = {*special, *self._bytes.values(), self._unknown}
        self._spelling = {number: token for token, number in self.ids.items()}

    def tokenizer(self) -> Tokenizer:
        return _tokenizer(self._layout)

    def merges(self) -> dict[Pair, int]:
        ids = self.ids
        return {(ids[left], ids[right]): ids[left + right] for left, right in self._merges}

    def joined(self, pair: Pair) -> str | None:
        """The token that a pair would become; None when one of the three has another meaning."""
        token = self._spelling[pair[0]] + self._spelling[pair[1]]
        return None if self._reserved & {*pair, self.ids.get(token, -1)} else token

    def merge(self, pair: Pair) -> int:
        """Add a merge, and its token if it is new."""
        left, right = (self._spelling[number] for number in pair)
        self._merges.append([left, right])
        token = left + right
        return self.ids[token] if token in self.ids else self.add_word(token, pair)

    def add_word(self, word: str, segments: Sequence[int]) -> int:
        """Add a token; segments: the tokens that it was written in."""
        first, parts = self._first, self.parts
        split = [[n] if n < first else parts[n - first] for n in segments]
        return self._add(word, [part for some in split for part in some])

    def add_letter(self, letter: str) -> None:
        """Add a letter that was spelled in bytes, or unknown."""
        parts = [self._bytes.get(byte, self._unknown) for byte in letter.encode()]
        if letter not in self.ids:
            self._add(letter, [number for number in parts if number is not None])

    def _add(self, token: str, parts: list[int]) -> int:
        number = self.ids[token] = self._first + len(self.added)
        self.added.append(token)
        self.parts.append(parts)
        self._spelling[number] = token
        return number


def _words(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """How often each word occurs in texts, written as the vocabulary writes it."""
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


def _scripts(tokenizer: Tokenizer, words: Mapping[str, int]) -> set[str]:
    """The scripts of at least a twentieth of the letters of words."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for letter in _bytes(tokenizer, word).decode(errors="ignore"):
            if script := script_of(letter):
                counts[script] += count
    return {script for script, count in counts.items() if count >= _MAIN * counts.total()}


def _written(tokenizer: Tokenizer, words: Counter[str], known: set[str]) -> Counter[str]:
    """A language's words with letters, but no capital inside; those of its own scripts, if any.

    known: the scripts of the preserved text.
    """
    own = _scripts(tokenizer, words) - known
    few: Counter[str] = Counter()
    for word, count in words.items():
        letters = [s for s in _bytes(tokenizer, word).decode(errors="ignore") if script_of(s)]
        if any(letter.isupper() for letter in letters[1:]):  # benchmarks/extension.txt, "Bible"
            continue
        scripts = {script_of(letter) for letter in letters}
        if scripts and (not own or scripts - SHARED_SCRIPTS <= own):
            few[word] = count
    return few


def _bytes(tokenizer: Tokenizer, token: str) -> bytes:
    """The bytes of a token, or of a word as the vocabulary writes it."""
    if not is_bytewise(tokenizer):
        return token.replace("▁", " ").encode()
    return bytes(_BYTE_OF[letter] for letter in token if letter in _BYTE_OF)


def _letter_bytes(tokenizer: Tokenizer, words: Iterable[str]) -> set[bytes]:
    """Every part of the bytes of the letters of words."""
    texts = {letter for word in words for letter in _bytes(tokenizer, word).decode(errors="ignore")}
    spelt = [letter.encode() for letter in texts if script_of(letter)]
    return {s[i:j] for s in spelt for i in range(len(s)) for j in range(i + 1, len(s) + 1)}


def _has_letter(spelling: bytes, letters: Container[bytes]) -> bool:
    """Whether bytes contain a letter, or begin or end with a part of one of `letters`."""
    text = spelling.decode(errors="surrogateescape")
    if any(script_of(letter) for letter in text):
        return True
    parts = re.findall("[\udc80-\udcff]+", text)
    return any(part.encode(errors="surrogateescape") in letters for part in parts)


def _letters(words: Counter[str], preserved: Iterable[str]) -> list[str]:
    """The characters of words, without the rarest and those of `preserved`, by frequency."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for letter in word:
            counts[letter] += count
    common = sorted(counts, key=lambda letter: (-counts[letter], letter))
    up_to = np.cumsum([counts[letter] for letter in common])
    common = common[: int(np.searchsorted(up_to, _COVERED * up_to[-1])) + 1] if common else []
    known = set().union(*preserved)
    return [letter for letter in common if letter not in known and script_of(letter)]


def _adjacent(tokenizer: Tokenizer, texts: Sequence[str]) -> set[Pair]:
    """The pairs of ids that are ever adjacent within a word of the texts."""
    shift = vocabulary_size(tokenizer)
    pairs: set[int] = set()
    for start in range(0, len(texts), _TEXTS):
        some = list(texts[start : start + _TEXTS])
        for encoding in tokenizer.encode_batch(some, add_special_tokens=False):
            ids, words = np.array(encoding.ids, dtype=np.int64), np.array(encoding.word_ids)
            together = words[1:] == words[:-1]
            pairs.update(np.unique((ids[:-1] * shift + ids[1:])[together]).tolist())
    return {divmod(pair, shift) for pair in pairs}
