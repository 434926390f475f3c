import sys
from pathlib import Path

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
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    check_tracker(None)
    with pytest.raises(UserError, match=r"pip install 'tongues\[tensorboard\]'"):
        check_tracker("tensorboard")


def test_without_a_tracker_nothing_is_left(tmp_path: Path) -> None:
    log(tmp_path, range(1, 6), 3.0)
    before = sorted(tmp_path.iterdir())
    with tracked(None, tmp_path) as update:
        update()
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_that_went_on_and_went_back_has_every_step_once(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    pytest.importorskip("tensorboard")
    run = tmp_path / "run"
    run.mkdir()
    with tracked("tensorboard", run) as update:
        log(run, range(1, 11), 3.0)
        update()
        log(run, range(11, 21), 3.0)
    assert from_tensorboard(run) == dict.fromkeys(range(1, 21), 3.0)
    roll_back(run, 12)  # as after a kill
    with tracked("tensorboard", run) as update:
        log(run, range(13, 19), 2.0)
        with (run / "metrics.jsonl").open("a") as file:
            file.write('{"step": 19')  # half a line
        update()
        roll_back(run, 15)  # as after a spike
        log(run, range(16, 31), 1.0)
        update()
    expected = dict.fromkeys(range(1, 13), 3.0) | dict.fromkeys(range(13, 16), 2.0)
    assert from_tensorboard(run) == expected | dict.fromkeys(range(16, 31), 1.0)
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
