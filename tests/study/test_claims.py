from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tongues.estimate import Estimate
from tongues.runs import run_rows
from tongues.study.claims import ABOVE, BELOW, Claim, ClaimPart, claims, verdict_on, within
from tongues.study.findings import Findings, findings


def asked(found: Findings) -> dict[str, Claim]:
    return {claim.name: claim for claim in claims(found)}


def of(place: Path) -> dict[str, Claim]:
    return asked(findings(run_rows([place])))


@pytest.fixture(scope="module")
def found(long_findings: Findings) -> dict[str, Claim]:
    return asked(long_findings)


def value(claim: Claim, target: str, replay: float | None = None) -> Estimate:
    return next(p.value for p in claim.parts if (p.target, p.replay) == (target, replay))


def test_every_finding_is_asked_about_once(found: dict[str, Claim]):
    assert list(found) == [
        "below-scratch",
        "saves",
        "transferred-grows",
        "gamma-cpt",
        "gamma-scratch",
        "nearer-gains",
        "forgets",
        "targets-meet-by-ends",
        "source-rises",
        "source-falls",
        "source-ends-below",
        "more-keeps-more",
    ]
    for claim in found.values():
        assert claim.finding.endswith(".")
        assert claim.measure


def test_what_the_runs_were_made_with_holds(found: dict[str, Claim]):
    # they save a fixed share of the tokens at every size, and gamma is 0 on either strategy
    told = {name: claim.verdict for name, claim in found.items()}
    assert {name for name, verdict in told.items() if verdict != "holds"} == {"gamma-cpt"}


def test_numbers_are_those_the_runs_were_made_with(found: dict[str, Claim], truth: SimpleNamespace):
    for target in ("near", "far"):
        saved = 100 * truth.saved[target]
        assert value(found["saves"], target).value == pytest.approx(saved, abs=3)
        assert value(found["transferred-grows"], target).value == pytest.approx(1, abs=0.05)
        assert abs(value(found["gamma-scratch"], target).value) < 0.02
        assert value(found["forgets"], target).value == pytest.approx(truth.rise[0.0])
        ends = value(found["source-ends-below"], target, 0.2)
        assert ends.value == pytest.approx(truth.rise[0.2])
        step = value(found["more-keeps-more"], target, 0.2)
        assert step.value == pytest.approx(truth.rise[0.2] - truth.rise[0.0])
    (nearer,) = found["nearer-gains"].parts
    assert (nearer.target, nearer.versus) == ("near", "far")
    assert nearer.value.value == pytest.approx(25, abs=3)


def test_nothing_saved_is_not_said_to_hold(make_study: Callable[..., Path], tmp_path: Path):
    few: dict[str, Any] = {"shapes": ("0.1M", "0.6M"), "replay": (0.0,)}
    same = of(make_study(tmp_path / "same", saved=0.0, noise=0.01, **few))
    assert same["saves"].verdict == same["below-scratch"].verdict == "inconclusive"
    assert same["nearer-gains"].verdict == "inconclusive"
    worse = of(make_study(tmp_path / "worse", saved=-0.5, **few))
    assert worse["saves"].verdict == worse["below-scratch"].verdict == "does not hold"
    assert "targets-meet-by-ends" not in worse  # one share of replay alone meets nothing


def test_twins_of_other_lengths_get_no_verdict(make_study: Callable[..., Path], tmp_path: Path):
    few: dict[str, Any] = {"shapes": ("0.1M", "0.6M"), "targets": ("near",)}
    make_study(tmp_path / "a", strategies=("scratch",), lengths=(8_000_000,), **few)
    make_study(tmp_path / "b", strategies=("cpt",), replay=(0.0,), **few)
    unequal = of(tmp_path)
    for name in ("below-scratch", "saves", "transferred-grows"):
        (part,) = unequal[name].parts
        assert (part.verdict, "different numbers" in part.reason) == ("inconclusive", True)


