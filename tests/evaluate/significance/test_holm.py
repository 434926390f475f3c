import pytest

from tongues.evaluate.significance import Difference, holm


def test_the_smallest_p_counts_most():
    # Holm (1979), in any book: 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06
    found = holm(
        {
            name: Difference(1.0, 0.5, 1.5, p)
            for name, p in zip("abcd", (0.03, 0.01, 0.04, 0.02), strict=True)
        }
    )
    assert [found[name].p for name in "abcd"] == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert [found[name].told for name in "abcd"] == [0, 1, 0, 0]
    assert found["a"].among == 4


def test_what_cannot_be_told_is_not_counted():
    nothing = Difference(1.0, None, None, None, lacking="6 documents are needed, there are 2")
    found = holm({"sw": nothing, "de": Difference(-1.0, -1.5, -0.5, 0.04)})
    assert found["sw"] is nothing
    assert found["de"].p == 0.04
    assert found["de"].told == -1
    assert holm({}) == {}
