"""The share of replay, adjusted during a run by the held-out loss of the languages that are held.

The loss on a parent's language first rises with the rate, then falls as the rate comes down, so
what a check measures says little by itself. Its rise is taken for a straight line in the rate and
in the logarithm of the share, of which the newest counts most; the line is fitted to all checks,
and after each check the share is the one that would end at the tolerance.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tongues.recipe import Train
from tongues.train.planned import token_shares
from tongues.train.schedule import rate_at
from tongues.train.step import HeldOut, Setup, held_out_windows, validate

_CHECKS = 20  # parts of a run, between which there is a check
_COST = 0.015  # of the run's operations, for all checks; and at most as much before the first step
_FORWARD = 1 / 3  # of a step's operations
_SETTLED = 0.075  # share of the run up to which a check tells of its start alone
_FEWEST = 2  # later checks before the share is changed
_HALF = 0.03  # of the run, in which a new share comes to count half
_MARGIN = 0.005  # below the tolerance that is aimed at: as much as checks leave open
_LEAST, _MOST = 0.001, 0.8  # share of one language; of all that is replayed
_FASTEST = math.log(2)  # by which the logarithm of a share changes at a check
# What is believed of the line before any check, and how firmly (benchmarks/forgetting.py): the rise
# without any rate under source text alone, what the peak rate adds, and each factor e less replay.
_BELIEVED, _FIRMLY = np.array([-0.09, 0.15, 0.09]), np.array([0.05, 0.04, 0.04])
_LEAST_SLOPE = 0.02  # of the last
_NOISE, _DRIFT = 0.012, 0.05  # of a check; of the line, from one end of a run to the other
_BEND = 0.02  # of the line, at a factor e from the share that counts now: it is no line far from it

Check = Sequence[float]


@dataclass(frozen=True, slots=True)
class HoldHistory:
    """What was seen of the languages that are held, by language; goes into a checkpoint.

    starts: nats per token of each part of its text before the first step.
    checks: of each the step, the rise (the logarithm of the loss over that before the first step),
        and the share since the check before.
    """

    starts: Mapping[str, list[float]] = field(default_factory=dict)
    checks: Mapping[str, list[list[float]]] = field(default_factory=dict)


def check_steps(steps: int) -> list[int]:
    """The steps after which held languages are looked at: evenly spaced, not at the end."""
    return sorted({round(steps * n / _CHECKS) for n in range(1, _CHECKS)} - {0, steps})


def cut_parts(text: HeldOut, token_bytes: np.ndarray, budget: int) -> tuple[HeldOut, ...]:
    """A language's held-out text in parts, which the checks of a run score by turns.

    It is one part where a run of `budget` tokens is long enough for that, else parts so small that
    checks are cheap; what is odd about one of them passes.
    """
    count, context = text.windows.shape[0], text.windows.shape[1] - 1
    at_a_time = max(1, int(_COST / _FORWARD * budget / _CHECKS) // context)
    every = math.ceil(count / at_a_time)
    number = min(every, _CHECKS)
    parts = [text.windows[place * every // number :: every] for place in range(number)]
    return tuple(held_out_windows(part, token_bytes, text.bos) for part in parts)


def first_losses(setup: Setup) -> HoldHistory:
    """Score all parts before the first step."""
    starts = {lang: _losses(setup, parts) for lang, parts in setup.checked.items()}
    return HoldHistory(starts, {lang: [] for lang in starts})


def check(
    setup: Setup, held: HoldHistory, step: int, shares: Mapping[str, float]
) -> tuple[HoldHistory, Mapping[str, float]]:
    """Score what is held after `step`; returns the history, and the shares from here on.

    shares: of all tokens by language, since the check before.
    """
    checks = dict(held.checks)
    for lang, parts in setup.checked.items():
        part = len(checks[lang]) % len(parts)
        (loss,) = _losses(setup, parts[part : part + 1])
        rise = math.log(loss / held.starts[lang][part])
        checks[lang] = [*checks[lang], [step, rise, shares[lang]]]

    def changed() -> dict[str, float]:
        settings = setup.plan.settings
        replayed = {lang: shares[lang] for lang in settings.replay}
        for lang, tolerance in settings.max_forgetting.items():
            replayed[lang] = next_share(checks[lang], tolerance, settings, setup.derived.steps)
        most = max(_MOST, sum(shares[lang] for lang in replayed))
        over = max(1.0, sum(replayed.values()) / most)
        replayed = {lang: share / over for lang, share in replayed.items()}
        return token_shares(settings.shares, replayed)

    # One process decides: another machine may round otherwise.
    return HoldHistory(held.starts, checks), setup.processes.once(changed)


def _losses(setup: Setup, parts: Sequence[HeldOut]) -> list[float]:
    texts = {str(number): part for number, part in enumerate(parts)}
    return [loss.nats_per_token for loss in validate(setup.scorer, texts, setup.processes).values()]


def next_share(checks: Sequence[Check], tolerance: float, settings: Train, steps: int) -> float:
    """The share of a language's replay from its last check on.

    checks: as in `HoldHistory`. tolerance: rise of its loss at the end, 0.01 for 1 %.
    """
    last, _, share = checks[-1]
    settled = [number for number, check in enumerate(checks) if check[0] >= _SETTLED * steps]
    if len(settled) < _FEWEST:
        return share
    floor, by_rate, by_share = _line(checks, settled, settings, steps)
    last_rate = rate_at(steps - 1, steps, 1.0, settings)
    highest = floor + by_rate * last_rate  # at the end, of source text alone
    counted = (highest - math.log1p(tolerance) + _MARGIN) / by_share
    target = (counted - _counted(checks, steps, steps)) / _weight(steps - last, steps)
    change = min(max(target - math.log(share), -_FASTEST), _FASTEST)
    return round(min(max(share * math.exp(change), _LEAST), _MOST), 3)


def _line(
    checks: Sequence[Check], settled: Sequence[int], settings: Train, steps: int
) -> tuple[float, float, float]:
    """Three coefficients of the line; older checks weigh less."""
    steps_of, rises = (np.array([checks[number][part] for number in settled]) for part in (0, 1))
    rates = [rate_at(int(step) - 1, steps, 1.0, settings) for step in steps_of]
    counted = np.array([_counted(checks[: n + 1], checks[n][0], steps) for n in settled])
    columns = np.stack([np.ones_like(rises), rates, -counted], axis=1)
    age, distance = (steps_of[-1] - steps_of) / steps, counted[-1] - counted
    trust = 1.0 / (_NOISE**2 + (_DRIFT * age) ** 2 + (_BEND * distance**2) ** 2)
    firmness = np.diag(_FIRMLY**-2.0)
    line = np.linalg.solve(
        columns.T @ (trust[:, None] * columns) + firmness,
        columns.T @ (trust * rises) + firmness @ _BELIEVED,
    )
    return float(line[0]), float(line[1]), max(float(line[2]), _LEAST_SLOPE)


def _counted(checks: Sequence[Check], at: float, steps: int) -> float:
    """The logarithm of the share that counts at step `at`, of all shares up to the last check."""
    begun = (0.0, *(step for step, _, _ in checks))
    return math.fsum(
        (_weight(at - since, steps) - _weight(at - until, steps)) * math.log(share)
        for since, (until, _, share) in zip(begun, checks, strict=False)
    )


def _weight(passed: float, steps: int) -> float:
    return passed / (passed + _HALF * steps)
