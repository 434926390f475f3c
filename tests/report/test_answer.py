from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tongues
from tests.golden import golden
from tests.report.pages import Page
from tongues.core.estimate import Estimate
from tongues.core.files import read_json
from tongues.core.pages import Tiles, as_text, write_page
from tongues.report.answer import advice, answer_section
from tongues.report.plan import plan_page
from tongues.runs.record import run_rows
from tongues.train.study.findings import Findings, findings


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


def changed(made: Findings, cost: Estimate, kept: Estimate | None = None) -> Findings:
    """The same where replay costs that much of the target, and keeps that much of others."""
    outcomes = []
    for of in made.outcomes:
        others = of.replayed if kept is None else dict.fromkeys(of.replayed, kept)
        replayed = {**others, of.target: cost}
        outcomes.append(replace(of, replayed=replayed) if of.replay else of)
    return replace(made, outcomes=tuple(outcomes))


DEAR = (Estimate(2.0, 1.9, 2.1, n=8),)
UNSURE = (Estimate(0.08, -0.5, 0.66, n=2), Estimate(-0.9, -2.1, 0.3, n=2))
ONE_PAIR: dict[str, Any] = {"shapes": ("0.2M",), "seeds": (1,), "targets": ("near",)}
WITHOUT_REPLAY: dict[str, Any] = {"targets": ("near",), "replay": (0.0,)}
STUDIES: dict[str, dict[str, Any]] = {
    "CPT is worse": WITHOUT_REPLAY | {"saved": -0.5},
    "no significant difference": WITHOUT_REPLAY | {"saved": 0.0, "noise": 0.01},
    "one pair": ONE_PAIR,
    "one pair with and without replay": ONE_PAIR | {"strategies": ("cpt",)},
}


def test_the_first_numbers_are_of_the_first_target(made_findings: Findings):
    first, *_ = answer_section(made_findings).blocks
    assert isinstance(first, Tiles)
    versus, replay, saved = first.tiles
    rows = {row.replay: row for row in made_findings.outcomes if row.target == "near"}
    lead, kept = rows[0.2].lead, rows[0.2].replayed["home"]
    assert lead and float(versus.value.split()[0].replace("−", "-")) == pytest.approx(
        -lead.nats.value, abs=5e-3
    )
    assert float(replay.value.split()[0].replace("−", "-")) == pytest.approx(kept.value, abs=5e-3)
    measured = rows[0.2].saved
    assert measured and saved.value == f"{100 * measured.value:.0f} %"


def test_advice_names_the_way_and_how_sure_it_is(made_findings: Findings):
    golden("advice/advice", "\n".join(advice(made_findings)))
    golden("advice/dear replay", "\n".join(advice(changed(made_findings, *DEAR))))
    golden("advice/replay of unsure benefit", "\n".join(advice(changed(made_findings, *UNSURE))))


@pytest.mark.parametrize("name", STUDIES)
def test_unwelcome_and_unsure_results_are_said(
    name: str, make_study: Callable[..., Path], tmp_path: Path
):
    found = of(make_study(tmp_path, **STUDIES[name]))
    golden(f"advice/{name}", "\n".join(advice(found)))
    text = as_text([answer_section(found)])
    assert "n = 1" not in text and "bits/byte" in text


def test_one_strategy_is_compared_with_nothing(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, strategies=("scratch",), seeds=(1,), targets=("near",)))
    assert advice(found) == ["**`near`:** trained in one way only, nothing to compare."]
    text = as_text([answer_section(found)])
    assert text.startswith("target  strategy") and "is not known" not in text


def test_one_run_says_what_it_learned_and_forgot_and_what_is_next(
    make_study: Callable[..., Path], tmp_path: Path
):
    few: Any = {"shapes": ("0.2M",), "seeds": (1,), "targets": ("near",), "replay": (0.0,)}
    place = make_study(tmp_path, strategies=("cpt",), **few) / "study/cpt-r0-near-0.2M-seed1"
    text = as_text([answer_section(of(place), "Next: `tongues export`.")])
    assert "2M tokens      295k parameters, from `study/source-0.2M-seed1`" in text
    assert "learned, −" in text and "forgotten, +0.80 nats per token" in text
    assert "\n\n- Next: `tongues export`.\n" in text


def test_new_tokens_have_no_gain_since_they_are_untrained_before_the_first_step(
    make_study: Callable[..., Path], tmp_path: Path
):
    rows = run_rows([make_study(tmp_path, targets=("near",), replay=(0.0,))])
    rows = [row for row in rows if row["strategy"] != "scratch"]
    marked = [row | {"loss_new_tokens": 9.0} for row in rows]
    plain, new = (as_text([answer_section(findings(some))]) for some in (rows, marked))
    assert "Gain: the loss on the target" in plain and "untrained" not in plain
    assert "Final loss: on the target" in new and "Gain:" not in new
    assert "Before the first step new tokens are untrained" in new


def test_the_page_of_a_plan_opens_with_the_advice(tmp_path: Path) -> None:
    plan = tongues.plan(
        bases=["Qwen/Qwen3-4B-Base", "Qwen/Qwen3-1.7B-Base"],
        language="sw",
        gpu="h100",
        gpus=8,
        budget="24 hours",
    )
    path = write_page(plan_page(plan), tmp_path / "page")
    page, taken = Page(path.read_text()), plan.decision.option
    assert not page.open
    row = next(row for row in plan.rows() if row[""] == "→")
    assert row["hours"] in page.said and row["US$"] in page.said
    assert page.said.index("Continue Qwen3-4B-Base on Swahili") < page.said.index("Options")
    places = [page.said.index(x) for x in ("It takes", "What comes out", "Options", "Why")]
    assert places == sorted(places)
    options = read_json(path.with_name("report.json"))["options"]
    assert taken.cost in [option["cost"] for option in options]
