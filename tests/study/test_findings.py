from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.laws.observed import gather_runs, twin
from tongues.runs import run_rows
from tongues.study.findings import Findings, findings


@pytest.fixture(scope="module")
def found(made_findings: Findings) -> Findings:
    return made_findings


def of(place: Path) -> Findings:
    return findings(run_rows([place]))


def near(estimate: Estimate | None, truth: float, within: float) -> bool:
    return estimate is not None and abs(estimate.value - truth) < within


@pytest.mark.parametrize("target", ["near", "far"])
def test_saving_is_the_one_the_runs_were_made_with(
    found: Findings, truth: SimpleNamespace, target: str
):
    transfer = found.outcome(target)
    assert transfer
    assert transfer.saved
    assert transfer.saved.n == 8
    # straight lines between evaluations lie above the curve: up to a point too little
    assert near(transfer.saved, truth.saved[target] - 0.01, 0.02)
    assert transfer.lead and transfer.lead.nats.excludes_zero == 1


def test_replay_counts_all_tokens(found: Findings, truth: SimpleNamespace):
    transfer = found.outcome("near", 0.2)
    assert transfer
    assert near(transfer.saved, 1 - (1 - truth.saved["near"]) / 0.8, 0.03)


def test_targets_come_in_the_order_of_what_was_saved(found: Findings):
    assert found.targets == ("near", "far")


def test_forgetting_and_replay_are_measured_in_pairs(found: Findings, truth: SimpleNamespace):
    for outcome in found.outcomes:
        for change in outcome.rises.values():
            assert near(change.nats, truth.rise[outcome.replay], 1e-9)
            assert change.nats.n == 8
        if outcome.replay:
            assert list(outcome.replayed) == [outcome.target, "home"]
            assert near(outcome.replayed["home"], truth.rise[0.2] - truth.rise[0.0], 1e-9)
            assert outcome.replayed[outcome.target].excludes_zero == 1  # fewer tokens of it
    assert sum(bool(outcome.rises) for outcome in found.outcomes) == 4


def test_laws_hold_the_truth_in_their_intervals(found: Findings, truth: SimpleNamespace):
    assert [fitted.target for fitted in found.laws] == ["near", "far"]
    for fitted in found.laws:
        assert set(fitted.laws) == set(fitted.powers) == {"scratch", "cpt"}
        for name in ("E", "alpha", "beta"):
            low, high = fitted.laws["scratch"].interval[name]
            assert low <= getattr(truth, name) <= high
        assert not fitted.refused


def test_laws_leave_the_warm_up_out(found: Findings):
    law = found.laws[0].laws["scratch"]
    assert law.range["D"][0] >= 0.1 * 2_000_000 * 0.99
    assert law.n_runs == 8


def test_nothing_saved_is_not_told_from_nothing(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, saved=0.0, noise=0.01, targets=("near",), replay=(0.0,)))
    transfer = found.outcome("near")
    assert transfer
    assert transfer.saved
    assert transfer.saved.excludes_zero == 0


def test_a_loss_is_told_as_one(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, saved=-0.5, targets=("near",), replay=(0.0,)))
    transfer = found.outcome("near")
    assert transfer
    assert not any(pair.reached for pair in transfer.pairs)
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
    assert any("builds on the scratch law" in sentence for sentence in found.refused)


def test_a_refused_fit_is_a_sentence(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, shapes=("0.1M",), targets=("near",)))
    assert found.outcome("near")
    assert any(s.startswith("The scratch law on `near` was not fitted: ") for s in found.refused)


def test_single_runs_have_no_laws(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, shapes=("0.1M",), seeds=(1,), targets=("near",)))
    assert (found.laws, found.refused) == ((), [])


def test_a_target_of_one_strategy_among_others_is_named(
    make_study: Callable[..., Path], tmp_path: Path
):
    few: Any = {"shapes": ("0.1M",), "replay": (0.0,)}
    rows = run_rows([make_study(tmp_path, **few)])
    rows = [row for row in rows if (row["target"], row["strategy"]) != ("far", "scratch")]
    (line,) = findings(rows).left_out
    assert line == "No run learned `far` from scratch, so what CPT saves there is not known."


@pytest.mark.parametrize(
    ("without", "shown", "line"),
    [
        (("cpt-r20-near-0.2M",), [("", 0.0, 1), ("", 0.2, 1)], "1 run is of a size or length"),
        (
            ("cpt-r20-near-0.2M", "cpt-r0-near-0.2M-1000000"),
            [("999k tokens", 0.2, 1), ("2M tokens", 0.0, 1)],
            "Runs on `near` differ in size or length",
        ),
    ],
)
def test_rows_compare_runs_of_one_length(
    make_study: Callable[..., Path], tmp_path: Path, without: Any, shown: Any, line: str
):
    few: Any = {"shapes": ("0.2M",), "seeds": (1,), "targets": ("near",), "strategies": ("cpt",)}
    rows = run_rows([make_study(tmp_path, lengths=(2_000_000, 1_000_000), **few)])
    found = findings(r for r in rows if r["run"] not in {f"study/{x}-seed1" for x in without})
    assert [(o.group, o.replay, len(o.runs)) for o in found.rows] == shown
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


def test_a_twin_of_the_same_study_comes_first(make_study: Callable[..., Path], tmp_path: Path):
    rows = run_rows([make_study(tmp_path, shapes=("0.1M",), seeds=(1,), targets=("near",))])
    other = [row | {"run": row["run"].replace("study/", "another/")} for row in rows]
    runs = gather_runs(rows + other)
    for run in runs:
        if run.strategy == "cpt":
            partner = twin(run, runs)
            assert partner
            assert partner.name.split("/")[0] == run.name.split("/")[0]


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


def test_laws_of_runs_of_several_lengths_are_of_their_ends(
    long_findings: Findings, truth: SimpleNamespace
):
    found = long_findings
    for fitted in found.laws:
        assert fitted.by_ends == {"laws", "forgetting"}
        assert fitted.laws["scratch"].n_rows == 8 * 4
        for name in ("E", "alpha", "beta"):
            assert fitted.laws["scratch"].params[name] == pytest.approx(getattr(truth, name), 0.1)
    entries = found.compared["near"].entries
    assert {(e.strategy, e.law) for e in entries} >= {
        (strategy, law) for strategy in ("scratch", "cpt") for law in ("chinchilla", "extended")
    }
