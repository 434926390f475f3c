"""The benchmark of GPUs, as far as a machine without one can run it."""

import importlib.util
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType

import pytest

from tests.golden import inputs

FOLDER = Path(__file__).parents[2] / "benchmarks/gpu"
STAGE: str = inputs("programs")["STAGE"]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"gpu_{name}", FOLDER / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


runner, packing, unpacking = map(load, ("runner", "packing", "unpacking"))


@pytest.mark.long
def test_stages_are_rehearsed_on_a_processor(tmp_path: Path) -> None:
    command = [sys.executable, FOLDER / "run", "--rehearse", "--only", "tf32,peerless"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "no stage is called peerless" in refused.stderr
    command[-1:] = ["tf32,moe", "--place", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "out/results.txt").read_text() == done.stdout
    assert "tf32         float32: attention blocked, loss chunked" in done.stdout
    assert "x _grouped_mm in " in done.stdout
    assert "tokens/s, MFU" in done.stdout
    assert "2 of 2 stages done" in done.stdout


def test_a_stage_that_fails_or_would_not_end_in_time_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stage.py").write_text(STAGE)
    monkeypatch.setattr(runner, "HERE", tmp_path)
    names = ("before", "killed", "endless", "broken", "after")
    stages = [runner.Stage(name, name, "", 0, 2) for name in names]
    stages.append(runner.Stage("long", "long", "", 90, 100))
    options = Namespace(place=tmp_path, out=tmp_path / "out", rehearse=False, total=60.0)
    assert runner.run(stages, options) == 4
    text = (tmp_path / "out/results.txt").read_text()
    assert all(f"{name:12} begun {name}\n" in text for name in names)
    for name, end in (
        ("killed", "FAILED by SIGKILL"),
        ("endless", "stopped at its limit of 2 s"),
        ("broken", "FAILED with status 1: a reason"),
        ("after", "done"),
        ("long", "NOT RUN: "),
    ):
        assert f"\n{name:12} {end}" in text
    assert "\n2 of 6 stages done" in text


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files of a workspace in four parts."""
    monkeypatch.setattr(packing, "LARGEST", 1100)
    tokens = tmp_path / "case/tokens/new"
    tokens.mkdir(parents=True)
    (tokens / "train.bin").write_bytes(os.urandom(4000))
    (tokens / "tokens.json").write_text("{}")
    out = tmp_path / "parts"
    assert packing.main([f"case={tmp_path / 'case'}:tokens/new", "--out", str(out)]) == 0
    found = sorted(out.iterdir())
    assert [part.name for part in found] == [f"case-{number}-of-4" for number in (1, 2, 3, 4)]
    assert all((part / "piece").stat().st_size <= 1100 for part in found)
    return found


def unpack(tmp_path: Path, *arrived: Path) -> int:
    """Call `unpack` with these parts, as after one transfer."""
    folder = tmp_path / "arrived"
    folder.mkdir(exist_ok=True)
    for part in arrived:
        part.rename(folder / part.name)
    code = unpacking.main(["--parts", str(folder), "--place", str(tmp_path / "place")])
    for part in arrived:
        (folder / part.name).rename(part)
    return code


def test_parts_come_one_by_one_and_a_damaged_one_is_refused(
    tmp_path: Path, parts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    piece = parts[1] / "piece"
    whole = piece.read_bytes()
    assert unpack(tmp_path, *parts[2:]) == 0
    assert "case: still missing: parts 1, 2" in capsys.readouterr().out
    piece.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert unpack(tmp_path, *parts[:2]) == 1
    printed = capsys.readouterr().out
    assert "case-2-of-4: damaged, or not whole: send it again" in printed
    assert "case: still missing: parts 2" in printed
    assert not (tmp_path / "place/workspace").exists()
    piece.write_bytes(whole)
    assert unpack(tmp_path, parts[1]) == 0
    assert "case: unpacked" in capsys.readouterr().out
    original, copy = tmp_path / "case/tokens/new", tmp_path / "place/workspace/tokens/new"
    assert (copy / "train.bin").read_bytes() == (original / "train.bin").read_bytes()
    assert (copy / "tokens.json").read_text() == "{}"
    assert unpack(tmp_path, parts[1]) == 0
    assert "case: was unpacked before" in capsys.readouterr().out
