"""Faults of a column: what is refused or doubted, in which rows, and how to leave them out."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from tongues.core.errors import Caution, UserError
from tongues.core.magnitudes import counted
from tongues.runs.tables.files import RunTable, cell_amount, cell_number
from tongues.runs.tables.roles import COUNTS, LOSSES, ROLES, column_scale, is_perplexity
from tongues.runs.tables.where import comparable, where_flag

_LARGEST = 1e99  # an amount beyond it is a fault, and its products overflow
_SHOWN = 5  # rows that are named; chosen
# Times the lowest loss at the end of a curve, and times the loss before, from which a run is said
# to diverge. Chosen; a caution alone depends on them.
_RISE, _JUMP = 1.1, 1.5
_HIGHEST = 15.0  # nats: more than guessing among three million tokens


def name_rows(places: Sequence[str], rows: Iterable[int], shown: Sequence[object] = ()) -> str:
    """The places of the first five of `rows`, with their values in `shown`, and how many more."""
    return _first([f"{places[i]} ({shown[i]})" if len(shown) else places[i] for i in rows])


def _first(named: Sequence[str]) -> str:
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return ", ".join(named[:_SHOWN]) + more


def read_numbers(table: RunTable, role: str, column: str) -> np.ndarray:
    """A column as numbers, nan where a cell is missing; a text in it is refused.

    Counts may be written like `20M`; the plain ones in a column `params (M)` are millions.
    Perplexities become losses.
    """
    cells = table.columns[column]
    read = [cell_number(cell) for cell in cells]
    if role in COUNTS:
        scale = column_scale(column)[1]
        read = [
            cell_amount(cell) if number is None else number * scale
            for cell, number in zip(cells, read, strict=True)
        ]
    texts = [i for i, cell in enumerate(cells) if read[i] is None and cell is not None]
    if texts:
        verb = "holds a text" if len(texts) == 1 else "hold texts"
        named = name_rows(table.places, texts, [repr(cell) for cell in cells])
        what = f"{counted(len(texts))} {verb} where a number belongs: {named}"
        distinct = list(dict.fromkeys(str(cells[i]) for i in texts))
        hint = "leave a cell empty where there is no number"
        if any(re.fullmatch(r"[\d.]+ ?%", text) for text in distinct):
            hint = "write shares without a percent sign, 0.2 for 20%"
        elif role in COUNTS and any(re.fullmatch(r"\d+(,\d{3})+", text) for text in distinct):
            hint = "write counts without commas, 20000000 or 20M for 20,000,000"
        elif any(re.fullmatch(r"-?\d+,\d+", text) for text in distinct):
            hint = "write numbers with a decimal point, 3.14 for 3,14"
        elif all(value is None for value in read):
            hint = f"name another column for the {ROLES[role].meaning}: {ROLES[role].flag}=NAME"
        elif len(distinct) <= _SHOWN:
            words = f"!= {distinct[0]!r}" if len(distinct) == 1 else f"not in {distinct!r}"
            hint = f"choose the others by {where_flag(f'{comparable(column)} {words}')}"
        raise UserError(what, where=column, hint=hint, code="text_cells")
    values = np.array([np.nan if value is None else value for value in read], float)
    if role in LOSSES and is_perplexity(column):
        values = np.log(np.where(values > 0, values, np.nan))
    return values


def check_amounts(
    places: Sequence[str], role: str, column: str, values: np.ndarray, rows: np.ndarray
) -> None:
    """A UserError where amounts among `rows` are not positive, or shares not from 0 to 1."""
    name = comparable(column)
    if role == "r":
        wrong = rows[~((values[rows] >= 0) & (values[rows] <= 1))]
        code, what = "not_a_share", "is not a share from 0 to 1"
        expression = f"{name} >= 0 and {name} <= 1"
    else:
        wrong = rows[~((values[rows] > 0) & (values[rows] < _LARGEST))]
        low = bool(wrong.size) and values[wrong].max() <= 0
        expression = f"{name} > 0" if low else f"{name} > 0 and {name} < {_LARGEST:g}"
        code, what = "not_positive", "is not positive" if low else "is not positive and finite"
    if not wrong.size:
        return
    hint = f"choose the others by {where_flag(expression)}"
    if role == "r" and values[rows].min() >= 0 and values[rows].max() <= 100:
        hint = f"they look like percent: divide them by 100; or {hint}"
    named = name_rows(places, wrong, [f"{value:g}" for value in values])
    what = f"`{column}` {what} in {counted(wrong.size)}: {named}"
    raise UserError(what, where=column, hint=hint, code=code)


def start_losses(
    places: Sequence[str],
    groups: Sequence[tuple[str, str]],
    tokens: np.ndarray,
    loss: np.ndarray,
    rows: np.ndarray,
    run_column: str,
) -> np.ndarray:
    """The loss at 0 tokens of each row's run and language (its group)."""
    starts: dict[tuple[str, str], float] = {}
    for i in rows[tokens[rows] == 0]:
        starts.setdefault(groups[i], float(loss[i]))
    lost = [i for i in rows if groups[i] not in starts]
    if lost:
        runs = list(dict.fromkeys(groups[i][0] for i in lost))
        hint = f"name a column of losses before the first step: {ROLES['S'].flag}=NAME"
        if starts and len(runs) <= _SHOWN:
            expression = f"{comparable(run_column)} not in {runs!r}"
            hint = f"{hint}; or choose the others by {where_flag(expression)}"
        rows_of = f"{counted(len(lost))} of {counted(len(runs), 'run')}"
        what = f"{rows_of} without a loss at 0 tokens: {name_rows(places, lost)}"
        raise UserError(what, where=ROLES["S"].flag, hint=hint, code="no_start")
    return np.array([starts.get(group, np.nan) for group in groups])


