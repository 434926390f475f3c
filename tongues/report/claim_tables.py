"""The tables of claims: findings of others by target, and by share of replay."""

from collections.abc import Iterable, Sequence
from html import escape

from tongues.report.html import prose, table, word
from tongues.report.statistics import Estimate
from tongues.report.verdicts import Claim, Part
from tongues.report.words import ABOUT_LAWS, ABOUT_MEANS

__all__ = ["claim_tables"]

_SAID = (
    f"{ABOUT_MEANS} {ABOUT_LAWS} Each verdict is for itself: of many findings without any effect, "
    "about one in forty would still be said to hold. All runs of a target share its text, about "
    "whose choice the intervals say nothing."
)


def claim_tables(claims: Sequence[Claim], targets: Sequence[str]) -> str:
    """Two tables: what is about a target as a whole, and what is about each share of replay."""
    whole = [claim for claim in claims if claim.parts[0].replay is None]
    shared = [claim for claim in claims if claim.parts[0].replay is not None]
    found = ""
    if whole:
        head = [word("found by others"), *(word(escape(target)) for target in targets)]
        found += table(head, [_row(claim, targets) for claim in whole])
    if shared:
        shares = sorted({part.replay or 0.0 for claim in shared for part in claim.parts})
        head = [word("with replay of"), word("target")]
        head += [word(f"{share * 100:.3g}\u00a0%") for share in shares]
        rows = [row for claim in shared for row in _rows(claim, targets, shares)]
        found += f'<div class="by-share">{table(head, rows)}</div>'
    return found + (f'<p class="notes">{prose(_SAID)}</p>' if found else "")


def _row(claim: Claim, targets: Iterable[str]) -> list[str]:
    parts = {part.target: part for part in claim.parts}
    cells = [_cell(claim, parts[target]) if target in parts else "" for target in targets]
    return [_finding(claim), *map(word, cells)]


def _rows(claim: Claim, targets: Iterable[str], shares: Sequence[float]) -> Iterable[list[str]]:
    """A row a target, the finding told once."""
    told = _finding(claim)
    for target in targets:
        parts = {part.replay: part for part in claim.parts if part.target == target}
        if parts:
            cells = [_cell(claim, parts[share]) if share in parts else "" for share in shares]
            yield [told, word(escape(target)), *map(word, cells)]
            told = word("")


def _finding(claim: Claim) -> str:
    unit = {"%": "", "points": ", percentage points", "": ""}.get(claim.unit, f", {claim.unit}")
    said = f"{prose(claim.finding)} <small>{prose(claim.measure + unit)}</small>"
    return word(f'<span class="claim">{said}</span>')


def _cell(claim: Claim, part: Part) -> str:
    beside = f" beside {escape(part.beside)}" if part.beside else ""
    kind = part.verdict.replace(" ", "-")
    number, between = _number(part.value, claim.unit), _interval(part.value, claim.unit)
    verdict = f'<b class="{kind}">{part.verdict}</b>'
    count = f'<small class="n">n\u00a0=\u00a0{part.value.pairs}</small>'
    why = f'<small class="why">{prose(part.reason)}</small>' if part.reason else ""
    return f"{number}{beside}<small>{between}</small> {verdict} {count}{why}"


def _number(value: Estimate, unit: str) -> str:
    return _said(value.mean, unit, value.mean) + ("\u00a0%" if unit == "%" else "")


def _interval(value: Estimate, unit: str) -> str:
    if value.low is None or value.high is None:
        return "no interval"
    ends = ", ".join(_said(end, unit, value.mean) for end in (value.low, value.high))
    return f"[{ends}]"


def _said(value: float, unit: str, like: float) -> str:
    """As many decimals as the mean gets."""
    size = abs(like)
    digits = (1 if size < 10 else 0) if unit in ("%", "points") else (3 if size < 0.1 else 2)
    said = f"{value:.{digits}f}"
    return said.lstrip("-") if not said.strip("-0.") else said.replace("-", "−")
