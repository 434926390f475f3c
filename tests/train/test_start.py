"""A base whose tokenizer has fewer tokens: those of a trained run without the last ones."""

import math
import shutil
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.conftest import MakeRecipe, with_tokens
from tests.models.shortened import shortened
from tests.train.making import NEW, PIECES, child_of, held_out_nats, losses, train_and_stop
from tongues.errors import UserError
from tongues.files import read_lines
from tongues.models.huggingface import load_model, save_model
from tongues.runs import read_run
from tongues.tokens import open_tokens
from tongues.train import derive, run_of_recipe
from tongues.train.base import find_base
from tongues.train.initialize import choose_method, probe_size, set_aside
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


@pytest.mark.parametrize("method", ["distilled", "random"])
def test_new_tokens_start_by_the_method_that_is_named(
    make_recipe: MakeRecipe, workspace: Path, shortened_once: Path, method: str
) -> None:
    short = ("train.budget=5k tokens", f"model.new_embeddings={method}")
    directory = train(child_of(make_recipe, shortened_once, *short), workspace)
    extension = read_run(directory).vocabulary_extension
    assert extension == {"new_tokens": 60, "initialization": method, "losses": {}, "probe": None}
    evals = losses(directory, "qaa")
    assert evals[-1] < evals[0]
    assert load_model(directory / "model").config.vocab_size == 448


def test_the_loss_is_that_of_a_plain_loop_also_on_new_and_on_old_tokens(
    make_recipe: MakeRecipe, workspace: Path, shortened_once: Path
) -> None:
    printed: list[str] = []
    plan = child_of(make_recipe, shortened_once, "train.precision=float32")
    directory = train(plan, workspace, tell=printed.append)
    extension = read_run(directory).vocabulary_extension
    assert extension is not None
    assert (extension["initialization"], extension.get("probe")) == ("mean", None)
    assert "60 new tokens by `mean`: the run is too short to compare methods" in printed
    row = [row for row in read_lines(directory / "evals.jsonl") if row["lang"] == "qaa"][-1]
    nats, tokens = held_out_nats(load_model(directory / "model"), workspace, "qaa")
    new = tokens >= PIECES - NEW
    assert 0 < int(new.sum()) < len(new)
    assert row["loss_new_tokens"] == pytest.approx(float(nats[new].mean()), rel=1e-4)
    assert row["loss_old_tokens"] == pytest.approx(float(nats[~new].mean()), rel=1e-4)
    assert row["loss"] == pytest.approx(float(nats.mean()), rel=1e-4)
    size = open_tokens(workspace / "tokens/small").token_bytes[tokens.numpy()].sum()
    assert row["bits_per_byte"] == pytest.approx(float(nats.sum()) / math.log(2) / size, rel=1e-4)


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


@pytest.mark.parametrize("budget", ["2M tokens", "20M tokens", "2G tokens"])
def test_probes_cost_a_hundredth_of_the_run(make_recipe: MakeRecipe, budget: str) -> None:
    derived = derive(run_of_recipe(make_recipe(f"train.budget={budget}")), 400)
    size = probe_size(derived, 64, 2, 3, 4)
    assert size is not None
    steps, batch, scored = size
    assert 5 <= steps <= 50
    assert batch % 128 == 0
    assert batch <= derived.batch
    work = 4 * (steps * batch + 2 * 3 * scored / 3)
    assert work <= 0.0101 * derived.tokens
    if budget == "2G tokens":
        assert (steps, batch) == (50, 512)


def test_the_number_of_processes_does_not_decide(make_recipe: MakeRecipe) -> None:
    budget = ("train.budget=20M tokens", "train.batch=4096 tokens")
    derived = derive(run_of_recipe(make_recipe(*budget)), 400)
    alone = probe_size(derived, 64, 1, 2, 4)
    assert alone is not None and alone[1] == 512
    assert [probe_size(derived, 64, count, 2, 4) for count in (2, 4, 8)] == [alone] * 3
    larger = probe_size(derived, 64, 32, 2, 4)
    assert larger is not None and larger[1] == 2048


def test_a_run_of_few_steps_has_no_probe(make_recipe: MakeRecipe) -> None:
    derived = derive(run_of_recipe(make_recipe("train.budget=100k tokens")), 400)
    assert probe_size(derived, 64, 1, 2, 4) is None


def test_the_lowest_on_the_targets_wins_unless_it_costs_the_base() -> None:
    losses = {
        "mean": {"sw": 5.0, "yo": 6.0, "en": 3.00},
        "similar": {"sw": 5.2, "yo": 5.6, "en": 3.025},
        "distilled": {"sw": 4.0, "yo": 5.0, "en": 3.04},
    }
    assert choose_method(losses, ["sw", "yo"], ["en"]) == "similar"
    assert choose_method(losses, ["sw"], ["en"]) == "mean"
    assert choose_method(losses, ["sw", "yo"], []) == "distilled"


def test_copies_for_a_trial_are_not_on_the_gpu() -> None:
    with FakeTensorMode():  # a device of which only the sizes are computed
        (copy,) = set_aside([torch.empty(4, device="cuda")])
    assert copy.device.type == "cpu"
    weight = torch.zeros(4)
    (copy,) = set_aside([weight])
    weight += 1
    assert copy.tolist() == [0.0] * 4
