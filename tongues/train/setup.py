"""What the steps of one run work with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tongues.files import append_line
from tongues.tokens import Mixture, Tokens
from tongues.tokens.mixture import Course, Stage
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer
from tongues.train.plan import Derived, RunPlan
from tongues.train.validation import HeldOut

__all__ = ["Setup"]


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
