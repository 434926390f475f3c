"""What the runs of one strategy came to on one target, and the pairs that are compared."""

from dataclasses import dataclass, field
from typing import Any

from tongues.core.estimate import Estimate
from tongues.core.jsonable import to_plain
from tongues.laws import Saving
from tongues.laws.observed import RunCurves


@dataclass(frozen=True, slots=True)
class Pair:
    """A CPT run and its twin from scratch, of the same target, shape, seed and number of tokens.

    Where no twin has that number of tokens, they are compared up to the end of the shorter.
    saved: the share of the twin's tokens, and of its compute, that CPT did without at the lowest
    loss both reached. ahead: how far CPT's final loss is below the twin's, nats per token. points:
    the savings through training.
    """

    cpt: RunCurves
    scratch: RunCurves
    saved: float | None
    ahead: float
    points: tuple[Saving, ...]

    @property
    def saturated(self) -> bool:
        """Whether the base had that loss before its first step: nothing more to save."""
        return bool(self.points) and self.points[-1].whole


@dataclass(frozen=True, slots=True)
class LossChange:
    """A difference of losses on one language, in nats per token and in bits per byte."""

    nats: Estimate
    bits: Estimate


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the runs of one strategy and share of replay came to on one target.

    loss: the final one on the target. gain: what it fell by since before the first step, of runs
    without new tokens, which are not trained there. lead: over the twins from scratch after as many
    tokens. saved: share of their tokens. rises: of each base language. replayed: by language, final
    losses less those without replay, nats per token, in paired runs. group: the size and length of
    the runs, where the options of the target have none in common.
    """

    target: str
    strategy: str
    replay: float
    runs: tuple[RunCurves, ...] = ()
    pairs: tuple[Pair, ...] = ()
    loss: LossChange | None = None
    gain: LossChange | None = None
    lead: LossChange | None = None
    saved: Estimate | None = None
    rises: dict[str, LossChange] = field(default_factory=dict)
    replayed: dict[str, Estimate] = field(default_factory=dict)
    group: str = ""

    @property
    def label(self) -> str:
        """The target, and which of its runs where they are apart."""
        return f"{self.target}, {self.group}" if self.group else self.target

    @property
    def flops(self) -> float:
        """Of all runs."""
        return sum(float(run.learned.compute[-1]) for run in self.runs)

    @property
    def equally_long(self) -> bool:
        """Whether each run is compared with a twin that ends where it does."""
        return all(pair.scratch.as_long_as(pair.cpt) for pair in self.pairs)

    @property
    def saturated(self) -> int:
        """The number of pairs in which all was saved, so that how much is unknown."""
        return sum(pair.saturated for pair in self.pairs)

    @property
    def measured(self) -> bool:
        """Whether any pair measures how much CPT saves."""
        return any(pair.saved is not None and not pair.saturated for pair in self.pairs)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        counts = {"runs": len(self.runs), "pairs": len(self.pairs)}
        names = "target group strategy replay runs flops pairs saturated saved loss gain lead rises"
        return {
            name: counts[name] if name in counts else to_plain(getattr(self, name))
            for name in (*names.split(), "replayed")
        }
