"""A base whose tokenizer has fewer tokens: those of a trained run without the last ones."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.conftest import MakeRecipe, with_tokens
from tests.models.shortened import shortened
from tests.train.test_run import STOPPABLE, digests, train_and_stop
from tongues.errors import UserError
from tongues.files import read_lines
from tongues.models.huggingface import load_model, save_model
from tongues.runs import read_run
from tongues.tokens import open_tokens
from tongues.train import RunPlan, run_of_recipe
from tongues.train.run import train

LACKED = 60


@pytest.fixture(scope="module")
def shortened_once(trained_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that lacks the last pieces of the tokenizer."""
    whole, parent = trained_once / "model", tmp_path_factory.mktemp("shortened") / "parent"
    model = load_model(whole)
    model.resize_token_embeddings(400 - LACKED)
    save_model(model, parent)
    shortened(whole / "tokenizer.json", LACKED, parent / "tokenizer.json")
    return parent


@pytest.fixture
def parent(shortened_once: Path, workspace: Path) -> Path:
    """As `shortened_once`, a test's own."""
    return shutil.copytree(shortened_once, workspace / "parent")


def child_of(make_recipe: MakeRecipe, parent: Path, *overrides: str, name: str) -> RunPlan:
    recipe = make_recipe(f"train.base={{model: {parent}, languages: [qac]}}", *overrides)
    return replace(run_of_recipe(recipe), name=name)


@pytest.mark.parametrize("method", ["similar", "asymmetric", "distilled", "random"])
def test_new_tokens_start_by_the_method_that_is_named(
    make_recipe: MakeRecipe, workspace: Path, parent: Path, method: str
) -> None:
    short = ("train.budget=5k tokens", f"model.new_embeddings={method}")
    plan = child_of(make_recipe, parent, *short, name="child")
    directory = train(plan, workspace)
    extension = read_run(directory).vocabulary_extension
    assert extension == {"new_tokens": 60, "initialization": method, "losses": {}, "probe": None}
    evals = [row["loss"] for row in read_lines(directory / "evals.jsonl") if row["lang"] == "qaa"]
    assert evals[-1] < evals[0]
    assert load_model(directory / "model").config.vocab_size == 448


def test_the_loss_is_also_reported_on_new_and_on_old_tokens(
    make_recipe: MakeRecipe, workspace: Path, parent: Path
) -> None:
    printed: list[str] = []
    plan = child_of(make_recipe, parent, "train.precision=float32", name="short")
    directory = train(plan, workspace, tell=printed.append)
    extension = read_run(directory).vocabulary_extension
    assert extension is not None
    assert (extension["initialization"], extension.get("probe")) == ("mean", None)
    assert "60 new tokens by `mean`: the run is too short to compare methods" in printed
    row = [row for row in read_lines(directory / "evals.jsonl") if row["lang"] == "qaa"][-1]
    text = torch.from_numpy(open_tokens(workspace / "tokens/small").valid("qaa").astype("int64"))
    count = (len(text) - 1) // 64
    tokens, targets = text[: 64 * count].view(-1, 64), text[1 : 64 * count + 1]
    with torch.no_grad():
        logits = load_model(directory / "model")(input_ids=tokens).logits.flatten(0, 1)
    nats = cross_entropy(logits, targets, reduction="none")
    new = targets >= 340
    assert 0 < int(new.sum()) < len(new)
    assert row["loss_new_tokens"] == pytest.approx(float(nats[new].mean()), rel=1e-4)
    assert row["loss_old_tokens"] == pytest.approx(float(nats[~new].mean()), rel=1e-4)
    assert row["loss"] == pytest.approx(float(nats.mean()), rel=1e-4)


LONG = ("train.budget=1M tokens", "train.num_evals=1")
OFTEN = ("train.checkpoint_every=0.001 seconds",)


@pytest.fixture(scope="module")
def begun_once(
    make_recipe: MakeRecipe,
    tokens: Path,
    shortened_once: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, list[str]]:
    """A run long enough for a probe, stopped after its first checkpoint, and what it printed."""
    printed: list[str] = []
    workspace = with_tokens(tmp_path_factory.mktemp("begun"), tokens)
    plan = child_of(make_recipe, shortened_once, *LONG, *OFTEN, name="auto")
    return train_and_stop(plan, workspace, printed.append), printed


