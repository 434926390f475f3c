from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.golden import inputs
from tests.laws.made import view_of
from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.laws import Curve
from tongues.laws.observed import RunCurves
from tongues.runs.record import run_rows
from tongues.train.study.findings import Findings, findings


def of(place: Path) -> Findings:
    return findings(run_rows([place]))


def near(estimate: Estimate | None, truth: float, within: float) -> bool:
    return estimate is not None and abs(estimate.value - truth) < within


@pytest.mark.parametrize("target", ["near", "far"])
def test_saving_is_the_one_the_runs_were_made_with(
    made_findings: Findings, truth: SimpleNamespace, target: str
):
    transfer = made_findings.outcome(target)
    assert transfer
    assert transfer.saved
    assert transfer.saved.n == 8
    # straight lines between evaluations lie above the curve: up to a point too little
    assert near(transfer.saved, truth.saved[target] - 0.01, 0.02)
    assert transfer.lead and transfer.lead.nats.excludes_zero == 1


def test_replay_counts_all_tokens(made_findings: Findings, truth: SimpleNamespace):
    assert made_findings.targets == ("near", "far")  # in the order of what was saved
    transfer = made_findings.outcome("near", 0.2)
    assert transfer
    assert near(transfer.saved, 1 - (1 - truth.saved["near"]) / 0.8, 0.03)


def test_forgetting_and_replay_are_measured_in_pairs(
    made_findings: Findings, truth: SimpleNamespace
):
    for outcome in made_findings.outcomes:
        for change in outcome.rises.values():
            assert near(change.nats, truth.rise[outcome.replay], 1e-9)
            assert change.nats.n == 8
        if outcome.replay:
            assert list(outcome.replayed) == [outcome.target, "home"]
            assert near(outcome.replayed["home"], truth.rise[0.2] - truth.rise[0.0], 1e-9)
            assert outcome.replayed[outcome.target].excludes_zero == 1  # fewer tokens of it
    assert sum(bool(outcome.rises) for outcome in made_findings.outcomes) == 4


def test_laws_hold_the_truth_in_their_intervals(made_findings: Findings, truth: SimpleNamespace):
    assert [fitted.target for fitted in made_findings.laws] == ["near", "far"]
    for fitted in made_findings.laws:
        assert set(fitted.laws) == set(fitted.powers) == {"scratch", "cpt"}
        for name in ("E", "alpha", "beta"):
            low, high = fitted.laws["scratch"].interval[name]
            assert low <= getattr(truth, name) <= high
        assert not fitted.refused


def test_a_loss_is_told_as_one(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, saved=-0.5, targets=("near",), replay=(0.0,)))
    transfer = found.outcome("near")
    assert transfer
    assert near(transfer.saved, -0.5, 0.05)
    assert transfer.lead and transfer.lead.nats.excludes_zero == -1


def test_scratch_alone_leaves_the_rest_out(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, strategies=("scratch",)))
    assert not any(o.pairs or o.rises for o in found.outcomes)
    assert found.base_languages == ()
    assert [set(fitted.laws) for fitted in found.laws] == [{"scratch"}, {"scratch"}]
    assert found.left_out == ()  # it is no comparison


def test_cpt_alone_still_forgets(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, strategies=("cpt",), targets=("near",)))
    assert not any(o.pairs for o in found.outcomes)
    assert [list(o.rises) for o in found.outcomes] == [["home"], ["home"]]
    assert found.left_out == ()
    assert any("needs a chinchilla law as its base" in sentence for sentence in found.refused)


def test_a_refused_fit_is_a_sentence(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path / "a", shapes=("0.1M",), targets=("near",)))
    assert found.outcome("near")
    assert any(s.startswith("The scratch law on `near` was not fitted: ") for s in found.refused)
    single = of(make_study(tmp_path / "b", shapes=("0.1M",), seeds=(1,), targets=("near",)))
    assert (single.laws, single.refused) == ((), [])


