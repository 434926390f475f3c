import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tongues.errors import UserError
from tongues.files import append_line
from tongues.train.record import roll_back
from tongues.train.watch import check_tracker, tracked


def log(directory: Path, steps: range, loss: float) -> None:
    for step in steps:
        row = {"step": step, "tokens": 10 * step, "loss": loss, "learning_rate": 1e-3, "norm": 0.5}
        append_line(directory / "metrics.jsonl", row)
        if step % 5 == 0:
            row = {"step": step, "lang": "qaa", "loss": loss, "bits_per_byte": 1.0}
            append_line(directory / "evals.jsonl", row)


def test_a_tracker_that_is_not_installed_is_named_before_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    check_tracker(None)
    with pytest.raises(UserError, match=r"pip install 'tongues\[trackio\]'"):
        check_tracker("trackio")


def test_without_a_tracker_nothing_is_left(tmp_path: Path) -> None:
    log(tmp_path, range(1, 6), 3.0)
    before = sorted(tmp_path.iterdir())
    with tracked(None, tmp_path, "one") as update:
        update()
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("tracker", ["tensorboard", "trackio"])
def test_a_run_that_went_on_and_went_back_has_every_step_once(
    tracker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip(tracker)
    read = {"tensorboard": from_tensorboard, "trackio": from_trackio}[tracker]
    run = tmp_path / "run"
    run.mkdir()
    with tracked(tracker, run, "study/one") as update:
        log(run, range(1, 11), 3.0)
        update()
        log(run, range(11, 21), 3.0)
    assert read(run) == dict.fromkeys(range(1, 21), 3.0)
    roll_back(run, 12)  # as after a kill
    with tracked(tracker, run, "study/one") as update:
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


def from_tensorboard(directory: Path) -> dict[int, float]:
    """The training loss by step, as it stands in the event files."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(directory), purge_orphaned_data=False)
    events.Reload()
    assert {"held out/qaa", "bits per byte/qaa", "train/norm"} <= set(events.Tags()["scalars"])
    points = [(point.step, point.value) for point in events.Scalars("train/loss")]
    assert len(dict(points)) == len(points)
    return dict(points)


def from_trackio(directory: Path) -> dict[int, float]:
    """The training loss by step, of the one run in trackio's store."""
    import trackio
    from trackio.sqlite_storage import SQLiteStorage

    (run,) = trackio.Api().runs("study")
    rows = SQLiteStorage.get_logs("study", run.name, run_id=run.id)
    points = [(row["step"], row["train/loss"]) for row in rows]
    assert len(dict(points)) == len(points)
    return dict(points)