@pytest.fixture
def begun(begun_once: tuple[Path, list[str]], workspace: Path) -> tuple[Path, list[str]]:
    """As `begun_once`, in the workspace of a test."""
    directory, printed = begun_once
    return shutil.copytree(directory, workspace / "runs/auto"), printed


def test_a_probe_chooses_the_method_and_leaves_no_trace(
    make_recipe: MakeRecipe, workspace: Path, shortened_once: Path, begun: tuple[Path, list[str]]
) -> None:
    directory, printed = begun
    extension = read_run(directory).vocabulary_extension
    assert extension is not None
    probe, chosen = extension.get("probe"), extension["initialization"]
    assert probe is not None
    methods = {"mean", "similar", "asymmetric", "distilled"}
    assert probe["losses"].keys() == extension["losses"].keys() == methods
    assert (probe["steps"], probe["batch"]) == (29, 64)
    after = {name: losses["qaa"] for name, losses in probe["losses"].items()}
    assert chosen == min(after, key=after.__getitem__)
    assert all(after[name] < extension["losses"][name]["qaa"] for name in methods)
    assert len(set(after.values())) == 4
    assert sum(line.startswith("  `") for line in printed) == 4
    # It starts as a run with the chosen method does, to the last digit.
    plan = child_of(
        make_recipe, shortened_once, *LONG, *OFTEN, f"model.new_embeddings={chosen}", name="named"
    )
    named = train_and_stop(plan, workspace)
    first, other = (read_lines(place / "evals.jsonl")[0]["loss"] for place in (directory, named))
    assert first == other


def test_a_resumed_run_does_not_probe_again(
    make_recipe: MakeRecipe, workspace: Path, shortened_once: Path, begun: tuple[Path, list[str]]
) -> None:
    directory, _ = begun
    before = read_run(directory).vocabulary_extension
    start = (directory / "evals.jsonl").read_text()
    for place in directory.glob("checkpoints/*"):
        shutil.rmtree(place)  # killed before the first checkpoint
    printed: list[str] = []
    plan = child_of(make_recipe, shortened_once, *LONG, *OFTEN, name="auto")
    train_and_stop(plan, workspace, printed.append)
    assert read_run(directory).vocabulary_extension == before
    assert not any("new tokens" in line for line in printed)
    assert (directory / "evals.jsonl").read_text() == start


def test_a_stopped_run_with_new_tokens_ends_with_the_same_bytes(
    make_recipe: MakeRecipe, workspace: Path, parent: Path
) -> None:
    alone = train(child_of(make_recipe, parent, *STOPPABLE, name="alone"), workspace)
    plan = child_of(make_recipe, parent, *STOPPABLE, name="stopped")
    stopped = train_and_stop(plan, workspace)
    before = read_run(stopped).vocabulary_extension
    printed: list[str] = []
    train(plan, workspace, tell=printed.append)
    assert digests(stopped) == digests(alone)
    assert read_run(stopped).vocabulary_extension == before == read_run(alone).vocabulary_extension
    assert not any("new tokens" in line for line in printed)


def test_a_parent_with_other_pieces_is_refused(
    make_recipe: MakeRecipe, workspace: Path, parent: Path
) -> None:
    text = (parent / "tokenizer.json").read_text()
    (parent / "tokenizer.json").write_text(text.replace('"a":', '"☃":'))
    with pytest.raises(UserError, match="another tokenizer") as caught:
        train(child_of(make_recipe, parent, name="child"), workspace)
    assert "tokens.base" in caught.value.hint


def test_the_rows_of_the_parent_stay_as_they_are(
    make_recipe: MakeRecipe, workspace: Path, parent: Path
) -> None:
    plan = child_of(
        make_recipe, parent, "train.learning_rate=1e-30", "train.weight_decay=0", name="child"
    )
    embedding = load_model(train(plan, workspace) / "model").get_input_embeddings()
    old = load_model(parent).get_input_embeddings().get_parameter("weight")
    assert torch.equal(embedding.get_parameter("weight")[: len(old)], old)
