import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.laws.made import CHINCHILLA, SMALL, Columns, grid, rows_of, small_runs
from tongues import laws
from tongues.core.errors import UserError
from tongues.laws import FORMS, Law
from tongues.laws.rows import read_rows

GRID: Columns = dict(zip("ND", grid(4, 5), strict=True))
BASE = Law("chinchilla", CHINCHILLA)


def read(loss=None, runs=None, form="chinchilla", **change):
    variables = {**GRID, **change}
    loss = BASE.loss(**GRID) if loss is None else loss
    return read_rows(FORMS.find(form), variables, loss, runs, len(FORMS.find(form).free))


@pytest.mark.parametrize("name", ["N", "D", "loss"])
@pytest.mark.parametrize("value", [-1.0, 0.0, math.nan, math.inf, -math.inf])
def test_a_bad_value_is_refused_with_its_row(name, value):
    columns: Columns = GRID | {"loss": BASE.loss(**GRID)}
    columns[name] = columns[name].copy()
    columns[name][3] = value
    shown = f"{name} must be positive and finite, but row 3 is {value:g}"
    with pytest.raises(UserError, match=shown) as caught:
        read(**columns)
    assert (caught.value.where, caught.value.code) == (name, "not_positive")
    assert "diverged" in caught.value.hint


def test_text_in_a_column_is_refused():
    with pytest.raises(UserError, match="D must be numbers") as caught:
        read(D=["1e9", *["a lot"] * 19])
    assert caught.value.code == "text_cells"
    with pytest.raises(UserError, match="plain list"):
        read(N=np.ones((20, 2)))
    with pytest.raises(UserError, match="row 0 is nan"):
        read(N=[None] * 20)


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        ({"D": np.ones(19)}, "", "differ in length: N 20, D 19, loss 20, runs 20"),
        ({"runs": ["a"] * 21}, "", "runs 21"),
        ({"N": np.full(20, 1e8)}, "single_value", "at least two model sizes .* have N = 1e\\+08"),
        ({"D": np.ones(20)}, "single_value", "at least two token counts"),
        ({"form": "data-constrained"}, "missing_column", "needs U"),
        ({"form": "power"}, "missing_column", "needs C"),
        ({"form": "power", "C": np.ones(20)}, "single_value", "at least two amounts of compute"),
    ],
)
def test_tables_that_cannot_hold_a_law_are_refused(change, code, reason):
    with pytest.raises(UserError, match=reason) as caught:
        read(**change)
    assert caught.value.code == code


def test_an_empty_table_and_one_too_short_are_refused():
    nothing = np.empty(0)
    with pytest.raises(UserError, match="0 rows are too few for the chinchilla law, which needs 6"):
        read(N=nothing, D=nothing, loss=nothing)
    few = {name: values[:5] for name, values in GRID.items()}
    with pytest.raises(UserError, match="5 rows are too few") as caught:
        read(**few, loss=np.ones(5))
    assert caught.value.code == "too_few_rows"


def test_what_is_fixed_need_not_be_found_from_rows():
    rows = {name: values[:4] for name, values in rows_of(CHINCHILLA, lengths=6).items()}
    rows["D"] = rows["D"] * [1, 2, 3, 4]
    with pytest.raises(UserError, match="4 rows are too few"):
        laws.fit("chinchilla", **rows)
    fix = {name: CHINCHILLA[name] for name in ("E", "alpha", "beta")}
    assert laws.fit("chinchilla", **rows, fix=fix, draws=0).n_rows == 4


@pytest.mark.parametrize("share", [-0.1, 1.5, math.nan])
def test_a_share_lies_between_none_and_all(share):
    columns = {"D": np.geomspace(1e8, 1e10, 20), "r": np.full(20, share), "S": np.full(20, 2.0)}
    with pytest.raises(UserError) as caught:
        read(form="forgetting", **columns)
    assert caught.value.where == "r"


def test_replay_may_be_nothing_at_all():
    columns = {"D": np.geomspace(1e8, 1e10, 20), "r": np.zeros(20), "S": np.full(20, 2.0)}
    assert (read(form="forgetting", **columns).variables["r"] == 0).all()


def test_runs_are_numbered_as_they_appear_and_rows_can_be_taken():
    rows = read(runs=["b", "a"] * 10)
    assert rows.runs == ("b", "a")
    assert rows.run.tolist() == [0, 1] * 10
    assert rows.n_runs == 2
    taken = rows.take(np.array([0, 2, 4]))
    assert (taken.runs, taken.n_runs, taken.run.tolist()) == (("b",), 1, [0, 0, 0])
    np.testing.assert_array_equal(taken.loss, rows.loss[[0, 2, 4]])
    masked = rows.take(rows.loss > np.median(rows.loss))
    assert len(masked.loss) == 10
    assert rows.range["N"] == (1e7, pytest.approx(1e10))


def test_without_names_each_row_is_a_run():
    assert read().n_runs == 20


def test_a_run_may_be_called_nan():
    rows = read(runs=["nan"] * 10 + ["None"] * 10)
    assert rows.runs == ("nan", "None")


columns = st.sampled_from(["N", "D", "loss", "U", "r", "S"])
values = st.one_of(
    st.sampled_from([0.0, -1.0, math.nan, math.inf, -math.inf, 1e-300, 1e300, 1e-9, 1e15]),
    st.floats(),
    st.floats(-9, 30).map(lambda power: 10.0**power),
)
SIMPLE = ["chinchilla", "cpt", "extended", "power", "power-floor"]
CURVED = ["overfitted", "data-constrained", "forgetting"]


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(
    form=st.sampled_from([*SIMPLE, *SIMPLE, *CURVED]),
    cells=st.lists(st.tuples(columns, st.integers(0, 31), values), max_size=3),
    scaled=st.lists(st.tuples(columns, st.floats(1e-3, 1e3)), max_size=2),
    constant=st.lists(st.tuples(columns, st.floats(0.1, 1e6)), max_size=1),
    shuffled=st.lists(columns, max_size=2),
    kept=st.integers(0, 32),
    names=st.lists(st.integers(0, 5), min_size=32, max_size=32),
    seed=st.integers(0, 9),
)
def test_corrupt_rows_are_refused_or_give_finite_numbers(
    form, cells, scaled, constant, shuffled, kept, names, seed
):
    random = np.random.default_rng(seed)
    rows = small_runs(SMALL, 0.02, seed=seed)
    rows |= {"U": rows["D"] / 4, "r": random.uniform(0, 1, 32), "S": random.uniform(2, 3, 32)}
    rows["runs"] = names
    for name, factor in scaled:
        rows[name] = rows[name] * factor
    for name, value in constant:
        rows[name] = np.full(32, value)
    for name in shuffled:
        rows[name] = random.permutation(rows[name])
    for name, row, value in cells:
        rows[name][row] = value
    rows = {name: column[:kept] for name, column in rows.items()}
    with np.errstate(all="ignore"):
        rows["C"] = 6 * rows["N"] * rows["D"]
    base = Law("chinchilla", SMALL) if FORMS.find(form).base else None
    try:
        law = laws.fit(form, **rows, base=base, draws=4 if form in SIMPLE else 0)
    except UserError as refusal:
        assert refusal.what and refusal.where
        return
    numbers = [law.mean_huber, *law.params.values()]
    numbers += [end for ends in law.interval.values() for end in ends]
    numbers += [value for draws in law.draws.values() for value in draws]
    assert np.isfinite(numbers).all()
    json.dumps(law.to_json(), allow_nan=False)
