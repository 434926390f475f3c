from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tongues
from tests.golden import golden
from tests.laws.made import (
    CHINCHILLA,
    CPT,
    SMALL,
    Columns,
    codes,
    grid,
    noise,
    rows_of,
    small_runs,
)
from tongues import laws
from tongues.core.errors import UserError
from tongues.laws import Law, allocate

BASE = Law("chinchilla", SMALL)


def said(law, code, title):
    """Compare the sentence of a code, which must be there once, with the words kept."""
    (caution,) = [caution for caution in law.warnings if caution.code == code]
    golden(f"cautions/{title}", caution.sentence)


def fit(rows, form="chinchilla", *, draws=0, **options: Any):
    return laws.fit(form, **rows, draws=draws, **options)


@pytest.mark.parametrize("seed", range(3))
def test_healthy_rows_raise_none(seed):
    base = fit(rows_of(CHINCHILLA, spread=0.003, seed=seed), draws=40)
    law = fit(rows_of(CPT | {"B": 900.0}, spread=0.003, seed=9), "cpt", base=base, draws=40)
    assert codes(base) == codes(law) == set()
    assert base.loose == ()


def test_healthy_power_laws_raise_none():
    C = np.geomspace(1e17, 1e22, 15)
    assert codes(laws.fit("power", 33.7 * C**-0.058 * noise(15, 0.003), C=C, draws=40)) == set()
    loss = (1.6 + 1000 * C**-0.15) * noise(15, 0.0005)
    assert codes(laws.fit("power-floor", loss, C=C, draws=40)) == set()


@pytest.mark.parametrize(("sizes", "warned"), [(3, True), (4, False)])
def test_few_sizes(sizes, warned):
    law = fit(rows_of(CHINCHILLA, sizes=sizes))
    assert ("few_sizes" in codes(law)) == warned
    if warned:
        said(law, "few_sizes", "few sizes")
    assert law.to_json()["pinned_down"] != warned


def test_an_exponent_that_is_given_is_no_guess():
    given = {"alpha": CHINCHILLA["alpha"]}
    assert codes(fit(rows_of(CHINCHILLA, sizes=3), fix=given)) == set()


@pytest.mark.parametrize(
    ("runs", "code"), [(2, "no_intervals"), (3, "few_runs"), (5, "few_runs"), (6, None)]
)
def test_few_runs(runs, code):
    rows = rows_of(CHINCHILLA)
    law = fit(rows, runs=np.arange(48) % runs, draws=20)
    assert codes(law) & {"no_intervals", "few_runs"} == ({code} if code else set())
    assert (law.interval == {}) == (runs == 2)


def test_sizes_and_tokens_that_grew_together():
    N = np.geomspace(1e5, 1e8, 10)
    D = 20 * N * noise(10, 0.02)
    law = laws.fit("chinchilla", BASE.loss(N, D), N=N, D=D, draws=0)
    said(law, "sizes_and_tokens_together", "sizes and tokens together")
    law = laws.fit("chinchilla", BASE.loss(N, D[::-1]), N=N, D=D[::-1], draws=0)
    said(law, "sizes_and_tokens_together", "sizes against tokens")


@pytest.mark.parametrize("count", [1, 7])
def test_runs_far_from_the_law_are_named_the_farthest_first(count):
    rows = rows_of(CHINCHILLA, spread=0.003)
    wrong = np.arange(1, 7 * count, 7)
    rows["loss"][wrong] *= np.linspace(1.2, 1.5, count)
    names = np.array([f"run-{i}" for i in range(48)])
    said(fit(rows, runs=names), "outlying_runs", f"outlying runs, {count}")


