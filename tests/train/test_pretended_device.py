"""The pretended GPU itself: what it refuses, and what it lets pass."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from tests.pretended import DEVICE, PretendedGpu, pretended_gpu

CPU = torch.device("cpu")
Both = Callable[[Tensor, Tensor], object]


@pytest.fixture
def gpu() -> Iterator[PretendedGpu]:
    with pretended_gpu() as gpu:
        yield gpu


@pytest.mark.parametrize(
    "across",
    [
        lambda there, here: there @ here,
        lambda there, here: here.add_(there),
        lambda there, here: here[there.long()],
        lambda there, here: nn.functional.embedding(here.long(), there),
        lambda there, here: nn.utils.get_total_norm([there, here]) * here,
    ],
)
def test_operations_across_devices_are_refused(gpu: PretendedGpu, across: Both) -> None:
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu"):
        across(torch.ones(2, 2, device="cuda"), torch.ones(2, 2))
    assert len(gpu.refused) == 1


@pytest.mark.parametrize(
    "alike",
    [
        lambda there, here: there + here.sum(),
        lambda there, here: there[here.long()],
        lambda there, here: there.copy_(here),
        lambda there, here: here.to(there) @ there,
        lambda there, here: torch.as_tensor(here, device="cuda"),
        lambda there, here: torch.zeros_like(here, device=there.device),
    ],
)
def test_what_cuda_takes_is_computed_there(gpu: PretendedGpu, alike: Both) -> None:
    made = alike(torch.ones(2, 2, device="cuda"), torch.ones(2, 2))
    assert isinstance(made, Tensor)
    assert made.is_cuda and made.device == DEVICE
    assert made.cpu().device == CPU
