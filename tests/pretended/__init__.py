"""A pretended GPU: tensors lie on the processor, and torch says `cuda:0` of those put there.

For the ways that only GPUs take. Each storage has a mark of the device that it would be on. An
operation across devices is refused as CUDA refuses it, also in backward passes, and each is counted
with the types of its arguments. The kernels are the processor's, so nothing is learned of a GPU's
numbers, speed or memory; `autocast` has the processor's list of operations.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from tests.pretended import cuda, tensors
from tests.pretended.marks import DEVICE
from tests.pretended.operations import Operation, PretendedGpu, Watch

__all__ = ["DEVICE", "Operation", "PretendedGpu", "pretended_gpu"]


@contextmanager
def pretended_gpu() -> Iterator[PretendedGpu]:
    """Torch sees one GPU meanwhile, in this thread and in those that start meanwhile."""
    gpu = PretendedGpu()
    with ExitStack() as held:
        for owner, name, new in (*tensors.replacements(), *cuda.replacements(lambda: Watch(gpu))):
            held.enter_context(patch.object(owner, name, new))
        held.enter_context(Watch(gpu))
        yield gpu
