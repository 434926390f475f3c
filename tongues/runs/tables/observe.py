"""The observations a law is fitted on: columns as numbers, every row checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from tongues.core.errors import Caution, UserError
from tongues.core.magnitudes import counted, show_count
from tongues.runs.tables.checks import (
    check_amounts,
    check_one_language,
    copies,
    diverged_runs,
    name_rows,
    other_unit,
    read_numbers,
    start_losses,
)
from tongues.runs.tables.files import RunTable, cell_number
from tongues.runs.tables.roles import (
    COUNTS,
    LOSSES,
    column_scale,
    find_columns,
    is_perplexity,
    missing_column,
)

_LABELS = ("run", "strategy", "lang")


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """The observations a law is fitted on.

    variables: by role. loss: nats per token. runs: of each row; None where each row is a run.
    units: the resampling unit of each row; None: the runs. places: of each row, such as
    `runs.csv:17`. columns: by role, as in the table.
    """

    variables: Mapping[str, np.ndarray]
    loss: np.ndarray
    runs: Sequence[str] | None = None
    strategies: Sequence[str] | None = None
    langs: Sequence[str] | None = None
    units: Sequence[str] | None = None
    places: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Caution, ...] = ()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.loss)

    def take(self, rows: np.ndarray) -> Self:
        """The rows of an index, in its order, or of a mask."""
        index, chosen = np.arange(len(self))[rows], {}
        for name in ("runs", "strategies", "langs", "units", "places"):
            words = getattr(self, name)
            chosen[name] = words and [words[i] for i in index]
        variables = {role: values[index] for role, values in self.variables.items()}
        return replace(self, variables=variables, loss=self.loss[index], **chosen)


def observe(table: RunTable, names: Mapping[str, str], needs: Sequence[str]) -> Observations:
    """The rows of a table that a law can be fitted on.

    Rows with a missing cell or a loss that is not finite, evaluations before training and copies
    are left out, with a caution. Impossible values and losses of several languages are UserErrors:
    select one language first.

    names: columns by role, as the user named them; the others have their usual names.
    needs: the variables of the law, such as `N` and `D`. Without a column, `C` is 6 N D, and
        `S` is the loss of the same run and language at 0 tokens.
    """
    columns = find_columns(table, names)
    variables = [role for role in dict.fromkeys(needs) if role != "loss"]
    read = _roles_to_read(table, columns, variables)
    values = {role: read_numbers(table, role, columns[role]) for role in read}
    runs, strategies, langs = (_words(table, columns, role) for role in _LABELS)
    named = [run or place for run, place in zip(runs or table.places, table.places, strict=True)]

    sieve = _Sieve(table.places, np.ones(len(table), bool))
    for role in read:
        if role in COUNTS and (scale := column_scale(columns[role])[1]) > 1:
            largest = show_count(float(np.nanmax([0.0, *values[role]])))
            sentence = (
                f"`{columns[role]}` is read in units of {scale:.0e}: its largest is {largest}"
            )
            sieve.warnings.append(Caution("scaled_column", sentence))
        elif role in LOSSES and is_perplexity(columns[role]):
            sentence = f"`{columns[role]}` is read as perplexities: losses are their logarithms"
            sieve.warnings.append(Caution("scaled_column", sentence))
    missing = [""] * len(table)
    for role, column in values.items():
        cells = table.columns[columns[role]]
        for i in np.flatnonzero(np.isnan(column)):
            if role != "loss" or cells[i] is None:
                missing[i] = missing[i] or columns[role]
    incomplete = np.array([bool(column) for column in missing], bool)
    sieve.drop(incomplete, "missing_cells", "for a missing cell", missing)
    sieve.drop(~np.isfinite(values["loss"]), "diverged", "for a loss that is not finite")
    check_amounts(table.places, "loss", columns["loss"], values["loss"], sieve.rows)
    if "S" in variables and "S" not in columns:
        groups = list(zip(named, langs or named, strict=True))
        values["S"] = start_losses(
            table.places, groups, values["D"], values["loss"], sieve.rows, columns["run"]
        )
    if "D" in columns:  # whether or not the law needs tokens
        at_start = [cell_number(cell) == 0 for cell in table.columns[columns["D"]]]
        sieve.drop(np.array(at_start), "before_training", "as measured before training")
    for role in read:
        check_amounts(table.places, role, columns[role], values[role], sieve.rows)
    if "C" in variables and "C" not in columns:
        values["C"] = 6 * values["N"] * values["D"]
        sentence = "there is no column of FLOPs: they are estimated as 6 N D"
        sieve.warnings.append(Caution("compute_by_rule", sentence))
    labels = [words for words in (runs, strategies, langs) if words]
    keys = zip(*(column.tolist() for column in values.values()), *labels, strict=True)
    sieve.drop(copies(keys), "duplicate_rows", "as copies of others")
    if not sieve.rows.size:
        hint = "; ".join(caution.sentence for caution in sieve.warnings)
        what = f"none of the {counted(len(table))} can be used"
        raise UserError(what, hint=hint, code="empty_selection")
    observations = Observations(
        variables={role: values[role] for role in variables},
        loss=values["loss"],
        runs=named if runs else None,
        strategies=strategies,
        langs=langs,
        places=table.places,
        columns={role: columns[role] for role in [*read, *_LABELS] if role in columns},
    ).take(sieve.rows)
    if observations.langs:
        check_one_language(table, columns["lang"], observations.langs, observations.places)
    return replace(observations, warnings=(*sieve.warnings, *_cautions(observations)))


def without_replay(
    table: RunTable, names: Mapping[str, str], why: str
) -> tuple[RunTable, list[Caution]]:
    """The rows without replay, or all where every row has some, and what to know of that.

    names: as of `observe`. why: rows with replay are left out, for the caution.
    """
    column = find_columns(table, names).get("r")
    if column is None:
        return table, []
    plain = np.flatnonzero(~(read_numbers(table, "r", column) > 0)).tolist()
    if not plain:
        what = f"all rows have replay (`{column}` above 0): {why}"
        return table, [Caution("replay_in_all", what)]
    if left := len(table) - len(plain):
        what = f"{left} rows with replay (`{column}` above 0) are left out: {why}"
        return table.take(plain), [Caution("replay_left_out", what)]
    return table, []


@dataclass(slots=True)
class _Sieve:
    places: list[str]
    live: np.ndarray
    warnings: list[Caution] = field(default_factory=list)

    @property
    def rows(self) -> np.ndarray:
        return np.flatnonzero(self.live)

    def drop(self, faulty: np.ndarray, code: str, why: str, shown: Sequence[str] = ()) -> None:
        rows = np.flatnonzero(faulty & self.live)
        self.live[rows] = False
        if rows.size:
            named = name_rows(self.places, rows, shown)
            sentence = f"{counted(rows.size)} left out {why}: {named}"
            self.warnings.append(Caution(code, sentence))


def _roles_to_read(
    table: RunTable, columns: Mapping[str, str], variables: Sequence[str]
) -> list[str]:
    instead = {"C": ("N", "D"), "S": ("D", "run")}
    read: dict[str, None] = {}
    missing: list[str] = []
    for role in [*variables, "loss"]:
        roles = (role,) if role in columns else instead.get(role, (role,))
        if all(other in columns for other in roles):
            read |= dict.fromkeys(other for other in roles if other not in _LABELS)
        else:
            missing.append(role)
    if missing:
        raise missing_column(table, missing)
    return list(read)


def _before_the_end(observed: Observations) -> list[Caution]:
    """What to know where runs have rows before their end."""
    if observed.runs is None or "D" not in observed.variables or "S" in observed.variables:
        return []  # a law of forgetting is of whole runs
    tokens = observed.variables["D"]
    _, run = np.unique(np.asarray(observed.runs), return_inverse=True)
    last = np.zeros(run.max() + 1)
    np.maximum.at(last, run, tokens)
    if not (count := int((tokens < last[run]).sum())):
        return []
    what = f"{count} of {len(run)} rows are before the end of their run"
    why = "where its learning rate decays they are too high, and best sizes are wrong"
    return [Caution("mid_schedule", f"{what}; {why}: fit final losses of several budgets")]


def _words(table: RunTable, columns: Mapping[str, str], role: str) -> list[str] | None:
    if role not in columns:
        return None
    return ["" if cell is None else str(cell) for cell in table.columns[columns[role]]]


def _cautions(observations: Observations) -> list[Caution]:
    cautions = _before_the_end(observations)
    if unit := other_unit(observations.columns["loss"], observations.loss):
        cautions.append(unit)
    amount = observations.variables.get("D", observations.variables.get("C"))
    # in a law of forgetting the loss may rise
    if observations.runs and amount is not None and "S" not in observations.variables:
        groups = list(zip(observations.runs, observations.langs or observations.runs, strict=True))
        if runs := diverged_runs(groups, amount, observations.loss):
            sentence = "the loss of these runs rises steeply, and they are kept: "
            cautions.append(Caution("diverged_run", sentence + name_rows(runs, range(len(runs)))))
    return cautions
