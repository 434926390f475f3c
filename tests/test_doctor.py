"""What the doctor finds, against machines that are known."""

import json
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import tongues
from tests.golden import inputs
from tongues.core.hardware import VisibleGpu
from tongues.verbs.actions.doctor import Finding
from tongues.verbs.main import command


def found(name: str, workspace: Path | str = ".") -> Finding:
    return next(each for each in tongues.doctor(workspace).findings if each.name == name)


def test_versions_are_those_that_are_imported(tmp_path: Path) -> None:
    assert found("torch", tmp_path).value == torch.__version__
    assert found("tongues").value == tongues.__version__
    diagnosis = tongues.doctor(tmp_path)
    assert not diagnosis.problems
    assert diagnosis.to_json()["extras"].keys() >= {"text", "figures", "hub", "lora"}


def test_a_missing_extra_has_its_purpose_and_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("extra figures").state == "ok"
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    missing = found("extra figures")
    assert missing.state == "note"
    assert missing.advice == "for pages and figures: pip install 'tongues[figures]'"
    assert tongues.doctor().to_json()["extras"]["figures"] is False


def test_more_threads_than_cores_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "999")
    assert "OMP_NUM_THREADS=999" in found("processor").advice
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    one = found("processor")
    assert one.value.endswith("threads: 1") and one == Finding("processor", "ok", one.value)


def test_torch_may_be_missing_but_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert found("torch").state == "note" and "tongues[standard]" in found("torch").advice


def test_a_folder_that_cannot_be_written_is_a_problem() -> None:
    done = CliRunner().invoke(command, ["doctor", "--json", "--workspace", "/proc"])
    rows = json.loads(done.stdout)["findings"]
    assert {"name", "state", "value", "advice"} == set(rows[0])
    assert "disk" in str(done.exception)
    assert isinstance(done.exception, tongues.UserError) and done.exception.exit_code == 1


def test_a_driver_without_a_fitting_torch_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found("GPU") == Finding("GPU", "ok", "none: the processor computes")
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert found("GPU").state == "note" and "pytorch.org" in found("GPU").advice


@pytest.mark.parametrize(
    ("on_gpu", "commands", "triton", "header", "value"),
    inputs("rows")["test_what_compiling_layers_lacks_is_noticed"],
)
def test_what_compiling_layers_lacks_is_noticed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    on_gpu: bool,
    commands: str,
    triton: bool,
    header: bool,
    value: str,
) -> None:
    (tmp_path / commands).write_text("#!/bin/sh\n")
    (tmp_path / commands).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    gpus = (VisibleGpu("NVIDIA A100-SXM4-80GB", 85e9),) if on_gpu else ()
    monkeypatch.setattr("tongues.verbs.actions.doctor.visible_gpus", lambda: gpus)
    monkeypatch.setattr(
        "tongues.verbs.actions.doctor.find_spec", lambda name: name if triton else None
    )
    monkeypatch.setattr("tongues.verbs.actions.doctor.get_path", lambda name: str(tmp_path))
    if header:
        (tmp_path / "Python.h").touch()
    compiler = found("compiler")
    assert compiler.value == value
    works = value in (commands, f"{commands} with Triton")
    assert compiler.state == ("ok" if works else "note")
    assert works or "layers are not compiled" in compiler.advice


def test_a_compiler_that_is_named_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongues.verbs.actions.doctor.visible_gpus", lambda: ())
    monkeypatch.setenv("CXX", "nowhere-g++")
    assert found("compiler").value == "no C++ compiler (nowhere-g++)"
