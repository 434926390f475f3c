from dataclasses import replace

import numpy as np
import pytest

from tongues.laws import Law
from tongues.study.pilot.blocks import BLOCKS, Frame, KnownLosses, PilotBelief, Point, believe_block

SCALE = (2e5, 4e5, 3.0)
LAWS = {
    "scratch": Law("chinchilla", {"E": 1.8, "A": 60.0, "alpha": 0.4, "B": 150.0, "beta": 0.4}),
    "cpt": Law("cpt", {"E": 1.8, "A": 60.0, "alpha": 0.4, "B": 20.0, "beta": 0.25, "gamma": 0.03}),
}
START = 10.5


def point(role: str, N: float, D: float) -> Point:
    return Point(role, N, D, 6 * N * D)


def small_runs(seed: int, spread: float = 0.008) -> tuple[list[Point], list[float]]:
    """Seven runs of each strategy from three sizes, with noise."""
    random = np.random.default_rng(seed)
    points = [
        point(role, N, D)
        for role in LAWS
        for N, D in ((1e5, 1e5), (1e5, 4e5), (1e5, 1e6), (2e5, 1e5), (2e5, 5e5), (4e5, 1e5))
    ]
    noise = np.exp(spread * random.standard_normal(len(points)))
    losses = [float(LAWS[p.role].loss(p.N, p.D)) for p in points]
    return points, (np.array(losses) * noise).tolist()


def belief_of(seed: int, spread: float = 0.008) -> PilotBelief:
    return believe_block("target", *small_runs(seed, spread), Frame(*SCALE, START, seed), draws=300)


@pytest.fixture(scope="module")
def beliefs() -> list[PilotBelief]:
    return [belief_of(seed) for seed in range(5)]


def test_what_is_foretold_ten_times_further_holds_the_truth(beliefs: list[PilotBelief]) -> None:
    inside = []
    for role, law in LAWS.items():
        far = point(role, 7e5, 1.4e6)
        for belief in beliefs:
            low, high = np.percentile(belief.predicted(far), (2.5, 97.5))
            inside.append(low < law.loss(far.N, far.D) < high)
    assert sum(inside) >= 9


def test_without_runs_little_is_believed_and_runs_narrow_it(beliefs: list[PilotBelief]) -> None:
    before = believe_block("target", [], [], Frame(*SCALE, START, 1), draws=300)
    far = point("scratch", 7e5, 1.4e6)
    spread = [np.log(belief.predicted(far)).std() for belief in (before, beliefs[0])]
    assert spread[1] < spread[0] / 4


def test_an_interval_widens_with_distance_and_with_noise(beliefs: list[PilotBelief]) -> None:
    near, far = point("scratch", 4e5, 4e5), point("scratch", 4e6, 4e7)
    widths = [np.log(beliefs[0].predicted(one)).std() for one in (near, far)]
    assert widths[0] < widths[1]
    noisy = belief_of(0, spread=0.04)
    assert np.log(noisy.predicted(near)).std() > 2 * widths[0]
    assert np.median(noisy.drawn.scatter) > 2 * np.median(beliefs[0].drawn.scatter)


def test_runs_that_bend_away_from_their_law_widen_the_interval() -> None:
    points, losses = small_runs(1, spread=0.004)
    bent = [
        loss * 0.85 ** max(0.0, np.log10(p.flops) - 11.3)
        for p, loss in zip(points, losses, strict=True)
    ]
    far = point("scratch", 7e5, 1.4e6)
    straight, followed = (
        believe_block("target", points, given, Frame(*SCALE, START, 1), draws=600)
        for given in (losses, bent)
    )
    spread = [np.log(belief.predicted(far)).std() for belief in (straight, followed)]
    drifts = [np.median(belief.drawn.drift) for belief in (straight, followed)]
    assert drifts[1] > 1.5 * drifts[0]
    assert spread[1] > 1.3 * spread[0]
    assert np.median(followed.predicted(far)) < np.median(straight.predicted(far))


def test_two_seeds_agree_in_the_width_of_what_is_foretold() -> None:
    points, losses = small_runs(1)
    widths = []
    for seed in (1, 2):
        belief = believe_block("target", points, losses, Frame(*SCALE, START, seed))
        ends = [
            np.percentile(np.log(belief.predicted(point(role, 7e5, 1.4e6))), (2.5, 97.5))
            for role in LAWS
        ]
        widths.append([high - low for low, high in ends])
    np.testing.assert_allclose(widths[0], widths[1], rtol=0.2)


