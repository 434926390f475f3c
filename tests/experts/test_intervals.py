import numpy as np
import pytest

from tongues.experts.intervals import less, less_in_all

NAMES = [str(number) for number in range(400)]


def test_the_difference_is_per_token_and_its_interval_as_theory_has_it() -> None:
    random = np.random.default_rng(3)
    lengths = np.full(400, 50.0)
    other = random.normal(100, 10, 400)
    gap = random.normal(5, 10, 400)
    seeds = [{"qaa": other + 50}, {"qaa": other - 50}]
    found = less([{"qaa": other - gap}], seeds, "qaa", lengths, NAMES)
    assert found.mean == pytest.approx(gap.mean() / 50)
    half = 1.96 * gap.std() / np.sqrt(400) / 50
    assert found.low is not None and found.high is not None
    assert found.high - found.mean == pytest.approx(half, rel=0.15)
    assert found.mean - found.low == pytest.approx(half, rel=0.15)
    assert found.told == 1


def test_five_documents_tell_nothing_and_six_do() -> None:
    def of(count: int) -> dict[str, np.ndarray]:
        return {"qaa": np.arange(count, dtype=float)}

    lower = [
        less([of(n)], [{"qaa": of(n)["qaa"] + 1}], "qaa", np.ones(n), NAMES[:n]) for n in (5, 6)
    ]
    assert [found.told for found in lower] == [0, 1]
    assert lower[0].low is None


def test_translations_are_one_document_in_the_mean() -> None:
    nats = np.arange(5.0)
    own, other = {"qaa": nats, "qab": nats}, {"qaa": nats + 1, "qab": nats + 1}
    lengths = dict.fromkeys(own, np.ones(5))

    def count(names: dict[str, list[str]]) -> int | None:
        return less_in_all([own], {lang: [other] for lang in own}, lengths, names).documents

    assert count({"qaa": NAMES[:5], "qab": NAMES[:5]}) == 5
    assert count({"qaa": NAMES[:5], "qab": NAMES[5:10]}) == 10