def test_a_target_of_one_strategy_among_others_is_named(
    make_study: Callable[..., Path], tmp_path: Path
):
    few: Any = {"shapes": ("0.1M",), "replay": (0.0,)}
    rows = run_rows([make_study(tmp_path, **few)])
    rows = [row for row in rows if (row["target"], row["strategy"]) != ("far", "scratch")]
    (line,) = findings(rows).left_out
    assert line == "No run learned `far` from scratch, so what CPT saves there is not known."


@pytest.mark.parametrize(
    ("without", "shown", "line"), inputs("rows")["test_rows_compare_runs_of_one_length"]
)
def test_rows_compare_runs_of_one_length(
    make_study: Callable[..., Path], tmp_path: Path, without: Any, shown: Any, line: str
):
    few: Any = {"shapes": ("0.2M",), "seeds": (1,), "targets": ("near",), "strategies": ("cpt",)}
    rows = run_rows([make_study(tmp_path, lengths=(2_000_000, 1_000_000), **few)])
    found = findings(r for r in rows if r["run"] not in {f"study/{x}-seed1" for x in without})
    assert [[o.group, o.replay, len(o.runs)] for o in found.rows] == shown
    assert any(sentence.startswith(line) for sentence in found.left_out)


def test_sources_do_not_mix(make_study: Callable[..., Path], tmp_path: Path):
    rows = run_rows([make_study(tmp_path, shapes=("0.1M",), targets=("near",))])
    continued = [row for row in rows if row["strategy"] == "cpt"]
    other = {"home": "abroad", "near": "near"}
    odd = [
        row | {"run": f"b/{row['run']}", "lang": other[row["lang"]], "base_languages": "abroad"}
        for row in continued
    ]
    with pytest.raises(UserError, match="bases of different languages: abroad; home"):
        findings(rows + odd)


def test_no_runs_is_an_error():
    with pytest.raises(UserError, match="no finished run"):
        findings([])


def test_twins_are_of_one_length_where_there_are_such(long_findings: Findings):
    found = long_findings
    transfer = found.outcome("near")
    assert transfer
    assert len(transfer.pairs) == 8 * 4
    assert all(pair.cpt.tokens == pair.scratch.tokens for pair in transfer.pairs)
    assert transfer.saved and transfer.saved.n == 8  # lengths of one shape and seed are one
    assert all(c.nats.n == 8 for o in found.outcomes for c in o.rises.values())
    assert all(value.n == 8 for o in found.outcomes for value in o.replayed.values() if o.replay)


def test_a_twin_of_another_length_is_read_up_to_the_shorter(
    make_study: Callable[..., Path], tmp_path: Path, truth: SimpleNamespace
):
    few: dict[str, Any] = {"shapes": ("0.1M", "0.6M"), "targets": ("near",)}
    make_study(tmp_path / "a", strategies=("scratch",), lengths=(8_000_000,), **few)
    make_study(tmp_path / "b", strategies=("cpt",), replay=(0.0,), **few)
    found = findings(run_rows([tmp_path / "a", tmp_path / "b"]))
    transfer = found.outcome("near")
    assert transfer
    assert near(transfer.saved, truth.saved["near"] - 0.01, 0.03)
    short = of(make_study(tmp_path / "c", replay=(0.0,), **few)).outcome("near")
    assert short and short.lead and transfer.lead
    assert near(transfer.lead.nats, short.lead.nats.value, 0.02)


def test_unequal_twins_are_left_out_where_there_are_equal_ones(
    make_study: Callable[..., Path], tmp_path: Path
):
    few: dict[str, Any] = {"shapes": ("0.1M", "0.6M"), "targets": ("near",)}
    make_study(tmp_path / "a", replay=(0.0,), seeds=(1,), **few)
    make_study(tmp_path / "b", strategies=("scratch",), seeds=(2,), lengths=(8_000_000,), **few)
    make_study(tmp_path / "c", strategies=("cpt",), replay=(0.0,), seeds=(2,), **few)
    unequal = findings(run_rows([tmp_path / "b", tmp_path / "c"])).outcome("near")
    assert unequal and not unequal.equally_long
    mixed = findings(run_rows([tmp_path / "a", tmp_path / "b", tmp_path / "c"])).outcome("near")
    assert mixed and mixed.equally_long
    assert {pair.cpt.seed for pair in mixed.pairs} == {1}


