"""A recipe that was checked: its runs and what they take, as facts."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from tongues.core.errors import Caution
from tongues.core.hardware import USUAL_MFU, Cluster, Machine
from tongues.core.hub import HubModel
from tongues.core.quantities import counted, show_bytes, show_count
from tongues.plan.budget import FEW_STEPS
from tongues.plan.check.words import CHECKED
from tongues.recipe import LowRank
from tongues.runs.record import KEPT_CHECKPOINTS
from tongues.train import Derived, RunPlan
from tongues.train.defaults import LORA_RATE
from tongues.train.rules import rate_at_size, reads_rows
from tongues.train.schedule import scored_tokens
from tongues.train.work import Work

_EVALUATED = 0.2  # of the tokens that a run reads, from which evaluation is told of; chosen
_HIGH = 10.0  # times the rate by size, from which a run is likely to diverge; chosen


@dataclass(frozen=True, slots=True)
class Checked:
    """A sound recipe's runs, with the numbers that follow."""

    work: Work
    runs: tuple[tuple[RunPlan, Derived], ...]
    sweep: tuple[tuple[RunPlan, Derived], ...]  # which come before, to find the rate
    at_once: int  # runs that go on at the same time
    token_bytes: int  # on disk, about
    machine: Machine
    processes: int  # of each run
    hub: tuple[HubModel, ...] = ()  # bases that are there
    room: float = inf  # bytes on disk that are free, or of this recipe

    @property
    def all(self) -> tuple[tuple[RunPlan, Derived], ...]:
        """Of the sweep, and of the study."""
        return (*self.sweep, *self.runs)

    @property
    def memory(self) -> int:
        """Bytes at the peak, about: the largest runs that can meet; on GPUs those of each one."""
        needs = sorted((derived.memory for _, derived in self.all), reverse=True)
        on_cpu = self.machine.device == "cpu"
        return sum(needs[: self.at_once]) * self.processes if on_cpu else sum(needs[:1])

    @property
    def disk(self) -> int:
        """Bytes on disk at most, about: tokens, models, milestones, other checkpoints.

        A run in progress has as many checkpoints as it keeps, and one being written.
        """
        kept = self.token_bytes
        passing: list[int] = []
        for plan, derived in self.all:
            kept += derived.model_bytes + len(plan.settings.milestones) * derived.checkpoint_bytes
            passing.append((KEPT_CHECKPOINTS + 1) * derived.checkpoint_bytes)
        return kept + sum(sorted(passing, reverse=True)[: self.at_once])

    @property
    def amounts(self) -> dict[str, str]:
        """What it needs on disk, and what there is."""
        return {"needs": show_bytes(self.disk), "free": show_bytes(round(self.room))}

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What is allowed and likely to be a mistake."""
        questioned = (*self.work.cautions, *self._few_steps())
        if self.disk > self.room:
            questioned = (*questioned, Caution("disk", CHECKED["disk"].format(**self.amounts)))
        if any(one.code == "unusual_learning_rate" for one in questioned):
            return questioned
        by_shape: dict[str, Caution] = {}
        for plan, derived in self.all:
            usual = rate_at_size(None, derived.parameters["non_embedding"])
            if isinstance(plan.settings.trainable, LowRank):
                usual *= LORA_RATE
            rate = derived.learning_rate
            if rate > _HIGH * usual:
                what = CHECKED["high_rate"].format(rate=rate, times=rate / usual, usual=usual)
                by_shape.setdefault(derived.anatomy.name, Caution("high_rate", what))
        return (*questioned, *by_shape.values())

    def _few_steps(self) -> Iterator[Caution]:
        few = [derived for plan, derived in self.all if plan.settings.budget.seconds is None]
        for derived in sorted(few, key=lambda one: one.steps)[:1]:
            if derived.steps < FEW_STEPS:
                steps = counted(derived.steps, "step")
                known = {"steps": steps, "batch": derived.batch, "fewest": FEW_STEPS}
                yield Caution("few_steps", CHECKED["few_steps"].format(**known))

    @property
    def evaluated(self) -> float:
        """The largest share that held-out text has of the tokens that a run reads."""
        recipe, shares = self.work.recipe, [0.0]
        for plan, derived in self.all:
            settings, languages = plan.settings, len(recipe.text.languages)
            scored = scored_tokens(settings, recipe.tokens.held_out, languages, derived.steps)
            shares.append(scored / (scored + derived.tokens))
        return max(shares)

    @property
    def gpu_hours(self) -> float | None:
        """Of all runs on one GPU at the usual share of its peak; None on a processor."""
        hours = [self._hours(derived) for _, derived in self.all]
        return sum(filter(None, hours)) if self.machine.gpu else None

    def _hours(self, derived: Derived) -> float | None:
        gpu = self.machine.gpu
        return Cluster(gpu, 1, USUAL_MFU, gpu.price).hours(derived.flops) if gpu else None

    def sentences(self) -> dict[str, str]:
        """What the runs take, about, by what it is: memory, disk, time and evaluation."""
        machine, gpu, hours = self.machine, self.machine.gpu, self.gpu_hours
        needs, has = show_bytes(self.memory), show_bytes(machine.memory)
        template = CHECKED["memory"] if machine.device == "cpu" else CHECKED["memory_of_gpus"]
        memory = template.format(needs=needs, has=has, at_once=self.at_once, machine=machine.name)
        rows = any(reads_rows(derived.anatomy, plan.settings) for plan, derived in self.all)
        told = {
            "memory": memory + CHECKED["rows"] if rows else memory,
            "disk": show_bytes(self.disk),
        }
        if gpu and hours:
            told["time"] = CHECKED["time"].format(
                hours=hours,
                mfu=USUAL_MFU,
                cost=hours * gpu.price,
                price=gpu.price,
                priced=gpu.priced,
            )
        if self.evaluated > _EVALUATED:
            told["evaluation"] = CHECKED["evaluation"].format(share=self.evaluated)
        return told

    def rows(self) -> list[dict[str, str]]:
        """A row of text a run; columns without a word are left out."""
        part = any(plan.settings.trains_part for plan, _ in self.all)
        rows = [
            {
                "run": plan.name,
                "shape": derived.anatomy.name,
                "parameters": f"{derived.parameters['total']:,}",
                "trained": f"{derived.trained:,}" if part else "",
                "batch": f"{derived.batch:,}",
                "learning rate": f"{derived.learning_rate:.3g}",
                "tokens": show_count(derived.tokens),
                "steps": f"{derived.steps:,}",
                "FLOPs": f"{derived.flops:.3g}",
                "memory": show_bytes(derived.memory),
                "GPU-hours": "" if (hours := self._hours(derived)) is None else f"{hours:,.3g}",
            }
            for plan, derived in self.all
        ]
        kept = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
        return [{name: row[name] for name in kept} for row in rows]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        runs = [
            {"run": plan.name, "shape": derived.anatomy.name, **derived.as_json()}
            | ({"mixture": plan.mixture} if plan.mixture else {})
            for plan, derived in self.all
        ]
        hours = {} if self.gpu_hours is None else {"gpu_hours": self.gpu_hours}
        return {
            "runs": runs,
            "memory": self.memory,
            "disk": self.disk,
            "hub": [asdict(model) for model in self.hub],
            **hours,
            "defaults": [asdict(one) for one in self.work.defaults],
            "machine": self.machine.name,
            "warnings": [{"code": one.code, "sentence": one.sentence} for one in self.cautions],
        }