def test_a_run_in_bits_lies_44_percent_off_and_one_bad_checkpoint_is_no_outlying_run():
    rows = rows_of(CHINCHILLA, spread=0.003)
    rows["loss"][10] /= np.log(2)
    said(fit(rows), "outlying_runs", "a run in bits")
    rows = small_runs(SMALL, 0.003, sizes=np.geomspace(1e5, 1e7, 8))
    rows["loss"][5] *= 1.5
    assert "outlying_runs" not in codes(fit(rows))
    rows["loss"][32:40] *= 1.5
    said(fit(rows), "outlying_runs", "a run whose checkpoints are all off")


def test_continued_runs_below_their_base():
    rows = small_runs(SMALL)
    low = rows | {"loss": np.full(32, 1.2)}
    law = fit(low, "cpt", base=BASE, draws=20)
    assert {"below_base", "at_bound", "no_interior_optimum"} <= codes(law)
    said(law, "below_base", "below the base, all")
    assert allocate(law) is None
    rows["loss"][3] = 1.2
    said(fit(rows, "cpt", base=BASE), "below_base", "below the base, one")


def test_a_base_without_draws():
    rows = small_runs(SMALL, 0.003)
    assert "base_without_draws" in codes(fit(rows, "cpt", base=BASE, draws=20))
    base = fit(rows, draws=20)
    assert "base_without_draws" not in codes(fit(rows, "cpt", base=base, draws=20))


def test_a_base_that_is_not_pinned_down():
    loose = fit(small_runs(SMALL, sizes=(1e5, 1e6)))
    assert {"few_sizes", "no_intervals"} <= {caution.code for caution in loose.loose}
    law = fit(small_runs(SMALL, 0.003), "cpt", base=loose)
    said(law, "loose_base", "a loose base")
    assert "loose_base" in {caution.code for caution in law.loose}
    assert "loose_base" not in codes(fit(small_runs(SMALL, 0.003), "cpt", base=BASE))


def test_losses_without_a_floor():
    rows = small_runs(SMALL)
    rows["loss"] = 40 / rows["N"] ** 0.25 + 300 / rows["D"] ** 0.4
    law = fit(rows)
    assert "zero_E" in codes(law)
    assert law.params["E"] < 1e-3
    assert law.loose
    law = fit(rows, fix={"E": 0.0})
    assert "zero_E" not in codes(law)  # nobody looked for it


def test_exponents_at_the_edge_of_the_search():
    rows = small_runs(SMALL)
    rows["loss"] = 1.5 + 3e15 / rows["D"] ** 2.6 + 40 / rows["N"] ** 0.3
    steep = rows | {"loss": 1.5 + 1e25 / rows["D"] ** 4 + 40 / rows["N"] ** 0.3}
    assert "at_bound" not in codes(fit(rows))
    said(fit(steep), "at_bound", "an exponent at its bound")


def test_a_term_that_is_not_there():
    N, D = grid()
    law = laws.fit("chinchilla", 1.6 + 2000 / D**0.37, N=N, D=D, draws=0)
    said(replace(law, warnings=law.loose[:1]), "at_bound", "a term that vanished")


@pytest.mark.parametrize("spread", [0.0, 0.01, 0.03])
def test_flat_valleys(spread):
    law = fit(small_runs(SMALL, spread, sizes=(1e5, 1e6)))  # two sizes for E, A and alpha
    assert codes(law) & {"ill_conditioned", "zero_E"}  # somewhere in the valley, or at its end
    assert law.loose
    assert law.interval == {}


def test_an_optimum_in_doubt():
    law = fit(rows_of(CPT | {"gamma": 0.25}, spread=0.01), "extended", draws=60)
    assert codes(law) & {"optimum_in_doubt", "no_interior_optimum"}


