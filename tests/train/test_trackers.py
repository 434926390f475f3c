import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tongues.core.errors import UserError
from tongues.core.files import append_line
from tongues.recipe import Train
from tongues.train.record import roll_back
from tongues.train.trackers import TRACKERS, tracked
from tongues.use.imports.wandb import leveldb_records


def fail(line: str) -> None:
    pytest.fail(line)


def log(directory: Path, steps: range, loss: float) -> None:
    for step in steps:
        row = {"step": step, "tokens": 10 * step, "loss": loss, "learning_rate": 1e-3, "norm": 0.5}
        append_line(directory / "metrics.jsonl", row)
        if step % 5 == 0:
            row = {"step": step, "lang": "qaa", "loss": loss, "bits_per_byte": 1.0}
            append_line(directory / "evals.jsonl", row)


@pytest.mark.parametrize("name", TRACKERS.names())
def test_a_tracker_that_is_not_installed_is_named_before_training(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=rf"pip install 'tongues\[{name}\]'"):
        TRACKERS.find(name).check()


def test_a_recipe_names_trackers_that_there_are() -> None:
    assert Train.model_validate({"track": "wandb", "budget": "1M tokens"}).track == "wandb"
    with pytest.raises(ValidationError, match="there is no tracker `wadnb`"):
        Train.model_validate({"track": "wadnb", "budget": "1M tokens"})


def test_without_a_tracker_nothing_is_left(tmp_path: Path) -> None:
    log(tmp_path, range(1, 6), 3.0)
    before = sorted(tmp_path.iterdir())
    with tracked(None, tmp_path, fail) as update:
        update()
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["tensorboard", pytest.param("wandb", marks=pytest.mark.long)])
def test_a_run_that_went_on_and_went_back_has_every_step_once_and_asks_no_host(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(name)
    run, read = tmp_path / "run", READERS[name]
    run.mkdir()
    with no_requests(monkeypatch):
        with tracked(name, run, fail) as update:
            log(run, range(1, 11), 3.0)
            update()
            log(run, range(11, 21), 3.0)
        assert read(run) == dict.fromkeys(range(1, 21), 3.0)
        roll_back(run, 12)  # as after a kill
        with tracked(name, run, fail) as update:
            log(run, range(13, 19), 2.0)
            with (run / "metrics.jsonl").open("a") as file:
                file.write('{"step": 19')  # half a line
            update()
            roll_back(run, 15)  # as after a spike
            log(run, range(16, 31), 1.0)
            update()
        expected = dict.fromkeys(range(1, 13), 3.0) | dict.fromkeys(range(13, 16), 2.0)
        assert read(run) == expected | dict.fromkeys(range(16, 31), 1.0)
    assert capsys.readouterr().out == ""


def test_a_tracker_that_fails_is_reported_once_and_the_run_continues(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "events.out.tfevents.1").mkdir()  # where it would remove a file
    lines: list[str] = []
    with tracked("tensorboard", tmp_path, lines.append) as update:
        log(tmp_path, range(1, 6), 3.0)
        update()
        update()
    (line,) = lines
    assert line.startswith("tensorboard failed and is left alone; the run continues (IsADirectory")


@contextmanager
def no_requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every request of this process and of what it starts would come to a proxy: none does."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        yield
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()


def from_tensorboard(directory: Path) -> dict[int, float]:
    """The training loss by step, as it stands in the event files."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(directory), purge_orphaned_data=False)
    events.Reload()
    assert {"held out/qaa", "bits per byte/qaa", "train/norm"} <= set(events.Tags()["scalars"])
    points = [(point.step, point.value) for point in events.Scalars("train/loss")]
    assert len(dict(points)) == len(points)
    return dict(points)


def from_wandb(directory: Path) -> dict[int, float]:
    """The same, as `wandb sync` would upload it."""
    Record = import_module("wandb.proto.wandb_internal_pb2").Record  # made when it is imported

    (path,) = (directory / "wandb").glob("offline-run-*/*.wandb")
    until = time.monotonic() + 60  # a process of wandb's own writes it
    records = []
    while not any(record.HasField("exit") for record in records) and time.monotonic() < until:
        records = [Record.FromString(data) for data in leveldb_records(path.read_bytes())]
    rows = [
        {x.key or x.nested_key[0]: json.loads(x.value_json) for x in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    return only_once(rows)


def only_once(rows: list[dict[str, Any]]) -> dict[int, float]:
    """The loss of every step, which comes in one row."""
    assert any("held out/qaa" in row and "bits per byte/qaa" in row for row in rows)
    points = [(row["step"], row["train/loss"]) for row in rows if "train/loss" in row]
    assert len(dict(points)) == len(points)
    return dict(points)


READERS = {"tensorboard": from_tensorboard, "wandb": from_wandb}
