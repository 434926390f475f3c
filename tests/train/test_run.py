import gc
import json
import math
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

import tongues
from tests.command import run_command, start_command
from tests.conftest import MakeRecipe
from tests.golden import inputs
from tests.train.making import STOPPABLE, child_of, digests, losses, plan_of, train_and_stop
from tongues.core.errors import Stopped, UserError
from tongues.core.files import read_json, read_lines, write_json
from tongues.core.roles import Roles
from tongues.runs.record import read_run, run_rows
from tongues.text.tokens import open_tokens
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import decoder_layers
from tongues.train.engine.scorer import Scorer
from tongues.train.progress import Progress
from tongues.train.record import check_runs
from tongues.train.run import train


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


def test_a_damaged_checkpoint_is_named_and_the_run_ends_with_the_same_bytes(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    plan = plan_of(make_recipe, *STOPPABLE, name="stopped")
    alone = digests(train(plan_of(make_recipe, STOPPABLE[0], name="alone"), workspace))
    newest = sorted((train_and_stop(plan, workspace) / "checkpoints").iterdir())[-1]
    (state,) = newest.glob("*.safetensors")
    state.write_bytes(state.read_bytes()[:-100])
    told: list[str] = []
    assert digests(train(plan, workspace, tell=told.append)) == alone
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


def test_a_finished_run_is_left_alone_unless_it_is_damaged_or_of_another_recipe(
    make_recipe: MakeRecipe, workspace: Path, trained: Path
) -> None:
    before = (trained / "run.json").stat().st_mtime_ns
    told: list[str] = []
    train(plan_of(make_recipe, "train.checkpoint_every=1 second"), workspace, tell=told.append)
    assert told == ["small is finished already"]
    assert (trained / "run.json").stat().st_mtime_ns == before
    other = plan_of(make_recipe, "train.seed=2", "train.budget=2k tokens")
    settings = "settings: budget was 20000 tokens, now 2000 tokens; seed was 1, now 2 "
    with pytest.raises(UserError, match=settings) as caught:
        train(other, workspace)
    assert "--overwrite" in caught.value.hint
    new = plan_of(make_recipe, name="new")
    assert not check_runs([plan_of(make_recipe), new], workspace, overwrite=False)[1]
    assert check_runs([other, new], workspace, overwrite=True)[1] == {"small"}
    with pytest.raises(UserError, match=settings):
        check_runs([new, other], workspace, overwrite=False)
    file = trained / "model" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(UserError, match="is damaged"):
        train(plan_of(make_recipe), workspace)
    train(other, workspace, overwrite=True)
    assert read_run(trained).seed == 2


def test_a_rebuild_never_mixes_two_runs_and_spares_other_runs(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    plan = plan_of(make_recipe, *STOPPABLE, name="stopped")
    directory = train_and_stop(plan, workspace)
    (directory / "run.json").unlink()  # as a kill in the midst of an old removal could leave it
    short = ("train.seed=5", "train.budget=2k tokens")
    alone = train(plan_of(make_recipe, *short, name="alone"), workspace)
    other = plan_of(make_recipe, *short, name="stopped")
    assert digests(train(other, workspace)) == digests(alone)
    train(plan_of(make_recipe, *short, name="study/child"), workspace)
    with pytest.raises(UserError, match="a study's folder"):
        train(plan_of(make_recipe, name="study"), workspace, overwrite=True)
    assert read_run(workspace / "runs/study/child").status == "finished"


def test_a_continued_run_starts_where_its_parent_ended(
    make_recipe: MakeRecipe, workspace: Path, trained: Path
) -> None:
    learns = ("train.mixture={qab: 100%}", "train.replay={qaa: 25%}", "train.budget=5k tokens")
    child = child_of(make_recipe, "small", *learns, knows="qaa")
    assert (child.strategy, child.roles) == ("cpt", Roles(("qab",), ("qaa",), {"qaa": 0.25}))
    directory = train(child, workspace)
    assert losses(directory)[:2] == losses(trained)[-2:]
    dealt = {row["lang"]: row["tokens_lang"] for row in read_lines(directory / "evals.jsonl")[-2:]}
    assert dealt["qaa"] == pytest.approx(0.25 * sum(dealt.values()), abs=64)
    record = read_run(directory)
    assert record.shares == {"qab": 0.75, "qaa": 0.25}
    assert "75% qab, 25% qaa" in (directory / "model/README.md").read_text()


def test_text_that_runs_out_is_read_again_and_said_so(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    long: list[str] = inputs("overrides")["long run"]
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
    def refused(says: str, base: str = "small", *overrides: str) -> UserError:
        with pytest.raises(UserError, match=says) as caught:
            train(child_of(make_recipe, base, *overrides), workspace)
        return caught.value

    assert "`small`" in refused("neither a run", "smal").hint
    tokenizer = trained / "model/tokenizer.json"
    whole = tokenizer.read_text()
    other = json.loads(whole)
    other["model"]["merges"].reverse()
    write_json(tokenizer, other)
    assert "tokens.base" in refused("another tokenizer").hint
    tokenizer.write_text(whole.replace('"a":', '"☃":'))
    assert "tokens.base" in refused("another tokenizer").hint
    tokenizer.write_text(whole)
    assert "leave it out" in refused("another shape", "small", "model.shape=0.2M").hint
    record = trained / "run.json"
    write_json(record, {**read_json(record), "status": "running"})
    refused("not finished")


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
    ours, theirs = (place / "model/model.safetensors" for place in (directory, trained))
    assert ours.read_bytes() == theirs.read_bytes()
    assert losses(directory) == losses(trained)


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
