"""Laws, fitted to runs and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tongues.laws.answer import FitAnswer
from tongues.laws.ask import fit_places
from tongues.verbs.shared import pairs, paths


def fit(
    tables: Path | str | Sequence[Path | str],
    law: str | None = None,
    *,
    columns: Sequence[str] | Mapping[str, str] = (),
    where: str | None = None,
    fix: Sequence[str] | Mapping[str, float] = (),
    base: Path | str | None = None,
    compare: bool = False,
    draws: int = 1000,
) -> FitAnswer:
    """Fit scaling laws to tables (CSV, JSONL, Parquet) or directories of runs.

    tables: one place or several.
    law: its name; None: all laws of every target of runs, `chinchilla` of a table.
    columns: those of a table that are called otherwise, by role: `{"params": "n_params"}`.
    where: which rows, as in `tokens > 1e9`.
    fix: parameters held at a value.
    base: the law underneath, by name or file, such as of scratch runs.
    compare: fit every law on every strategy's rows, and compare them on runs held out.
    draws: bootstrap draws of the intervals.
    """
    answer = fit_places(
        paths(tables),
        law,
        pairs(columns),
        where,
        compare=compare,
        base=None if base is None else str(base),
        fix=pairs(fix),
        draws=draws,
    )
    return replace(answer, places=tuple(map(str, paths(tables))))
