from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tongues.estimate import Estimate
from tongues.pages import as_text
from tongues.report.answer import advice, answer_section
from tongues.runs import run_rows
from tongues.study.findings import Findings, findings


def of(place: Path) -> Findings:
    return findings(run_rows([place]))


def test_outcomes_are_by_target_strategy_and_role(made_findings: Findings, truth: SimpleNamespace):
    rows = {(row.target, row.strategy, row.replay): row for row in made_findings.outcomes}
    assert len(rows) == 2 * 3
    for (_, strategy, replay), row in rows.items():
        assert (len(row.runs), row.flops > 0) == (8, True)
        assert len(row.pairs) == (8 if strategy == "cpt" else 0)
        assert bool(row.lead) == bool(row.saved) == (strategy == "cpt")
        rises = {"home": pytest.approx(truth.rise[replay])} if strategy == "cpt" else {}
        assert {lang: both.nats.value for lang, both in row.rises.items()} == rises
        assert row.gain
        for one in (row.gain, *row.rises.values()):  # 3.2 bytes a token
            assert one.bits.value == pytest.approx(one.nats.value / 0.6931472 / 3.2, rel=1e-6)


def test_advice_names_the_way_its_price_and_how_sure_it_is(made_findings: Findings):
    near, far = advice(made_findings)
    assert near.startswith("**`near`:** take CPT + 20 % replay. At equal tokens CPT + 20 %")
    assert "nats per token below training from scratch (mean of 8 pairs)." in near
    assert "20 % replay reduced forgetting by 0.83 [" in near
    assert "on `home` and raised the loss on `near` by 0.0" in near
    assert far.startswith("**`far`:** take CPT + 20 % replay. At equal tokens CPT + 20 % replay")
    assert " ends 0.002 [" in far
    assert "] nats per token above training from scratch, not significant (mean of 8 pairs)." in far


def test_replay_that_costs_more_than_it_keeps_is_not_advised(made_findings: Findings):
    cost = Estimate(2.0, 1.9, 2.1, n=8)
    dear = tuple(
        replace(o, replayed=o.replayed | {o.target: cost}) if o.replay else o
        for o in made_findings.outcomes
    )
    near, _ = advice(replace(made_findings, outcomes=dear))
    assert "take CPT without replay." in near
    assert "No share of replay kept more of the base languages than it cost." in near


def test_replay_that_kept_more_than_it_cost_without_significance_is_undecided(
    made_findings: Findings,
):
    kept, cost = Estimate(-0.9, -2.1, 0.3, n=2), Estimate(0.08, -0.5, 0.66, n=2)
    unsure = tuple(
        replace(o, replayed=dict.fromkeys(o.replayed, kept) | {o.target: cost}) if o.replay else o
        for o in made_findings.outcomes
    )
    near, _ = advice(replace(made_findings, outcomes=unsure))
    assert "take CPT, with or without replay." in near
    assert "20 % replay kept 0.9 nats per token of the base languages and cost 0.08" in near
    assert near.endswith("which is not significant: train more seeds.")


def test_unwelcome_results_are_said(make_study: Callable[..., Path], tmp_path: Path):
    few = {"targets": ("near",), "replay": (0.0,)}
    (worse,) = advice(of(make_study(tmp_path / "worse", saved=-0.5, **few)))
    assert "train from scratch. At equal tokens CPT ends" in worse
    assert "above training from scratch (mean of 8 pairs)" in worse
    (same,) = advice(of(make_study(tmp_path / "same", saved=0.0, noise=0.01, **few)))
    assert "no significant difference." in same


def test_one_pair_has_no_interval(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, shapes=("0.2M",), seeds=(1,), targets=("near",)))
    (line,) = advice(found)
    alone = "One pair has no interval: train more seeds before relying on it."
    assert "(one pair). 20 % replay" in line and line.endswith(alone)
    text = as_text([answer_section(found)])
    assert "n = 1" not in text
    assert "bits/byte" in text


def test_replay_in_one_pair_has_no_interval_either(make_study: Callable[..., Path], tmp_path: Path):
    few = {"shapes": ("0.2M",), "seeds": (1,), "targets": ("near",), "strategies": ("cpt",)}
    (line,) = advice(of(make_study(tmp_path, **few)))
    assert line.startswith("**`near`:** take CPT + 20 % replay.")
    assert line.endswith("One pair has no interval: train more seeds before relying on it.")


def test_one_strategy_is_compared_with_nothing(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, strategies=("scratch",), seeds=(1,), targets=("near",)))
    assert advice(found) == ["**`near`:** trained in one way only, nothing to compare."]
    text = as_text([answer_section(found)])
    assert text.startswith("What came of it") and "is not known" not in text


def test_one_run_says_what_it_learned_and_forgot_and_what_is_next(
    make_study: Callable[..., Path], tmp_path: Path
):
    few: Any = {"shapes": ("0.2M",), "seeds": (1,), "targets": ("near",), "replay": (0.0,)}
    place = make_study(tmp_path, strategies=("cpt",), **few) / "study/cpt-r0-near-0.2M-seed1"
    text = as_text([answer_section(of(place), "Next: `tongues export`.")])
    assert "295k parameters, trained from `study/source-0.2M-seed1` on 2M tokens." in text
    assert "- `near`: the loss fell by" in text
    assert "- `home`, a language of the base: the loss rose by 0.80 to" in text
    assert "that is what it forgot" in text and text.endswith("Next: `tongues export`.")


def test_new_tokens_have_no_gain_since_they_are_untrained_before_the_first_step(
    make_study: Callable[..., Path], tmp_path: Path
):
    rows = run_rows([make_study(tmp_path, targets=("near",), replay=(0.0,))])
    rows = [row for row in rows if row["strategy"] != "scratch"]
    plain, new = (as_text([answer_section(findings(some))]) for some in (rows, marked(rows)))
    assert "Gain: the loss on the target" in plain and "untrained" not in plain
    assert "Final loss: on the target" in new and "Gain:" not in new
    assert "Before the first step new tokens are untrained" in new


def marked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | {"loss_new_tokens": 9.0} for row in rows]
