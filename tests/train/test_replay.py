"""Holding a language: the rule on made losses, and runs that are stopped, go back, and go on."""

import json
import math
import os
import shutil
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import MakeRecipe, with_tokens
from tests.golden import cases, golden
from tests.train.making import digests, plan_of, start_two
from tongues.core.errors import Stopped, UserError
from tongues.core.files import read_json, read_lines
from tongues.recipe import Train, load_recipe
from tongues.runs.record import read_run
from tongues.text.tokens import open_tokens
from tongues.train import RunPlan, loop, run_of_recipe
from tongues.train.replay import check_steps, cut_parts, next_share
from tongues.train.run import train
from tongues.train.schedule import rate_at
from tongues.train.step import BatchLoader, HeldOut
from tongues.train.work import open_work

STEPS = 1000
CONTINUED = (
    "model.shape=0.05M",
    "train.base={model: parent, languages: [qaa]}",
    "train.mixture={qab: 100%}",
    "train.replay={qaa: 10%}",
)
HELD = (*CONTINUED, "train.max_forgetting={qaa: 1%}", "train.budget=40k tokens")


def led(
    settings: Train,
    share: float,
    line: tuple[float, float, float],
    quickness: float,
    noise: float = 0.0,
    tolerance: float = 0.01,
) -> tuple[float, list[float]]:
    """The rise at the end, and the shares, of a run whose source loss is known beforehand.

    The rise follows a share with some delay: `quickness` of the gap is closed at each step.
    """
    chance = np.random.default_rng(3)
    checks: list[list[float]] = []
    shares, seen, rise = [share], 0.0, 0.0
    for step in range(1, STEPS + 1):
        seen += quickness * (math.log(shares[-1]) - seen)
        rate = rate_at(step - 1, STEPS, 1.0, settings)
        rise = line[0] + line[1] * rate - line[2] * seen
        if step in check_steps(STEPS):
            checks.append([step, rise + noise * chance.normal(), shares[-1]])
            shares.append(next_share(checks, tolerance, settings, STEPS))
    return math.expm1(rise), shares


@pytest.fixture
def cosine(make_recipe: MakeRecipe) -> Train:
    return make_recipe().train


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
@pytest.mark.parametrize(
    "line", [(-0.1, 0.15, 0.1), (-0.12, 0.2, 0.07), (-0.05, 0.1, 0.15), (-0.02, 0.03, 0.02)]
)
@pytest.mark.parametrize("quickness", [0.005, 0.05])
def test_the_rise_ends_at_the_tolerance_whatever_share_it_began_with(
    cosine: Train, share: float, line: tuple[float, float, float], quickness: float
) -> None:
    rise, _ = led(cosine, share, line, quickness, noise=0.005)
    assert -0.01 < rise < 0.021


@pytest.mark.parametrize("schedule", ["linear", "wsd"])
def test_any_schedule_will_do(make_recipe: MakeRecipe, schedule: str) -> None:
    settings = make_recipe(f"train.schedule={schedule}").train
    rise, _ = led(settings, 0.05, (-0.12, 0.18, 0.09), 0.02)
    assert -0.01 < rise < 0.012


def test_shares_are_what_is_enough_within_their_bounds(cosine: Train) -> None:
    line = (-0.1, 0.15, 0.1)
    enough = math.exp((line[0] + 0.1 * line[1] - 0.005) / line[2])
    rise, shares = led(cosine, enough, line, 0.02)
    assert rise < 0.01  # and the early rise is not chased
    assert max(abs(math.log(share / enough)) for share in shares) < 0.25
    assert led(cosine, 0.05, (0.3, 0.1, 0.1), 0.02)[1][-1] == 0.8  # cannot be held
    assert led(cosine, 0.05, (-0.9, 0.0, 0.02), 0.02)[1][-1] == 0.001  # needs none
    of_tolerance = [sum(led(cosine, 0.1, line, 0.02, tolerance=x)[1]) for x in (0.0, 0.01, 0.05)]
    assert of_tolerance == sorted(of_tolerance, reverse=True)


def test_checks_are_even_and_there_are_few_in_a_short_run() -> None:
    assert check_steps(STEPS) == list(range(50, 1000, 50))
    assert check_steps(3) == [1, 2]
    assert check_steps(1) == []


@pytest.mark.parametrize("budget", [10_000, 400_000, 10**7])
def test_parts_cover_the_text_evenly_at_a_small_cost(budget: int) -> None:
    text = HeldOut(torch.arange(96)[:, None].expand(96, 65), None, 0, 0)
    parts = cut_parts(text, np.full(96, 3), budget)
    windows = torch.cat([part.windows[:, 0] for part in parts]).tolist()
    assert len(set(windows)) == len(windows)
    assert len(windows) == 96 if len(parts) < 20 else max(windows) > 80
    assert [part.text_bytes for part in parts] == [3 * 64 * len(part.windows) for part in parts]
    scored = 64 * 20 * max(len(part.windows) for part in parts)
    if budget > 10_000:  # of less than that a single window is more
        assert scored / 3 / budget < 0.016
    assert len(parts) == (1 if budget == 10**7 else min(len(parts), 20))