def test_the_law_for_the_planner_is_that_of_the_draws(beliefs: list[PilotBelief]) -> None:
    far = point("cpt", 7e5, 1.4e6)
    law, draws = beliefs[0].law(far), beliefs[0].expected(far)
    assert law.loss(far.N, far.D) == pytest.approx(np.median(draws))
    np.testing.assert_allclose(law.loss_draws(far.N, far.D), draws, rtol=1e-9)
    assert law.range["N"] == (1e5, 4e5)


def test_the_same_runs_leave_the_same_belief(beliefs: list[PilotBelief]) -> None:
    again = belief_of(0)
    np.testing.assert_array_equal(again.drawn.z, beliefs[0].drawn.z)
    far = point("cpt", 7e5, 1.4e6)
    np.testing.assert_array_equal(again.predicted(far), beliefs[0].predicted(far))


def test_the_loss_on_the_source_takes_up_how_unsure_its_start_is() -> None:
    law = {"F": 8e3, "A": 0.2, "kappa": 0.13, "W": 0.2, "B": 1.5e5}
    truth = Law("forgetting", law | {"beta": 0.095})
    points = [
        Point("forgetting", 1e5, D, 6e5 * D, r, 3.1)
        for D in (1e5, 3e5)
        for r in (0.0, 0.05, 0.2, 0.5)
    ]
    losses = [float(truth.loss(D=p.D, r=p.r, S=p.S)) for p in points]
    belief = believe_block("forgetting", points, losses, Frame(*SCALE, START, 1), draws=300)
    sure = Point("forgetting", 1e5, 1e6, 6e11, 0.1, 3.0)
    start = 3.0 * np.exp(0.05 * np.random.default_rng(0).standard_normal(300))
    unsure = replace(sure, S=start)
    spread = [np.log(belief.predicted(one)).std() for one in (sure, unsure)]
    assert spread[1] > spread[0] + 0.005
    assert np.median(belief.predicted(sure)) == pytest.approx(
        float(truth.loss(D=1e6, r=0.1, S=3.0)), rel=0.05
    )


def test_log_losses_are_those_of_the_forms() -> None:
    frame, block = Frame(*SCALE, START, 1), BLOCKS["target"]
    belief = believe_block("target", [], [], frame, draws=100)
    z = belief.drawn.block.middle[None]
    points = [point(role, 3e5, 5e5) for role in LAWS]
    logs = belief.log_losses(z, points)[0]
    params: dict[str, float] = {}
    for one, log in zip(points, logs, strict=True):
        params = {name: float(of[0]) for name, of in block.params(one.role, z, frame).items()}
        expected = np.log(Law(block.roles[one.role], params).loss(one.N, one.D))
        assert log == pytest.approx(float(expected))
    term = params["B"] * frame.D ** -params["beta"] * frame.N ** -params["gamma"]
    assert term == pytest.approx(0.4 * np.exp(-0.4) * frame.loss)
    assert belief.drawn.z.shape == (100, len(block.spread))


def test_losses_known_beforehand_weigh_the_draws_by_their_chance() -> None:
    points, losses = small_runs(1)
    frame = Frame(*SCALE, START, 2)
    far = [point("scratch", N, D) for N, D in ((4e5, 8e5), (7e5, 2e6))]
    before = believe_block("target", points, losses, frame)
    logs = np.log([before.expected(one) for one in far])
    middle, covariance = logs.mean(1) + 0.06, np.cov(logs) * 2.0
    known = KnownLosses("of a test", tuple(far), middle, covariance)
    after = believe_block("target", points, losses, frame, known=known)
    assert after.known is known
    off = logs - middle[:, None]
    weights = np.exp(-0.5 * (off * np.linalg.solve(covariance, off)).sum(0))
    weights /= weights.sum()
    old, new = (np.log(belief.expected(far[1])) for belief in (before, after))
    mean = weights @ old
    assert mean > old.mean() + 0.012
    assert new.mean() == pytest.approx(mean, abs=0.01)
    assert new.std() == pytest.approx(np.sqrt(weights @ (old - mean) ** 2), rel=0.25)
