"""Texts coloured by the expert that weighs most at each piece."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from itertools import groupby

from tongues.experts.routed import RoutedPiece, RoutedText
from tongues.pages.theme import PALETTES
from tongues.report.experts.outcome import Experts, averaged, best, expert_settings
from tongues.report.html import prose

__all__ = ["routed_texts"]

_STYLE = """\
.routed p[dir] { margin: 0 0 14px; max-width: 92ch; line-height: 2; overflow-wrap: anywhere; \
white-space: pre-line; }
.routed small { color: var(--quiet); display: block; line-height: 1.4; margin-top: 18px; }
.routed b { font-weight: inherit; border-bottom: 3px solid var(--e); padding-bottom: 1px; \
background: color-mix(in srgb, var(--e) 14%, transparent); }
.routed b::before { content: attr(data-e); color: var(--quiet); font: 600 0.68em/1 system-ui, \
sans-serif; vertical-align: 0.5em; unicode-bidi: isolate; margin-inline: 1px 2px; }
.routed i { font-style: inherit; }
.routed ul { list-style: none; padding: 0; margin: 8px 0 0; display: flex; flex-wrap: wrap; \
gap: 4px 22px; font-size: 0.9rem; }
"""


def routed_texts(found: Experts) -> str:
    """Short held-out texts as the best division routes them, with a legend; nothing without one."""
    shown = found.scores.routed
    top = best(one for one in expert_settings(found) if one.division in shown)
    if top is None:
        return ""
    division = top.division
    names = _names(found, division)
    legend = "".join(
        f'<li><b data-e="{number}">{escape(name)}</b></li>' for number, name in enumerate(names)
    )
    said = (
        f"The beginnings of held-out texts, as tfidf routing of `{division}` sees them. For what "
        "is underlined in one colour one expert weighs most; its number stands before it. Weights "
        "follow from the text so far, and at its start from how much each expert learned; those of "
        "a piece show under the pointer."
    )
    return (
        f'<section class="routed"><style>{_STYLE}{_colours(len(names))}</style>'
        f'<h2>What routing does</h2><p class="quiet">{prose(said)}</p><ul>{legend}</ul>'
        f"{''.join(_text(one) for one in shown[division])}</section>"
    )


def _names(found: Experts, division: str) -> list[str]:
    """The experts by the languages that they learned."""
    names: dict[int, str] = {}
    for cell in averaged(found):
        if cell.division == division:
            names[cell.number] = cell.expert.partition(": ")[2] or "languages in parts"
    return [names[number] for number in sorted(names)]


def _colours(k: int) -> str:
    """A colour for each expert, that of the figures, on light and on dark pages."""
    light, dark = (_rules(PALETTES[name]["series"], k) for name in ("light", "dark"))
    return f"{light}@media (prefers-color-scheme: dark) {{ {dark} }}"


def _rules(colours: Sequence[str], k: int) -> str:
    return "".join(
        f'.routed b[data-e="{number}"]{{--e:{colours[number % len(colours)]}}}'
        for number in range(k)
    )


def _text(one: RoutedText) -> str:
    """One text, a stretch for as long as one expert leads."""
    stretches = groupby(one.pieces, key=_leader)
    shown = "".join(_stretch(number, list(pieces)) for number, pieces in stretches)
    langs = one.languages
    lang = f' lang="{escape(langs[0])}"' if len(langs) == 1 else ""
    several = f"{', '.join(langs)}, one after the other" if len(langs) > 1 else langs[0]
    return f'<small>{escape(several)}</small><p dir="auto"{lang}>{shown}</p>'


def _stretch(number: str, pieces: Sequence[RoutedPiece]) -> str:
    """Pieces of one expert; the number stands before their first letter."""
    first, *others = pieces
    letters = first.text.lstrip()
    space = first.text.removesuffix(letters) if letters else ""
    shown = [_piece(replace(first, text=letters or first.text)), *map(_piece, others)]
    return f'{space}<b data-e="{number}">{"".join(shown)}</b>'


def _leader(piece: RoutedPiece) -> str:
    return max(piece.weights, key=piece.weights.__getitem__)


def _piece(piece: RoutedPiece) -> str:
    said = [f"{number}: {weight:.0%}" for number, weight in piece.weights.items()]
    return f'<i title="{", ".join(said)}">{escape(piece.text)}</i>'
