"""What the doctor finds, against machines that are known."""

import json
import os
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import tongues
from tongues.cli.main import command
from tongues.verbs.doctor import Finding, available_memory


def found(name: str, workspace: Path | str = ".") -> Finding:
    return next(each for each in tongues.doctor(workspace).findings if each.name == name)


def test_versions_are_those_that_are_imported(tmp_path: Path) -> None:
    assert found("torch", tmp_path).value == torch.__version__
    assert found("tongues").value == tongues.__version__
    assert found("Python").value == sys.version.split()[0]
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
    assert one.value.startswith(f"{len(os.sched_getaffinity(0))} of ") or "quota" in one.value
    assert ", 1 thread" in one.value and "1 threads" not in one.value
    assert "OMP" not in one.advice


@pytest.mark.parametrize(("most", "used", "free"), [("max", "0", 6e6), ("5000000", "2000000", 3e6)])
def test_memory_is_the_machines_or_what_the_container_grants(
    tmp_path: Path, most: str, used: str, free: float
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9999999 kB\nMemAvailable: 5859.375 kB\n")
    (tmp_path / "memory.max").write_text(f"{most}\n")
    (tmp_path / "memory.current").write_text(f"{used}\n")
    assert available_memory(tmp_path / "meminfo", tmp_path) == free


def test_a_folder_that_cannot_be_written_is_a_problem() -> None:
    done = CliRunner().invoke(command, ["doctor", "--workspace", "/proc"])
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


def test_as_json_it_is_one_object(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["doctor", "--json", "--workspace", str(tmp_path)])
    rows = json.loads(done.stdout)["findings"]
    assert {"name", "state", "value", "advice"} == set(rows[0])
    assert {row["state"] for row in rows} <= {"ok", "note", "problem"}
