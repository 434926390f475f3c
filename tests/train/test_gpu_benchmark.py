"""The benchmark of GPUs, as far as a machine without one can run it."""

import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.command import run_code
from tests.conftest import MakeRecipe
from tongues.tokens import open_tokens
from tongues.train import derive, run_of_recipe
from tongues.train.engine.processes import Processes

FILE = Path(__file__).parents[2] / "benchmarks/gpu.py"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_refuses_with_the_reason(tmp_path: Path) -> None:
    code = f"import runpy, sys; sys.argv = [{str(FILE)!r}, 'place']; "
    code += f"runpy.run_path({str(FILE)!r}, run_name='__main__')"
    refused = run_code(code, tmp_path, os.environ)
    assert refused.returncode == 2
    assert "there is no GPU here that PyTorch sees" in refused.stderr
    assert not (tmp_path / "place").exists()


def test_what_it_measures_is_right_on_a_processor(make_recipe: MakeRecipe, workspace: Path) -> None:
    spec = importlib.util.spec_from_file_location("gpu_benchmark", FILE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plan = replace(run_of_recipe(make_recipe("train.precision=float32")), name="gpu")
    found = module.measure(plan, workspace, Processes(), steps=2)
    anatomy = derive(plan, open_tokens(workspace / "tokens" / plan.tokens).vocabulary_size).anatomy
    each = anatomy.flops_per_token(plan.settings.context)
    assert found["operations"] == pytest.approx(each * found["tokens"])
    assert 0 < found["operations"] < 5 * found["ceiling"]  # measured while others may be at work
    assert 0 < found["waited"] <= found["written"]
    assert found["memory"] > 3e8
    assert len(list((workspace / "checkpoints").glob("step-*"))) == 1
