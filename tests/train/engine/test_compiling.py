import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.command import start_command
from tests.conftest import MakeRecipe
from tests.train.test_run import STOPPABLE, digests, train_and_stop
from tongues.files import read_lines
from tongues.runs import read_run
from tongues.train import run_of_recipe
from tongues.train.run import train

COMPILED = (*STOPPABLE, "train.compile=on")


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_compiled_too_a_run_is_the_same_bytes_in_another_process_and_resumed(
    make_recipe: MakeRecipe, recipe_file: Path, workspace: Path, precision: str
) -> None:
    settings = (*COMPILED, f"train.precision={precision}")
    command = [sys.executable, "-m", "tongues", "train", str(recipe_file), *settings]
    subprocess.run([*command, "train.run=alone", "--workspace", str(workspace)], check=True)
    alone = workspace / "runs/alone"
    plan = run_of_recipe(make_recipe(*settings))
    train_and_stop(replace(plan, name="stopped"), workspace)
    stopped = train(replace(plan, name="stopped"), workspace)
    record = read_run(stopped)
    assert record.engine
    assert record.engine["compiled"]
    assert digests(stopped) == digests(alone)
    written = replace(plan, settings=plan.settings.model_copy(update={"compile": "off"}))
    plain = train(replace(written, name="plain"), workspace)
    for found, expected in zip(
        read_lines(alone / "evals.jsonl"), read_lines(plain / "evals.jsonl"), strict=True
    ):
        tolerance = 1e-5 if precision == "float32" else 1e-2
        assert found["loss"] == pytest.approx(expected["loss"], rel=tolerance)


def test_without_a_compiler_a_run_says_so_and_goes_on(
    recipe_file: Path, workspace: Path, tmp_path: Path
) -> None:
    settings = ["train.compile=on", "train.budget=2k tokens"]
    words = ["train", str(recipe_file), *settings, "--workspace", str(workspace)]
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    code = (  # what CXX says at a start
        "from torch._inductor import config; config.cpp.cxx = (None, '/nowhere/c++')\n"
        "from tongues.cli.main import main; main()"
    )
    done = start_command(words, environment=os.environ | cache, code=code).wait()
    assert done.returncode == 0, done.stderr
    assert "layers are not compiled" in done.stderr
    record = read_run(workspace / "runs/small")
    assert record.status == "finished"
    assert record.engine
    assert not record.engine["compiled"]
