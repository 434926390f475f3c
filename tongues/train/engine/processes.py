"""The processes that train one model together: what each is, and what they exchange."""

import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from tongues.core.errors import UserError
from tongues.core.ranks import stop_after

Item = TypeVar("Item")
Result = TypeVar("Result")

_CPU = torch.device("cpu")
# For which processes wait for each other in a step, which all do at once: a first step compiles.
# Of one that hangs nothing else is ever heard; when one ends, torchrun ends the others at once.
_IN_STEPS = timedelta(minutes=15)
# For which they wait where one has more to do: the first may make a base with another tokenizer, or
# write a model of many gigabytes.
PATIENCE = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Processes:
    """A process among the `count` that train one model; by default it is alone.

    What is exchanged is a no-op for one. Every process must call each of these, in one order.
    """

    rank: int = 0
    count: int = 1
    local_rank: int = 0  # among those of this machine
    local_count: int = 1
    device: torch.device = _CPU  # on which they exchange numbers
    patient: distributed.ProcessGroup | None = field(default=None, repr=False)  # waits for hours

    @property
    def first(self) -> bool:
        """Whether this is the one that prints and writes."""
        return self.rank == 0

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """The items that are this process's."""
        return items[self.rank :: self.count]

    def sum(self, values: Sequence[float]) -> list[float]:
        """Each value summed over the processes, in float64; the same bits in all of them."""
        if self.count == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.tolist()

    def sum_tensor(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over the processes."""
        if self.count > 1:
            distributed.all_reduce(tensor)
        return tensor

    def any(self, flag: bool) -> bool:
        """Whether it is so in any of the processes."""
        return self.sum([float(flag)])[0] > 0

    def once(self, work: Callable[[], Result]) -> Result:
        """What `work`, called in the first process alone, returns; its UserError raises in all."""
        if self.count == 1:
            return work()
        answer: list[Any] = [None, None]
        if self.first:
            try:
                answer[0] = work()
            except UserError as error:
                answer[1] = error
        distributed.broadcast_object_list(answer, src=0, group=self.patient)
        if answer[1] is not None:
            raise answer[1]
        return answer[0]

    def wait(self) -> None:
        """Wait for the others, of which one may have work for hours."""
        if self.count > 1:
            distributed.barrier(self.patient)


@contextmanager
def together(processes: Processes, run: str) -> Iterator[None]:
    """Part from the others at the end; a UserError where one of them ended before, or hangs."""
    try:
        yield
        processes.wait()
        if distributed.is_initialized():
            distributed.destroy_process_group()
    except RuntimeError as error:
        lost = isinstance(error, distributed.DistError) or "gloo" in str(error)
        if not lost or processes.count == 1:
            raise
        what, hint = "another process of this run ended", "run it again to resume"
        if "Timed out" in str(error):
            what = "another process of this run does not answer"
        raise UserError(what, where=run, hint=hint, code="process_failed") from None


def join_processes(device_type: str) -> Processes:
    """Meet the other processes that torchrun started; alone where it started none, or one.

    device_type: `cuda` (NCCL) or `cpu` (gloo). The process ends when its torchrun is gone, and
    waits for the others for minutes in a step.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Processes()
    if not {"RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys():
        what = f"WORLD_SIZE says {os.environ['WORLD_SIZE']} processes, but torchrun started none"
        raise UserError(what, where="environment", hint="start it by torchrun, or unset WORLD_SIZE")
    local_rank = int(os.environ["LOCAL_RANK"])
    local_count = int(os.environ["LOCAL_WORLD_SIZE"])
    device = _CPU
    if device_type == "cuda":
        if local_count > torch.cuda.device_count():
            what = f"{local_count} processes on a machine of {torch.cuda.device_count()} GPUs"
            hint = f"start {torch.cuda.device_count()} by `--processes` or --nproc-per-node"
            raise UserError(what, where="processes", hint=hint)
        device = torch.device("cuda", local_rank)
        torch.cuda.set_device(device)
    if not distributed.is_initialized():
        torchrun = os.pidfd_open(os.getppid())
        stop_after(lambda: select.select([torchrun], [], []))
        backend = "cpu:gloo,cuda:nccl" if device_type == "cuda" else "gloo"
        distributed.init_process_group(backend, timeout=_IN_STEPS)
    patient = distributed.new_group(timeout=PATIENCE, backend="gloo")
    assert isinstance(patient, distributed.ProcessGroup)
    rank, count = distributed.get_rank(), distributed.get_world_size()
    return Processes(rank, count, local_rank, local_count, device, patient)
