import pytest

from tests.conftest import MakeRecipe
from tongues.errors import UserError
from tongues.train import derive, run_of_recipe
from tongues.train.memory import enough_memory, run_bytes, what_would_fit

LARGE = ("model.shape=22M", "train.batch=64000 tokens", "train.context=250 tokens")
LONG = "train.budget=1B tokens"


def test_less_at_a_time_is_named_where_a_run_does_not_fit(make_recipe: MakeRecipe) -> None:
    plan = run_of_recipe(make_recipe(*LARGE, LONG))
    derived = derive(plan, 8000)
    for share in (0.5, 0.2):
        hint = what_would_fit(plan.settings, derived, share * derived.memory)
        tokens = int(hint.split("micro_batch: ")[1].split()[0])
        assert tokens % 250 == 0
        smaller = plan.settings.model_copy(
            update={"micro_batch": tokens, "recompute": "recompute" in hint}
        )
        needed = run_bytes(derived.anatomy, smaller, derived.batch, derived.flops)
        assert needed <= share * derived.memory
    assert "smaller shape" in what_would_fit(plan.settings, derived, 1e8)


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