@pytest.fixture(scope="session")
def knowing(recipe_file: Path, tokens: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned enough to forget."""
    place = with_tokens(tmp_path_factory.mktemp("knowing"), tokens)
    recipe = load_recipe(recipe_file, ("train.budget=100k tokens", "model.shape=0.05M"))
    return train(replace(run_of_recipe(open_work(recipe)), name="parent"), place)


@pytest.fixture
def parent(knowing: Path, workspace: Path) -> Path:
    """A workspace with that run."""
    shutil.copytree(knowing, workspace / "runs" / "parent")
    return workspace


def test_shares_change_are_told_and_counted_exactly(
    make_recipe: MakeRecipe, parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: dict[int, tuple[torch.Tensor, int]] = {}
    told = []

    class Seen(BatchLoader):
        def load(self, number: int) -> tuple[torch.Tensor, int]:
            batches[number] = super().load(number)
            return batches[number]

    monkeypatch.setattr(loop, "BatchLoader", Seen)
    directory = train(plan_of(make_recipe, *HELD, name="child"), parent, watch=told.append)
    events = read_lines(directory / "events.jsonl")
    assert {event["step"] for event in events} <= set(check_steps(78))
    assert len(events) > 5
    assert told[-1].held == events[-1]["replay"]
    assert f"{events[-1]['replay']['qaa'] * 100:.3g}% replay of qaa" in told[-1].words()
    text = open_tokens(parent / "tokens/small").train("qaa").astype(np.int64)
    windows = {text[n * 64 : n * 64 + 65].tobytes() for n in range((len(text) - 1) // 64)}
    rows = np.concatenate([batches[number][0].numpy() for number in range(78)])
    replayed = [row.tobytes() for row in rows if row.tobytes() in windows]
    assert len(set(replayed)) == len(replayed)
    record, last = read_run(directory), read_lines(directory / "evals.jsonl")[-2]
    assert last["lang"] == "qaa"
    assert last["tokens_lang"] == 64 * len(replayed)
    assert record.shares["qaa"] == len(replayed) / len(rows)
    assert abs(record.shares["qaa"] - 0.1) > 0.01
    assert record.roles.replay_share == pytest.approx(record.shares["qaa"])
    assert record.epochs["qaa"] == last["epochs_lang"] == len(replayed) / len(windows)


def interrupt_after(log: Path, rows: int) -> None:
    """As Ctrl-C, once a log has so many rows."""
    while not log.exists() or log.read_bytes().count(b"\n") < rows:
        time.sleep(0.004)
    os.kill(os.getpid(), signal.SIGINT)


def test_stopped_and_resumed_a_held_run_ends_with_the_same_bytes(
    make_recipe: MakeRecipe, parent: Path
) -> None:
    alone = train(plan_of(make_recipe, *HELD, name="alone"), parent)
    plan = plan_of(make_recipe, *HELD, "train.checkpoint_every=100 seconds", name="stopped")
    directory = parent / "runs/stopped"
    for rows in (10, 50):
        threading.Thread(target=interrupt_after, args=(directory / "metrics.jsonl", rows)).start()
        with pytest.raises(Stopped):
            train(plan, parent)
    assert digests(train(plan, parent)) == digests(alone)
    assert read_lines(directory / "events.jsonl") == read_lines(alone / "events.jsonl")
    assert read_run(directory).shares == read_run(alone).shares


@pytest.mark.slow
def test_two_processes_stopped_and_resumed_end_with_the_same_bytes(
    recipe_file: Path, parent: Path
) -> None:
    def run(name: str, stop_after: int = 0) -> Path:
        often = "train.checkpoint_every=0.001 seconds"
        process = start_two(recipe_file, parent, *HELD, f"train.run={name}", often)
        log = parent / "runs" / name / "metrics.jsonl"
        while stop_after and not (log.exists() and log.read_bytes().count(b"\n") >= stop_after):
            time.sleep(0.01)
            assert process.poll() is None
        if stop_after:
            os.kill(process.pid, signal.SIGTERM)
        process.wait()
        return log.parent

    alone = run("alone")
    for rows in (20, 50):
        run("stopped", rows)
    assert digests(run("stopped")) == digests(alone)
    events = [read_lines(parent / "runs" / name / "events.jsonl") for name in ("alone", "stopped")]
    assert len(events[0]) > 5
    assert events[0] == events[1]


def test_a_run_that_holds_nothing_is_what_it_was_before(
    make_recipe: MakeRecipe, parent: Path
) -> None:
    plan = plan_of(make_recipe, *CONTINUED, "train.milestones=[50%]", "train.budget=5k tokens")
    assert not plan.identity()["max_forgetting"]
    held = plan_of(make_recipe, *HELD)
    assert held.identity()["max_forgetting"] == {"qaa": "1%"}
    assert RunPlan.from_json(held.to_json()).settings.max_forgetting
    directory = train(plan, parent)
    assert not (directory / "events.jsonl").exists()
    (place,) = directory.glob("checkpoints/milestone-*")
    assert read_json(place / "position.json")["position"]["phases"] == []


@pytest.mark.parametrize("overrides", cases("refused-holds"))
def test_what_cannot_be_held_is_refused_beforehand(make_recipe: MakeRecipe, overrides: str) -> None:
    with pytest.raises(UserError) as caught:
        run_of_recipe(open_work(make_recipe(*json.loads(overrides))))
    golden(f"refused-holds/{overrides}", str(caught.value))
