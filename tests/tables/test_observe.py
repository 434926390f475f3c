"""Every fault of a table gives its own refusal or caution, which names the rows."""

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.core.errors import Caution, UserError
from tongues.runs.tables import Observations, RunTable, observe, select_rows, without_replay
from tongues.runs.tables.checks import other_unit

Row = dict[str, Any]


def rows_of_law(seed: int, sizes: int = 4, checkpoints: int = 6) -> list[Row]:
    """Runs of several sizes under a Chinchilla law with half a percent of noise."""
    generator = np.random.default_rng(seed)
    rows: list[Row] = []
    for i in range(sizes):
        params = 1e7 * 3.0**i
        for j in range(1, checkpoints + 1):
            tokens = j * 20 * params
            loss = 1.7 + 480 / params**0.35 + 2100 / tokens**0.37
            rows.append(
                {
                    "run": f"run{i}",
                    "strategy": "scratch",
                    "lang": "nan",
                    "params": params,
                    "tokens": tokens,
                    "replay": 0.25,
                    "start_loss": 3.0,
                    "loss": loss * math.exp(0.005 * generator.standard_normal()),
                }
            )
    return rows


def table_of(rows: list[Row], *, as_text: bool = False) -> RunTable:
    """A table in memory, its cells as a CSV file would give them or as they are."""
    names = list(dict.fromkeys(name for row in rows for name in row))

    def cell(value: Any) -> Any:
        return str(value) if as_text and value is not None else value

    columns = {name: [cell(row.get(name)) for row in rows] for name in names}
    return RunTable(columns, [f"runs.csv:{i}" for i in range(2, len(rows) + 2)])


def hinted(hint: str) -> str:
    """The expression of the `--where` in a hint, as a shell would hand it over."""
    words = shlex.split(hint[hint.index("--where") :].replace("; or", " "))
    return words[1]


@dataclass(frozen=True)
class Fault:
    """A way to spoil a cell, and what must be said of it."""

    code: str
    column: str
    values: tuple[Any, ...]
    refused: bool
    resolved_by_hint: bool = True


FAULTS = {
    "text": Fault("text_cells", "loss", ("n/a", "-", True), refused=True),
    "text with quotes": Fault("text_cells", "tokens", ('"$x`', "it's"), refused=True),
    "counts with commas": Fault("text_cells", "tokens", ("20,000,000",), True, False),
    "an amount of loss": Fault("text_cells", "loss", ("3M",), refused=True),
    "decimal comma": Fault("text_cells", "loss", ("3,14",), True, resolved_by_hint=False),
    "zero size": Fault("not_positive", "params", (0, -1e9), refused=True),
    "negative tokens": Fault("not_positive", "tokens", (-1, -2.5), refused=True),
    "infinite size": Fault("not_positive", "params", (math.inf, 0, 1e200), refused=True),
    "zero loss": Fault("not_positive", "loss", (0.0, -3.0), refused=True),
    "share": Fault("not_a_share", "replay", (-0.5, 1.5, 200), refused=True),
    "percent": Fault("not_a_share", "replay", (25, 10), refused=True),
    "missing loss": Fault("missing_cells", "loss", (None,), refused=False),
    "missing size": Fault("missing_cells", "params", (None, math.nan), refused=False),
    "diverged": Fault("diverged", "loss", (math.nan, math.inf, -math.inf), refused=False),
    "start": Fault("before_training", "tokens", (0, 0.0), refused=False),
}


def noted(found: Observations) -> list[Caution]:
    """The cautions, but that rows are before the end of their run."""
    return [caution for caution in found.warnings if caution.code != "mid_schedule"]


@settings(deadline=None, max_examples=100)
@given(
    kind=st.sampled_from(sorted(FAULTS)),
    seed=st.integers(0, 1000),
    spoiled=st.sets(st.integers(0, 23), min_size=1, max_size=9),
    pick=st.integers(0, 5),
    as_text=st.booleans(),
)
def test_a_fault_is_named_with_its_rows(
    kind: str, seed: int, spoiled: set[int], pick: int, as_text: bool
) -> None:
    fault = FAULTS[kind]
    rows = rows_of_law(seed)
    for i in spoiled:
        rows[i] = rows[i] | {fault.column: fault.values[(pick + i) % len(fault.values)]}
    table = table_of(rows, as_text=as_text)
    named = [f"runs.csv:{i + 2}" for i in sorted(spoiled)][:5]
    needs = ["N", "D", "r", "S"]
    if fault.refused:
        with pytest.raises(UserError) as refusal:
            observe(table, {}, needs)
        assert refusal.value.code == fault.code
        assert refusal.value.where == fault.column
        said = refusal.value.what
        if fault.resolved_by_hint:
            left = observe(select_rows(table, hinted(refusal.value.hint)), {}, needs)
            assert len(left) == 24 - len(spoiled)
    else:
        found = observe(table, {}, needs)
        [caution] = noted(found)
        assert caution.code == fault.code
        said = caution.sentence
        assert len(found) == 24 - len(spoiled)
        assert not set(found.places) & set(named)
    assert all(place in said for place in named)
    assert f"{len(spoiled)} row" in said
    assert ("more" in said) == (len(spoiled) > 5)


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 1000),
    copied=st.lists(st.integers(0, 23), min_size=1, max_size=9),
    as_text=st.booleans(),
)
def test_copies_count_once(seed: int, copied: list[int], as_text: bool) -> None:
    rows = rows_of_law(seed)
    table = table_of([*rows, *(rows[i] for i in copied)], as_text=as_text)
    found = observe(table, {}, ["N", "D"])
    assert found.places == [f"runs.csv:{i}" for i in range(2, 26)]
    [caution] = noted(found)
    assert caution.code == "duplicate_rows"
    assert all(f"runs.csv:{26 + i}" in caution.sentence for i in range(min(5, len(copied))))


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 1000), other=st.sets(st.integers(0, 23), min_size=1, max_size=11))
def test_several_languages_are_refused(seed: int, other: set[int]) -> None:
    rows = [row | {"lang": "de"} if i in other else row for i, row in enumerate(rows_of_law(seed))]
    with pytest.raises(UserError, match=r"nan \(\d+ rows from runs\.csv:\d+\), de \(") as refusal:
        observe(table_of(rows), {}, ["N", "D"])
    assert refusal.value.code == "several_languages"
    chosen = observe(select_rows(table_of(rows), hinted(refusal.value.hint)), {}, ["N", "D"])
    assert chosen.langs == ["nan"] * (24 - len(other))


