"""What the steps of a run work with, and one step: a batch, its gradient, an update."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tongues.files import append_line
from tongues.tokens import Mixture, Tokens
from tongues.tokens.mixture import Course, Stage
from tongues.train.engine.optimizer import set_rate
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import synchronize, whole
from tongues.train.plan import Derived, RunPlan
from tongues.train.schedule import embeddings_alone
from tongues.train.validation import HeldOut

__all__ = ["Dealer", "Gradient", "Setup", "gradient", "update"]


@dataclass(frozen=True, slots=True)
class Setup:
    """A run ready to step."""

    plan: RunPlan
    derived: Derived
    directory: Path
    tokens: Tokens
    mixture: Mixture
    texts: Mapping[str, HeldOut]  # by language
    checked: Mapping[str, tuple[HeldOut, ...]]  # of languages that are held: parts, by turns
    scorer: Scorer
    optimizer: torch.optim.Optimizer
    processor: Processor
    processes: Processes

    @property
    def samples(self) -> int:
        """Of a batch, over all processes."""
        return self.derived.batch // self.plan.settings.context

    @property
    def samples_at_a_time(self) -> int:
        """Of a micro-batch, in each process."""
        settings, share = self.plan.settings, self.samples // self.processes.count
        return settings.micro_batch // settings.context if settings.micro_batch else share

    def course(self, stages: Sequence[Stage]) -> Course:
        """The deal of the run, with what changed of its shares."""
        return Course(self.mixture, stages, self.samples)

    def log(self, file: str, row: Mapping[str, Any]) -> None:
        """Add a line to one of the run's logs; only the first process does."""
        if self.processes.first:
            append_line(self.directory / file, row)


class Dealer:
    """Deals this process's samples of a batch, the next one while the device is still busy.

    stages: of the shares, where they change.
    """

    def __init__(self, setup: Setup, stages: Sequence[Stage] = ()) -> None:
        self._setup, self._course = setup, setup.course(stages)
        self._ahead: tuple[int, Tensor] | None = None

    def deal(self, number: int) -> Tensor:
        """The samples [samples, context + 1] of batch `number`, from 0."""
        ahead, self._ahead = self._ahead, None
        return ahead[1] if ahead and ahead[0] == number else self._deal(number)

    def deal_ahead(self, number: int) -> None:
        """Have a batch ready."""
        self._ahead = number, self._deal(number)

    def _deal(self, number: int) -> Tensor:
        setup = self._setup
        share = setup.samples // setup.processes.count
        dealt = self._course.batch(number)
        ours = np.ascontiguousarray(dealt[setup.processes.rank * share :][:share])
        batch = torch.from_numpy(ours)
        if setup.processor.device.type == "cuda":
            batch = batch.pin_memory()
        return batch.to(setup.processor.device, non_blocking=True)


@dataclass(frozen=True, slots=True)
class Gradient:
    """What is known of a step before its update."""

    loss: float  # nats per token of the whole batch
    norm: float  # of the whole gradient, before it is clipped
    wished: tuple[bool, ...]  # what some process wished for


def gradient(setup: Setup, dealer: Dealer, number: int, wishes: tuple[bool, ...]) -> Gradient:
    """Leave the clipped gradient of batch `number` in the weights; the same for any processes.

    wishes: passed on to all processes, such as to stop after this step.
    """
    settings = setup.plan.settings
    parts = dealer.deal(number).split(setup.samples_at_a_time)
    nats = torch.zeros((), dtype=torch.float64, device=setup.processor.device)
    for place, windows in enumerate(parts):
        synchronize(setup.scorer, place == len(parts) - 1)
        objective, of_part = setup.scorer(windows, settings.z_loss)
        (objective / setup.derived.batch).backward()
        nats += of_part
    weights = [weight for weight in setup.scorer.parameters() if weight.grad is not None]
    norm = whole(
        nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
    )
    nn.utils.clip_grads_with_norm_(weights, settings.clip, norm)
    dealer.deal_ahead(number + 1)
    here = torch.stack([nats, norm.double()]).tolist()  # one wait for the device
    total, *wished = setup.processes.sum([here[0], *map(float, wishes)])
    return Gradient(total / setup.derived.batch, here[1], tuple(wish > 0 for wish in wished))


def update(setup: Setup, step: int, rate: float) -> None:
    """Move the weights by the gradient they hold; `step` counts from 0."""
    alone = embeddings_alone(step, setup.derived.steps, setup.plan.settings)
    set_rate(setup.optimizer, rate, embeddings_alone=alone)
    setup.optimizer.step()
    forget(setup)


def forget(setup: Setup) -> None:
    """Drop the gradient."""
    setup.optimizer.zero_grad(set_to_none=True)
