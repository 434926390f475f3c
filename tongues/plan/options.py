"""The options side by side: what comes of spending the budget in each way, and which can be run."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from tongues.laws import allocate
from tongues.laws.uncertainty import percentiles
from tongues.plan.laws import PlanLaws
from tongues.plan.question import Question
from tongues.plan.strategies import comparison, starting_loss
from tongues.plan.ways import LeftOut, Way, predict
from tongues.quantities import show_bytes, show_count
from tongues.train.rules import least_bytes, usable_memory

Ends = tuple[float, float]
FLAT = 0.005  # a loss this little above the lowest is as good: laws are off by more beyond runs
_NOTABLE = 1.001  # a loss this many times higher is worth a word
SLACK = 1.01  # of a range's ends, which are measured numbers themselves
_VARIABLES = {"N": "parameters", "D": "tokens", "D/N": "tokens per parameter", "C": "FLOPs"}
_VOCABULARY = 100_000  # tokens, more than most have
_GUESSING = math.log(_VOCABULARY)  # nats per token of guessing among them
_LONGEST = 8766.0  # hours: a year
_USUAL_HOURS = 720.0  # a month
_STORED = 2.0  # bytes of a parameter in bfloat16
_LOWEST, _SPENT = 1e4, 401  # how far below the budget the lowest loss is looked for, and where
_PLACES = 201  # between, where a loss is first reached
_ENDLESS = 1e40  # FLOPs; what is not reached by these is not reached


@dataclass(frozen=True, slots=True)
class Option:
    """One way of spending the budget. None where its law does not say.

    params, tokens: N, and D with its replay; tokens_target: those of the target language.
    params_interval: 95 % of the best size, where size was chosen for a given compute.
    flops: spent by this training; its base is paid already.
    flops_interval: 95 % of the compute to a target loss, which may have no upper end; hours and
        cost have the same in proportion.
    loss, interval: nats per token on the target language; 95 %, where the compute is given.
    source_loss, source_interval: nats per token on the source language in the end; 95 %.
    epochs: how often the target text is read.
    hours, cost, energy, carbon: of all GPUs together; US$, kWh, kg of CO₂.
    memory_per_gpu: bytes, about.
    compute_saved: share of the FLOPs that training from scratch takes to the same loss.
    beyond: how many times past its law's range each variable is; None where no range is known.
    early: whether it stops before the budget is spent, since more would gain next to nothing.
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
    source_interval: Ends | None
    epochs: float | None
    hours: float | None
    cost: float | None
    energy: float | None
    carbon: float | None
    memory_per_gpu: float | None
    compute_saved: float | None
    compute_saved_interval: Ends | None
    beyond: dict[str, float] | None
    notes: tuple[str, ...]
    early: bool = False

    def enough(self, most: float) -> float:
        """The FLOPs, up to its own, that reach a loss of `most`, as an option shows it."""
        if not self.way.law.rows:
            return self.way.compute(most)
        flops = np.geomspace(self.flops / _LOWEST, self.flops, _PLACES).tolist()

        def reached(spent: float) -> bool:  # by what a run would end at
            return float(np.median(self.way.loss_draws(np.array(spent)))) <= most

        first = bisect_left(flops, True, key=reached)
        return flops[first] if first < len(flops) else math.inf

    @property
    def name(self) -> str:
        """As in `cpt from llama, 5% replay`."""
        return f"{self.way.name}, stopped early" if self.early else self.way.name

    @property
    def base(self) -> str:
        """The checkpoint it continues from; empty where there is none."""
        return self.way.base.name if self.way.base else ""

    @property
    def projection(self) -> bool | None:
        """Whether it is beyond what its law was fitted on; None where that is not known."""
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
            "base": base and {n: _plain(getattr(base, n)) for n in ("name", "params", "tokens")},
            "experts": self.way.experts or None,
            "replay": self.way.replay,
            "replay_likely": advice and advice.likely,
            "replay_interval": _plain(advice and advice.interval),
            "projection": self.projection,
            **{name: _plain(getattr(self, name)) for name in names},
        }


