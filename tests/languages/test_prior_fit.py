"""The fit of the prior, on languages drawn from a mixed model whose parameters are known."""

import numpy as np
import pytest

from benchmarks.prior_fit import LossTable, fit_prior


@pytest.fixture(scope="module")
def table() -> LossTable:
    random = np.random.default_rng(5)
    count, families, scripts = 80, 8, 4
    family, script = random.integers(0, families, count), random.integers(0, scripts, count)
    amount = random.uniform(7.5, 12, count)
    reach = np.clip(0.5 * amount + 3.6, 6.7, 9.0)
    middle = np.array([0.9, 0.6, 0.7, 0.63, 0.37, 0.2])
    root = np.tril(np.ones((6, 6))) * np.array([0.05, 0.04, 0.03, 0.01, 0.02, 0.02])
    of_family, of_script = (random.normal(size=(n, 6)) @ root.T for n in (families, scripts))
    own = random.normal(size=(count, 6)) @ root.T
    log_bits = middle - 0.05 * (amount - 10)[:, None] + of_family[family] + of_script[script] + own
    log_bits[amount < 10, 5] = np.nan
    return LossTable(
        tuple(f"l{i}" for i in range(count)),
        tuple(f"f{i}" for i in family),
        tuple(f"s{i}" for i in script),
        amount,
        reach,
        log_bits,
    )


def test_variances_and_slopes_are_found(table: LossTable) -> None:
    prior = fit_prior(table)
    expected = np.sqrt(np.cumsum(np.array([0.05, 0.04, 0.03, 0.01, 0.02, 0.02]) ** 2))
    own = np.sqrt(np.diag(prior.spread[2]))
    assert own == pytest.approx(expected, rel=0.25)
    low, high = (prior.normal("", "", *at)[0] for at in ((9.0, 8.1), (11.5, 9.0)))
    assert high - low == pytest.approx(-0.125, abs=0.05)
    assert prior.fall < 0.15  # languages with little text vary no more here
    slope, level = prior.reach
    assert slope * 9 + level == pytest.approx(8.1, abs=0.1)


def test_intervals_hold_for_languages_left_out(table: LossTable) -> None:
    start, rows, z = fit_prior(table), np.arange(len(table.tags)), []
    for out in range(0, 80, 2):
        prior = fit_prior(table.take(np.delete(rows, out)), start, 2)
        mean, covariance = prior.normal(
            table.families[out], table.scripts[out], table.amount[out], table.reach[out]
        )
        z.append((table.log_bits[out, 4] - mean[4]) / np.sqrt(covariance[4, 4]))
    assert 0.8 < np.std(z) < 1.25


def test_a_group_that_was_never_seen_is_wider(table: LossTable) -> None:
    prior = fit_prior(table, rounds=10)
    seen, family, both = (
        prior.normal(*names, 10.0, 8.6)[1][4, 4]
        for names in (("f1", "s1"), ("new", "s1"), ("new", "new"))
    )
    assert seen < family < both
    assert both == pytest.approx(prior.spread[:, 4, 4].sum(), rel=0.25)
