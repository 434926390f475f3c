"""How fast a run goes, when it will be done, and what it takes of the machine."""

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tongues.core.quantities import counted, show_bytes, show_count, show_seconds

_SHOWN_EVERY = 1.0  # seconds
_STRETCH = 30  # readings over which the time left is judged
_KEPT_EVERY = 1e-3  # of the time so far, between lines of `timing.jsonl`


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run, about once a second."""

    step: int
    steps: int
    loss: float  # nats per token on the training text, at this step
    losses: Mapping[str, float]  # the newest on held-out text, by language
    rate: float
    seconds: float  # of training so far, over all sittings
    tokens_per_second: float  # of training since the last reading, all processes together
    utilization: float | None  # FLOP/s, as a share of the peak; None where that is not known
    seconds_left: float
    memory: int  # bytes, at the peak of this process
    spikes: int  # so far, in this sitting
    on_new: Mapping[str, float] = field(default_factory=dict)  # as `losses`, of new tokens alone
    held: Mapping[str, float] = field(default_factory=dict)  # shares of languages that are held
    peak_of: str = ""  # the GPU whose peak its maker states; empty: of matrix products, measured

    @property
    def share(self) -> float:
        """Of the steps that are done."""
        return self.step / self.steps

    def words(self) -> list[str]:
        """For a live line, the most important first."""
        peak = f" of {self.peak_of}" if self.peak_of else ""
        return [
            f"step {self.step:,}/{self.steps:,}",
            f"{show_seconds(self.seconds_left)} left",
            f"loss {self.loss:.3f}",
            *(
                f"{lang} {loss:.3f}"
                + (f" ({self.on_new[lang]:.3f} on new tokens)" if lang in self.on_new else "")
                for lang, loss in self.losses.items()
            ),
            *(f"{share * 100:.3g}% replay of {lang}" for lang, share in self.held.items()),
            f"rate {self.rate:.2g}",
            f"{show_count(self.tokens_per_second)} tokens/s",
            *([] if self.utilization is None else [f"MFU {self.utilization:.0%}{peak}"]),
            show_bytes(self.memory),
            *([counted(self.spikes, "spike")] if self.spikes else []),
        ]

    def timing(self) -> dict[str, Any]:
        """The line of `timing.jsonl`."""
        share = self.utilization
        return {
            "step": self.step,
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": round(self.tokens_per_second),
            "seconds_left": round(self.seconds_left, 1),
            "memory": self.memory,
            **({} if share is None else {"utilization": round(share, 4)}),
            **({"peak_of": self.peak_of} if self.peak_of else {}),
        }


class Meter:
    """Measures the time of a run's steps.

    step: done when this sitting starts, of `steps`. seconds: of training before this sitting.
    batch: tokens a step, over all processes. ceiling: FLOP/s of all processes' machines together;
    None leaves the utilization out. peak_of: the GPU whose maker states it; empty where it was
    measured. memory: returns the bytes at the peak, such as `peak_memory`.
    """

    def __init__(
        self,
        step: int,
        steps: int,
        *,
        seconds: float,
        batch: int,
        flops_per_token: float,
        ceiling: float | None,
        memory: Callable[[], int],
        peak_of: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._steps, self._batch, self._flops = steps, batch, flops_per_token
        self._ceiling, self._peak_of, self._memory, self._clock = ceiling, peak_of, memory, clock
        self._started = clock() - seconds
        self._readings = deque([(clock(), step)], maxlen=_STRETCH + 1)
        self._kept, self._paused = -float("inf"), 0.0

    @property
    def seconds(self) -> float:
        """Of training so far, over all sittings."""
        return self._clock() - self._started

    def read(
        self,
        step: int,
        *,
        loss: float,
        losses: Mapping[str, float],
        rate: float,
        spikes: int,
        held: Mapping[str, float] = MappingProxyType({}),
        on_new: Mapping[str, float] = MappingProxyType({}),
    ) -> Progress | None:
        """The progress after `step`; None when it was read less than a second ago."""
        now = self._clock()
        last, last_step = self._readings[-1]
        if now - last < _SHOWN_EVERY and step < self._steps:
            return None
        speed = (step - last_step) * self._batch / max(now - last - self._paused, 1e-9)
        self._paused = 0.0
        self._readings.append((now, step))
        if self._ceiling and not self._peak_of:  # lower where the machine was busy meanwhile
            self._ceiling = max(self._ceiling, speed * self._flops)
        first, first_step = self._readings[0]
        return Progress(
            step=step,
            steps=self._steps,
            loss=loss,
            losses=losses,
            rate=rate,
            seconds=now - self._started,
            tokens_per_second=speed,
            utilization=speed * self._flops / self._ceiling if self._ceiling else None,
            seconds_left=(self._steps - step) * (now - first) / max(step - first_step, 1),
            memory=self._memory(),
            spikes=spikes,
            held=held,
            on_new=on_new,
            peak_of=self._peak_of,
        )

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Leave the time of an evaluation out of the speed; the time left has those to come."""
        began = self._clock()
        yield
        self._paused += self._clock() - began

    def keeps(self, progress: Progress) -> bool:
        """Whether a reading is a line of `timing.jsonl`: rarer, the longer the run has taken."""
        last = progress.step == progress.steps
        keep = last or progress.seconds - self._kept >= _KEPT_EVERY * progress.seconds
        self._kept = progress.seconds if keep else self._kept
        return keep


def peak_memory(device: str) -> int:
    """Bytes that this process has held at most: of the GPU on `cuda`, else of the machine."""
    if device == "cuda":
        import torch

        return torch.cuda.max_memory_allocated()
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(peak[1]) * 1024 if peak else 0
