"""The options side by side: what comes of spending the budget in each way."""

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tongues.laws import allocate
from tongues.laws.uncertainty import percentiles
from tongues.plan.laws import LawsInHand
from tongues.plan.question import Question
from tongues.plan.strategies import comparison, starting_loss
from tongues.plan.ways import Way
from tongues.quantities import show_count
from tongues.train.rules import least_bytes

__all__ = ["MANY_EPOCHS", "SLACK", "Option", "lay_out"]

Ends = tuple[float, float]
MANY_EPOCHS = 4.0  # up to here a repeat is worth nearly as much as unseen text
_NOTABLE = 1.001  # a loss this many times higher is worth a word
SLACK = 1.01  # of a range's ends, which are measured numbers themselves
_VARIABLES = {"N": "parameters", "D": "tokens", "D/N": "tokens per parameter", "C": "FLOPs"}


@dataclass(frozen=True, slots=True)
class Option:
    """One way of spending the budget. None stands for what its law cannot tell.

    params, tokens: N, and D with its replay; tokens_target: those of the target language.
    params_interval: 95 % of the best size, where size was chosen for a given compute.
    flops: spent by this training; its base is paid already.
    flops_interval: 95 % of the compute to a target loss, which may have no upper end; hours and
        cost have the same in proportion.
    loss, interval: nats per token on the target language; 95 %, where the compute is given.
    source_loss: nats per token on the source language in the end.
    epochs: how often the target text is read.
    hours, cost: of all GPUs together; US$.
    memory_per_gpu: bytes, about.
    compute_saved: share of the FLOPs that training from scratch takes to the same loss.
    beyond: how many times past its law's range each variable lies; None where no range is known.
    """

    way: Way
    params: float | None
    params_interval: Ends | None
    tokens: float | None
    tokens_target: float | None
    flops: float
    flops_interval: Ends | None
    loss: float
    interval: Ends | None
    source_loss: float | None
    epochs: float | None
    hours: float | None
    cost: float | None
    memory_per_gpu: float | None
    compute_saved: float | None
    compute_saved_interval: Ends | None
    beyond: dict[str, float] | None
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """As in `cpt from llama, 5% replay`."""
        return self.way.name

    @property
    def base(self) -> str:
        """The checkpoint it continues from; empty where there is none."""
        return self.way.base.name if self.way.base else ""

    @property
    def projection(self) -> bool | None:
        """Whether it lies beyond what its law was fitted on; None where that is not known."""
        return None if self.beyond is None else bool(self.beyond)

    @property
    def farthest(self) -> str:
        """How far beyond what its law was fitted on, in words; empty where it is not."""
        if not self.beyond:
            return ""
        name, factor = max(self.beyond.items(), key=lambda item: item[1])
        return f"{factor:.3g} times beyond what its law was fitted on in {_VARIABLES[name]}"

    @property
    def flops_from_scratch(self) -> float | None:
        """What training from scratch takes to the same loss."""
        return None if self.compute_saved is None else self.flops / (1.0 - self.compute_saved)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values; None for what has no end or is not known."""
        base, advice = self.way.base, self.way.advice
        names = [one.name for one in fields(self) if one.name not in ("way", "beyond")]
        return {
            "name": self.name,
            "strategy": self.way.strategy,
            "law": self.way.law_name,
            "base": base and {"name": base.name, "params": base.params, "tokens": base.tokens},
            "replay": self.way.replay,
            "replay_interval": _plain(advice and advice.interval),
            "projection": self.projection,
            **{name: _plain(getattr(self, name)) for name in names},
        }


def lay_out(ways: list[Way], laws: LawsInHand, question: Question) -> list[Option]:
    """An option for every way that has one: a best or settled size, a loss it can reach."""
    options: list[Option] = []
    for way in ways:
        own = question.scratch_flops if way.strategy == "scratch" else None
        flops = own or question.flops or way.compute(question.target_loss or math.nan)
        if math.isfinite(flops) and np.isfinite(way.loss(np.array(flops))):
            options.append(_option(way, flops, ways, laws, question))
    return options


def _option(
    way: Way, budget: float, ways: list[Way], laws: LawsInHand, question: Question
) -> Option:
    at = np.array(budget)
    N, D = (_plain(float(value)) for value in way.sizes(at))
    flops = budget if N is None or D is None else 6.0 * N * D
    loss, target = float(way.loss(at)), None if D is None else (1.0 - way.replay) * D
    draws = way.loss_draws(at) if way.law.draws and question.flops else None
    needed = way.compute_draws(loss, near=flops) if way.law.draws and not question.flops else None
    paired = None if draws is None else (draws, np.full(len(draws), flops))
    paired = paired if needed is None else (np.full(len(needed), loss), needed)
    saved, saved_interval, notes = _saving(way, flops, loss, ways, paired)
    epochs = None if target is None or math.isinf(way.unique) else target / way.unique
    best = (
        allocate(way.law) if draws is not None and not way.settled and (epochs or 0) <= 1 else None
    )
    forgetting, before = laws.find("forgetting"), starting_loss(laws, question)
    source_loss = None
    if forgetting and before is not None and D is not None and way.strategy == "cpt":
        source_loss = float(forgetting.law.loss(D=D, r=way.replay, S=before))
    cluster = question.cluster
    hours = cluster.hours(flops) if cluster else None
    return Option(
        way=way,
        params=N,
        params_interval=best.sizes_interval((1.0 - way.replay) * budget)[0]
        if best and best.draws
        else None,
        tokens=D,
        tokens_target=target,
        flops=flops,
        flops_interval=_interval(needed),
        loss=loss,
        interval=_interval(draws),
        source_loss=source_loss,
        epochs=epochs,
        hours=hours,
        cost=cluster.cost(hours) if cluster and hours is not None else None,
        memory_per_gpu=least_bytes(N, cluster.count if cluster else 1) if N else None,
        compute_saved=saved,
        compute_saved_interval=saved_interval,
        beyond=_beyond(way, N, target, flops),
        notes=(*notes, *_notes(way, at, flops, loss, epochs)),
    )


def _saving(
    way: Way,
    flops: float,
    loss: float,
    ways: list[Way],
    paired: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[float | None, Ends | None, tuple[str, ...]]:
    """The share saved against training from scratch to the same loss, found by inverting its law.

    Its interval pairs the draws of the two laws by their number: `paired` are loss and compute of
    the way's own.
    """
    scratch = comparison(way, ways)
    if scratch is None:
        return None, None, ()
    instead = scratch.compute(loss)
    if math.isinf(instead):
        return None, None, ("training from scratch never gets as low",)
    share = 1.0 - flops / instead
    if paired is None or not scratch.law.draws:
        return share, None, ()
    losses, spent = paired
    instead_in_draws = scratch.compute_draws(losses, near=instead)
    with np.errstate(invalid="ignore"):  # where neither ever gets there
        return share, _interval(1.0 - spent[: len(instead_in_draws)] / instead_in_draws), ()


def _notes(
    way: Way, budget: np.ndarray, flops: float, loss: float, epochs: float | None
) -> list[str]:
    """Where settled numbers are not the best ones, and what text read many times costs."""
    notes: list[str] = []
    if flops < 0.99 * budget:
        notes.append(f"the settled tokens take {flops / budget:.0%} of the budget")
    if way.params is not None and way.tokens is None and not way.base:
        free = replace(way, params=None)
        N, best = float(free.sizes(budget)[0]), float(free.loss(budget))
        if best <= loss / _NOTABLE:
            what = f"for these FLOPs {show_count(N)} parameters are best, with a loss of {best:.4g}"
            notes.append(what)
    if epochs is not None and epochs > MANY_EPOCHS:
        best = float(replace(way, repeats=None).loss(budget))
        what = f"text is what it lacks: it is read {epochs:.3g} times"
        more = f"; with enough different text the same FLOPs reach a loss of {best:.4g}"
        notes.append(what + ("" if math.isnan(best) else more))
    return notes


def _beyond(way: Way, N: float | None, D: float | None, flops: float) -> dict[str, float] | None:
    """How many times past the end of its range each variable lies."""
    if not way.law.range:
        return None
    at = {"N": N, "D": D, "D/N": D / N if N and D else None, "C": (1.0 - way.replay) * flops}
    factors = {
        name: max(value / high, low / value if value > 0 else math.inf)
        for name, (low, high) in way.law.range.items()
        if (value := at.get(name)) is not None
    }
    return {name: factor for name, factor in factors.items() if factor > SLACK}


def _interval(draws: np.ndarray | None) -> Ends | None:
    if draws is None or np.isnan(draws).all():
        return None
    low, high = percentiles(draws)
    return float(low), float(high)


def _plain(value: Any) -> Any:
    """As JSON has it: lists, and nothing infinite."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