def test_pairs_with_nothing_transferred_are_counted(
    make_study: Callable[..., Path], tmp_path: Path
):
    few: dict[str, Any] = {"shapes": ("0.1M", "0.6M"), "targets": ("near",), "replay": (0.0,)}
    some = of(make_study(tmp_path, saved=0.1, noise=0.008, **few))["transferred-grows"]
    count = int(some.parts[0].reason.partition(" pairs left out")[0])
    assert 0 < count < 4
    assert some.parts[0].value.n == 4 - count


def test_where_all_is_saved_nothing_is_told_of_how_much(saturated: Findings):
    told = asked(saturated)
    assert {o.saturated for o in saturated.plain} == {3}
    for name in ("saves", "transferred-grows"):
        assert told[name].verdict == "inconclusive"
        for part in told[name].parts:
            assert part.reason.startswith("in 3 of 3 pairs the base had that loss")
    (nearer,) = told["nearer-gains"].parts
    assert (nearer.verdict, "on both targets" in nearer.reason) == ("inconclusive", True)
    assert told["below-scratch"].verdict == "holds"  # which is measured all the same


def test_gamma_of_too_few_runs_is_not_told(saturated: Findings):
    told = asked(saturated)
    for name, reason in (
        ("gamma-cpt", "3 runs for 3 unknowns"),
        ("gamma-scratch", "3 runs for 6 unknowns"),
    ):
        assert {(p.verdict, p.reason) for p in told[name].parts} == {("inconclusive", reason)}


def test_a_share_is_given_in_its_unit(found: dict[str, Claim]):
    (near, _) = found["saves"].parts
    assert found["saves"].unit == "%"
    assert 30 < near.value.value < 60


def test_one_pair_tells_nothing(make_study: Callable[..., Path], tmp_path: Path):
    found = of(make_study(tmp_path, shapes=("0.2M",), seeds=(1,), targets=("near",)))
    assert {claim.verdict for claim in found.values()} == {"inconclusive"}
    assert "gamma-cpt" not in found


def test_scratch_alone_asks_about_scratch(make_study: Callable[..., Path], tmp_path: Path):
    assert list(of(make_study(tmp_path, strategies=("scratch",)))) == ["gamma-scratch"]


@pytest.mark.parametrize(
    ("low", "high", "more", "less", "alike"),
    [
        (0.1, 0.3, "holds", "does not hold", "does not hold"),
        (-0.3, -0.1, "does not hold", "holds", "does not hold"),
        (-0.1, 0.3, "inconclusive", "inconclusive", "inconclusive"),
        (-0.02, 0.03, "inconclusive", "inconclusive", "holds"),
        (0.01, 0.04, "holds", "does not hold", "holds"),
        (0.02, 0.09, "holds", "does not hold", "inconclusive"),
        (0.0, 0.0, "does not hold", "does not hold", "holds"),
        (None, None, "inconclusive", "inconclusive", "inconclusive"),
    ],
)
def test_verdicts_follow_the_interval(
    low: float | None, high: float | None, more: str, less: str, alike: str
):
    one = Estimate(0.02, low, high, n=4)
    assert (verdict_on(one, ABOVE), verdict_on(one, BELOW), verdict_on(one, within(0.05))) == (
        more,
        less,
        alike,
    )


def test_alike_may_be_to_one():
    assert verdict_on(Estimate(0.98, 0.95, 1.02, n=4), within(0.1, of=1.0)) == "holds"
    assert verdict_on(Estimate(0.5, 0.4, 0.6, n=4), within(0.1, of=1.0)) == "does not hold"


def test_a_mixed_verdict_says_where():
    one = Estimate(1.0, 0.9, 1.1, n=4)
    parts = (
        ClaimPart("xx", 0.05, one, "holds"),
        ClaimPart("xx", 0.2, one, "inconclusive"),
        ClaimPart("yy", 0.05, one, "holds"),
    )
    claim = Claim("name", "It is so.", "a number", "", parts)
    assert claim.verdict == "holds: `xx` at 5 %, `yy` at 5 %; inconclusive: `xx` at 20 %"
