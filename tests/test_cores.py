"""Cores, by what affinity, control groups and the environment grant; how threads wait."""

import os
import subprocess
import sys
from math import inf
from pathlib import Path

import pytest

from tests.golden import inputs
from tongues.core import cores
from tongues.core.cores import core_count, cpu_quota, threads_for

LOADED = "import os, tongues.verbs.actions; print(os.environ['OMP_WAIT_POLICY'])"


def group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)


def quota(tmp_path: Path, groups: str) -> float:
    (tmp_path / "groups").write_text(groups)
    return cpu_quota(tmp_path / "fs", tmp_path / "groups")


def test_a_quota_of_version_two_holds_for_all_groups_below(tmp_path: Path) -> None:
    group(tmp_path / "fs" / "pod", cpu__max="150000 100000\n")
    group(tmp_path / "fs" / "pod" / "job", cpu__max="max 100000\n")
    assert quota(tmp_path, "0::/pod/job\n") == 1.5
    group(tmp_path / "fs" / "pod" / "job", cpu__max="50000 100000\n")
    assert quota(tmp_path, "0::/pod/job\n") == 0.5
    assert quota(tmp_path, "0::/other\n") == inf


def test_a_quota_of_version_one_is_that_of_its_controller(tmp_path: Path) -> None:
    for name, amount in (("cpu,cpuacct", "300000"), ("memory", "100000")):
        files = {"cpu__cfs_quota_us": amount, "cpu__cfs_period_us": "100000"}
        group(tmp_path / "fs" / name / "box", **files)
    assert quota(tmp_path, "7:memory:/box\n4:cpu,cpuacct:/box\n0::/\n") == 3.0
    group(tmp_path / "fs" / "cpu,cpuacct" / "box", cpu__cfs_quota_us="-1")
    assert quota(tmp_path, "4:cpu,cpuacct:/box\n") == inf


def test_in_a_container_the_mount_is_the_group(tmp_path: Path) -> None:
    files = {"cpu__cfs_quota_us": "200000", "cpu__cfs_period_us": "100000"}
    group(tmp_path / "fs" / "cpu", **files)
    assert quota(tmp_path, "4:cpu:/docker/0a1b2c\n") == 2.0
    assert cpu_quota(tmp_path / "fs", tmp_path / "nothing") == inf


def test_a_quota_is_a_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    for amount, count in ((0.5, 1), (1.5, 2), (2.0, 2), (inf, 8)):
        monkeypatch.setattr(cores, "cpu_quota", lambda amount=amount: amount)
        assert core_count() == count


def test_processes_share_the_cores_and_obey_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cores, "core_count", lambda: 8)
    for name in ("OMP_NUM_THREADS", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    assert [threads_for(count) for count in (1, 3, 8, 100)] == [8, 2, 1, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [threads_for(count) for count in (1, 2, 4)] == [3, 3, 2]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads_for() == 1
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")  # torchrun itself sets 1
    assert threads_for(2) == 4
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert threads_for(2) == 2


def test_threads_sleep_while_they_wait_for_a_core_that_another_program_has() -> None:
    known = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_NUM_THREADS"}
    environment = {name: value for name, value in os.environ.items() if name not in known}
    python = [sys.executable, "-c"]
    busy = [subprocess.Popen([*python, "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        printed = subprocess.check_output([*python, LOADED], env=environment, text=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert printed == "passive\n"


@pytest.mark.parametrize(
    ("given", "imported", "expected"),
    inputs("rows")["test_threads_wait_as_the_user_said_or_as_they_began"],
)
def test_threads_wait_as_the_user_said_or_as_they_began(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], imported: str, expected: str | None
) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    if imported:
        monkeypatch.setitem(sys.modules, imported, sys)
    monkeypatch.setattr(cores, "_is_shared", lambda: True)
    cores.wait_politely()
    assert os.environ.get("OMP_WAIT_POLICY") == expected
