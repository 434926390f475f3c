import numpy as np
import pytest

from tongues.laws import Curve
from tongues.laws.observed import RunCurves
from tongues.report.meeting import meetings, meetings_of_ends, same_but_replay


def run_of(
    replay: float, factor: float = 1.0, tokens: float = 1e6, seed: int = 1, **changes
) -> RunCurves:
    """Its loss is a power of the tokens of the target, times a factor."""
    D = np.concatenate([[0.0], np.geomspace(tokens / 100, tokens, 20)])
    own = D * (1 - replay)
    loss = factor * 10.0 * np.maximum(own, 100.0) ** -0.1
    return RunCurves(
        name=f"{replay}-{tokens}-{seed}",
        strategy="cpt",
        lang="xx",
        targets=("xx",),
        base_languages=("home",),
        replay=replay,
        shares={"xx": 1 - replay, "home": replay},
        shape="1M",
        seed=seed,
        params=1_000_000,
        curves={"xx": Curve(D, 6e6 * D, loss)},
        bits_per_byte={},
        seen={"xx": own},
        base_tokens=1e6,
    )


def test_curves_that_meet_lie_nowhere_apart():
    found = meetings([run_of(0.0), run_of(0.2), run_of(0.8)])
    assert [met.run.replay for met in found] == [0.2, 0.8]
    assert [met.apart for met in found] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_what_lies_apart_is_told_with_its_sign():
    (met,) = meetings([run_of(0.0), run_of(0.2, factor=1.03)])
    assert met.apart == pytest.approx(np.log(1.03))
    (met,) = meetings([run_of(0.05), run_of(0.2, factor=0.98)])
    assert met.apart == pytest.approx(np.log(0.98))


def test_so_much_replay_that_nothing_overlaps_is_left_out():
    assert meetings([run_of(0.0), run_of(0.95, factor=2.0)]) == []


def test_only_runs_that_differ_in_nothing_else_are_compared():
    runs = [run_of(0.0), run_of(0.2, seed=2), run_of(0.2, tokens=2e6), run_of(0.2)]
    (group,) = same_but_replay(runs)
    assert [run.name for run in group] == [runs[0].name, runs[3].name]


def test_ends_are_compared_after_as_many_tokens_of_the_target():
    plain = [run_of(0.0, tokens=tokens) for tokens in (2.5e5, 5e5, 1e6)]
    found = meetings_of_ends([*plain, run_of(0.2, factor=1.02), run_of(0.9, factor=1.5)])
    (met,) = found  # with 90 % it ends before the shortest without
    assert met.apart == pytest.approx(np.log(1.02))
    assert meetings_of_ends([plain[0], run_of(0.2)]) == []
