"""Shares of a mixture by the text that each language has: temperature with a limit on epochs.

A power of 0 is UniMax (Chung et al. 2023, arXiv 2304.09151): equal amounts for all languages, none
of which is read more often than the limit. Amounts are in bytes of content, bytes over the byte
premium, since the same content takes 2.6 times the bytes in Burmese. The budget is compute, so it
is in tokens: a language whose content takes more tokens gets more of them.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tongues.errors import UserError, nearest
from tongues.languages import find_language
from tongues.languages.fertility import byte_premium
from tongues.pages.blocks import Cell, Entry
from tongues.quantities import show_bytes
from tongues.recipe import MixtureRule, Recipe
from tongues.roles import list_languages
from tongues.runs import DerivedMixture, LanguageShare
from tongues.text import check_text, text_bytes
from tongues.tokens import open_tokens

__all__ = [
    "capped_shares",
    "derive_shares",
    "describe_mixture",
    "mixture_languages",
    "mixture_rows",
    "text_of",
]

_TOKEN = 3.0  # bytes of text in a token, about, until it is prepared
_STEPS = 10_000  # shares are multiples of 0.01 %


def mixture_languages(recipe: Recipe, replayed: Mapping[str, float]) -> list[str]:
    """The languages of a mixture by rule: the targets, or all with text that are not replayed."""
    texts = recipe.text.languages
    for lang in recipe.train.targets:
        if lang not in texts:
            what, hint = f"language `{lang}` has no text", nearest(lang, texts)
            raise UserError(what, where="train.targets", hint=hint)
    return recipe.train.targets or [lang for lang in texts if lang not in replayed]


def text_of(recipe: Recipe, workspace: Path) -> dict[str, tuple[float, float]]:
    """Training tokens and bytes of text by language; about, until the text is prepared.

    Where the size of a language's text is not known before, it counts as the largest. A language
    of which no text was kept has none.
    """
    folder = workspace / "tokens" / recipe.name
    if (folder / "tokens.json").is_file():
        counts = {lang: splits["train"] for lang, splits in open_tokens(folder).counts.items()}
        return dict.fromkeys(recipe.text.languages, (0.0, 0.0)) | {
            lang: (float(one["tokens"]), float(one["bytes"])) for lang, one in counts.items()
        }
    sizes = text_bytes(check_text(recipe.text))
    largest = max(sizes.values(), default=0) or 1
    return {lang: ((size or largest) / _TOKEN, size or largest) for lang, size in sizes.items()}


def derive_shares(
    rule: MixtureRule,
    languages: Sequence[str],
    texts: Mapping[str, tuple[float, float]],
    tokens: float,
) -> dict[str, LanguageShare]:
    """The share of each language by a rule, for a mixture of `tokens`.

    texts: training tokens and bytes by language.
    """
    counts, sizes = (np.array([texts[lang][part] for lang in languages]) for part in (0, 1))
    content = np.maximum(sizes, 1.0) / [_premium(lang) for lang in languages]
    weights = counts * content ** (rule.power - 1.0)  # tokens that content**power takes
    limit = math.inf if rule.max_epochs == "off" else rule.max_epochs
    shares = _rounded(capped_shares(weights, counts * limit, tokens))
    return {
        lang: {
            "bytes": round(size),
            "content": round(amount) if size else 0,
            "share": float(share),
            "epochs": float(share) * tokens / max(count, 1.0),
        }
        for lang, size, amount, share, count in zip(
            languages, sizes, content, shares, counts, strict=True
        )
    }


def describe_mixture(mixture: DerivedMixture) -> list[str]:
    """The rule in a sentence, and what is worth a caution."""
    rule, rows = mixture["rule"], mixture["languages"].items()
    power, limit = float(rule["power"]), rule["max_epochs"]
    how = {0.0: "equal amounts of content (UniMax)", 1.0: "in proportion to the text"}
    sentence = f"Shares by rule: {how.get(power, f'the bytes of content to the power {power:g}')}"
    sentence += "." if limit == "off" else f", at most {limit:g} epochs of each language."
    over = [lang for lang, one in rows if limit != "off" and one["epochs"] > 1.02 * float(limit)]
    lines = [sentence]
    if over:
        lines.append(
            f"The text is too little for this budget: {list_languages(over)} would be read more "
            f"than {limit:g} times."
        )
    if none := [lang for lang, one in rows if not one["share"]]:
        lines.append(f"Left out, with less than {1 / _STEPS:.2%}: {list_languages(none)}.")
    return lines


def mixture_rows(mixture: DerivedMixture) -> list[dict[str, Entry]]:
    """A row a language: its text, its share, and how often its text is read."""
    return [
        {
            "language": lang,
            "text": Cell(show_bytes(one["bytes"]), one["bytes"]),
            "content": Cell(show_bytes(one["content"]), one["content"]),
            "share": Cell(f"{one['share'] * 100:.2f}%", one["share"]),
            "epochs": Cell(f"{one['epochs']:.2f}", one["epochs"]),
        }
        for lang, one in mixture["languages"].items()
    ]


def capped_shares(weights: np.ndarray, caps: np.ndarray, total: float) -> np.ndarray:
    """Shares of `total` in proportion to weights, where none takes more than its cap.

    What a cap leaves goes to the others; where all are at theirs, the shares are those of the caps.
    """
    amounts = np.zeros(len(weights))
    left, weight = total, float(weights.sum())
    for place in np.argsort(caps / np.maximum(weights, 1e-300)):  # the first ones reach their caps
        amounts[place] = min(caps[place], left * weights[place] / max(weight, 1e-300))
        left, weight = left - amounts[place], weight - weights[place]
    return amounts / amounts.sum()


def _rounded(shares: np.ndarray) -> np.ndarray:
    """Multiples of a step that add up to 1, by the largest remainders; as read from `12.34%`."""
    steps = shares * _STEPS
    whole = np.floor(steps + 1e-9)
    rest = round(_STEPS - whole.sum())
    whole[np.argsort(-(steps - whole), kind="stable")[:rest]] += 1
    return whole / 100 / 100


def _premium(lang: str) -> float:
    """Bytes for the content of a byte of English; 1 for a synthetic language."""
    try:
        premium = byte_premium(find_language(lang)).value
    except UserError:
        return 1.0
    return 1.0 if math.isnan(premium) else premium
