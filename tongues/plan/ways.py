"""The ways of spending compute: what each makes of FLOPs, by its law."""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tongues.laws import Law, allocate
from tongues.laws.predict import Predictor
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.laws import Known, of_compute
from tongues.plan.question import USUAL_RATIO
from tongues.plan.search import first_reached, minimise, reached_in_draws

_SMALLEST = 10.0  # parameters, and tokens, that a search considers
_LARGEST = 1e13  # parameters that it considers where no range of the law is known
_STEP = 1e-3  # in log parameters
FARTHEST = 100.0  # times the largest size that the law was fitted on, where that is known
# Times past the range of tokens per parameter that it was fitted on. A law may have its best size
# anywhere, and what lies that far from its runs is a property of its form.
FARTHEST_RATIO = 10.0
_COMPUTE = (math.log(1e6), math.log(1e40))  # FLOPs within which a loss is looked for
_FACTOR = math.log(1e4)  # how far from the point estimate a draw is looked for
_POINTS = 161
_ENDLESS_TEXT = 1e20  # tokens: where nobody counted

_SIZES = (math.log(1e-3), math.log(1e30))  # parameters among which the best size is looked for
_BISECTIONS = 55  # halvings: from these bounds to beyond what rounding shows
_NUDGE = 1e-4


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A way that cannot be taken, and why."""

    code: str
    way: str  # its name
    strategy: str
    reason: str

    @property
    def sentence(self) -> str:
        """The way with the reason."""
        return f"`{self.way}`: {self.reason}"

    def __str__(self) -> str:
        return f"{self.sentence} ({self.code})"


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """The one rule for every law: D' tokens and N' parameters that teach as much as D and N do.

    D' = U + U R_D (1 − exp(−(D/U − 1)/R_D)) beyond U, and N' likewise with R_N beyond the size
    that U tokens fill: the compute-optimal one by the law itself.

    unique: U, tokens of different target text there are.
    R_D, R_N: decay of the value of repeats, and of parameters in excess.
    most: epochs beyond which nobody has measured that reading again still helps.
    fallback: the law whose optimum counts where a law has none of its own.
    borrowed: the published law that the two numbers were taken from, if no law here has them.
    """

    unique: float
    R_D: float
    R_N: float
    most: float = math.inf
    fallback: Law | None = None
    borrowed: str = ""

    def worth(
        self, law: Law, N: np.ndarray, D: np.ndarray, full: np.ndarray | float
    ) -> tuple[np.ndarray, np.ndarray]:
        """N' and D'; `full` of the N parameters other text has filled already."""
        own = filled_by(law, self.unique)
        if math.isinf(own) and self.fallback:
            own = filled_by(self.fallback, self.unique)
        return effective_amount(N, np.maximum(own, full), self.R_N), effective_amount(
            D, self.unique, self.R_D
        )


def without_repeats(law: Law) -> Law:
    """The law of unseen text inside a data-constrained one."""
    kept = law.equation.taken_names
    return replace(
        law,
        form=law.equation.base or law.form,
        params={name: law.params[name] for name in kept},
        draws={name: values for name, values in law.draws.items() if name in kept},
        interval={name: ends for name, ends in law.interval.items() if name in kept},
    )


@lru_cache(maxsize=256)
def filled_by(law: Law, tokens: float) -> float:
    """The compute-optimal size for that many tokens; infinite where there is none.

    The size at which neither more parameters nor more tokens help, their product held.
    """

    def rises(x: float) -> bool:
        larger, smaller = (
            float(law.loss(math.exp(x + step), tokens * math.exp(-step)))
            for step in (_NUDGE, -_NUDGE)
        )
        return larger > smaller

    low, high = _SIZES
    if rises(low) or not rises(high):
        return math.inf
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if rises(middle) else (middle, high)
    return math.exp((low + high) / 2.0)


def effective_amount(amount: np.ndarray, whole: np.ndarray | float, decay: float) -> np.ndarray:
    """What an amount beyond `whole` is still worth, at most; `whole` may be infinite."""
    beyond = np.maximum(amount / whole - 1.0, 0.0)
    bounded = np.where(np.isinf(whole), 0.0, whole)
    return np.minimum(amount, whole) - bounded * decay * np.expm1(-beyond / decay)


@dataclass(frozen=True, slots=True)
class ReplayAdvice:
    """The smallest share of replay that keeps the source language, and how likely it does.

    likely: the probability that the loss stays within the tolerance. interval: 95 % of the share
    that is just enough. outside: whether the share is beyond those that the law was fitted on.
    """

    share: float
    likely: float
    interval: tuple[float, float]
    outside: bool


@dataclass(frozen=True, slots=True)
class Way:
    """One way of training: its laws, from where, with how much replay, and what is settled.

    laws: of loss by N and D, none of it read again, or by C alone. Several are several opinions:
        the loss is their geometric mean, and their draws are pooled.
    base: the checkpoint to continue from, which settles N.
    replay: share of the tokens that are source-language text.
    advice: why that share, where it was sought to keep the source language.
    params, tokens: N and D where they are settled; otherwise they follow from the compute.
    repeats: how much different target text there is, and what a repeat is worth; None where it is
        unlimited.
    experts: among how many the tokens are divided, 1 of the dense model; 0 where no ensemble is.
    start: the base's own loss on the target, for laws that begin there.
    own_tokens: tokens of the law's vocabulary in the text of one of the base's.
    """

    name: str
    strategy: str
    laws: tuple[Known, ...]
    base: BaseCheckpoint | None = None
    replay: float = 0.0
    advice: ReplayAdvice | None = None
    params: float | None = None
    tokens: float | None = None
    repeats: Repeats | None = None
    experts: int = 0
    start: float | None = None
    own_tokens: float = 1.0

    @property
    def law(self) -> Law:
        """The law that chooses its size."""
        return self.laws[0].law

    @property
    def law_name(self) -> str:
        """The names of its laws."""
        return " and ".join(one.name for one in self.laws)

    @property
    def key(self) -> tuple[str, BaseCheckpoint | None, int]:
        """What ways have in common that differ in their share of replay alone."""
        return self.strategy, self.base, self.experts

    @property
    def unique(self) -> float:
        """Tokens of different target text there are; more must be read again."""
        return self.repeats.unique if self.repeats else math.inf

    @property
    def of_compute(self) -> bool:
        """Whether its law knows compute alone, and neither size nor tokens."""
        return of_compute(self.law)

    @property
    def settled(self) -> bool:
        """Whether its size is given and not chosen."""
        return any(one is not None for one in (self.params, self.tokens))

    def sizes(self, flops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parameters and tokens, replay included, that `flops` go into; NaN where unknown.

        Settled tokens are not exceeded, even where compute is left over.
        """
        flops = np.asarray(flops, dtype=float)
        if self.of_compute:
            return np.full_like(flops, np.nan), np.full_like(flops, np.nan)
        if self.params is not None:
            N = np.full_like(flops, self.params)
            return N, np.minimum(flops / (6.0 * N), self.tokens or math.inf)
        if self.tokens is not None:
            return flops / (6.0 * self.tokens), np.full_like(flops, self.tokens)
        D = flops / (6.0 * self._best_size(flops))
        if self.repeats:  # where the text ends, a larger model takes the rest
            D = np.minimum(D, self.most_tokens)
        return flops / (6.0 * D), D

    @property
    def most_tokens(self) -> float:
        """The tokens, replay included, after which repeated text is not known to help."""
        most = self.repeats.most * self.unique if self.repeats else math.inf
        return most / (1.0 - self.replay)

    def most_flops(self) -> float:
        """The FLOPs after which repeated text is not known to help."""
        most = math.inf if self.of_compute else self.most_tokens
        if self.tokens is not None and self.tokens > most:
            return 0.0
        return math.inf if self.params is None else 6.0 * self.params * most

    def loss(self, flops: np.ndarray) -> np.ndarray:
        """The loss on the target language, nats per token; NaN where there is no best size."""
        return self._loss(flops, *self.sizes(flops))

    def loss_of(self, N: np.ndarray, D: np.ndarray) -> np.ndarray:
        """The loss of N parameters on D tokens, replay included."""
        return self._loss(6.0 * N * D, N, D)

    def loss_draws(self, flops: np.ndarray, *, one_run: bool = True) -> np.ndarray:
        """Draws of the loss of one run, or of many on average, along a new first axis.

        At the sizes of the point estimate.
        """
        flops = np.asarray(flops, dtype=float)
        at = self.sizes(flops)
        return np.concatenate(
            [
                predict(one, self._variables(one.law, flops, *at), one_run=one_run)
                for one in self.laws
            ]
        )

    def compute(self, loss: float) -> float:
        """The fewest FLOPs that reach a loss; infinite where none do."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return float(np.exp(first_reached(lambda x: self.loss(np.exp(x)), loss, *_COMPUTE)))

    def compute_draws(self, loss: np.ndarray | float, near: float) -> np.ndarray:
        """The fewest FLOPs in every draw, to one loss or to one for each draw.

        `near` is about where to look: 10,000 times more counts as infinite. Of more draws than
        losses, or losses than draws, those without a partner are left out.
        """
        grid = np.linspace(math.log(near) - _FACTOR, math.log(near) + _FACTOR, _POINTS)
        losses = self.loss_draws(np.exp(grid), one_run=False)
        level = np.broadcast_to(loss, len(losses)) if not np.ndim(loss) else np.asarray(loss)
        count = min(len(losses), len(level))
        return np.exp(reached_in_draws(losses[:count], grid, level[:count]))

    def _loss(self, flops: np.ndarray, N: np.ndarray, D: np.ndarray) -> np.ndarray:
        flops = np.asarray(flops, dtype=float)
        each = [one.law.loss(**self._variables(one.law, flops, N, D)) for one in self.laws]
        return each[0] if len(each) == 1 else np.exp(np.mean(np.log(each), axis=0))

    def _variables(
        self, law: Law, flops: np.ndarray, N: np.ndarray, D: np.ndarray
    ) -> dict[str, np.ndarray]:
        """What a law takes: compute, or parameters and tokens as far as they teach something."""
        if of_compute(law):
            return {"C": (1.0 - self.replay) * flops}
        target = (1.0 - self.replay) * D * self.own_tokens
        unique = self.unique * self.own_tokens
        if "S" in law.equation.variables:
            own = {"N": N, "D": target, "S": np.asarray(self.start), "k": np.asarray(self.experts)}
            return {name: own[name] for name in law.equation.variables}
        if "U" in law.equation.variables:  # it knows itself what repeats are worth
            return {"N": N, "D": target, "U": np.minimum(unique, _ENDLESS_TEXT)}
        if self.repeats is not None:
            # parameters that the base's own text has filled: all, where it is read as it usually
            # is, as a base that nobody named is presumed to be
            read = self.base.tokens / USUAL_RATIO if self.base else math.inf
            full = 0.0 if self.strategy == "scratch" else math.inf if math.isnan(read) else read
            N, target = replace(self.repeats, unique=unique).worth(law, N, target, full)
        return {"N": N, "D": target}

    def _best_size(self, flops: np.ndarray) -> np.ndarray:
        """The size that learns most from `flops`; NaN where every larger or smaller one is better.

        In closed form where no text is read again; a numeric search otherwise. No further from the
        law's runs in tokens per parameter than `FARTHEST_RATIO` times.
        """
        best = allocate(replace(self.law, draws={}))  # intervals would take long
        target = (1.0 - self.replay) * flops
        few, many = self.law.range.get("D/N", (0.0, math.inf))
        least = np.sqrt(target / (6.0 * many * FARTHEST_RATIO))
        with np.errstate(divide="ignore"):
            most = np.sqrt(target / (6.0 * few / FARTHEST_RATIO))
        if self.repeats:  # where text is short, sizes run away
            known = self.law.range.get("N")
            largest = FARTHEST * known[1] if known else _LARGEST
            least, most = np.minimum(least, largest), np.minimum(most, largest)
        closed, direct = np.full(np.shape(flops), np.nan), np.zeros(np.shape(flops), dtype=bool)
        if best is not None:
            closed = np.clip(best.N_coef * target**best.a, least, most)
            direct = (closed < most) | (not self.repeats)
            direct &= target <= 6.0 * closed * self.unique
        if np.all(direct):
            return closed
        C = np.atleast_1d(flops)[:, None]
        alone = replace(self, laws=self.laws[:1])

        def loss(x: np.ndarray) -> np.ndarray:
            N = np.exp(x)
            return alone.loss_of(N, C / (6.0 * N))

        least, most = np.atleast_1d(least), np.atleast_1d(most)
        low = np.log(np.maximum(_SMALLEST, least))
        high = np.maximum(np.log(np.minimum(C[:, 0] / (6.0 * _SMALLEST), most)), low + 1e-6)
        N = np.exp(minimise(loss, low, high))
        known = "D/N" in self.law.range
        if "U" not in self.law.equation.variables and (
            known or (self.repeats and math.isfinite(filled_by(self.law, self.unique)))
        ):
            falling = loss(high[:, None] - _STEP)[:, 0] > loss(high[:, None])[:, 0]
            N = np.where(np.isnan(N) & falling & (np.exp(high) > 0.99 * most), most, N)
            rising = loss(low[:, None] + _STEP)[:, 0] > loss(low[:, None])[:, 0]
            N = np.where(np.isnan(N) & rising & (np.exp(low) < 1.01 * least), least, N)
        return np.where(direct, closed, N.reshape(np.shape(flops)))


# Of a printed law's log loss: what other text and another tokenizer add. Two laws that one study
# printed of the same runs are 5 to 10 % apart (Zheng et al. 2024).
_PRINTED = 0.03


@lru_cache(maxsize=64)
def _predictor(law: Law) -> Predictor:
    return law.predictor()


def predict(
    known: Known, variables: Mapping[str, np.ndarray], *, one_run: bool = True
) -> np.ndarray:
    """Draws of what one run would end at, or many on average, along a new first axis."""
    return predictions(known, variables)[0 if one_run else 1]


def predictions(known: Known, variables: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Both that `predict` gives."""
    shape = np.broadcast_shapes(*(np.shape(value) for value in variables.values()))
    one, many = _predictor(known.law).draws(**variables)
    shared = (known.level, known.law.target)  # by all laws of a language: it is their common level
    for deviation, of in (shared, (_PRINTED if known.study else 0.0, known.name)):
        if deviation:
            noise = np.random.default_rng(zlib.crc32(of.encode())).normal(size=len(one))
            one, many = (draws * np.exp(deviation * noise)[:, None] for draws in (one, many))
    return one.reshape(-1, *shape), many.reshape(-1, *shape)
