import numpy as np
import pytest

from tongues.estimate import Estimate
from tongues.significance import holm, paired_loss
from tongues.significance.paired import fewest_documents


def test_the_smallest_p_counts_most():
    # Holm (1979), in any book: 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06
    found = holm(
        {
            name: Estimate(1.0, 0.5, 1.5, p=p)
            for name, p in zip("abcd", (0.03, 0.01, 0.04, 0.02), strict=True)
        }
    )
    assert [found[name].p for name in "abcd"] == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert [found[name].significant for name in "abcd"] == [0, 1, 0, 0]
    assert found["a"].among == 4


def test_what_cannot_be_told_is_not_counted():
    nothing = Estimate(1.0, None, None, reason="6 documents are needed, there are 2")
    found = holm({"sw": nothing, "de": Estimate(-1.0, -1.5, -0.5, p=0.04)})
    assert found["sw"] is nothing
    assert found["de"].p == 0.04
    assert found["de"].significant == -1
    assert holm({}) == {}


def test_those_chosen_from_more_allow_for_all():
    pair = {"a": Estimate(1.0, 0.5, 1.5, p=0.01), "b": Estimate(1.0, 0.5, 1.5, p=0.02)}
    assert [of.p for of in holm(pair, among=10).values()] == pytest.approx([0.1, 0.18])


@pytest.mark.parametrize(
    ("among", "needed"), [(1, 6), (2, 7), (3, 7), (4, 8), (200, 13), (480, 14)]
)
def test_too_few_documents_are_those_that_could_never_tell(among: int, needed: int):
    assert fewest_documents(among) == needed
    gap, units = -np.arange(1.0, 1 + needed), np.ones(needed)  # the best that could be
    others = {str(n): Estimate(1.0, -1.0, 2.0, p=1.0) for n in range(among - 1)}
    enough = holm({"own": paired_loss(gap, 0 * gap, units), **others})["own"]
    assert (enough.significant, enough.reason) == (-1, "")
    if needed > 6:
        few = holm({"own": paired_loss(gap[1:], 0 * gap[1:], units[1:]), **others})["own"]
        assert few.significant == 0
        assert few.low is not None
        assert few.reason == (
            f"{needed} documents are needed for {among} comparisons, there are {needed - 1}"
        )
