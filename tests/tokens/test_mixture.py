"""The sampling order: exact shares, every window once an epoch, a function of the number alone."""

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden import cases, golden
from tongues.core.errors import UserError
from tongues.text.tokens import Mixture
from tongues.text.tokens.mixture import Phase

CONTEXT = 4


def mixture(weights: list[int], windows: list[int], seed: int = 1, samples: int = 1) -> Mixture:
    """Sources whose token i is i, so that a window shows where it was taken."""
    langs = [f"q{chr(97 + i)}" for i in range(len(weights))]
    sources = {lang: np.arange(n * CONTEXT + 1) for lang, n in zip(langs, windows, strict=True)}
    total = sum(weights)
    shares = {lang: w / total for lang, w in zip(langs, weights, strict=True)}
    return Mixture(sources, shares, CONTEXT, seed, samples)


weights = st.lists(st.integers(1, 60), min_size=1, max_size=6)


@given(weights)
@settings(deadline=None, max_examples=60)
def test_every_language_is_less_than_one_sample_off_at_any_time(parts: list[int]) -> None:
    order = mixture(parts, [3] * len(parts))
    source, _, _ = order.locate(np.arange(3 * sum(parts) + 7))
    sampled = np.cumsum(source[:, None] == np.arange(len(parts)), axis=0).tolist()
    for n, row in enumerate(sampled, start=1):
        for count, part in zip(row, parts, strict=True):
            assert abs(count - Fraction(part * n, sum(parts))) < 1
    assert list(order.counts(len(sampled)).values()) == sampled[-1]


@pytest.mark.parametrize("shares", [[0.05, 0.95], [1 / 3] * 3, [0.05 / 3] * 3 + [0.95]])
def test_humane_shares_are_met_exactly(shares: list[float]) -> None:
    langs = [f"q{chr(97 + i)}" for i in range(len(shares))]
    sources = {lang: np.arange(100) for lang in langs}
    order = Mixture(sources, dict(zip(langs, shares, strict=True)), CONTEXT, 1)
    expected = [round(6_000_000 * share) for share in shares]
    assert list(order.counts(6_000_000).values()) == expected


def test_inhumane_shares_stay_close_for_long() -> None:
    shares = {"qaa": 2**-0.5, "qab": np.e / 10, "qac": 1 - 2**-0.5 - np.e / 10}
    order = Mixture({lang: np.arange(100) for lang in shares}, shares, CONTEXT, 1)
    for n in (10, 999, 65_536, 1_000_000):
        for lang, count in order.counts(n).items():
            assert abs(count - shares[lang] * n) < 1.5


@given(weights, st.data())
@settings(deadline=None, max_examples=60)
def test_every_window_comes_once_an_epoch(parts: list[int], data: st.DataObject) -> None:
    size = st.lists(st.integers(1, 80), min_size=len(parts), max_size=len(parts))
    windows = data.draw(size)
    order = mixture(parts, windows, seed=data.draw(st.integers(0, 2**32)))
    source, epoch, window = order.locate(np.arange(2000))
    seen = Counter(zip(source.tolist(), epoch.tolist(), window.tolist(), strict=True))
    assert max(seen.values()) == 1
    for number, count in enumerate(windows):
        assert all(0 <= w < count for s, _, w in seen if s == number)
        whole = int((source == number).sum()) // count
        assert all(sum((number, e, w) in seen for w in range(count)) == count for e in range(whole))