@pytest.mark.parametrize(
    ("column", "height", "doubted"),
    [("loss", 3.0, False), ("val_bpb", 1.0, True), ("loss", 40.0, True)],
)
def test_a_unit_that_is_not_nats_is_told(column: str, height: float, doubted: bool) -> None:
    caution = other_unit(column, np.full(5, height))
    assert (caution is not None and caution.code == "not_nats") is doubted
    rows = [row | {"bits_per_byte": row["loss"]} for row in rows_of_law(1)]
    [caution] = noted(observe(table_of(rows), {"loss": "bits_per_byte"}, ["N", "D"]))
    assert caution.code == "not_nats"


@pytest.mark.parametrize("spoil", [lambda i: 1 + 0.2 * (i == 5), lambda i: 1 + 0.6 * (i == 2)])
def test_runs_that_diverge_are_told_and_kept(spoil: Callable[[int], float]) -> None:
    rows = rows_of_law(3)
    for j in range(6):
        rows[6 + j] = rows[6 + j] | {"loss": rows[6 + j]["loss"] * spoil(j)}
    found = observe(table_of(rows), {}, ["N", "D"])
    [caution] = noted(found)
    assert caution.code == "diverged_run"
    assert "run1" in caution.sentence
    assert "run2" not in caution.sentence
    assert len(found) == 24
    # the rise of a source language's loss is what a law of forgetting describes
    assert not observe(table_of(rows), {}, ["D", "r", "S"]).warnings


def test_counts_are_read_as_papers_print_them() -> None:
    rows: list[Row] = [
        {"params (M)": 70, "tokens": "1.2B", "loss": 3.1},
        {"params (M)": "160M", "tokens": "2.5 b", "loss": 2.9},
        {"params (M)": 1400, "tokens": "300k", "loss": 2.7},
    ]
    for as_text in (False, True):
        table = table_of(rows, as_text=as_text)
        found = observe(table, {}, ["N", "D"])
        assert found.variables["N"].tolist() == [70e6, 160e6, 1.4e9]
        assert found.variables["D"].tolist() == [1.2e9, 2.5e9, 3e5]
        assert [caution.code for caution in found.warnings] == ["scaled_column"]
        assert "largest is 1.4B" in found.warnings[0].sentence
        assert len(select_rows(table, "tokens > 1e9")) == 2


@pytest.mark.parametrize("name", ["val perplexity", "eval/ppl", "Perplexity"])
def test_perplexities_are_read_as_losses(name: str) -> None:
    rows = rows_of_law(1)
    asked = [
        {"params": r["params"], "tokens": r["tokens"], name: math.exp(r["loss"])} for r in rows
    ]
    found = observe(table_of(asked), {"loss": name}, ["N", "D"])
    assert found.loss == pytest.approx([row["loss"] for row in rows])
    assert noted(found)[0].sentence == (
        f"`{name}` is read as perplexities: losses are their logarithms"
    )


def test_a_logarithm_of_perplexities_is_a_loss() -> None:
    rows = [{k if k != "loss" else "log_ppl": v for k, v in row.items()} for row in rows_of_law(1)]
    found = observe(table_of(rows), {"loss": "log_ppl"}, ["N", "D"])
    assert found.loss.tolist() == [row["log_ppl"] for row in rows]


def test_compute_is_made_by_rule_where_no_column_tells_it() -> None:
    rows = rows_of_law(1)
    found = observe(table_of(rows), {}, ["C"])
    assert set(found.variables) == {"C"}
    assert found.variables["C"].tolist() == [6 * row["params"] * row["tokens"] for row in rows]
    assert [caution.code for caution in noted(found)] == ["compute_by_rule"]
    given = observe(table_of([row | {"flops": 1e18} for row in rows]), {}, ["C"])
    assert given.variables["C"].tolist() == [1e18] * 24
    assert not noted(given)