def test_only_runs_from_the_usual_source_models_count(
    long_findings: Findings, truth: SimpleNamespace
):
    found = long_findings
    assert len(found.usual) == len(found.runs) - 2 * 8
    starts = {run.base_tokens for run in found.runs if run.base_tokens}
    assert sorted(starts) == pytest.approx([2e6, 2e7], 0.01)
    assert near(found.plain[0].saved, truth.saved["near"] - 0.01, 0.02)
    assert {entry.n_rows for entry in found.compared["near"].entries} == {8 * 4}  # their ends


SIZES = {"1M": 1e6, "3M": 3e6, "9M": 9e6}
TOKENS = np.concatenate([[0.0], np.geomspace(2e5, 1e7, 7)])
REPEATS = 150


def study(random: np.random.Generator) -> Iterator[RunCurves]:
    """Continued runs learn as those from scratch do, and keep their source as it was.

    Whatever their replay, runs of a shape and seed share their parent, and so much of their noise;
    sizes differ from each other, but not in the mean.
    """
    for (place, (shape, N)), seed in product(enumerate(SIZES.items()), (1, 2)):
        parent, learns = 0.02 * random.standard_normal((2, len(TOKENS)))
        of_size = 0.01 * (place - 1)
        for target, replay in product(("xx", "yy"), (None, 0.0, 0.2)):
            noise = np.exp(0.01 * random.standard_normal((2, len(TOKENS))))
            loss = (1.5 + 60.0 / np.maximum(TOKENS, 3e4) ** 0.3 + 30.0 / N**0.3) * noise[0]
            curves = {target: Curve(TOKENS, 6 * N * TOKENS, loss)}
            if replay is not None:
                loss *= np.exp(0.2 * learns)
                kept = 2.5 * noise[1] * np.exp(parent + of_size * (TOKENS > 0))
                curves["home"] = Curve(TOKENS, 6 * N * TOKENS, kept)
            own: dict[str, Any] = {"shape": shape, "seed": seed, "params": int(N)}
            own |= {"seen": {target: TOKENS * (1 - (replay or 0.0))}, "replay": replay or 0.0}
            if replay is not None:
                own |= {"strategy": "cpt", "base_tokens": 1e7}
            yield view_of(f"{shape}-{seed}-{target}-{replay}", target, curves, **own)


@pytest.fixture(scope="module")
def told() -> dict[str, list[float]]:
    """By measure: how often its interval was above zero, and how often below."""
    random = np.random.default_rng(0)
    counts: dict[str, Counter[int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        module = import_module("tongues.train.study.findings")
        patch.setattr(module, "gather_runs", list)  # rows are runs here
        patch.setattr(module, "fit_targets", lambda runs: [])
        for _ in range(REPEATS):
            rows: Any = study(random)
            for of in (o for o in findings(rows).outcomes if o.strategy == "cpt"):
                measured = {"lead": of.lead and of.lead.nats, "saved": of.saved}
                measured |= {f"rise, {of.replay:.0%}": of.rises["home"].nats}
                measured |= {"kept": of.replayed.get("home")}
                for name, value in measured.items():
                    if value:
                        counts.setdefault(name, Counter()).update([value.excludes_zero])
    return {
        name: [found[sign] / found.total() for sign in (1, -1)] for name, found in counts.items()
    }


@pytest.mark.parametrize("name", ["lead", "saved", "rise, 0%", "rise, 20%", "kept"])
def test_no_effect_is_hardly_ever_significant(told: dict[str, list[float]], name: str):
    assert max(told[name]) <= 0.06
