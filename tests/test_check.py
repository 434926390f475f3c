"""What is found before any work: about the parent, the budget, the disk."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import MakeRecipe
from tests.golden import inputs
from tests.models.families import save_tiny, tiny
from tests.models.shortened import shortened
from tests.records import make_run
from tongues.core.errors import UserError
from tongues.core.hardware import GPUS, Machine
from tongues.plan.check import check_disk, check_recipe
from tongues.runs.record import write_run
from tongues.train.work import open_work

PIECES = 400


@pytest.fixture
def tokenizer(tokens: Path) -> Path:
    return tokens / "tokenizer.json"


@pytest.fixture
def parent(tokenizer: Path, tmp_path: Path) -> Path:
    return save_tiny(tiny("qwen2", PIECES), tmp_path / "parent", tokenizer)


def based_on(folder: Path) -> str:
    return f"train.base={{model: {folder}, languages: [qac]}}"


def test_the_parents_shape_counts_where_none_is_said(
    make_recipe: MakeRecipe, parent: Path, tmp_path: Path
) -> None:
    recipe = make_recipe(based_on(parent), "model.shape=null", f"tokens.base={parent}")
    checked = check_recipe(open_work(recipe, tmp_path))
    ((_, derived),) = checked.runs
    assert derived.parameters["embedding"] == 2 * PIECES * 32
    assert checked.rows()[0]["shape"] == derived.anatomy.name
    shown = checked.to_json()["runs"][0]
    assert shown["parameters"] == derived.parameters
    assert json.loads(json.dumps(shown)) == shown


def test_a_parent_still_to_be_trained_may_be_named_where_the_shape_is_said(
    make_recipe: MakeRecipe, recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs/later").mkdir(parents=True)
    write_run(tmp_path / "runs/later", make_run(status="running"))
    learns = ("train.mixture={qaa: 100%}", "train.base=later")
    assert check_recipe(open_work(make_recipe(*learns), tmp_path)).runs
    with pytest.raises(UserError, match="not finished"):
        check_recipe(open_work(make_recipe(*learns, "model.shape=null"), tmp_path))
    (tmp_path / "runs/later/run.json").unlink()
    experts = ("model={}", "train.mixture={}", "experts={partitions: [{by: dense}]}")
    asked = make_recipe("train.base=later", *experts)
    with pytest.raises(UserError, match="`later` is neither a run") as caught:
        check_recipe(open_work(asked, tmp_path))
    assert "`tongues train` of a recipe with `train.run: later`" in caught.value.hint
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("own.yaml").write_text(f"extends: {recipe_file}\ntrain: {{run: later}}\n")
    with pytest.raises(UserError) as caught:  # its workspace is elsewhere
        check_recipe(open_work(asked, tmp_path))
    assert caught.value.hint == f"make it by `tongues train own.yaml --workspace {tmp_path}`"


def test_the_languages_of_a_base_are_tags(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    recipe = make_recipe("train.base={model: x, languages: [English]}")
    with pytest.raises(UserError, match="`English` is not a language tag") as caught:
        check_recipe(open_work(recipe, tmp_path))
    assert caught.value.where == "train.base.languages" and "`en`" in caught.value.hint


def test_a_parent_of_another_tokenizer_is_found_by_the_base(
    make_recipe: MakeRecipe, parent: Path, tokenizer: Path, tmp_path: Path
) -> None:
    shortened(tokenizer, 60, tmp_path / "other.json")
    other = f"tokens.base={tmp_path / 'other.json'}"
    settings = '{"eos_token": "<|end|>"}'
    (tmp_path / "tokenizer_config.json").write_text(settings)
    recipe = make_recipe(based_on(parent), "model.shape=null", other)
    with pytest.raises(UserError, match="another tokenizer") as caught:
        check_recipe(open_work(recipe, tmp_path))
    assert str(parent) in caught.value.hint


def test_a_parent_of_another_tokenizer_is_found_by_what_was_prepared(
    make_recipe: MakeRecipe, parent: Path, workspace: Path
) -> None:
    file = parent / "tokenizer.json"
    recipe = make_recipe(based_on(parent), "model.shape=null")
    assert check_recipe(open_work(recipe, workspace)).runs
    file.write_text(file.read_text().replace('"a":', '"☃":'))
    with pytest.raises(UserError, match="another tokenizer"):
        check_recipe(open_work(recipe, workspace))


@pytest.mark.parametrize(
    ("overrides", "says", "where"), inputs("rows")["test_what_cannot_be_is_refused"]
)
def test_what_cannot_be_is_refused(
    make_recipe: MakeRecipe, tmp_path: Path, overrides: tuple[str, ...], says: str, where: str
) -> None:
    with pytest.raises(UserError, match=says) as caught:
        check_recipe(open_work(make_recipe(*overrides), tmp_path))
    assert caught.value.where == where


def test_milestones_take_their_place_on_disk(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    plain = check_recipe(open_work(make_recipe(), tmp_path))
    more = check_recipe(open_work(make_recipe("train.milestones=[25%, 50%]"), tmp_path))
    assert more.disk - plain.disk == 2 * more.runs[0][1].checkpoint_bytes


def test_a_disk_too_small_for_training_is_said_and_holds_tokens_alone(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = open_work(make_recipe(), tmp_path)
    whole = check_recipe(work)
    blocks = {"f_bavail": whole.token_bytes + 1, "f_frsize": 1}
    monkeypatch.setattr(os, "statvfs", lambda place: SimpleNamespace(**blocks))
    less = check_recipe(work)
    assert [one.code for one in less.cautions if one not in whole.cautions] == ["disk"]
    with pytest.raises(UserError, match="of disk"):
        check_disk(less)


@pytest.mark.parametrize(
    ("base", "advice"),
    [
        ("/no/such/folder", "a Hugging Face folder holds config.json"),
        ("org/Llama-3.2-1B", "`hf download org/Llama-3.2-1B --local-dir bases/"),
        ("nosuch", "`tongues train` of a recipe with `train.run: nosuch`"),
    ],
)
def test_a_base_that_is_not_there_is_refused_with_the_way_to_get_it(
    make_recipe: MakeRecipe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    base: str,
    advice: str,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"is neither a run|is not here") as caught:
        check_recipe(open_work(make_recipe(f"train.base={base}"), tmp_path))
    assert caught.value.where == "train.base"
    assert advice in caught.value.hint
    declared = make_recipe(f"train.base={{model: {base}, languages: [qab]}}")
    if base == "nosuch":  # may be trained later; a path or a data set of the hub may not
        assert check_recipe(open_work(declared, tmp_path), training=False).runs
    else:
        with pytest.raises(UserError, match=r"is neither a run|is not here"):
            check_recipe(open_work(declared, tmp_path), training=False)


def test_gpus_are_checked_instead_of_this_machine(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    settings = ("train.batch=8192 tokens", "train.budget=1M tokens")
    large = make_recipe("model.shape=1085M", *settings)
    with pytest.raises(UserError, match="this machine has") as refused:
        check_recipe(
            open_work(make_recipe("model.shape=5534M", "train.batch=16384 tokens"), tmp_path)
        )
    assert "check with `--gpu`" in refused.value.hint
    checked = check_recipe(open_work(large, tmp_path), machine=Machine.of_gpus(GPUS["a100"], 8))
    assert 1e9 < checked.memory < 80e9
    assert "on each GPU of 8 a100" in checked.sentences()["memory"]
    larger = make_recipe("model.shape=3647M", "train.batch=8192 tokens", "train.budget=1M tokens")
    with pytest.raises(UserError, match="on each GPU of 1 rtx4090, which has 24 GB"):
        check_recipe(open_work(larger, tmp_path), machine=Machine.of_gpus(GPUS["rtx4090"], 1))
    with pytest.raises(UserError, match="cannot be shared by 7 processes"):
        check_recipe(open_work(large, tmp_path), machine=Machine.of_gpus(GPUS["a100"], 7))


def test_processes_of_a_run_of_a_study_divide_its_model(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    study = ("study={source: qaa, targets: [qab], shapes: [1085M]}", "model={}", "train.mixture={}")
    sizes = ("train.batch=8192 tokens", "train.budget=100k tokens")
    recipe, gpus = make_recipe(*study, *sizes), Machine.of_gpus(GPUS["rtx4090"], 8)
    with pytest.raises(UserError, match="on each GPU of 8 rtx4090, which has 24 GB"):
        check_recipe(open_work(recipe, tmp_path), machine=gpus)
    checked = check_recipe(open_work(recipe, tmp_path), machine=gpus, processes=4)
    assert checked.at_once == 2
    with pytest.raises(UserError, match="cannot be shared by 7 processes"):
        check_recipe(open_work(recipe, tmp_path), machine=gpus, processes=7)


def test_evaluation_is_told_of_where_it_is_much_of_what_is_read(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    scored = 2 * 2000 * 5  # two languages, after steps 0, 1, 4, 12 and 39
    share = f"{scored / (scored + 39 * 512):.0%} of the tokens"
    assert (
        check_recipe(open_work(make_recipe(), tmp_path)).sentences()["evaluation"].startswith(share)
    )
    fewer = make_recipe("train.eval_tokens=400 tokens")
    assert not check_recipe(open_work(fewer, tmp_path)).sentences().get("evaluation")


@pytest.mark.parametrize(
    ("doubtful", "fine", "code"),
    [
        ("train.budget=4k tokens", "train.budget=6k tokens", "few_steps"),
        ("train.learning_rate=0.5", "train.learning_rate=0.02", "high_rate"),
    ],
)
def test_few_steps_and_a_high_rate_are_doubted(
    make_recipe: MakeRecipe, tmp_path: Path, doubtful: str, fine: str, code: str
) -> None:
    checked = check_recipe(open_work(make_recipe(doubtful), tmp_path))
    assert [caution.code for caution in checked.cautions] == [code]
    assert checked.to_json()["warnings"][0]["code"] == code
    assert check_recipe(open_work(make_recipe(fine), tmp_path)).cautions == ()
