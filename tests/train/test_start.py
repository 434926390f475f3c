"""A base whose tokenizer has fewer tokens: those of a trained run without the last ones."""

import math
import shutil
from pathlib import Path

import pytest
import torch

from tests.conftest import MakeRecipe
from tests.models.shortened import shortened
from tests.train.making import NEW, PIECES, child_of, held_out_nats, losses, train_and_stop
from tongues.core.errors import UserError
from tongues.core.files import read_lines
from tongues.models.huggingface import load_model, save_model
from tongues.runs.record import read_run
from tongues.text.tokens import open_tokens
from tongues.train.base import find_base
from tongues.train.run import train


@pytest.fixture(scope="module")
def shortened_once(trained_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that lacks the last pieces of the tokenizer."""
    whole, parent = trained_once / "model", tmp_path_factory.mktemp("shortened") / "parent"
    model = load_model(whole)
    model.resize_token_embeddings(PIECES - NEW)
    save_model(model, parent)
    shortened(whole / "tokenizer.json", NEW, parent / "tokenizer.json")
    return parent


@pytest.mark.parametrize("method", ["distilled", "mean"])
def test_new_tokens_start_by_the_method_that_is_named(
    make_recipe: MakeRecipe, workspace: Path, shortened_once: Path, method: str
) -> None:
    short = ("train.budget=200k tokens", f"model.new_embeddings={method}", "train.num_evals=1")
    printed: list[str] = []
    plan = child_of(make_recipe, shortened_once, *short)
    directory = train(plan, workspace, tell=printed.append)
    extension = read_run(directory).vocabulary_extension
    assert extension == {"new_tokens": 60, "initialization": method}
    assert f"60 new tokens start by `{method}`" in printed
    evals = losses(directory, "qaa")
    assert evals[-1] < evals[0]
    assert load_model(directory / "model").config.vocab_size == 448


def test_the_loss_is_that_of_a_plain_loop_also_on_new_and_on_old_tokens(
    make_recipe: MakeRecipe, workspace: Path, shortened_once: Path
) -> None:
    plan = child_of(make_recipe, shortened_once, "train.precision=float32")
    directory = train(plan, workspace)
    row = [row for row in read_lines(directory / "evals.jsonl") if row["lang"] == "qaa"][-1]
    nats, tokens = held_out_nats(load_model(directory / "model"), workspace, "qaa")
    new = tokens >= PIECES - NEW
    assert 0 < int(new.sum()) < len(new)
    assert row["loss_new_tokens"] == pytest.approx(float(nats[new].mean()), rel=1e-4)
    assert row["loss_old_tokens"] == pytest.approx(float(nats[~new].mean()), rel=1e-4)
    assert row["loss"] == pytest.approx(float(nats.mean()), rel=1e-4)
    size = open_tokens(workspace / "tokens/small").token_bytes[tokens.numpy()].sum()
    assert row["bits_per_byte"] == pytest.approx(float(nats.sum()) / math.log(2) / size, rel=1e-4)


OFTEN = ("train.checkpoint_every=0.001 seconds",)


def test_distilled_rows_start_nearer_than_their_mean_and_the_same_when_begun_again(
    make_recipe: MakeRecipe, workspace: Path, shortened_once: Path
) -> None:
    """The first loss; a run that was killed before its first checkpoint has it again."""
    first = dict[str, float]()
    for method in ("mean", "distilled"):
        words = ("train.budget=1M tokens", "train.num_evals=1", *OFTEN)
        words += (f"model.new_embeddings={method}",)
        plan = child_of(make_recipe, shortened_once, *words, name=method)
        directory = train_and_stop(plan, workspace)
        first[method] = read_lines(directory / "evals.jsonl")[0]["loss"]
    assert first["distilled"] < first["mean"]
    for place in directory.glob("checkpoints/*"):
        shutil.rmtree(place)
    train_and_stop(plan, workspace)
    assert read_lines(directory / "evals.jsonl")[0]["loss"] == first["distilled"]


def test_the_rows_of_the_base_stay_as_they_are(
    make_recipe: MakeRecipe, workspace: Path, shortened_once: Path
) -> None:
    still = ("train.learning_rate=1e-30", "train.weight_decay=0", "train.budget=1k tokens")
    directory = train(child_of(make_recipe, shortened_once, *still), workspace)
    after, before = (
        load_model(place).get_input_embeddings().get_parameter("weight")
        for place in (directory / "model", shortened_once)
    )
    assert torch.equal(after[: len(before)], before)


@pytest.mark.parametrize(
    ("base", "hint"),
    [
        ("runs/none", "there is none to choose from"),
        ("runs/frist", "did you mean `first`?"),
        ("models/non", "did you mean `models/none`?"),
    ],
)
def test_a_path_that_is_not_there_is_not_taken_for_a_model_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models/none").mkdir(parents=True)
    if base == "runs/frist":
        Path("runs/first").mkdir(parents=True)
        Path("runs/first/run.json").write_text("{}")
    with pytest.raises(UserError, match="is neither a run") as caught:
        find_base(base, Path())
    assert caught.value.hint == f"there is no such run or folder; {hint}"
