import numpy as np
import pytest

from tongues.laws import Curve
from tongues.laws.observed import RunCurves
from tongues.study.claims import replay_gaps


def run_of(
    replay: float, factor: float = 1.0, tokens: float = 1e6, seed: int = 1, **changes
) -> RunCurves:
    """Its loss is a power of the tokens of the target, times a factor."""
    D = np.concatenate([[0.0], np.geomspace(tokens / 100, tokens, 20)])
    own = D * (1 - replay)
    loss = factor * 10.0 * np.maximum(own, 100.0) ** -0.1
    return RunCurves(
        name=f"{replay}-{tokens}-{seed}",
        strategy="cpt",
        lang="xx",
        targets=("xx",),
        base_languages=("home",),
        replay=replay,
        shares={"xx": 1 - replay, "home": replay},
        shape="1M",
        seed=seed,
        params=1_000_000,
        curves={"xx": Curve(D, 6e6 * D, loss)},
        bits_per_byte={},
        seen={"xx": own},
        base_tokens=1e6,
    )


def test_ends_are_compared_after_as_many_tokens_of_the_target():
    plain = [run_of(0.0, tokens=tokens) for tokens in (2.5e5, 5e5, 1e6)]
    found = replay_gaps([*plain, run_of(0.2, factor=1.02), run_of(0.9, factor=1.5)])
    ((_, gap),) = found  # with 90 % it ends before the shortest without
    assert gap == pytest.approx(np.log(1.02))
    assert replay_gaps([plain[0], run_of(0.2)]) == []