def check_one_language(
    table: RunTable, column: str, langs: Sequence[str], places: Sequence[str]
) -> None:
    """A UserError for rows of several languages: their losses are not comparable.

    langs, places: of the rows in use.
    """
    often = Counter(langs).most_common()
    if len(often) < 2:
        return
    firsts = [(lang or "none named", places[langs.index(lang)]) for lang, _ in often]
    rows = zip(firsts, often, strict=True)
    named = _first([f"{lang} ({counted(n)} from {place})" for (lang, place), (_, n) in rows])
    first = next(lang for lang, _ in often if lang)
    hint = f"choose one: {where_flag(f'{comparable(column)} == {first!r}')}"
    if "role" in table.columns:
        hint = f"""{hint}; or what each run learns: {where_flag("role == 'target'")}"""
    what = f"the rows are in {len(often)} languages, whose losses do not compare: {named}"
    raise UserError(what, where=column, hint=hint, code="several_languages")


def copies(keys: Iterable[Hashable]) -> np.ndarray:
    """Which rows repeat an earlier one."""
    seen: set[Hashable] = set()
    return np.array([key in seen or bool(seen.add(key)) for key in keys], bool)


def diverged_runs(
    groups: Sequence[tuple[str, str]], amount: np.ndarray, loss: np.ndarray
) -> list[str]:
    """The runs whose loss ends 10 % above its lowest, or jumps to 1.5 times the one before."""
    curves: dict[tuple[str, str], list[int]] = {}
    for i in np.argsort(amount, kind="stable"):
        curves.setdefault(groups[i], []).append(int(i))
    diverged: dict[str, None] = {}
    for (run, _), rows in curves.items():
        curve = loss[rows]
        if curve[-1] > _RISE * curve.min() or bool(np.any(curve[1:] > _JUMP * curve[:-1])):
            diverged[run] = None
    return list(diverged)


def other_unit(column: str, loss: np.ndarray) -> Caution | None:
    """A caution where the column's name or values suggest another unit than nats per token."""
    advice = "divide bits by 1.4427 (1 / ln 2), and take the logarithm of perplexities"
    if re.search(r"bit|bpb|bpc|bpt", column.lower()):
        sentence = f"`{column}` does not sound like nats per token: {advice}"
    elif len(loss) and np.median(loss) > _HIGHEST:
        sentence = f"half of `{column}` is above {_HIGHEST:g}, too much for nats: {advice}"
    else:
        return None
    return Caution("not_nats", sentence)
