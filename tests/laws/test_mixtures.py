from pathlib import Path

import numpy as np
import pytest

from tongues.laws.mixtures import best_mixture, expected_gain, fit_mixtures

TABLES = Path(__file__).parents[2] / "../shared/data/published/regmix"
FLOORS = np.array([2.0, 3.0, 2.5])
SLOPES = np.array([[-3.0, -0.5, 0.0], [0.0, -2.0, -1.0], [0.0, 0.0, -4.0]])
EVEN = np.full(3, 1 / 3)
FREE = np.full(3, np.inf)


def true_losses(shares: np.ndarray) -> np.ndarray:
    return FLOORS + np.exp(shares @ SLOPES.T)


def made_runs(count: int, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    shares = random.dirichlet(np.ones(3), count)
    return shares, true_losses(shares) + noise * random.standard_normal((count, 3))


def test_losses_of_mixtures_that_were_not_run() -> None:
    predict = fit_mixtures(*made_runs(60))
    others = np.random.default_rng(9).dirichlet(np.ones(3), 50)
    for found, true in zip(predict(others).T, true_losses(others).T, strict=True):
        assert np.corrcoef(found, true)[0, 1] > 0.95


def test_the_best_mixture_is_the_true_one() -> None:
    weights = np.array([0.2, 0.3, 0.5])
    grid = np.array(
        [(a, b, 1 - a - b) for a in np.linspace(0, 1, 201) for b in np.linspace(0, 1 - a, 99)]
    )
    lowest = (true_losses(grid) @ weights).min()
    chosen = best_mixture(fit_mixtures(*made_runs(60)), EVEN, FREE, weights)
    assert chosen.sum() == pytest.approx(1)
    assert true_losses(chosen[None])[0] @ weights - lowest < 0.015
    assert true_losses(EVEN[None])[0] @ weights - lowest > 0.015


def test_no_share_is_above_its_cap() -> None:
    caps, weights = np.array([1.0, 0.1, 0.3]), np.array([0.1, 0.1, 0.8])
    chosen = best_mixture(fit_mixtures(*made_runs(30)), EVEN, caps, weights)
    assert (chosen <= caps + 1e-9).all()
    assert chosen[2] == pytest.approx(0.3, abs=0.03)


def test_the_gain_has_an_interval_that_knows_when_there_is_none() -> None:
    weights, chosen = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.3, 0.6])
    shares, losses = made_runs(100, noise=0.01)
    gain = expected_gain(shares, losses, chosen, EVEN, weights)
    true = float((true_losses(EVEN[None]) - true_losses(chosen[None]))[0] @ weights)
    assert gain.low is not None and gain.high is not None
    assert 0 < gain.low < true < gain.high
    noise = np.random.default_rng(1).standard_normal(losses.shape)
    assert not expected_gain(shares, 3 + 0.05 * noise, chosen, EVEN, weights).excludes_zero


@pytest.mark.skipif(not TABLES.is_dir(), reason="RegMix's tables are not here")
def test_published_mixtures_are_ranked_better_than_by_their_own_share() -> None:
    import benchmarks.mixtures as benchmark

    sources, shares, texts, losses = benchmark.read("train_mixture_1m", "train_pile_loss_1m")
    _, others, _, measured = benchmark.read("test_mixture_60m", "test_pile_loss_60m")
    predicted = fit_mixtures(shares[:256], losses[:256])(others)
    web, own = texts.index("pile_cc"), sources.index("pile_cc")
    by_law = benchmark.spearman(predicted[:, web], measured[:, web])
    assert by_law > benchmark.spearman(-others[:, own], measured[:, web]) + 0.1
    mean = measured.mean(1)
    assert benchmark.spearman(predicted.mean(1), mean) > 0.94
    assert mean[predicted.mean(1).argmin()] - mean.min() < 0.01
