"""Which choice is the answer, by each normalisation."""

import numpy as np
import pytest

from tongues.evaluate.tasks import ItemScore, Normalisation, correct

# Each choice is the best by one of them alone.
SCORE = ItemScore(
    id="1",
    label=3,
    sums=(-10.0, -12.0, -15.0, -9.0),
    tokens=(10, 8, 9, 3),
    characters=(10, 20, 15, 9),
    bytes=(12, 20, 45, 9),
)
BEST: dict[Normalisation, int] = {"token": 0, "character": 1, "byte": 2, "sum": 3}


@pytest.mark.parametrize("normalisation", BEST)
def test_each_normalisation_has_its_own_answer(normalisation: Normalisation) -> None:
    assert np.argmax(SCORE.scores(normalisation)) == BEST[normalisation]
    assert correct([SCORE], normalisation).tolist() == [normalisation == "sum"]


def test_the_first_of_equals_is_the_answer() -> None:
    same = ItemScore("2", 1, (-2.0, -2.0), (1, 1), (1, 1), (1, 1))
    assert not correct([same], "sum")[0]