def test_epochs_and_seeds_have_orders_of_their_own_that_look_random() -> None:
    count = 5000
    orders = []
    for seed in (1, 2):
        _, epoch, window = mixture([1], [count], seed).locate(np.arange(2 * count))
        assert epoch.tolist() == [0] * count + [1] * count
        orders += [window[:count], window[count:]]
    for i, order in enumerate(orders):
        assert abs(np.corrcoef(np.arange(count), order)[0, 1]) < 0.06
        assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.06
        assert all((order == other).sum() < 10 for other in orders[:i])
    halves = [np.sort(order[: count // 2]) for order in orders]
    assert all(abs(half.mean() / count - 0.5) < 0.03 for half in halves)


def test_a_small_source_has_all_orders() -> None:
    _, _, window = mixture([1], [3]).locate(np.arange(3 * 6000))
    orders = Counter(map(tuple, window.reshape(-1, 3).tolist()))
    assert len(orders) == 6
    assert min(orders.values()) > 850


def test_adding_a_language_keeps_the_order_within_the_others() -> None:
    alone = mixture([1], [30])
    joined = mixture([1, 1], [30, 30])
    source, _, window = joined.locate(np.arange(60))
    assert np.array_equal(window[source == 0], alone.locate(np.arange(30))[2])


def test_a_language_with_no_share_is_never_sampled() -> None:
    sources = {"qaa": np.arange(50), "qab": np.arange(2)}
    order = Mixture(sources, {"qaa": 1.0, "qab": 0.0}, CONTEXT, 1)
    assert order.counts(9) == {"qaa": 9}


@pytest.mark.parametrize("shares", cases("refused-shares"))
def test_impossible_mixtures_are_refused(shares: str) -> None:
    sources = {"qaa": np.arange(50), "qaz": np.arange(2), "qba": np.arange(50)}
    with pytest.raises(UserError) as caught:
        Mixture(sources, json.loads(shares), CONTEXT, 1).batch(0)
    golden(f"refused-shares/{shares}", str(caught.value))


@pytest.mark.parametrize("samples", [1, 7, 4096, 5000])
def test_batches_are_those_located_one_by_one(samples: int) -> None:
    order = mixture([3, 1], [60, 10], samples=samples)
    for step in (9, 3, 0, 4096 // samples, max(4096 // samples - 1, 0)):
        source, _, window = order.locate(np.arange(step * samples, (step + 1) * samples))
        expected = [
            order.sources[order.languages[s]][w * CONTEXT : (w + 1) * CONTEXT + 1]
            for s, w in zip(source.tolist(), window.tolist(), strict=True)
        ]
        batch = order.batch(step)
        assert np.array_equal(batch, expected)
        assert (batch.shape, batch.dtype) == ((samples, CONTEXT + 1), np.int64)


def phased(shares: list[float], batches: list[int], windows: list[int], samples: int) -> Mixture:
    """Two languages; the share of the first changes at some batches."""
    sources = {
        lang: np.arange(n * CONTEXT + 1) for lang, n in zip(("qa", "qb"), windows, strict=True)
    }
    first, *others = [{"qa": share, "qb": 1 - share} for share in shares]
    phases = [Phase(batch, now) for batch, now in zip(sorted(batches), others, strict=True)]
    return Mixture(sources, first, CONTEXT, 1, samples, phases)


def places_of(order: Mixture, batches: int) -> list[tuple[int, int]]:
    """Language and window of every sample, from its tokens; each language's begin elsewhere."""
    sampled = np.concatenate([order.batch(number) for number in range(batches)])
    return [(int(row[0]) // 10**6, int(row[0]) % 10**6 // CONTEXT) for row in sampled]


changes = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 99)), max_size=5)


@given(changes, st.integers(1, 7), st.tuples(st.integers(1, 60), st.integers(1, 60)))
@settings(deadline=None, max_examples=50)
def test_no_window_comes_twice_an_epoch_when_shares_change(
    found: list[tuple[int, int]], samples: int, windows: tuple[int, int]
) -> None:
    shares = [0.3, *(percent / 100 for _, percent in found)]
    order = phased(shares, [batch for batch, _ in found], list(windows), samples)
    order.sources["qb"][:] += 10**6
    places = places_of(order, batches=50)
    for language, count in enumerate(windows):
        own = [window for lang, window in places if lang == language]
        for first in range(0, len(own), count):
            epoch = own[first : first + count]
            assert len(set(epoch)) == len(epoch)
        assert order.counts(50)[("qa", "qb")[language]] == len(own)
        assert order.epochs(50)[("qa", "qb")[language]] == len(own) / count


def test_each_phase_has_its_share_and_decides_nothing_before_it_begins() -> None:
    order = phased([0.1, 0.5, 0.25], [100, 200], [7, 9], samples=20)
    counts = [order.counts(batches)["qa"] for batches in (0, 100, 200, 300)]
    assert np.diff(counts).tolist() == [200, 1000, 500]
    earlier = phased([0.1, 0.5], [100], [7, 9], samples=20)
    for batch in (0, 99, 100, 199):
        assert np.array_equal(order.batch(batch), earlier.batch(batch))


def test_a_phase_of_the_same_shares_changes_no_sample() -> None:
    plain, order = phased([0.3], [], [7, 9], samples=8), phased([0.3, 0.3], [10], [7, 9], samples=8)
    for number in (0, 3, 10, 700):
        assert np.array_equal(order.batch(number), plain.batch(number))
    assert order.counts(33) == plain.counts(33)


def test_of_two_changes_at_one_batch_the_later_holds() -> None:
    order = phased([0.1, 0.9, 0.5], [10, 10], [7, 9], samples=20)
    assert order.counts(20)["qa"] == 20 + 100


def test_a_language_that_pauses_continues_with_its_next_window() -> None:
    order = phased([0.5, 0.0, 0.5], [2, 4], [40, 40], samples=6)
    order.sources["qb"][:] += 10**6
    assert [order.counts(batches)["qa"] for batches in (2, 4, 6)] == [6, 6, 12]
    own = [window for lang, window in places_of(order, batches=6) if lang == 0]
    assert len(set(own)) == len(own) == 12
