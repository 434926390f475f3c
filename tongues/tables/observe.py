"""What a law is fitted on: the columns it needs as numbers, every row checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from tongues.errors import Caution, UserError
from tongues.tables.checks import (
    check_amounts,
    check_one_language,
    copies,
    counted,
    diverged_runs,
    in_bits,
    name_rows,
    other_unit,
    read_numbers,
    start_losses,
)
from tongues.tables.files import RunTable, cell_number
from tongues.tables.roles import find_columns, missing_column

__all__ = ["Observations", "observe"]

_WHOSE = ("run", "strategy", "lang")


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """What a law is fitted on: numbers by role, and whose they are.

    loss: nats per token. runs: of each row; None where every row is a run of its own. units: what
    is resampled as one, of each row; the runs where it is None. places: where each row stands.
    columns: by role the column that was read.
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

    def without_highest(self, count: int) -> Self:
        """Without so many of the highest losses, the rest in their order."""
        order = np.argsort(self.loss, kind="stable")
        return self.take(np.sort(order[: max(len(order) - count, 0)]))


def observe(table: RunTable, names: Mapping[str, str | None], needs: Sequence[str]) -> Observations:
    """The rows of a table that a law can be fitted on.

    A row that says nothing is left out with a caution: one with a missing cell, a loss that is
    not finite, an evaluation before training, a copy. A row that cannot be true is refused, and
    so are losses of several languages: choose one of them before.

    names: columns by role, as the user named them; the others go by their well-known names.
    needs: the variables of the law, such as `N` and `D`. `C` is 6 N D where no column gives it,
        `S` the loss of the same run and language at 0 tokens.
    """
    columns = find_columns(table, names)
    wanted = [role for role in dict.fromkeys(needs) if role != "loss"]
    read = _roles_to_read(table, columns, wanted)
    values = {role: read_numbers(table, role, columns[role]) for role in read}
    runs, strategies, langs = (_words(table, columns, role) for role in _WHOSE)
    named = [run or place for run, place in zip(runs or table.places, table.places, strict=True)]

    sieve = _Sieve(table.places, np.ones(len(table), bool))
    missing = [""] * len(table)
    for role, column in values.items():
        cells = table.columns[columns[role]]
        for i in np.flatnonzero(np.isnan(column)):
            if role != "loss" or cells[i] is None:
                missing[i] = missing[i] or columns[role]
    gone = np.array([bool(column) for column in missing], bool)
    sieve.drop(gone, "missing_cells", "for a missing cell", missing)
    sieve.drop(~np.isfinite(values["loss"]), "diverged", "for a loss that is not finite")
    check_amounts(table.places, "loss", columns["loss"], values["loss"], sieve.rows)
    if "S" in wanted and "S" not in columns:
        groups = list(zip(named, langs or named, strict=True))
        values["S"] = start_losses(
            table.places, groups, values["D"], values["loss"], sieve.rows, columns["run"]
        )
    if "D" in columns:  # whether or not the law needs tokens
        at_start = [cell_number(cell) == 0 for cell in table.columns[columns["D"]]]
        sieve.drop(np.array(at_start), "before_training", "as measured before training")
    for role in read:
        check_amounts(table.places, role, columns[role], values[role], sieve.rows)
    if "C" in wanted and "C" not in columns:
        values["C"] = 6 * values["N"] * values["D"]
        sentence = "no column tells the FLOPs: they are taken as 6 N D"
        sieve.warnings.append(Caution("compute_by_rule", sentence))
    whose = [words for words in (runs, strategies, langs) if words]
    keys = zip(*(column.tolist() for column in values.values()), *whose, strict=True)
    sieve.drop(copies(keys), "duplicate_rows", "as copies of others")
    if not sieve.rows.size:
        hint = "; ".join(caution.sentence for caution in sieve.warnings)
        what = f"none of the {counted(len(table))} can be used"
        raise UserError(what, hint=hint, code="empty_selection")
    found = Observations(
        variables={role: values[role] for role in wanted},
        loss=values["loss"],
        runs=named if runs else None,
        strategies=strategies,
        langs=langs,
        places=table.places,
        columns={role: columns[role] for role in [*read, *_WHOSE] if role in columns},
    ).take(sieve.rows)
    if found.langs:
        check_one_language(table, columns["lang"], found.langs, found.places)
    return replace(found, warnings=(*sieve.warnings, *_doubts(found)))


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


def _roles_to_read(table: RunTable, columns: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    instead = {"C": ("N", "D"), "S": ("D", "run")}
    read: dict[str, None] = {}
    missing: list[str] = []
    for role in [*wanted, "loss"]:
        roles = (role,) if role in columns else instead.get(role, (role,))
        if all(other in columns for other in roles):
            read |= dict.fromkeys(other for other in roles if other not in _WHOSE)
        else:
            missing.append(role)
    if missing:
        raise missing_column(table, missing)
    return list(read)


def _words(table: RunTable, columns: Mapping[str, str], role: str) -> list[str] | None:
    if role not in columns:
        return None
    return ["" if cell is None else str(cell) for cell in table.columns[columns[role]]]


def _doubts(found: Observations) -> list[Caution]:
    doubts: list[Caution] = []
    if unit := other_unit(found.columns["loss"], found.loss):
        doubts.append(unit)
    positive = {role: values for role, values in found.variables.items() if role not in "rS"}
    bits = in_bits(positive, found.loss)
    if bits.size:
        where = name_rows(found.places, bits, [f"{loss:.4g}" for loss in found.loss])
        sentence = f"{counted(bits.size)} 1.44 times above what the others lead to expect"
        doubts.append(Caution("mixed_units", f"{sentence}, as losses in bits would be: {where}"))
    amount = found.variables.get("D", found.variables.get("C"))
    # a loss that rises is what a law of forgetting is about
    if found.runs and amount is not None and "S" not in found.variables:
        groups = list(zip(found.runs, found.langs or found.runs, strict=True))
        if runs := diverged_runs(groups, amount, found.loss):
            sentence = "the loss of these runs rises steeply, and they are kept: "
            doubts.append(Caution("diverged_run", sentence + name_rows(runs, range(len(runs)))))
    return doubts
