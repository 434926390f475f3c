import gc
import hashlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer

import tongues
from tests.command import run_command, start_command
from tests.conftest import MakeRecipe, with_tokens
from tongues.errors import Stopped, UserError
from tongues.files import only_one, read_json, read_lines, write_json
from tongues.recipe import load_recipe
from tongues.roles import Roles
from tongues.runs import read_run, run_rows
from tongues.tokens import open_tokens
from tongues.train import RunPlan, run_of_recipe
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import decoder_layers
from tongues.train.engine.scorer import Scorer
from tongues.train.progress import Progress
from tongues.train.run import train

STOPPABLE = ("train.budget=20k tokens", "train.checkpoint_every=0.001 seconds")
SAME = ("metrics.jsonl", "evals.jsonl", "model/model.safetensors")


def digests(directory: Path) -> dict[str, str]:
    return {name: hashlib.sha256((directory / name).read_bytes()).hexdigest() for name in SAME}


def plan_of(make_recipe: MakeRecipe, *overrides: str, name: str = "small") -> RunPlan:
    return replace(run_of_recipe(make_recipe(*overrides)), name=name)


def _named(base: str) -> str:
    """A base that knows none of what the run learns."""
    return f"train.base={{model: {base}, languages: [qac]}}"


def train_and_stop(
    plan: RunPlan, workspace: Path, tell: Callable[[str], None] = lambda line: None
) -> Path:
    """Train, and ask the run to stop as Ctrl-C does once two checkpoints lie there."""
    directory = workspace / "runs" / plan.name

    def interrupt() -> None:
        while len(list(directory.glob("checkpoints/step-*"))) < 2:
            time.sleep(0.004)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(Stopped):
        train(plan, workspace, tell=tell)
    return directory


def test_a_run_learns_and_leaves_all_it_should(trained: Path, workspace: Path) -> None:
    directory = trained
    record = read_run(directory)
    assert record.status == "finished"
    assert (
        record.params["total"]
        == AutoModelForCausalLM.from_pretrained(directory / "model").num_parameters()
    )
    evals = read_lines(directory / "evals.jsonl")
    assert {row["lang"] for row in evals} == {"qaa", "qab"}
    first, last = (next(r for r in rows if r["lang"] == "qaa") for rows in (evals, evals[::-1]))
    assert first["step"] == 0
    assert abs(first["loss"] - math.log(400)) < 0.1
    assert last["loss"] < first["loss"] - 1
    assert last["tokens"] == record.tokens == record.steps * 512
    assert last["flops"] == record.flops
    assert not (directory / "checkpoints").exists()
    tokenizer = AutoTokenizer.from_pretrained(directory / "model")
    assert len(tokenizer) == 400
    assert len(run_rows([workspace / "runs"])) == len(evals)


