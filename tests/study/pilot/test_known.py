"""A pilot in a language of the catalogue starts from what published runs say of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tongues.languages import find_language
from tongues.recipe import Recipe
from tongues.study.pilot.advice import first_guess
from tongues.study.pilot.blocks import Frame, KnownLosses, PilotBelief, Point, believe_block
from tongues.study.pilot.known import CountedText, known_losses, losses_of
from tongues.study.pilot.rounds import begin
from tongues.study.pilot.selection import forecast

TEXT = CountedText(bytes_per_token=4.0)
SMALL = [Point("scratch", N, D, 6 * N * D) for N, D in ((5e6, 4e7), (1.2e7, 1e8), (3e7, 1e8))]
REAL = Point("scratch", 1.25e8, 2e9, 1.5e18)
FRAME = Frame(1e7, 7e7, 4.5, 15.0, 1)


@pytest.fixture(scope="module")
def known() -> KnownLosses:
    return losses_of(find_language("sw"), [*SMALL, REAL], TEXT)


def belief_of(runs: int, known: KnownLosses | None, factor: float = 1.0) -> PilotBelief:
    """After runs that end where the prior says, times a factor."""
    found = losses_of(find_language("sw"), [*SMALL, REAL], TEXT)
    losses = (factor * np.exp(found.middle[:runs])).tolist()
    return believe_block("target", SMALL[:runs], losses, FRAME, draws=300, known=known)


def half(belief: PilotBelief) -> float:
    return 1.96 * float(np.log(belief.predicted(REAL)).std())


def test_the_first_run_brings_more_with_the_prior(known: KnownLosses) -> None:
    assert half(belief_of(1, known)) < 0.6 * half(belief_of(1, None))
    assert np.median(belief_of(1, known).predicted(REAL)) == pytest.approx(
        np.exp(known.middle[-1]), rel=0.05
    )


def test_the_level_of_a_text_is_learned_from_its_first_run(known: KnownLosses) -> None:
    before, after = belief_of(0, known), belief_of(1, known, factor=0.75)
    assert half(before) > 0.3
    assert half(after) < 0.4 * half(before)
    assert np.median(after.predicted(REAL)) == pytest.approx(
        0.75 * np.exp(known.middle[-1]), rel=0.08
    )


def test_runs_that_are_unlikely_by_the_prior_outweigh_it(known: KnownLosses) -> None:
    bits = belief_of(2, known, factor=1 / 6)  # as of losses in another unit
    assert bits.doubted
    assert bits.known is None
    assert half(bits) == pytest.approx(half(belief_of(2, None, factor=1 / 6)))
    assert not belief_of(2, known).doubted


def test_the_design_knows_what_the_draws_know(known: KnownLosses) -> None:
    options = {str(i): [point] for i, point in enumerate(SMALL)}
    for runs in (0, 1):
        belief = belief_of(runs, known)
        found = forecast({"target": belief}, options, [REAL])
        left = float(np.sqrt(found.left([str(i) for i in range(runs)]).mean()))
        assert 1.96 * left == pytest.approx(half(belief), rel=0.5)


def test_to_the_design_a_known_loss_is_one_that_was_measured() -> None:
    options, belief = {str(i): [point] for i, point in enumerate(SMALL)}, belief_of(0, None)
    alone = forecast({"target": belief}, options, [REAL])
    one = KnownLosses("", (SMALL[0],), np.zeros(1), alone.noise[:1, None])
    with_known = forecast({"target": replace(belief, known=one)}, options, [REAL])
    assert with_known.unknown([]) == pytest.approx(alone.unknown(["0"]))
    assert with_known.unknown(["2"]) == pytest.approx(alone.unknown(["0", "2"]))


def test_a_pilot_takes_the_languages_that_the_catalogue_has(
    recipe_of: Callable[..., Recipe], workspace: Path
) -> None:
    recipe = recipe_of()
    pilot = begin(recipe, workspace)
    assert not pilot.known  # made languages
    guess = first_guess(recipe, pilot.means, pilot.settled)
    means = replace(pilot.means, bytes_per_token={"sw": 4.0})
    named = {"target": "sw", "source": "qaa"}
    found = known_losses(named, pilot.options, guess, means)
    assert list(found) == ["target"]
    assert found["target"].name == "Swahili"
    assert found["target"].points[-1] == guess["scratch"]
    assert {point.role for point in found["target"].points} == {"scratch"}
    assert np.linalg.eigvalsh(found["target"].covariance).min() > 0


def test_text_that_ends_is_repeated() -> None:
    swahili = find_language("sw")
    fresh, repeated = (
        losses_of(swahili, [REAL], CountedText(4.0, tokens)).middle[0] for tokens in (np.inf, 2e7)
    )
    assert repeated > fresh + 0.05