def test_the_loss_before_training_comes_from_the_row_at_0_tokens() -> None:
    rows = [{name: row[name] for name in row if name != "start_loss"} for row in rows_of_law(1)]
    starts = [rows[6 * i] | {"tokens": 0, "loss": 2.5 + i} for i in range(4)]
    found = observe(table_of([*rows, *starts]), {}, ["D", "r", "S"])
    assert found.variables["S"].tolist() == [2.5 + i // 6 for i in range(24)]
    with pytest.raises(UserError, match="2 runs") as refusal:
        observe(table_of([*rows, *starts[:2]]), {}, ["D", "r", "S"])
    assert refusal.value.code == "no_start"
    assert all(f"runs.csv:{2 + i}" in refusal.value.what for i in range(12, 17))
    table = select_rows(table_of([*rows, *starts[:2]]), hinted(refusal.value.hint))
    assert len(observe(table, {}, ["D", "r", "S"])) == 12
    with pytest.raises(UserError, match="no_start"):
        observe(table_of(rows), {}, ["D", "r", "S"])
    with pytest.raises(UserError, match="missing_column"):
        observe(table_of([row | {"run": None} for row in rows]), {"run": "replay"}, ["r", "S"])


def test_nothing_left_says_why() -> None:
    rows = [row | {"loss": None if i % 2 else math.nan} for i, row in enumerate(rows_of_law(1))]
    with pytest.raises(UserError, match="none of the 24 rows") as refusal:
        observe(table_of(rows), {}, ["N", "D"])
    assert refusal.value.code == "empty_selection"
    assert "12 rows left out for a missing cell" in refusal.value.hint
    assert "12 rows left out for a loss that is not finite" in refusal.value.hint


def test_rows_with_replay_are_left_out_with_a_word() -> None:
    def kept(*shares: object) -> tuple[int, list[str]]:
        rows = rows_of_law(1)
        mixed = [row | {"replay": shares[i % len(shares)]} for i, row in enumerate(rows)]
        table, cautions = without_replay(table_of(mixed), {}, "why")
        return len(table), [one.code for one in cautions]

    assert kept(0, None, "0.2") == (16, ["replay_left_out"])
    assert kept(0, 0.0) == (24, [])
    assert kept(0.05, 0.5) == (24, ["replay_in_all"])
    with pytest.raises(UserError) as refusal:
        kept("0%", "20%")
    assert "0.2 for 20%" in refusal.value.hint


def test_rows_are_taken_by_index_and_by_mask() -> None:
    rows = rows_of_law(1)
    rows[3] = rows[3] | {"run": None}
    found = observe(table_of(rows), {}, ["N", "D"])
    assert found.runs is not None
    assert found.runs[3] == "runs.csv:5"
    known = replace(found, strategies=None, units=[*"abcdef"] * 4)
    picked = known.take(np.array([5, 3]))
    assert (picked.strategies, picked.units) == (None, ["f", "d"])
    assert picked.places == ["runs.csv:7", "runs.csv:5"]
    assert picked.runs == ["run0", "runs.csv:5"]
    assert picked.loss.tolist() == [rows[5]["loss"], rows[3]["loss"]]
    large = found.take(found.variables["N"] > 1e8)
    assert len(large) == 6
    assert large.langs == ["nan"] * 6


ANY_CELL = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["1e9", "3.5", "0", "nan", "-inf", "1e999", "0,5", 1e9, 2e10, 3.0, 0.5]),
)
NEEDS = st.sampled_from([["N", "D"], ["C"], ["N", "D", "U"], ["D", "r", "S"], ["N", "D", "C"]])


@settings(deadline=None, max_examples=100)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            dict.fromkeys(("N", "D", "loss", "replay", "U"), ANY_CELL),
            optional=dict.fromkeys(("run", "lang", "flops", "start_loss"), ANY_CELL),
        ),
        max_size=8,
    ),
    spoiled=st.lists(st.tuples(st.integers(0, 23), st.sampled_from(["N", "loss"]), ANY_CELL)),
    needs=NEEDS,
)
def test_any_cells_are_observed_or_refused(
    rows: list[Row], spoiled: list[tuple[int, str, Any]], needs: list[str]
) -> None:
    sound = [row | {"N": row["params"], "D": row["tokens"], "U": 1e9} for row in rows_of_law(1)]
    for i, column, cell in spoiled:
        sound[i] = sound[i] | {column: cell}
    for table in (table_of(rows), table_of(sound), table_of([*sound, *rows])):
        try:
            found = observe(table, {}, needs)
        except UserError as refusal:
            assert refusal.code
            assert refusal.hint
            continue
        assert isinstance(found, Observations)
        numbers = [*found.variables.values(), found.loss]
        assert all(len(values) == len(found) > 0 for values in numbers)
        assert all(np.isfinite(values).all() for values in numbers)
        assert all((found.variables[role] > 0).all() for role in needs if role != "r")
