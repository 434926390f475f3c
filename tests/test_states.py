import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.command import run_command
from tests.golden import cases, golden
from tests.records import BASE, make_run
from tongues.core.errors import UserError
from tongues.core.files import append_line, only_one, write_json
from tongues.runs.record import read_run, run_rows, write_run
from tongues.runs.states import RunState, state_of, states, states_table, study_lines
from tongues.verbs.main import command


def store_run(place: Path, run: str, *, status: str = "running", step: int = 0) -> Path:
    """A run of 100 steps whose logs and checkpoint stand at `step`."""
    directory = place / run
    directory.mkdir(parents=True)
    params = {"total": 1000, "embedding": 400, "non_embedding": 600}
    about = {"strategy": "cpt", "base": BASE, "shape": "0.1M", "params": params}
    sizes = {"steps": 100, "tokens": 51_200, "seconds": None}
    write_run(directory, make_run(run=run, status=status, **about, **sizes))
    if step:
        for line in ({"step": step // 2, "seconds": 5.0}, {"step": step, "seconds": 10.0}):
            append_line(directory / "timing.jsonl", line)
        for at, losses in ((0, {"qaa": 9.0, "qab": 9.0}), (10, {"qaa": 3.5, "qab": 4.25})):
            for lang, loss in losses.items():
                append_line(directory / "evals.jsonl", {"step": at, "lang": lang, "loss": loss})
        (directory / "checkpoints" / f"step-{step - 10:08d}").mkdir(parents=True)
        (directory / "checkpoints" / f".step-{step:08d}.7.part").mkdir()
    return directory


def test_a_run_that_is_held_runs_and_one_that_is_not_was_stopped(tmp_path: Path) -> None:
    directory = store_run(tmp_path, "study/one", step=50)
    with only_one(directory):
        state = state_of(directory)
    assert (state.state, state.step, state.steps) == ("running", 50, 100)
    assert state.tokens_per_second == 50 * 512 / 10
    assert state.seconds_left == 10.0
    assert state.losses == {"qaa": 3.5, "qab": 4.25}
    state = state_of(directory)
    assert (state.state, state.step) == ("stopped", 40)
    assert state.seconds_left == 12.0


def test_finished_and_failed_are_told_with_the_reason(tmp_path: Path) -> None:
    assert state_of(store_run(tmp_path, "a", status="finished", step=100)).step == 100
    failed = store_run(tmp_path, "b", status="failed", step=30)
    (failed / "failure.txt").write_text("Traceback\n  loss is no number\n")
    assert state_of(failed).state == "failed"
    (row,) = states_table([state_of(failed)])
    assert row["why"] == "loss is no number"
    with only_one(failed):  # begun again
        assert state_of(failed).state == "running"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"run": "x"}', "\x00\x01", '{"run": 1}'])
def test_a_damaged_record_is_named_and_the_others_are_listed(tmp_path: Path, content: str) -> None:
    store_run(tmp_path, "study/good", status="finished")
    (tmp_path / "study" / "bad").mkdir()
    (tmp_path / "study" / "bad" / "run.json").write_text(content)
    bad, good = states([tmp_path])
    assert bad.state == "damaged" and bad.reason and bad.run == str(tmp_path / "study" / "bad")
    assert good.state == "finished"
    assert len(states_table([bad, good])) == 3
    assert study_lines([bad, good]) == ["study: 1 runs: 1 finished"]


def test_a_damaged_log_is_told_too(tmp_path: Path) -> None:
    directory = store_run(tmp_path, "one", step=50)
    (directory / "timing.jsonl").write_text("nonsense\n")
    assert state_of(directory).state == "damaged"


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"many/a": 3}'])
def test_a_damaged_list_of_planned_runs_is_told_too(tmp_path: Path, content: str) -> None:
    store_run(tmp_path, "many/one", status="finished", step=100)
    (tmp_path / "many/.plans.json").write_text(content)
    damaged, finished = states([tmp_path])
    assert (damaged.state, damaged.run, finished.state) == (
        "damaged",
        str(tmp_path / "many"),
        "finished",
    )
    assert damaged.reason.startswith(".plans.json: ")


def test_a_place_without_runs_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there are no runs"):
        states([tmp_path])
    with pytest.raises(UserError, match="not a directory of runs"):
        states([tmp_path / "runs"])