def test_a_column_that_the_law_does_not_read_is_refused(tmp_path: Path):
    table = tmp_path / "runs.csv"
    rows = [
        f"{n},{d},{min(d, 4e9)},{1.7 + 400 * n**-0.34 + 410 * d**-0.28}"
        for n in (1e7, 3e7, 1e8, 3e8)
        for d in (1e9, 2e9, 4e9, 8e9, 16e9)
    ]
    table.write_text("\n".join(["params,tokens,mine,loss", *rows]))
    assert tongues.fit(table, "data-constrained", columns={"unique": "mine"}, draws=0).law
    for column, what, hint in (
        ("mine", "chinchilla law does not read `mine`", "`--law data-constrained`"),
        ("nine", "there is no column `nine`", "did you mean `mine`?"),
    ):
        with pytest.raises(UserError, match=what) as caught:
            tongues.fit(table, columns={"unique": column}, draws=0)
        assert caught.value.where == "--column unique" and hint in caught.value.hint


@pytest.mark.parametrize("curves", [True, False])
def test_rows_of_a_table_before_the_end_of_their_run_are_named(tmp_path: Path, curves: bool):
    lines = ["run,params,tokens,loss"]
    for run, (params, tokens) in enumerate(
        (n * 1e6, n * 1e7 * m) for n in (1, 3, 9) for m in (1, 4)
    ):
        for part in (0.5, 0.75, 1.0) if curves else (1.0,):
            loss = 1.7 + 400 * params**-0.34 + 410 * (part * tokens) ** -0.28
            lines.append(f"r{run},{params},{part * tokens},{loss}")
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(lines) + "\n")
    answer = tongues.fit([table], law="chinchilla", draws=0)
    told = [caution.sentence for caution in answer.cautions if caution.code == "mid_schedule"]
    assert len(told) == curves
    assert not curves or told[0].startswith("12 of 18 rows are before the end of their run")


ROWS = rows_of(CHINCHILLA, 0.005)


def of_rows(law="chinchilla", **changed):
    return laws.fit(law, draws=0, **ROWS | changed)


def test_experiments_thrown_together_pin_nothing_down():
    other = rows_of(CHINCHILLA | {"E": 2.6}, 0.005, seed=1)
    both: Columns = {name: np.concatenate([ROWS[name], other[name]]) for name in ROWS}
    law = laws.fit("chinchilla", draws=0, **both)
    assert "mixed_experiments" in codes(law)
    assert law.loose
    assert not law.to_json()["pinned_down"]
    assert "mixed_experiments" not in codes(of_rows())
    noise = of_rows(loss=np.random.default_rng(0).uniform(2.0, 4.0, len(ROWS["N"])))
    assert "mixed_experiments" in codes(noise)
    assert noise.loose


def test_a_form_that_the_runs_bend_from_is_named_with_how_much_and_how_sure():
    size, tokens = 480.0 * ROWS["N"] ** -0.35, 2000.0 * ROWS["D"] ** -0.37
    bound = 1.8 + (size**2.5 + tokens**2.5) ** 0.4  # and not only added
    law = of_rows(loss=bound * noise(len(ROWS["N"]), 0.003))
    assert "lack_of_fit" in codes(law)
    assert "lack_of_fit" not in codes(of_rows())
    sentence = next(w.sentence for w in law.warnings if w.code == "lack_of_fit")
    assert "of the loss" in sentence


def test_a_kink_at_large_sizes_widens_what_is_predicted():
    kink = np.where(ROWS["N"] > 2e9, 1.03, 1.0)
    straight, bent = (
        of_rows().predict(3e10, 3e12),
        of_rows(loss=ROWS["loss"] * kink).predict(3e10, 3e12),
    )
    assert (bent.high - bent.low).item() > 1.5 * (straight.high - straight.low).item()


def test_sizes_in_millions_and_swapped_columns_are_seen():
    law = of_rows(N=ROWS["N"] / 1e6, D=ROWS["D"] / 1e9)
    first, second, *_ = [x.sentence for x in law.warnings if x.code == "implausible_amounts"]
    assert "parameters; " in first and "like `params (M)`" in first
    assert "tokens; " in second and "like `tokens (M)`" in second
    assert "implausible_amounts" in codes(of_rows(N=1e4 * ROWS["D"], D=ROWS["N"]))
