"""Laws, fitted to runs and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tongues.laws.ask import FitAnswer, fit_places
from tongues.verbs.shared import pairs, paths

__all__ = ["fit"]


def fit(
    tables: Path | str | Sequence[Path | str],
    law: str | None = None,
    *,
    params: str | None = None,
    tokens: str | None = None,
    loss: str | None = None,
    flops: str | None = None,
    unique: str | None = None,
    replay: str | None = None,
    start: str | None = None,
    share: str | None = None,
    experts: str | None = None,
    run: str | None = None,
    strategy: str | None = None,
    lang: str | None = None,
    where: str | None = None,
    drop_highest: int = 0,
    delta: float = 1e-3,
    fix: Sequence[str] | Mapping[str, float] = (),
    tie: Sequence[str] | Mapping[str, str] = (),
    base: Path | str | None = None,
    compare: bool = False,
    draws: int = 1000,
) -> FitAnswer:
    """Fit scaling laws to tables (CSV, JSONL, Parquet) or directories of runs.

    tables: one place or several.
    law: its name; None: all laws of every target of runs, `chinchilla` of a table.
    params, tokens, loss, flops, unique, replay, start, share, experts, run, strategy, lang: the
        columns of a table, where they are called otherwise.
    where: which rows, as in `tokens > 1e9`.
    drop_highest: the number of highest losses to leave out.
    delta: the Huber threshold, in log loss.
    fix: parameters held at a value; tie: parameters held equal to another.
    base: the law underneath, by name or file, such as of scratch runs.
    compare: fit every law on every strategy's rows, and compare them on runs held out.
    draws: bootstrap draws of the intervals.
    """
    columns = {"N": params, "D": tokens, "loss": loss, "C": flops, "U": unique, "r": replay}
    columns |= {"S": start, "h": share, "k": experts, "run": run, "strategy": strategy}
    columns |= {"lang": lang}
    answer = fit_places(
        paths(tables),
        law,
        columns,
        where,
        compare=compare,
        base=None if base is None else str(base),
        fix=pairs(fix),
        tie=pairs(tie),
        drop_highest=drop_highest,
        delta=delta,
        draws=draws,
    )
    return replace(answer, places=tuple(map(str, paths(tables))))
