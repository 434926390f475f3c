"""The numbers of a tokenizer, for programs."""

from typing import Any

from tongues.report.tokenizer.measured import Measured
from tongues.report.tokenizer.words import about_tokenizer, spelling
from tongues.tokens.fertility import Advice, Fertility

__all__ = ["tokenizer_numbers"]


def tokenizer_numbers(measured: Measured) -> dict[str, Any]:
    """All that is known of a tokenizer, in JSON."""
    return {
        "name": measured.name,
        "kind": measured.kind,
        "pieces": measured.size,
        "scripts": measured.scripts,
        "unused": measured.unused,
        "home": measured.home,
        "sentences": [about_tokenizer(measured), *spelling(measured).values()],
        "languages": {
            lang: _language(found, measured.advice.get(lang))
            for lang, found in measured.languages.items()
        },
    }


def _language(found: Fertility, advice: Advice | None) -> dict[str, Any]:
    return {
        "bytes": found.bytes,
        "characters": found.characters,
        "words": found.words,
        "tokens": found.tokens,
        "bytes_per_token": found.bytes_per_token,
        "tokens_per_word": found.tokens_per_word,
        "unknown": found.unknown,
        "partial": found.partial,
        "multiplier": found.multiplier,
        "spelt_out": found.spelt_out,
        "advice": advice and {"pieces": advice.pieces, "bytes_per_token": advice.curve},
    }
