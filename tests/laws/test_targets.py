from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tongues
from tests.golden import golden
from tests.laws.made import SMALL, SMALL_CPT, view_of
from tests.printed import DOCS
from tests.studies import write_run, write_study
from tongues.core.errors import UserError
from tongues.laws import Curve, Law, fit
from tongues.laws.answer import FitAnswer, plan_command
from tongues.laws.targets import base_losses, compare_laws, fit_targets, law_rows

TOKENS = np.concatenate([[0.0], np.geomspace(1e5, 4e7, 14)])


def run_of(
    size, strategy="scratch", target="xx", replay=0.0, seed=1, wrong=1.0, length=1.0, also=()
):
    tokens = length * TOKENS
    law = Law("cpt", SMALL_CPT) if strategy == "cpt" else Law("chinchilla", SMALL)
    error = np.exp(0.002 * np.random.default_rng([int(size), seed]).standard_normal(15))
    loss = law.loss(size, np.maximum(tokens, 1e3)) * error * wrong
    if length != 1.0:
        loss[:-1] *= 1.1  # in mid-schedule
    compute = 6 * size * tokens
    curves = {target: Curve(tokens, compute, loss)}
    if strategy == "cpt":
        rise = 2.4 + 0.3 * (1 - replay) * (tokens / 4e7) ** 0.3
        curves["home"] = Curve(tokens, compute, rise)
    own = {"shape": f"{size:g}", "params": int(size), "seed": seed, "targets": (target, *also)}
    name = f"{strategy}-{target}-{size:g}-{seed}-{replay:g}-{length:g}"
    return view_of(name, target, curves, strategy=strategy, replay=replay, **own)


RUNS = [
    run_of(size, strategy, replay=replay)
    for size in np.geomspace(1e5, 3e6, 6)
    for strategy, replay in (("scratch", 0.0), ("cpt", 0.0), ("cpt", 0.2))
]


PLAIN = [run for run in RUNS if not run.replay]


def test_evaluations_of_the_warm_up_are_left_out():
    rows = law_rows(RUNS[:1])[0]["scratch"]
    N, D, C = rows.variables.values()
    assert D.min() >= 0.1 * TOKENS[-1]
    assert (N == 1e5).all()
    np.testing.assert_allclose(C, 6 * N * D)
    assert rows.runs == [RUNS[0].name] * len(N)


def test_every_target_gets_its_laws_by_strategy():
    (found,) = fit_targets(PLAIN, draws=20)
    assert found.target == "xx"
    assert found.forgetting is None
    assert found.all == tuple(found.laws.values())
    assert found.refused == ()
    assert (found.laws["scratch"].form, found.laws["cpt"].form) == ("chinchilla", "cpt")
    assert {law.form for law in found.powers.values()} == {"power"}
    for laws in (found.laws, found.powers):
        for strategy, law in laws.items():
            assert (law.strategy, law.target) == (strategy, "xx")
            assert len(law.draws["A"]) == 20
    assert found.laws["cpt"].params["E"] == found.laws["scratch"].params["E"]
    assert found.laws["scratch"].loose == found.laws["cpt"].loose == ()


def test_targets_do_not_mix():
    other = [run_of(size, target="yy", wrong=1.3) for size in np.geomspace(1e5, 3e6, 6)]
    first, second = fit_targets([*PLAIN, *other], draws=0)
    assert (first.target, second.target) == ("xx", "yy")
    assert second.laws.keys() == {"scratch"}
    (alone,) = fit_targets(PLAIN, draws=0)
    assert first.laws["scratch"].params == alone.laws["scratch"].params


def test_two_shares_of_replay_give_a_law_of_forgetting_and_leave_the_rest_alone():
    (found,) = fit_targets(RUNS, draws=0)
    (plain,) = fit_targets(PLAIN, draws=0)
    assert found.laws["cpt"].params == plain.laws["cpt"].params
    assert found.forgetting is not None
    assert (found.forgetting.form, found.forgetting.target) == ("forgetting", "xx")
    assert found.forgetting.n_runs == 12
    assert found.all[-1] is found.forgetting


def test_what_cannot_be_fitted_is_a_sentence():
    one_size = [run for run in PLAIN if run.params == 100_000]
    again = [run_of(1e5, seed=seed) for seed in (2, 3)]
    (found,) = fit_targets([*one_size, *again], draws=0)
    assert found.laws == {}
    golden("fit/what cannot be fitted", "\n".join(found.refused))
    only_cpt = [run for run in PLAIN if run.strategy == "cpt"]
    (found,) = fit_targets(only_cpt, draws=0)
    assert found.laws == {}
    assert found.powers.keys() == {"cpt"}


