"""The pretended GPU itself: what it refuses, what it lets pass, and what it leaves behind."""

import threading
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
    assert gpu.refused == []


def test_backward_passes_arrays_and_other_threads_are_watched_too(gpu: PretendedGpu) -> None:
    layer, left, there = nn.Linear(2, 2).to("cuda"), torch.ones(2, 2), torch.ones(2, 2).cuda()

    class Left(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, given: Tensor) -> Tensor:
            return given.clone()

        @staticmethod
        def backward(ctx: object, *grad_outputs: Tensor) -> Tensor:
            return grad_outputs[0] * left

    layer(there).sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.device == DEVICE
    out = Left.apply(layer(there))
    with pytest.raises(RuntimeError, match="on the same device"):
        out.sum().backward()
    with pytest.raises(TypeError, match="cuda:0"):
        there.numpy()
    found = list[object]()

    def work() -> None:
        found.append((2 * there).device)
        with pytest.raises(RuntimeError, match="on the same device"):
            there.mm(left)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [DEVICE] and len(gpu.refused) == 2
