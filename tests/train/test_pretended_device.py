"""The pretended GPU itself: what it refuses, what it lets pass, and what it leaves behind."""

import threading
from collections.abc import Callable, Iterator
from copy import deepcopy

import pytest
import torch
from torch import Tensor, distributed, nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.attention.flex_attention import flex_attention

from tests.pretended import DEVICE, PretendedGpu, pretended_gpu
from tongues.train.engine.processes import Processes
from tongues.train.engine.sharding import make_mesh

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
        lambda there, here: there + here,
        lambda there, here: here.add_(there),
        lambda there, here: here.sum().add_(there.sum()),
        lambda there, here: torch.where(there > 0, there, here),
        lambda there, here: torch.stack([there.sum(), here.sum()]),
        lambda there, here: here[there.long()],
        lambda there, here: there.gather(0, here.long()),
        lambda there, here: nn.functional.embedding(here.long(), there),
        lambda there, here: nn.Linear(2, 2)(there),
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
        lambda there, here: there.index_put_((here.long(),), here.sum()),
        lambda there, here: there.copy_(here),
        lambda there, here: here.to(there) @ there,
        lambda there, here: there @ here.cuda(),
        lambda there, here: torch.where(there > 0, 0.0, there),
        lambda there, here: there.new_tensor([1.0, 2.0]),
        lambda there, here: torch.as_tensor(here, device="cuda"),
        lambda there, here: torch.zeros_like(here, device=there.device),
        lambda there, here: deepcopy(there),
        lambda there, here: there.int().histc(bins=2),
    ],
)
def test_what_cuda_takes_is_computed_there(gpu: PretendedGpu, alike: Both) -> None:
    made = alike(torch.ones(2, 2, device="cuda"), torch.ones(2, 2))
    assert isinstance(made, Tensor)
    assert made.device == DEVICE
    assert made.is_cuda
    assert made.cpu().device == CPU
    assert gpu.refused == []


def test_gradients_are_where_their_weights_are(gpu: PretendedGpu) -> None:
    layer = nn.Linear(2, 2).to("cuda")
    left = torch.ones(2, 2)

    class Left(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, given: Tensor) -> Tensor:
            return given.clone()

        @staticmethod
        def backward(ctx: object, *grad_outputs: Tensor) -> Tensor:
            return grad_outputs[0] * left

    out = layer(torch.ones(2, 2, device="cuda"))
    out.sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.device == DEVICE
    out = Left.apply(layer(torch.ones(2, 2, device="cuda")))
    with pytest.raises(RuntimeError, match="on the same device"):
        out.sum().backward()
    assert "mul" in gpu.refused[0]


def test_arrays_are_of_the_processor(gpu: PretendedGpu) -> None:
    there = torch.ones(2).cuda()
    with pytest.raises(TypeError, match="cuda:0"):
        there.numpy()
    with pytest.raises(RuntimeError, match="cannot pin"):
        there.pin_memory()
    pinned = torch.ones(2).pin_memory()
    assert pinned.is_pinned()
    assert pinned.pin_memory() is pinned
    assert pinned.numpy().tolist() == [1.0, 1.0]


def test_other_threads_see_it_too(gpu: PretendedGpu) -> None:
    there, found = torch.ones(2, 2).cuda(), list[object]()

    def work() -> None:
        found.append((2 * there).device)
        found.append(torch.ones(2).device)
        with pytest.raises(RuntimeError, match="on the same device"):
            there.mm(torch.ones(2, 2))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [DEVICE, CPU]
    assert len(gpu.refused) == 1


def test_products_are_counted_with_their_types(gpu: PretendedGpu) -> None:
    there = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("cuda")
        assert (there @ there).dtype == torch.bfloat16
    assert torch.ones(2, 2).mm(torch.ones(2, 2)).device == CPU
    assert gpu.dtypes("mm") == {(torch.bfloat16, torch.bfloat16)}


@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_kernels_of_gpus_alone_fail_as_unsupported(gpu: PretendedGpu) -> None:
    there = torch.ones(1, 1, 16, 16, device="cuda")
    with pytest.raises(RuntimeError, match="no compiler"):
        flex_attention(there, there, there)
    with pytest.raises(RuntimeError, match="no compiler"):
        torch.compile(torch.sin)(there)
    assert gpu.refused == []


def test_one_process_shares_out_a_model_there(gpu: PretendedGpu) -> None:
    mesh = make_mesh(Processes(), "cuda")
    try:
        layer = nn.Linear(2, 2, bias=False).cuda()
        narrow = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
        fully_shard(layer, mesh=mesh, mp_policy=narrow)
        layer(torch.ones(2, 2)).sum().backward()  # FSDP2 brings its inputs to the GPU
        grad = layer.weight.grad
        assert isinstance(grad, DTensor)
        assert grad.device == grad.to_local().device == DEVICE
        assert grad.dtype == torch.float32
        assert gpu.dtypes("mm") == {(torch.bfloat16, torch.bfloat16)}
        assert gpu.refused == []
    finally:
        distributed.destroy_process_group()


def test_nothing_is_left_of_it() -> None:
    names = [(Tensor, name) for name in ("device", "to", "numpy", "new_zeros")]
    names += [(torch, "zeros"), (torch.cuda, "is_available"), (threading.Thread, "run")]
    before = [getattr(owner, name) for owner, name in names]
    with pretended_gpu():
        there = torch.zeros(2, device="cuda")
        assert torch.cuda.is_available()
    assert [getattr(owner, name) for owner, name in names] == before
    assert there.device == CPU
    assert (there + torch.ones(2)).tolist() == [1.0, 1.0]
