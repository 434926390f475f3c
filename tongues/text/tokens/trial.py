"""What a base's tokenizer does with text that is not prepared yet, by samples of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from tongues.core.errors import Caution, UserError
from tongues.text.tokens.extend import extend_tokenizer
from tongues.text.tokens.fertility import Fertility, measure
from tongues.text.tokens.tokenizer import load_tokenizer

NEW_TOKENS = 1000  # of an extension, where nobody says how many

_Samples = Mapping[str, Sequence[str]]


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


def try_tokenizer(place: Path, target: str, samples: _Samples) -> TokenizerTrial:
    """Take a base's tokenizer as it is, or with new tokens where it is unfit for the target.

    samples: documents by language, of the target and of those whose segmentation must not change.
    """
    tokenizer = load_tokenizer(place)
    before = _measure(tokenizer, samples)
    own, unfit = before[target].bytes_per_token, _unfit(before)
    preserve = [text for lang, texts in samples.items() if lang != target for text in texts]
    if target in unfit and preserve:
        try:
            extended = extend_tokenizer(
                tokenizer, {target: samples[target]}, preserve, NEW_TOKENS
            ).tokenizer
        except UserError:  # of a kind that cannot be extended
            return TokenizerTrial(own, own, 0, unfit)
        after = _measure(extended, samples)
        if target not in _unfit(after):
            return TokenizerTrial(own, after[target].bytes_per_token, NEW_TOKENS, _unfit(after))
    return TokenizerTrial(own, own, 0, unfit)


def _measure(tokenizer: Tokenizer, samples: _Samples) -> dict[str, Fertility]:
    return measure(tokenizer, {lang: [("", x) for x in texts] for lang, texts in samples.items()})


def _unfit(measured: Mapping[str, Fertility]) -> dict[str, Caution]:
    return {lang: one.caution for lang, one in measured.items() if one.caution}