def test_runs_of_a_study_stand_below_its_name() -> None:
    shared: dict[str, Any] = {"directory": "", "age": 5.0, "step": 3, "steps": 9}
    rows = states_table(
        [
            RunState(run="one", state="finished", **shared),
            RunState(run="study/a", state="running", seconds_left=100.0, **shared),
            RunState(run="study/b", state="stopped", **shared),
            RunState(run="two", state="finished", losses=dict.fromkeys("abcde", 1.0), **shared),
        ]
    )
    assert [row["run"] for row in rows] == [
        "one",
        "study/",
        "\u00a0\u00a0a",
        "\u00a0\u00a0b",
        "two",
    ]
    assert [row["step"] for row in rows] == ["", "", "3/9", "3/9", ""]
    assert rows[2]["left"] == "2 min"
    assert rows[-1]["held-out nats/token"] == "a 1.000 b 1.000 c 1.000 +2"
    assert "tokens" not in rows[0] and "why" not in rows[0]


def test_a_thousand_runs_are_listed_in_a_second(tmp_path: Path) -> None:
    one = store_run(tmp_path / "runs", "study/run", step=50)
    line = json.dumps({"step": 50, "seconds": 10.0}) + "\n"
    logs = {"run.json": (one / "run.json").read_text(), "timing.jsonl": line * 1000}
    logs["evals.jsonl"] = (one / "evals.jsonl").read_text()
    for number in range(999):
        directory = one.with_name(f"run-{number}")
        (directory / "model").mkdir(parents=True)
        for name, content in logs.items():
            (directory / name).write_text(content)
    times = []
    for _ in range(3):
        start = time.process_time()  # whatever else the machine does
        assert len(states([tmp_path])) == 1000
        times.append(time.process_time() - start)
    assert min(times) < 1
    done = run_command(["ls", "--json", "--workspace", tmp_path])
    listed = json.loads(done.stdout)["runs"]
    assert len(listed) == 1000
    assert listed[0]["state"] == "stopped" and listed[0]["losses"]


def test_runs_that_are_meant_and_not_begun_wait(tmp_path: Path) -> None:
    store_run(tmp_path, "study/one", status="failed")
    meant = {"strategy": "cpt", "shape": "0.1M"}
    parents = {"one": None, "two": "study/one", "three": None, "four": "study/three"}
    plans = {f"study/{name}": {**meant, "base": parent} for name, parent in parents.items()}
    write_json(tmp_path / "study" / ".plans.json", plans)
    (tmp_path / "study" / "three").mkdir()
    (tmp_path / "study" / "three" / "failure.txt").write_text("no space left")
    listed = states([tmp_path])
    assert [(state.run.rpartition("/")[2], state.state) for state in listed] == [
        ("four", "waiting"),
        ("one", "failed"),
        ("three", "failed"),
        ("two", "waiting"),
    ]
    assert "study/three, failed" in listed[0].reason and listed[2].reason == "no space left"
    rows = states_table(listed)
    assert [row["step"] for row in rows] == ["", "", "0/100", "", ""]
    assert study_lines(listed) == ["study: 4 runs: 2 waiting, 2 failed"]


def test_what_is_listed_elsewhere_names_its_own_next_step_or_none(tmp_path: Path) -> None:
    foreign = tmp_path / "runs" / "other"
    foreign.mkdir(parents=True)
    write_json(foreign / "run.json", {"a": 1})
    done = CliRunner().invoke(command, ["ls", str(tmp_path / "runs")])
    assert done.stderr == f"→ tongues next {tmp_path}\n"
    assert "`run.json` is not a record of a tongues run: `run`: Field required; name" in done.stdout
    foreign.rename(tmp_path / "other")
    assert CliRunner().invoke(command, ["ls", str(tmp_path / "other")]).stderr == ""


def test_a_record_survives_being_written_down(tmp_path: Path) -> None:
    run = make_run(base=BASE, targets=("tr", "he"), replay={"qaa": 0.2})
    write_run(tmp_path, run)
    assert read_run(tmp_path) == run


@pytest.mark.parametrize("record", cases("refused-records"))
def test_a_foreign_or_old_record_is_named_by_every_reader(tmp_path: Path, record: str) -> None:
    (tmp_path / "run.json").write_text(record)
    for read in (read_run, lambda place: run_rows([place])):
        with pytest.raises(UserError) as caught:
            read(tmp_path)
        golden(f"refused-records/{record}", str(caught.value).replace(str(tmp_path), "FOLDER"))
    assert state_of(tmp_path).state == "damaged"


def test_a_damaged_record_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UserError, match="is damaged") as caught:
        read_run(tmp_path)
    assert caught.value.code == "damaged_record"
