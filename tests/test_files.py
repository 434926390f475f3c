import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tongues.core.errors import UserError
from tongues.core.files import (
    append_line,
    changed_at,
    check_writable,
    files_named,
    fingerprint,
    is_held,
    newest_lines,
    only_one,
    path_text,
    read_lines,
    whole_directory,
    whole_file,
    write_json,
)
from tongues.evaluate.evaluation import read_evaluation
from tongues.experts.ensemble.lineage import read_lineage
from tongues.experts.ensemble.router import load_router
from tongues.experts.partition.partition import read_partition
from tongues.models.folders import stored_shapes
from tongues.runs.record import find_runs
from tongues.text.corpus import read_columns
from tongues.text.tokens.shards import open_shard
from tongues.text.tokens.store import read_manifest


def test_a_file_that_fails_midway_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"a": float("nan")})
    with pytest.raises(RuntimeError), whole_file(path) as aside:
        aside.write_text("half")
        raise RuntimeError
    assert json.loads(path.read_text()) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("place", ["/proc/a/b.json", "/sys/b.json"])
def test_where_nothing_can_be_written_the_folder_is_named(place: str) -> None:
    path = Path(place)
    for write in (whole_file, whole_directory, only_one):
        with pytest.raises(UserError, match="nothing can be written") as caught, write(path):
            pass
        assert caught.value.where == f"/{path.parts[1]}" and "name another" in caught.value.hint


def test_a_full_disk_is_no_want_of_the_right_to_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tongues.core.files.TemporaryFile", full)
    check_writable(tmp_path / "a.json")


def test_a_directory_that_fails_midway_leaves_the_old_one(tmp_path: Path) -> None:
    place = tmp_path / "d"
    with whole_directory(place) as aside:
        (aside / "x").write_text("1")
    with pytest.raises(RuntimeError), whole_directory(place) as aside:
        (aside / "x").write_text("2")
        raise RuntimeError
    assert (place / "x").read_text() == "1"
    with whole_directory(place) as aside:
        (aside / "y").write_text("3")
    assert [p.name for p in place.iterdir()] == ["y"]


def test_a_line_cut_off_by_a_kill_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append_line(path, {"step": 1})
    append_line(path, {"step": 2})
    with path.open("a") as file:
        file.write('{"step": 3, "lo')
    assert read_lines(path) == [{"step": 1}, {"step": 2}]
    assert read_lines(tmp_path / "none.jsonl") == []


def test_fingerprints_follow_content_and_not_order() -> None:
    assert fingerprint({"a": 1, "b": [2.0]}) == fingerprint({"b": [2.0], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})


def test_any_path_can_be_written_down() -> None:
    path = Path(os.fsdecode(b"a/caf\xe9.txt"))
    assert path_text(path) == "a/caf\\xe9.txt"
    assert path_text(Path("a/café.txt")) == "a/café.txt"
    assert fingerprint(str(path)) != fingerprint("a/caf.txt")


def test_a_directory_is_held_for_as_long_as_its_process_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tongues.core.files._PATIENCE", 0.1)
    place = tmp_path / "run"
    assert not is_held(place)
    with only_one(place):
        assert is_held(place)
        with pytest.raises(UserError, match="another process is at work here"), only_one(place):
            pass
    assert not is_held(place)


def test_the_newest_lines_come_first_and_only_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    assert list(newest_lines(path)) == []
    for step in range(1000):
        append_line(path, {"step": step})
    with path.open("a") as file:
        file.write('{"step": 10')
    newest = [row["step"] for row in newest_lines(path, 256)]
    assert newest == list(range(999, 999 - len(newest), -1))
    assert 10 < len(newest) < 30
    assert len(list(newest_lines(path, 10**6))) == 1000


def test_folders_that_vanish_while_files_are_looked_for_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c/checkpoints/step-1"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("a", "c"):
        (tmp_path / name / "run.json").write_text("{}")
    scan = os.scandir

    def vanishing(place: str) -> object:
        if os.path.basename(place) == "b" or "step" in str(place):
            raise FileNotFoundError(2, "No such file or directory", place)
        return scan(place)

    monkeypatch.setattr(os, "scandir", vanishing)
    found = sorted(files_named(tmp_path, "run.json", "evals.jsonl"))
    assert [path.parent.name for path in found] == ["a", "c"]
    assert find_runs([tmp_path]) == [tmp_path / "a", tmp_path / "c"]
    assert changed_at(found[0]) > changed_at(tmp_path / "gone") == 0.0


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        (stored_shapes, "model.safetensors"),
        (read_manifest, "tokens.json"),
        (lambda folder: open_shard(folder / "train"), "train.bin"),
        (lambda folder: load_router(folder / "router.safetensors"), "router.safetensors"),
        (lambda folder: read_columns(folder / "part.parquet", ["text"]), "part.parquet"),
        (read_partition, "partition.json"),
        (read_lineage, "ensemble.json"),
        (read_evaluation, "scores.json"),
    ],
)
def test_a_file_that_may_not_be_read_is_not_called_damaged(
    reader: Callable[[Path], object],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / name).write_bytes(b"{}")
    (tmp_path / "train.idx").write_bytes(b"")
    opened = Path.open

    def refused(path: Path, *about: Any, **more: Any) -> Any:
        if path.name == name:  # as of `chmod 000`, which does not bind the superuser
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *about, **more)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(UserError) as caught:
        reader(tmp_path)
    assert caught.value.what == "cannot be read (Permission denied)"
    assert caught.value.where == str(tmp_path / name)