def test_a_law_is_as_loose_as_the_one_below_it():
    flat = [run_of(size) for size in np.geomspace(1e5, 3e6, 6)]
    for run in flat:
        run.curves["xx"].loss[:] = 3.0
    continued = [run for run in PLAIN if run.strategy == "cpt"]
    (found,) = fit_targets([*flat, *continued], draws=0)
    assert found.laws["scratch"].loose
    assert any("its base is not pinned down" in c.sentence for c in found.laws["cpt"].loose)


def test_what_the_source_lost_is_told_with_where_it_began():
    rows = base_losses([run for run in RUNS if run.strategy == "cpt"])
    assert rows is not None
    D, r, S = rows.variables.values()
    loss, names = rows.loss, list(rows.runs or [])
    assert len(D) == 12 * len(D[np.array(names) == names[0]])
    assert D.min() >= 0.1 * D.max()
    assert set(r) == {0.0, 0.2}
    assert (S == 2.4).all() and (loss > 2.4).all()
    assert len(set(names)) == 12


def test_runs_not_evaluated_on_their_source_are_left_out():
    assert base_losses([run for run in RUNS if run.strategy == "scratch"]) is None


SEVERAL = [
    run_of(size, strategy, length=length)
    for size in np.geomspace(1e5, 3e6, 6)
    for strategy in ("scratch", "cpt")
    for length in (0.25, 0.5, 2.0, 4.0)
]


def test_laws_of_runs_of_several_lengths_are_of_their_ends():
    rows, ended = law_rows(SEVERAL)
    assert ended
    assert len(rows["scratch"].loss) == len(rows["cpt"].loss) == 24
    assert set(rows["scratch"].variables["D"]) == {
        share * TOKENS[-1] for share in (0.25, 0.5, 2.0, 4.0)
    }
    (found,) = fit_targets(SEVERAL, draws=0)
    assert found.by_ends
    beta = found.laws["scratch"].params["beta"]  # the losses of mid-schedule would move it
    assert beta == pytest.approx(SMALL["beta"], abs=0.05)


def test_too_few_ends_or_one_strategy_alone_leave_the_evaluations():
    assert not law_rows(PLAIN)[1]
    assert not law_rows([run for run in SEVERAL if run.params < 1.5e5])[1]
    assert not law_rows([run for run in SEVERAL if run.tokens < TOKENS[-1]])[1]  # of two lengths
    longest = 4.0 * TOKENS[-1]
    short = [run for run in SEVERAL if run.strategy == "scratch" or run.tokens == longest]
    rows, ended = law_rows(short)  # of CPT there is one length
    assert not ended
    assert len(rows["scratch"].loss) > 24


def test_what_is_forgotten_is_told_by_ends_where_lengths_and_shares_are_enough():
    runs = [
        run_of(1e6, "cpt", replay=replay, length=length)
        for replay in (0.0, 0.05, 0.2)
        for length in (0.25, 0.5, 2.0)
    ]
    rows, fewer = base_losses(runs), base_losses(runs[:6])
    assert rows is not None and fewer is not None
    assert len(rows) == len(set(rows.runs or [])) == 9
    assert set(rows.variables["r"]) == {0.0, 0.05, 0.2}
    assert len(fewer) > 6


def test_runs_of_one_shape_and_seed_are_resampled_together():
    (found,) = fit_targets(SEVERAL, draws=20)
    law = found.laws["scratch"]
    assert law.n_runs == 24
    assert found.powers["scratch"].n_runs <= 6  # of an envelope the shapes and seeds count
    same = [replace(run, shape="one", seed=1) for run in SEVERAL]
    (together,) = fit_targets(same, draws=20)
    assert not together.laws["scratch"].draws  # one unit: nothing to resample
    assert compare_laws(together, same, draws=20) is None


def test_every_form_is_compared_on_the_losses_the_laws_are_of():
    (found,) = fit_targets(SEVERAL, draws=20)
    compared = compare_laws(found, SEVERAL, draws=20)
    assert compared
    assert {(e.strategy, e.law) for e in compared.entries} == {
        *(("scratch", law) for law in ("chinchilla", "extended")),
        *(("cpt", law) for law in ("chinchilla", "extended", "cpt")),
    }
    assert {(entry.n_rows, entry.n_runs) for entry in compared.entries} == {(24, 6)}
    assert compare_laws(found, SEVERAL[:2]) is None


def test_runs_of_one_base_and_several_lengths_get_a_law_of_their_own():
    runs = [run_of(1e6, "cpt", replay=0.2, length=length) for length in (0.5, 1.0, 2.0, 4.0)]
    assert not fit_targets(runs[1:], draws=0)[0].all  # three lengths are too few
    (fitted,) = fit_targets([run_of(1e6, "cpt", replay=0.5, length=1.5), *runs], draws=20)
    law = fitted.laws["cpt"]
    assert law.form == "line"
    assert law.rows is not None
    assert law.rows.variables["D"].tolist() == [2e7, 4e7, 8e7, 1.6e8]
    np.testing.assert_allclose(law.rows.loss, [run.learned.loss[-1] for run in runs])
    assert list(FitAnswer(targets=(fitted,)).tables[0][0]) == ["target", "law", "runs", "A", "beta"]


