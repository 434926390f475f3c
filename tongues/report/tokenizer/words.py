"""Tokenizers in sentences."""

from collections.abc import Sequence

from tongues.quantities import show_count
from tongues.report.shares import percent, share
from tongues.report.tokenizer.measured import Measured

__all__ = ["about_tokenizer", "advice_on", "spelling"]


def about_tokenizer(measured: Measured) -> str:
    """A tokenizer by itself, in one sentence."""
    scripts = ", ".join(
        f"{script} {percent(share(count, measured.size))}"
        for script, count in list(measured.scripts.items())[:3]
    )
    said = f"{measured.size:,} pieces ({measured.kind}), by script {scripts}"
    if measured.unused is not None:
        said += f"; used nowhere in this text: {measured.unused:,}"
    return f"{said}."


def spelling(measured: Measured) -> dict[str, str]:
    """How it does on each language, in a few words."""
    return {lang: "; ".join(_clauses(measured, lang)) for lang in measured.languages}


def advice_on(measured: Measured, lang: str) -> str:
    """Whether to extend it for a language, in a few words; nothing where that was not tried."""
    advice = measured.advice.get(lang)
    if advice is None or len(advice.curve) == 1:
        return ""
    if not advice.pieces:
        return "more pieces are not worth it"
    return f"{show_count(advice.pieces)} more pieces save {percent(advice.saved)} of its tokens"


def _clauses(measured: Measured, lang: str) -> Sequence[str]:
    found = measured.languages[lang]
    said = [f"{found.bytes_per_token:.2f} bytes per token"]
    if found.spelt_out:
        said = [f"spelt out at {found.bytes_per_token:.2f} bytes per token"]
    if found.multiplier is not None and lang != measured.home:
        said.append(
            f"{found.multiplier:.2f} times the tokens of `{measured.home}` for the same text"
        )
    if found.unknown:
        said.append(f"{percent(share(found.unknown, found.tokens))} of its tokens are unknown")
    advice = advice_on(measured, lang)
    return [*said, advice] if advice else said
