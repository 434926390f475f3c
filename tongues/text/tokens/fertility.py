"""How well a tokenizer fits each language, and what new tokens bring."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from tokenizers import Tokenizer, models

from tongues.core.errors import Caution, UserError
from tongues.text.signals.units import units
from tongues.text.tokens.extend import extend_tokenizer, shorten
from tongues.text.tokens.frame import TextFrame, encode_framed
from tongues.text.tokens.spelling import token_bytes, unknown_id
from tongues.text.tokens.tokenizer import load_tokenizer, vocabulary_size

BYTEWISE = 1.25  # bytes per token, under which the tokenizer falls back to bytes
_UNKNOWN = 0.01  # share of the tokens

_SIZES = (500, 1000, 2000, 4000, 8000, 16_000, 32_000)  # of extensions that are tried
_UNSEEN = 5  # every fifth text is not used to extend, but to measure
_LEAST_SHARED = 2  # groups, to compare what two languages cost
_TEXTS = 256  # encoded at a time
NEW_TOKENS = 1000  # of an extension, where nobody says how many

_Group = tuple[int, int]  # tokens and documents


@dataclass(frozen=True, slots=True)
class Fertility:
    """Counts of a language's text in tokens.

    words: in scripts without spaces, characters. unknown: tokens for text that the vocabulary
    cannot spell. multiplier: tokens per token of the reference language in documents of the same
    groups.
    """

    bytes: int
    characters: int
    words: int
    tokens: int
    unknown: int
    multiplier: float | None

    @property
    def bytes_per_token(self) -> float:
        """Bytes of UTF-8 per token."""
        return self.bytes / max(self.tokens, 1)

    @property
    def tokens_per_word(self) -> float:
        """Tokens per word, which many call fertility."""
        return self.tokens / max(self.words, 1)

    @property
    def spelt_out(self) -> bool:
        """Whether the tokenizer falls back to bytes for most of the text."""
        return self.tokens > 0 and self.bytes / self.tokens < BYTEWISE

    @property
    def caution(self) -> Caution | None:
        """Why the tokenizer is not fit for the text; None where it is."""
        unknown = self.unknown / max(self.tokens, 1)
        if unknown > _UNKNOWN:
            what = f"the tokenizer cannot spell it: {unknown:.1%} of the tokens are unknown"
            return Caution("unknown_text", what)
        if self.spelt_out:
            what = f"the tokenizer falls back to bytes: {self.bytes_per_token:.2f} per token"
            return Caution("spelt_out", what)
        return None


def measure(
    tokenizer: Tokenizer, documents: Mapping[str, Sequence[tuple[str, str]]], reference: str = "en"
) -> dict[str, Fertility]:
    """Encode documents, each a group and a text, of each language, and count."""
    counts = {lang: _count(tokenizer, some) for lang, some in documents.items()}
    by_group = {lang: groups for lang, (groups, _) in counts.items()}

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
            tokens=sum(size for size, _ in by_group[lang].values()),
            unknown=counts[lang][1],
            multiplier=multiplier(by_group[lang]),
        )
        for lang, some in documents.items()
    }


def measure_texts(tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]]) -> dict[str, Fertility]:
    """As `measure`, of texts without groups."""
    documents = {lang: [("", text) for text in some] for lang, some in texts.items()}
    return measure(tokenizer, documents)


@dataclass(frozen=True, slots=True)
class TokenizerTrial:
    """A tokenizer as a recipe takes it.

    base: bytes per token of the language to learn by the base's tokenizer. bytes_per_token: by the
    recipe's, with new tokens or without. new_tokens: 0 for the tokenizer as it is. unfit: why, of
    languages that it still falls back to bytes for, or cannot spell.
    """

    base: float
    bytes_per_token: float
    new_tokens: int
    unfit: Mapping[str, Caution]


def try_tokenizer(place: Path, target: str, samples: Mapping[str, Sequence[str]]) -> TokenizerTrial:
    """Take a base's tokenizer as it is, or with new tokens where it is unfit for the target.

    samples: documents by language, of the target and of those whose segmentation must not change.
    """
    tokenizer = load_tokenizer(place)
    before = measure_texts(tokenizer, samples)
    own, unfit = before[target].bytes_per_token, _unfit(before)
    preserve = [text for lang, texts in samples.items() if lang != target for text in texts]
    if target in unfit and preserve:
        try:
            extended = extend_tokenizer(
                tokenizer, {target: samples[target]}, preserve, NEW_TOKENS
            ).tokenizer
        except UserError:  # of a kind that cannot be extended
            return TokenizerTrial(own, own, 0, unfit)
        after = measure_texts(extended, samples)
        if target not in _unfit(after):
            return TokenizerTrial(own, after[target].bytes_per_token, NEW_TOKENS, _unfit(after))
    return TokenizerTrial(own, own, 0, unfit)


def _unfit(measured: Mapping[str, Fertility]) -> dict[str, Caution]:
    return {lang: one.caution for lang, one in measured.items() if one.caution}


def try_extensions(
    tokenizer: Tokenizer, texts: Sequence[str], preserve: Sequence[str]
) -> dict[int, float] | None:
    """Bytes per token of unseen text of a language, by the number of new tokens, from 0 on.

    None where the tokenizer cannot be extended. preserve: text that must not change, as in
    `extend_tokenizer`.
    """
    if not texts or not isinstance(tokenizer.model, models.BPE):
        return None
    seen = [text for number, text in enumerate(texts) if number % _UNSEEN]
    unseen = texts[::_UNSEEN]
    most = extend_tokenizer(tokenizer, {"": seen}, preserve, _SIZES[-1])
    curve = {0: measure_texts(tokenizer, {"": unseen})[""].bytes_per_token}
    for count in _SIZES:
        if count <= len(most.added):
            shorter = shorten(most.tokenizer, vocabulary_size(tokenizer) + count)
            curve[count] = measure_texts(shorter, {"": unseen})[""].bytes_per_token
    return curve


def changed_share(before: Tokenizer, after: Tokenizer, texts: Sequence[str]) -> float:
    """Share of the tokens of texts by one tokenizer that are others by its extension."""
    lengths = [token_bytes(tokenizer) for tokenizer in (before, after)]
    changed = total = 0
    for start in range(0, len(texts), _TEXTS):
        some = list(texts[start : start + _TEXTS])
        encoded = [x.encode_batch_fast(some, add_special_tokens=False) for x in (before, after)]
        for pair in zip(*encoded, strict=True):
            ids = [np.array(encoding.ids, dtype=np.int64) for encoding in pair]
            old, new = (
                set(zip(np.cumsum(size[each]).tolist(), each.tolist(), strict=True))
                for size, each in zip(lengths, ids, strict=True)
            )
            changed += len(old - new)
            total += len(old)
    return changed / max(total, 1)


def _count(
    tokenizer: Tokenizer, documents: Sequence[tuple[str, str]]
) -> tuple[dict[str, _Group], int]:
    """Tokens and documents by group, and the tokens that are unknown."""
    groups: defaultdict[str, _Group] = defaultdict(lambda: (0, 0))
    unknown, number = 0, unknown_id(tokenizer)
    frame, dtype = TextFrame(None, vocabulary_size(tokenizer)), np.dtype(np.int64)
    for start in range(0, len(documents), _TEXTS):
        some = documents[start : start + _TEXTS]
        ids, lengths = encode_framed(tokenizer, frame, [text for _, text in some], dtype)
        unknown += 0 if number is None else int((ids == number).sum())
        for (group, _), length in zip(some, lengths.tolist(), strict=True):
            tokens, count = groups[group]
            groups[group] = tokens + length - 1, count + 1
    return groups, unknown