@dataclass(frozen=True, slots=True)
class Layout:
    """Lays out the options of a plan."""

    ways: Sequence[Way]
    laws: PlanLaws
    question: Question

    def options(self) -> tuple[list[Option], list[LeftOut]]:
        """An option for every feasible way, and why each of the others cannot be taken."""
        options: list[Option] = []
        left_out: list[LeftOut] = []
        for way in self.ways:
            option = self._full(way)
            reason = option if isinstance(option, LeftOut) else obstacle(option, self.question)
            if reason and reason.code == "out_of_memory" and not (way.settled or way.of_compute):
                option = self._full(replace(way, params=self.largest()))
                reason = option if isinstance(option, LeftOut) else obstacle(option, self.question)
            if isinstance(option, Option) and reason is None:
                options.append(option)
            elif reason and (not way.replay or way.base or way.advice):
                left_out.append(reason)
        return options, list(dict.fromkeys(left_out))

    def _full(self, way: Way) -> Option | LeftOut:
        question, left_out = self.question, partial(LeftOut, way=way.name, strategy=way.strategy)
        if way.law.loose:
            reasons = "; ".join(dict.fromkeys(caution.sentence for caution in way.law.loose))
            what = f"the runs behind `{way.law_name}` do not pin it down ({reasons})"
            return left_out("not_pinned_down", reason=what)
        flops = question.flops or way.compute(question.target_loss or math.nan)
        most = math.inf
        if way.repeats:
            most = way.most_flops()
            if flops > most and (question.target_loss is not None or question.tokens is not None):
                what = f"it takes more than {way.repeats.most:.3g} epochs of "
                what += f"{show_count(way.unique)} tokens of text, and more are not known to help"
                return left_out("too_many_epochs", reason=what)
        floor = math.nan if question.target_loss is None else float(way.loss(np.array(_ENDLESS)))
        if math.isinf(flops):
            asked = question.show_loss(question.target_loss or math.nan)
            what = f"no compute reaches a loss of {asked}; its law goes no lower than "
            return left_out("loss_out_of_reach", reason=what + question.show_loss(floor))
        flops = min(flops, most)
        if "U" in way.law.equation.variables and question.flops:  # whose loss may rise again
            spent = np.geomspace(flops / _LOWEST, flops, _SPENT)
            flops = float(spent[np.argmin(np.nan_to_num(way.loss(spent), nan=np.inf))])
        tokens = float(way.sizes(np.array(flops))[1])
        if tokens >= way.most_tokens and not way.settled:  # a larger model gains next to nothing
            flops = min(flops, way.compute(float(way.loss(np.array(flops))) * (1.0 + FLAT)))
        if not np.isfinite(way.loss(np.array(flops))):
            what = f"by the law `{way.law_name}` no size is the best: the further from the "
            return left_out(
                "no_interior_optimum", reason=what + "usual, the better, as no run confirms"
            )
        return self.option(way, flops)

    def largest(self) -> float:
        """The parameters that the GPUs can train, to three digits."""
        cluster = self.question.cluster
        sizes = np.geomspace(1e6, 1e12, 1201)
        if cluster is None:
            return float(sizes[-1])
        most = usable_memory(cluster.gpu.memory)
        fits = [N for N in sizes if least_bytes(N, cluster.count) <= most]
        return float(f"{max(fits, default=sizes[0]):.3g}")

    def option(self, way: Way, budget: float, *, early: bool = False) -> Option:
        """What comes of spending `budget` in one way."""
        question, at = self.question, np.array(budget)
        N, D = (_plain(float(value)) for value in way.sizes(at))
        flops = budget if N is None or D is None else 6.0 * N * D
        loss, target = float(way.loss(at)), None if D is None else (1.0 - way.replay) * D
        spends = question.flops is not None
        draws = way.loss_draws(at) if spends else None
        if (
            draws is not None and way.law.rows
        ):  # with the error that its runs show the curve to have
            loss = float(np.median(draws))
        needed = None if spends else way.compute_draws(loss, near=flops)
        paired = (draws, np.full(len(draws), flops)) if draws is not None else None
        paired = (np.full(len(needed), loss), needed) if needed is not None else paired
        saved, saved_interval = self._saving(way, flops, loss, paired)
        epochs = None if target is None or math.isinf(way.unique) else target / way.unique
        free = spends and not way.settled and (epochs or 0) <= 1 and bool(way.law.draws)
        best = allocate(way.law) if free else None
        sizes = best.sizes_interval((1.0 - way.replay) * budget)[0] if best and best.draws else None
        if sizes and N and not sizes[0] <= N <= sizes[1]:
            sizes = None  # the size is held where the law's best one is too far from its runs
        forgetting, before = self.laws.find("forgetting"), starting_loss(self.laws)
        source_loss = source_interval = None
        forgets = way.strategy == "cpt" and not way.experts
        if forgetting and before is not None and D is not None and forgets:
            end = {"D": np.array(D), "r": np.array(way.replay), "S": np.array(before)}
            source_loss = float(forgetting.law.loss(**end))
            source_interval = _interval(predict(forgetting, end))
        cluster = question.cluster
        gpus = cluster.count if cluster else 1
        hours = cluster.hours(flops) if cluster else None
        return Option(
            way=way,
            params=N,
            params_interval=sizes,
            tokens=D,
            tokens_target=target,
            flops=flops,
            flops_interval=_interval(needed),
            loss=loss,
            interval=_interval(draws),
            source_loss=source_loss,
            source_interval=source_interval,
            epochs=epochs,
            hours=hours,
            cost=cluster.cost(hours) if cluster and hours is not None else None,
            energy=cluster.energy(hours) if cluster and hours is not None else None,
            carbon=cluster.carbon(hours) if cluster and hours is not None else None,
            memory_per_gpu=least_bytes(N, max(gpus // max(way.experts, 1), 1)) if N else None,
            compute_saved=saved,
            compute_saved_interval=saved_interval,
            beyond=_beyond(way, N, target, flops),
            notes=tuple(_notes(way, at, flops, loss)),
            early=early,
        )

    def _saving(
        self, way: Way, flops: float, loss: float, paired: tuple[np.ndarray, np.ndarray] | None
    ) -> tuple[float | None, Ends | None]:
        """The share saved against training from scratch to the same loss, by inverting its law.

        Its interval pairs the draws of the two laws by their number: `paired` are loss and compute
        of the way's own.
        """
        scratch = comparison(way, self.ways)
        if scratch is None or scratch.law.loose:
            return None, None
        instead = scratch.compute(loss)
        if math.isinf(instead):
            return None, None
        share = 1.0 - flops / instead
        if paired is None:
            return share, None
        losses, spent = paired
        in_draws = scratch.compute_draws(losses, near=instead)
        with np.errstate(invalid="ignore"):  # where neither ever gets there
            return share, _interval(1.0 - spent[: len(in_draws)] / in_draws)


def obstacle(option: Option, question: Question) -> LeftOut | None:
    """Why an option cannot be run, or is worth nothing; None where it can and is."""
    cluster, needed = question.cluster, option.memory_per_gpu
    left_out = partial(LeftOut, way=option.name, strategy=option.way.strategy)
    most = usable_memory(cluster.gpu.memory) if cluster else math.inf
    if cluster and needed and option.params and needed > most:
        what = f"{show_count(option.params)} parameters need about {show_bytes(needed)} on "
        what += f"each of {cluster.count}; one {cluster.gpu.name} has "
        what += f"{show_bytes(cluster.gpu.memory)}, of which {show_bytes(most)} can be filled"
        return left_out("out_of_memory", reason=what)
    if cluster and option.hours and option.hours > _LONGEST:
        count = math.ceil(cluster.count * option.hours / _USUAL_HOURS)
        what = f"{option.hours / _LONGEST:,.3g} years on {cluster.count} {cluster.gpu.name}"
        return left_out("too_long", reason=f"{what}; a month takes {count:,} of them")
    if option.loss > _GUESSING:
        what = f"the law is of larger runs; here it gives {question.show_loss(option.loss)} "
        each = question.nats_per_bit and question.nats_per_bit / math.log(2.0)
        among = f"{_VOCABULARY:,} tokens{f' of {each:.3g} bytes' if each else ''}"
        what += f"{question.unit}, more than random guessing among {among} "
        what += f"({question.show_loss(_GUESSING)})"
        return left_out("worse_than_guessing", reason=what)
    own = question.base_loss
    if own is not None and option.way.strategy == "cpt" and option.loss >= own:
        what = f"a loss of {question.show_loss(option.loss)} is not below the base's own "
        return left_out("above_base", reason=f"{what}{question.show_loss(own)} before any training")
    return None


def _notes(way: Way, budget: np.ndarray, flops: float, loss: float) -> list[str]:
    notes: list[str] = []
    if flops < 0.99 * budget:
        notes.append(f"the settled tokens take {flops / budget:.0%} of the budget")
    if way.experts > 1 and way.params:
        held, one = (show_bytes(_STORED * n * way.params) for n in (way.experts, 1))
        what = "in use one computes each token where the language is given or found from the text, "
        what += f"all {way.experts} where they are mixed; weights in bfloat16: {held}, {one} each"
        notes.append(what)
    if way.params is not None and way.tokens is None and not way.base:
        free = replace(way, params=None)
        N, best = float(free.sizes(budget)[0]), float(free.loss(budget))
        if best <= loss / _NOTABLE:
            what = f"for these FLOPs {show_count(N)} parameters are best, with a loss of {best:.4g}"
            notes.append(what)
    return notes


def _beyond(way: Way, N: float | None, D: float | None, flops: float) -> dict[str, float] | None:
    """How many times past the end of its range each variable is."""
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
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
