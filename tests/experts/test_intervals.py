import numpy as np
import pytest

from tongues.experts.intervals import less, less_in_all


def test_the_difference_is_per_token_and_its_interval_as_theory_has_it() -> None:
    random = np.random.default_rng(3)
    lengths = np.full(400, 50.0)
    other = random.normal(100, 10, 400)
    gap = random.normal(5, 10, 400)
    found = less([{"qaa": other - gap}], [{"qaa": other + 50}, {"qaa": other - 50}], "qaa", lengths)
    assert found["mean"] == pytest.approx(gap.mean() / 50)
    half = 1.96 * gap.std() / np.sqrt(400) / 50
    assert found["high"] - found["mean"] == pytest.approx(half, rel=0.15)
    assert found["mean"] - found["low"] == pytest.approx(half, rel=0.15)


def test_of_fewer_than_ten_documents_there_is_no_interval() -> None:
    def of(count: int, lang: str = "qaa") -> dict[str, np.ndarray]:
        return {lang: np.arange(count, dtype=float)}

    def told(*counts: int) -> bool:
        langs = [f"qa{letter}" for letter, _ in zip("abc", counts, strict=False)]
        own = {lang: np.arange(n, dtype=float) for lang, n in zip(langs, counts, strict=True)}
        others = {lang: [{lang: nats + 1}] for lang, nats in own.items()}
        lengths = {lang: np.ones(len(nats)) for lang, nats in own.items()}
        return less_in_all([own], others, lengths)["low"] is not None

    few = less([of(9)], [of(9)], "qaa", np.ones(9))
    assert few == {"mean": 0.0, "low": None, "high": None}
    assert less([of(10)], [of(10)], "qaa", np.ones(10))["low"] == 0.0
    assert [told(9), told(5, 5), told(5, 4), told(20, 1)] == [False, True, False, False]