def test_the_held_out_loss_is_that_of_a_plain_loop(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    directory = train(plan_of(make_recipe, "train.precision=float32"), workspace)
    tokens = open_tokens(workspace / "tokens" / "small")
    model = AutoModelForCausalLM.from_pretrained(directory / "model")
    text = torch.tensor(tokens.valid("qab").astype("int64"))
    total, size, count = 0.0, 0, (len(text) - 1) // 64
    for window in range(count):
        ids = text[window * 64 : window * 64 + 65]
        with torch.no_grad():
            logits = model(input_ids=ids[None, :-1]).logits[0]
        total += cross_entropy(logits, ids[1:], reduction="sum").item()
        size += sum(int(tokens.token_bytes[token]) for token in ids[1:])
    last = [r for r in read_lines(directory / "evals.jsonl") if r["lang"] == "qab"][-1]
    assert last["loss"] == pytest.approx(total / (64 * count), rel=1e-5)
    assert last["bits_per_byte"] == pytest.approx(total / math.log(2) / size, rel=1e-5)


@pytest.fixture(scope="module")
def stopped_once(
    recipe_file: Path, tokens: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[RunPlan, Path]:
    """A run, and a workspace in which it was trained as `alone` and stopped as `stopped`."""
    workspace = with_tokens(tmp_path_factory.mktemp("stopped"), tokens)
    plan = replace(run_of_recipe(load_recipe(recipe_file, STOPPABLE)), name="stopped")
    train(replace(plan, name="alone"), workspace)
    train_and_stop(plan, workspace)
    return plan, workspace


@pytest.fixture
def stopped(stopped_once: tuple[RunPlan, Path], tmp_path: Path) -> tuple[RunPlan, Path]:
    """As `stopped_once`, in a workspace of its own."""
    plan, workspace = stopped_once
    return plan, shutil.copytree(workspace, tmp_path / "stopped", symlinks=True)


def test_stopped_and_resumed_a_run_ends_with_the_same_bytes(stopped: tuple[RunPlan, Path]) -> None:
    plan, workspace = stopped
    assert digests(train(plan, workspace)) == digests(workspace / "runs/alone")


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(
    stopped: tuple[RunPlan, Path],
) -> None:
    plan, workspace = stopped
    newest = sorted((workspace / "runs/stopped/checkpoints").iterdir())[-1]
    (state,) = newest.glob("*.safetensors")
    state.write_bytes(state.read_bytes()[:-100])
    told: list[str] = []
    assert digests(train(plan, workspace, tell=told.append)) == digests(workspace / "runs/alone")
    assert any(newest.name in line and "damaged" in line for line in told)


def kill_until_finished(words: list[str], directory: Path, kills: int, seed: int) -> int:
    """Start the command, kill it at random moments, let it end; returns the kills that hit."""
    chance, hits = random.Random(seed), 0
    for _ in range(kills):
        started = start_command(words)
        while started.process.is_alive() and not list(directory.glob("checkpoints/step-*")):
            time.sleep(0.01)
        started.process.join(chance.random() * 1.5)
        hits += started.process.is_alive()
        started.process.kill()
        started.wait()
    done = run_command(words)
    assert done.returncode == 0 and "resumes from step" in done.stderr
    return hits


@pytest.mark.long
def test_killed_and_resumed_a_run_ends_with_the_same_bytes(
    recipe_file: Path, make_recipe: MakeRecipe, workspace: Path
) -> None:
    settings = ["train.budget=100k tokens", "train.checkpoint_every=0.1 seconds"]
    alone = digests(train(plan_of(make_recipe, *settings, name="alone"), workspace))
    words = ["train", str(recipe_file), *settings, "--workspace", str(workspace)]
    directory = workspace / "runs" / "small"
    hits = kill_until_finished(words, directory, kills=2, seed=1)
    assert hits >= 1
    assert digests(directory) == alone


def test_a_finished_run_whose_model_is_damaged_is_made_again_where_that_is_asked_for(
    make_recipe: MakeRecipe, workspace: Path, trained: Path
) -> None:
    file = trained / "model" / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    with pytest.raises(UserError, match="is damaged"):
        train(plan_of(make_recipe), workspace)
    train(plan_of(make_recipe), workspace, overwrite=True)
    assert file.read_bytes() == whole


def test_a_finished_run_is_left_alone_and_another_recipe_is_refused(
    make_recipe: MakeRecipe, workspace: Path, trained: Path
) -> None:
    directory = trained
    before = (directory / "run.json").stat().st_mtime_ns
    told: list[str] = []
    train(plan_of(make_recipe, "train.checkpoint_every=1 second"), workspace, tell=told.append)
    assert told == ["small is finished already"]
    assert (directory / "run.json").stat().st_mtime_ns == before
    with pytest.raises(UserError, match="seed was 1, now 2") as caught:
        train(plan_of(make_recipe, "train.seed=2"), workspace)
    assert "--overwrite" in caught.value.hint
    train(plan_of(make_recipe, "train.seed=2"), workspace, overwrite=True)
    assert read_run(directory).seed == 2


def test_a_rebuild_never_mixes_two_runs_and_spares_other_runs(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    plan = plan_of(make_recipe, *STOPPABLE, name="stopped")
    directory = train_and_stop(plan, workspace)
    (directory / "run.json").unlink()  # as a kill in the midst of an old removal could leave it
    other = plan_of(make_recipe, "train.seed=5", name="stopped")
    alone = train(plan_of(make_recipe, "train.seed=5", name="alone"), workspace)
    assert digests(train(other, workspace)) == digests(alone)
    study = workspace / "runs" / "study"
    train(plan_of(make_recipe, name="study/child"), workspace)
    with pytest.raises(UserError, match="a study's folder"):
        train(plan_of(make_recipe, name="study"), workspace, overwrite=True)
    assert read_run(study / "child").status == "finished"


def test_a_run_is_one_process_at_a_time(make_recipe: MakeRecipe, workspace: Path) -> None:
    with only_one(workspace / "runs" / "small"):
        code = (
            "import sys; from pathlib import Path; from tongues.files import only_one\n"
            "with only_one(Path(sys.argv[1])): pass"
        )
        command = [sys.executable, "-c", code, str(workspace / "runs" / "small")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "another process is at work here" in done.stderr
    subprocess.run(command, check=True)


def test_a_continued_run_starts_where_its_parent_ended(
    make_recipe: MakeRecipe, workspace: Path, trained: Path
) -> None:
    child = plan_of(
        make_recipe,
        "train.base={model: small, languages: [qaa]}",
        "train.mixture={qab: 100%}",
        "train.replay={qaa: 25%}",
        name="child",
    )
    assert (child.strategy, child.roles) == ("cpt", Roles(("qab",), ("qaa",), {"qaa": 0.25}))
    directory = train(child, workspace)
    ended = read_lines(trained / "evals.jsonl")[-2:]
    began = read_lines(directory / "evals.jsonl")[:2]
    assert [row["loss"] for row in began] == [row["loss"] for row in ended]
    dealt = {row["lang"]: row["tokens_lang"] for row in read_lines(directory / "evals.jsonl")[-2:]}
    assert dealt["qaa"] == pytest.approx(0.25 * sum(dealt.values()), abs=64)
    record = read_run(directory)
    assert record.shares == {"qab": 0.75, "qaa": 0.25}
    assert "75% qab, 25% qaa" in (directory / "model/README.md").read_text()


def test_text_that_runs_out_is_read_again_and_said_so(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    long = (
        "model.shape=0.05M",
        "train.budget=250k tokens",
        "train.batch=8192 tokens",
        "train.eval_languages=[qaa, qab]",
    )
    told: list[str] = []
    directory = train(plan_of(make_recipe, *long), workspace, tell=told.append)
    windows = (len(open_tokens(workspace / "tokens/small").train("qaa")) - 1) // 64
    times = read_run(directory).tokens / 64 / windows
    assert 1 < times == pytest.approx(read_run(directory).epochs["qaa"])
    assert told == [f"`qaa` will be read {times:.3g} times"]
    last = {row["lang"]: row["epochs_lang"] for row in read_lines(directory / "evals.jsonl")[-2:]}
    assert last == {"qaa": pytest.approx(times), "qab": 0.0}


def test_a_parent_that_does_not_fit_is_refused(
    make_recipe: MakeRecipe, workspace: Path, trained: Path
) -> None:
    with pytest.raises(UserError, match="neither a run") as caught:
        train(plan_of(make_recipe, _named("smal"), name="child"), workspace)
    assert "`small`" in caught.value.hint
    tokenizer = trained / "model/tokenizer.json"
    whole = tokenizer.read_text()
    other = json.loads(whole)
    other["model"]["merges"].reverse()
    write_json(tokenizer, other)
    with pytest.raises(UserError, match="another tokenizer"):
        train(plan_of(make_recipe, _named("small"), name="child"), workspace)
    tokenizer.write_text(whole)
    with pytest.raises(UserError, match="another shape"):
        train(
            plan_of(make_recipe, _named("small"), "model.shape=0.2M", name="child"),
            workspace,
        )
    record = trained / "run.json"
    write_json(record, {**read_json(record), "status": "running"})
    with pytest.raises(UserError, match="not finished"):
        train(plan_of(make_recipe, _named("small"), name="child"), workspace)


def test_a_run_that_diverges_ends_with_its_reason(make_recipe: MakeRecipe, workspace: Path) -> None:
    plan = plan_of(make_recipe, "train.learning_rate=0.99")
    wild = replace(plan, settings=plan.settings.model_copy(update={"learning_rate": 1e25}))
    with pytest.raises(UserError, match="no longer a number"):
        train(wild, workspace)
    assert read_run(workspace / "runs/small").status == "diverged"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_that_python_drops_stops_a_run_all_the_same(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    run = workspace / "runs/dropped"

    def interrupt(*_: object) -> None:  # what a callback of the collector raises is dropped
        if (run / "run.json").exists() and not (run / "evals.jsonl").exists():  # not in the steps
            gc.callbacks.remove(interrupt)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)

    gc.callbacks.append(interrupt)
    usual = gc.get_threshold()
    gc.set_threshold(100)
    try:
        with pytest.raises(Stopped, match="stopped at step 1 of"):
            tongues.train(make_recipe("train.run=dropped"), workspace=workspace, quiet=True)
    finally:
        gc.set_threshold(*usual)
    assert interrupt not in gc.callbacks


def test_ctrl_c_in_the_last_step_stops_a_run_that_then_only_has_to_be_written(
    trained: Path, make_recipe: MakeRecipe, workspace: Path
) -> None:
    plan = plan_of(make_recipe, name="last")
    steps = read_run(trained).steps

    def interrupt(progress: Progress) -> None:
        if progress.step == steps:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Stopped, match=f"stopped at step {steps} of {steps}"):
        train(plan, workspace, watch=interrupt)
    assert read_run(workspace / "runs/last").status != "finished"
    resumed: list[Progress] = []
    directory = train(plan, workspace, watch=resumed.append)
    assert not resumed and read_run(directory).status == "finished"
    same = (directory / "model/model.safetensors", trained / "model/model.safetensors")
    assert same[0].read_bytes() == same[1].read_bytes()
    rows = [read_lines(place / "evals.jsonl") for place in (directory, trained)]
    assert [row["loss"] for row in rows[0]] == [row["loss"] for row in rows[1]]


def test_layers_that_fail_their_trial_are_not_compiled(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[int, ...]] = []

    def refuse(scorer: Scorer, windows: Tensor, processes: Processes) -> str:
        tried.append(tuple(windows.shape))
        for layer in decoder_layers(scorer.model):
            layer.__dict__.pop("_compiled_call_impl")
        return "the loss is off"

    monkeypatch.setattr(sys.modules["tongues.train.start"], "try_compiled", refuse)
    told: list[str] = []
    changes = ("train.compile=on", "train.micro_batch=256 tokens", "train.budget=2k tokens")
    directory = train(plan_of(make_recipe, *changes), workspace, tell=told.append)
    assert tried == [(4, 65)]  # a micro-batch as it will come
    assert "layers are not compiled: the loss is off" in told
    engine = read_run(directory).engine
    assert engine and engine["compiled"] is False