def test_runs_of_one_base_are_fitted_by_name_too(tmp_path: Path):
    usual = {"strategy": "cpt", "target": "near", "shape": "0.2M", "seed": 1, "replay": 0.2}
    for number, tokens in enumerate((500_000, 1_000_000, 2_000_000, 4_000_000), 1):
        write_run(tmp_path, f"near-{tokens}", tokens=tokens, saved=0.4, apart=0.8, **usual)
        if number == 3:
            with pytest.raises(UserError, match="needs four or more lengths"):
                tongues.fit(tmp_path / "study", "line", draws=20)
    law = tongues.fit(tmp_path / "study", "line", draws=20).law
    assert law is not None
    assert law.rows is not None
    assert len(law.rows.loss) == 4


def test_runs_that_give_no_law_are_refused_with_the_reasons(tmp_path: Path) -> None:
    write_study(tmp_path, shapes=("0.1M",), seeds=(1,), targets=("near",), strategies=("scratch",))
    with pytest.raises(UserError, match="no law can be fitted to these runs") as refusal:
        tongues.fit(tmp_path, draws=0)
    assert (refusal.value.code, refusal.value.exit_code) == ("no_law", 2)
    assert "The scratch law on `near` was not fitted" in refusal.value.hint


def test_a_plan_is_of_a_budget_near_the_runs() -> None:
    N, D = (of.ravel() for of in np.meshgrid(np.geomspace(1e5, 3e6, 6), np.geomspace(1e7, 1e8, 4)))
    noise = np.exp(0.002 * np.random.default_rng(0).standard_normal(len(N)))
    law = fit("chinchilla", N=N, D=D, loss=Law("chinchilla", SMALL).loss(N, D) * noise, draws=60)
    most = 10 * 6 * 3e6 * 1e8
    said = plan_command([law], Path("my law.json"))
    assert said == f"tongues plan --law 'my law.json' --budget '{most:.0e} FLOPs'".replace(
        "e+", "e"
    )


def test_the_language_is_named_where_there_are_several() -> None:
    other = [run_of(size, target="yy", wrong=1.3) for size in np.geomspace(1e5, 3e6, 6)]
    both = [law for one in fit_targets([*PLAIN, *other], draws=20) for law in one.all]
    assert " --language yy --budget " in plan_command(both, Path("l.json"))
    alone = [law for law in both if law.target == "xx"]
    assert "--target" not in plan_command(alone, Path("l.json"))


def test_laws_of_continued_training_alone_ask_for_a_base() -> None:
    law = Law("chinchilla", SMALL, strategy="cpt", range={"N": (1e6, 1e8), "D": (1e8, 1e10)})
    said = plan_command([law], Path("l.json"))
    assert said == "tongues plan --law l.json --base NAME=SIZE --budget '6e19 FLOPs'"


def test_runs_that_pin_down_no_law_are_to_become_more() -> None:
    few = [run for run in PLAIN if run.params < 3e5]
    answer = FitAnswer(targets=tuple(fit_targets(few, draws=20)))
    assert all(law.loose for law in answer.laws) and not plan_command(answer.laws, Path("l.json"))
    more = "tongues study RECIPE 'study.shapes=[…]' 'study.budgets=[…]'"
    assert answer.next(Path("runs/rep"), Path("l.json")) == more
    enough = FitAnswer(targets=tuple(fit_targets(PLAIN, draws=20)))
    assert enough.next(Path("runs/rep"), None) == "tongues report runs/rep"
    assert enough.next(Path("runs/rep"), Path("law.json")).startswith("tongues plan --law law.json")


@pytest.mark.parametrize(
    "columns",
    [{"loss": "loss_bits"}, {"params": "tokens", "tokens": "params"}],
    ids=["not nats", "swapped"],
)
def test_a_law_of_misread_columns_is_not_to_be_written(tmp_path: Path, columns: Any) -> None:
    table = tmp_path / "runs.csv"
    lines = (DOCS / "examples/runs.csv").read_text().splitlines()
    rows = [f"{line},{line.rpartition(',')[2]}" for line in lines if "cpt" not in line]
    table.write_text("\n".join([rows[0].removesuffix("loss") + "loss_bits", *rows[1:]]))
    answer = tongues.fit(table, law="chinchilla", draws=0, columns=columns)
    for out in (None, Path("law.json")):
        assert answer.next(table, out) == "correct the columns as the cautions say, and fit again"
