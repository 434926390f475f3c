from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import MakeRecipe
from tongues.errors import UserError
from tongues.hardware import GPUS, Machine, this_machine
from tongues.models import Anatomy, find_shape, of_shape
from tongues.recipe import Train
from tongues.train import derive, run_of_recipe
from tongues.train.rules import (
    enough_memory,
    least_bytes,
    micro_batch_that_fits,
    run_bytes,
    what_would_fit,
)

LARGE = ("model.shape=22M", "train.batch=64000 tokens", "train.context=250 tokens")
LONG = "train.budget=1B tokens"


def test_less_at_a_time_is_named_where_a_run_does_not_fit(make_recipe: MakeRecipe) -> None:
    plan = run_of_recipe(make_recipe(*LARGE, LONG))
    derived = derive(plan, 8000)
    for share in (0.5, 0.2):
        less = replace(this_machine(), memory=share * derived.memory)
        hint = what_would_fit(plan.settings, derived, less)
        tokens = int(hint.split("micro_batch: ")[1].split()[0])
        assert tokens % 250 == 0
        smaller = plan.settings.model_copy(
            update={"micro_batch": tokens, "recompute": "recompute" in hint}
        )
        needed = run_bytes(derived.anatomy, smaller, derived.batch, derived.flops, less)
        assert needed <= share * derived.memory
    assert "smaller shape" in what_would_fit(plan.settings, derived, replace(less, memory=1e8))


@pytest.mark.parametrize("change", ["train.recompute=true", "train.micro_batch=1000 tokens"])
def test_settings_that_save_memory_do(make_recipe: MakeRecipe, change: str) -> None:
    plain, saving = (
        derive(run_of_recipe(make_recipe(*LARGE, LONG, *more)), 8000).memory
        for more in ((), (change,))
    )
    assert saving < 0.5 * plain


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("could not create a primitive"),
    ],
)
def test_running_out_of_memory_is_told_with_what_would_fit(
    make_recipe: MakeRecipe, error: Exception
) -> None:
    plan = run_of_recipe(make_recipe(*LARGE, LONG))
    derived = derive(plan, 8000)
    with (
        pytest.raises(UserError, match="out of memory; its checkpoints are kept") as caught,
        enough_memory("large", plan.settings, derived),
    ):
        raise error
    assert "train.micro_batch" in caught.value.hint
    assert caught.value.code == "out_of_memory"


def test_other_errors_stay_what_they_are(make_recipe: MakeRecipe) -> None:
    plan = run_of_recipe(make_recipe())
    with (
        pytest.raises(RuntimeError, match="shapes"),
        enough_memory("small", plan.settings, derive(plan, 400)),
    ):
        raise RuntimeError("shapes cannot be multiplied")


def gpus(name: str, count: int) -> Machine:
    return Machine.of_gpus(GPUS[name], count)


def test_gpus_divide_weights_and_moments_and_gather_what_they_compute_with() -> None:
    anatomy = of_shape(find_shape("1085M"), 36_152)
    settings = Train.model_validate({"budget": "1e18 FLOPs", "context": "2048 tokens"})
    batch, total = 512 * 2048, anatomy.parameters["total"]
    one, two, eight = (
        run_bytes(
            anatomy, settings.model_copy(update={"micro_batch": 2048}), batch, 1e20, gpus("a100", n)
        )
        for n in (1, 2, 8)
    )
    # Weights, moments and gradients in equal shares, also of several micro-batches.
    assert two - eight == pytest.approx(16 * total * (1 / 2 - 1 / 8), rel=1e-6)
    gathered = 8 * anatomy.parameters["embedding"] / 2
    gathered += 10 * anatomy.parameters["non_embedding"] / anatomy.layers
    narrow = 1.05 * 2 * anatomy.products  # one process has all weights in bfloat16 too
    assert one - eight == pytest.approx(16 * total * 7 / 8 - gathered + narrow, rel=1e-6)
    assert 16 * total < one < 16 * total + 12e9
    few = run_bytes(anatomy, settings, 8 * 2048, 1e20, gpus("a100", 8))
    assert eight == few


def test_copies_hold_larger_shares_and_offloaded_ones_none() -> None:
    anatomy = of_shape(find_shape("3647M"), 36_152, tied_embeddings=True)
    changes = {"budget": "1e18 FLOPs", "context": "2048 tokens", "micro_batch": "2048 tokens"}
    settings, total = Train.model_validate(changes), anatomy.parameters["total"]

    def needed(**changes: Any) -> int:
        altered = settings.model_copy(update=changes)
        return run_bytes(anatomy, altered, 512 * 2048, 1e20, gpus("h100", 16))

    assert needed(shards=16) == needed()
    assert needed(shards=4) - needed() == pytest.approx(16 * total * (1 / 4 - 1 / 16), rel=1e-6)
    assert needed() - needed(offload=True) == pytest.approx(16 * total / 16, rel=1e-6)
    narrow = needed() - needed(optimizer_states="bfloat16")
    assert narrow == pytest.approx(4 * total / 16, rel=1e-6)


def test_the_micro_batch_that_fits_a_gpu_fits_and_twice_as_much_does_not() -> None:
    anatomy = of_shape(find_shape("1085M"), 36_152)
    settings = Train.model_validate({"budget": "1e18 FLOPs", "context": "2048 tokens"})
    machine, batch = gpus("a100", 8), 512 * 2048
    fits = micro_batch_that_fits(anatomy, settings, batch, 1e20, machine)
    assert fits is not None
    micro_batch, recompute = fits
    assert micro_batch and not recompute and micro_batch % 2048 == 0

    def needed(tokens: int) -> int:
        smaller = settings.model_copy(update={"micro_batch": tokens})
        return run_bytes(anatomy, smaller, batch, 1e20, machine)

    assert needed(micro_batch) <= 0.9 * machine.memory < needed(2 * micro_batch)
    large = of_shape(find_shape("3647M"), 36_152)
    assert micro_batch_that_fits(large, settings, batch, 1e20, gpus("rtx4090", 1)) is None


def test_the_least_that_a_size_takes_is_less_on_more_gpus_and_grows_with_it() -> None:
    one, eight = least_bytes(1e9, 1), least_bytes(1e9, 8)
    assert 16e9 < one < 30e9
    assert 4e9 < eight < one
    assert least_bytes(70e9, 64) > least_bytes(7e9, 64)


def test_memory_falls_with_what_is_trained_and_with_narrow_moments() -> None:
    anatomy, machine = of_shape(find_shape("66M"), 36_152), this_machine()
    changes = {"budget": "1M tokens", "context": "256 tokens", "micro_batch": "2048 tokens"}
    settings = Train.model_validate(changes)
    narrow = settings.model_copy(update={"optimizer_states": "bfloat16"})
    total, trained = anatomy.parameters["total"], 10_000_000

    def needed(anatomy: Anatomy, settings: Train, **more: bool) -> int:
        return run_bytes(anatomy, settings, 8192, 1e15, machine, **more)

    whole, part = needed(anatomy, settings), needed(replace(anatomy, trained=trained), settings)
    assert whole - part == 12 * (total - trained)  # moments and gradients
    assert whole - needed(anatomy, narrow) == 4 * total
    assert needed(replace(anatomy, trained=trained, updates=10**6), settings) - part == 4 * 10**6
    # New tokens: the base's rows, and in a long run what is trained once more.
    rows = 4 * anatomy.parameters["embedding"]
    assert needed(anatomy, settings, new_tokens=True) - whole == rows
    assert needed(anatomy, settings, new_tokens=True, compared=True) - whole == rows + 4 * total
