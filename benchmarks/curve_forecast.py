"""Forecasts of the final loss from a tenth of a run on: errors, and what intervals contain.

usage: python benchmarks/curve_forecast.py [--workspace WORKSPACE | --runs FOLDER]

Published curves of 25M and 100M parameters under nine schedules (Luo et al. 2503.12811), where they
are present; small networks that learn English bytes with warm-ups of 4 to 38 % of their steps (ten
minutes on a core, kept in build/warmups); and, where asked for, 55 runs of 0.05M to 1.4M parameters
on synthetic languages: sizes, schedules, lengths, batches, seeds, from scratch and continued. These
are trained in WORKSPACE (40 minutes on a core; safe to interrupt) unless FOLDER has them. Every run
is cut and forecast from one pilot, a finished run that learns the same and is not too far. The
constants of `tongues/laws/forecast.py` were tuned on the published and own runs not marked as held
out, those about warm-ups on the networks. The result also goes to the file of the same name.
"""

import argparse
import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tongues.core.launch import open_launcher
from tongues.laws.curves import LossCurve
from tongues.laws.forecast import forecast_loss
from tongues.recipe import load_recipe
from tongues.runs.record import Run, find_runs, read_run
from tongues.text.tokens import prepare_tokens
from tongues.train import RunPlan, run_of_recipe
from tongues.train.study import run_all
from tongues.train.study.forecasts import distance, read_loss_curve, role_of
from tongues.train.work import open_work

PUBLISHED = Path(__file__).parents[1] / "../shared/data/published/curves"
WARMUP = 2160  # steps of the published curves
PILOTS = ("cosine_24000", "cosine_72000", "wsd_20000_24000", "wsdcon_3", "wsdcon_9")
HELD_OUT = ("cosine_72000", "constant_72000", "wsdcon_3", "wsdcon_18", "wsdld_20000_24000")
HELD_OUT += ("linear", "-s2", "-s3", "4M", "1.4M")  # parts of names
FARTHEST = 2.5  # sum of the logarithms of the ratios of size, batch and tokens
AT_ONCE = 4  # pilots
SHARES = (0.1, 0.3, 0.5, 0.7)
TEXT = Path(__file__).parents[1] / "../shared/data/text/mdn/en.jsonl.gz"
WARMUPS = (0.04, 0.15, 0.25, 0.38)  # shares of the steps
CONTEXT, EMBEDDED, BATCH, EVERY = 8, 16, 128, 10  # of the networks; steps of a log
RECIPE = """\
name: curves
text:
  synthetic:
    seed: 7
    size: 12 MB
    languages: {qaa: {}, qab: {parent: qaa, divergence: 0.4}}
tokens: {vocab_size: 512, held_out: 12k tokens}
model: {shape: 0.1M}
train:
  budget: 1M tokens
  batch: 2048 tokens
  context: 128 tokens
  learning_rate: {0.1M: 7e-3}
  mixture: {qaa: 100%}
  num_evals: 10
  threads: 1
"""


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished run, its curve, and where it ended; of a published one there is no record."""

    name: str
    record: Run | None
    curve: LossCurve
    final: float


@dataclass(frozen=True, slots=True)
class Error:
    """Of one forecast, in percent of the final loss; half: half of the interval's width."""

    value: float
    half: float


def published() -> Iterator[Trained]:
    """The published curves, with the learning rate of every step."""
    for path in sorted(PUBLISHED.glob("*/*.csv")):
        rows = np.genfromtxt(path, delimiter=",", names=True)
        after = rows["step"] > WARMUP
        knots = np.concatenate([[0, WARMUP], rows["step"][after]])
        rates = np.concatenate([[0.0, rows["lr"][0]], rows["lr"][after]])
        every = np.interp(np.arange(1, int(rows["step"][-1]) + 1), knots, rates)
        size = path.parent.name
        curve = LossCurve(rows["step"], rows["loss"], every, float(size) * 1e6)
        yield Trained(f"{size}M {path.stem}", None, curve, float(rows["loss"][-1]))


def plan_of(path: Path, shape: str, name: str, **settings: Any) -> RunPlan:
    """A run of the recipe with other settings."""
    changed = [f"train.{key}={value}" for key, value in (settings | {"run": name}).items()]
    return run_of_recipe(open_work(load_recipe(path, [f"model.shape={shape}", *changed])))


def plans(path: Path) -> Iterator[RunPlan]:
    """All of this project's own runs."""
    schedules = ("cosine", "wsd", "linear")
    shapes = ("0.05M", "0.1M", "0.2M", "0.4M")
    for shape, schedule, budget in itertools.product(shapes, schedules, ("1M", "2M")):
        if not (shape == "0.4M" and budget == "2M" and schedule in schedules[2:]):
            name = f"scratch-{shape}-{schedule}-{budget}"
            yield plan_of(path, shape, name, schedule=schedule, budget=f"{budget} tokens")
    for shape, schedule, replay in itertools.product(shapes, schedules[:2], (0, 20)):
        yield plan_of(
            path,
            shape,
            f"cpt-{shape}-{schedule}-r{replay}",
            schedule=schedule,
            base=f"{{model: scratch-{shape}-wsd-1M, languages: [qaa]}}",
            mixture="{qab: 100%}",
            replay=f"{{qaa: {replay}%}}" if replay else "{}",
            budget="600k tokens",
        )
    for seed, schedule in itertools.product((2, 3), schedules[:2]):
        name = f"scratch-0.05M-{schedule}-1M-s{seed}"
        yield plan_of(path, "0.05M", name, schedule=schedule, seed=seed)
    yield plan_of(path, "0.05M", "scratch-0.05M-cosine-4M", budget="4M tokens")
    yield plan_of(path, "1.4M", "scratch-1.4M-cosine-1M")
    yield plan_of(path, "1.4M", "scratch-1.4M-wsd-1M", schedule="wsd")
    yield plan_of(path, "0.1M", "scratch-0.1M-cosine-1M-b512", batch="512 tokens")
    yield plan_of(path, "0.1M", "scratch-0.1M-wsd-1M-b8192", schedule="wsd", batch="8192 tokens")


def train(workspace: Path) -> Path:
    """Train this project's own runs; returns their folder."""
    workspace.mkdir(parents=True, exist_ok=True)
    path = workspace / "recipe.yaml"
    path.write_text(RECIPE)
    prepare_tokens(load_recipe(path), workspace, print)
    run_all(list(plans(path)), workspace, launcher=open_launcher(workers=1))
    return workspace / "runs"


def own(folder: Path) -> Iterator[Trained]:
    """The finished runs of a folder."""
    for directory in find_runs([folder]):
        record = read_run(directory)
        curve = read_loss_curve(directory, record)
        yield Trained(directory.name, record, curve, float(curve.heldout[-1]))


def network(data: torch.Tensor, rates: np.ndarray, hidden: int, seed: int) -> LossCurve:
    """One hidden layer that guesses the next byte, trained with these rates."""
    torch.manual_seed(seed)
    embedding = torch.nn.Embedding(256, EMBEDDED)
    first, last = torch.nn.Linear(CONTEXT * EMBEDDED, hidden), torch.nn.Linear(hidden, 256)
    layers = torch.nn.Sequential(embedding, torch.nn.Flatten(), first, torch.nn.Tanh(), last)
    optimizer = torch.optim.Adam(layers.parameters(), betas=(0.9, 0.95))
    window, cut = torch.arange(CONTEXT + 1), len(data) - 40_000
    held_out = torch.arange(cut, len(data) - CONTEXT - 1, 5)

    def loss_at(places: torch.Tensor) -> torch.Tensor:
        windows = data[places[:, None] + window]
        return torch.nn.functional.cross_entropy(layers(windows[:, :-1]), windows[:, -1])

    losses, heldout = list[float](), list[float]()
    for step, rate in enumerate(rates.tolist(), 1):
        optimizer.param_groups[0]["lr"] = rate
        loss = loss_at(torch.randint(0, cut - CONTEXT - 1, (BATCH,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % (len(rates) // 10) == 0:
            with torch.no_grad():
                heldout.append(loss_at(held_out).item())
    means = np.reshape(losses, (-1, EVERY)).mean(1)
    steps = EVERY * (np.arange(len(means)) + 0.5)
    params = sum(weights.numel() for weights in layers.parameters())
    evaluated = np.arange(1, 11) * float(len(rates) // 10)
    return LossCurve(steps, means, rates, params, float(BATCH), evaluated, np.array(heldout))


def warmed(folder: Path) -> Iterator[tuple[float, tuple[object, ...], Trained]]:
    """Networks with long warm-ups: the share, what else but the size was set, and the run."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(TEXT, "rt", encoding="utf-8") as lines:
        text = "\n".join(json.loads(line)["text"] for line in itertools.islice(lines, 400))
    data = torch.tensor(list(text.encode()[:2_000_000]))
    schedules = ("cosine", "linear", "wsd")
    settings = itertools.product((2000, 5000), WARMUPS, schedules, (32, 96))
    for number, (steps, share, schedule, hidden) in enumerate(settings):
        path = folder / f"{steps}-{share}-{schedule}-{hidden}.npz"
        done = np.clip(np.arange(1, steps + 1) / steps - share, 0.0, None) / (1.0 - share)
        falls = {"cosine": 0.55 + 0.45 * np.cos(np.pi * done), "linear": 1.0 - 0.99 * done}
        falls["wsd"] = np.clip(5.0 * (1.0 - done), 0.01, 1.0)
        rise = np.minimum(np.arange(1, steps + 1) / (share * steps), 1.0)
        if not path.exists():
            curve = network(data, 5e-3 * rise * falls[schedule], hidden, number)
            np.savez(path, **{f.name: getattr(curve, f.name) for f in fields(curve)})
        stored = np.load(path)
        curve = LossCurve(**{f.name: stored[f.name] for f in fields(LossCurve)})
        yield share, (steps, schedule), Trained(path.stem, None, curve, float(curve.heldout[-1]))


def warmup_rows(share: float) -> Iterator[str]:
    """Forecasts of the networks, by the share of their warm-up."""
    runs = list(warmed(Path("build/warmups")))
    for warmup in WARMUPS:
        own = [one for one in runs if one[0] == warmup]
        same = [
            measure(run, share, [pilot])
            for (_, set_, run), (_, other, pilot) in itertools.permutations(own, 2)
            if set_ == other
        ]
        rest = [
            measure(run, share, [pilot])
            for _, set_, run in own
            for length, other, pilot in runs
            if other[0] == set_[0] and (other[1], length) != (set_[1], warmup)
        ]
        yield row(f"warm-up {warmup:.0%}, pilot of the other size", same)
        yield row("  … of another schedule or warm-up", rest)
        yield row("  … without a pilot", (measure(run, share, []) for _, _, run in own))


def measure(run: Trained, share: float, pilots: Sequence[Trained]) -> Error | None:
    """How far the forecast of a run was off."""
    forecast = forecast_loss(run.curve.until(share), [pilot.curve for pilot in pilots])
    if forecast is None or forecast.high is None:
        return None
    half = (forecast.high - forecast.value) / run.final * 100
    return Error((forecast.value / run.final - 1) * 100, half)


def row(title: str, errors: Iterable[Error | None]) -> str:
    """Median and extreme errors, and how many intervals contain the final loss."""
    known = [error for error in errors if error]
    if not known:
        return f"{title:46}{0:6}"
    value = np.abs([error.value for error in known])
    inside = value <= [error.half for error in known]
    half = float(np.median([error.half for error in known]))
    median, worst = float(np.median(value)), float(np.percentile(value, 95))
    return (
        f"{title:46}{len(known):6}{median:9.2f}{worst:8.2f}{inside.mean() * 100:8.0f} %{half:9.2f}"
    )


Wanted = Callable[[Trained, Trained], bool]


def near(pilot: Trained, run: Trained) -> bool:
    """Whether a pilot may serve: of the same role, and not too far."""
    if pilot is run or pilot.record is None or run.record is None:
        return pilot is not run
    return role_of(pilot.record) == role_of(run.record) and far(pilot, run) < FARTHEST


def far(pilot: Trained, run: Trained) -> float:
    """How unlike two runs of this project are."""
    assert pilot.record
    assert run.record
    return distance(pilot.record, run.record)


def held_out(run: Trained) -> bool:
    """Whether the constants were not tuned on the run."""
    return any(part in run.name for part in HELD_OUT)


def by_pilot(runs: Sequence[Trained], share: float, wanted: Wanted) -> list[Error | None]:
    """Every run from every pilot that is wanted for it, one at a time."""
    pairs = ((pilot, run) for pilot, run in itertools.permutations(runs, 2) if wanted(pilot, run))
    return [measure(run, share, [pilot]) for pilot, run in pairs]


def most_alike(runs: Sequence[Trained], run: Trained, count: int) -> list[Trained]:
    """The runs that serve best as pilots of a run."""
    able = [pilot for pilot in runs if near(pilot, run)]
    return sorted(able, key=lambda pilot: far(pilot, run))[:count]


def sections(folder: Path | None) -> Iterator[str]:
    """All the tables."""
    head = f"{'':46}{'n':>6}{'median':>9}{'95 %':>8}{'inside':>10}{'± half':>9}"
    curves, trained = list(published()), list(own(folder)) if folder else []

    def decays(pilot: Trained, run: Trained) -> bool:
        """A pilot with a decay, and not the same curve but for its end."""
        (size, schedule), (other, theirs) = pilot.name.split(), run.name.split()
        twins = size == other and schedule[:3] == theirs[:3]
        return schedule in PILOTS and not twins

    for share in SHARES:
        yield f"\nfrom {share:.0%} of the run\n{head}"
        if curves:
            yield row("published, one pilot", by_pilot(curves, share, decays))
            unseen = [
                measure(run, share, [pilot])
                for pilot, run in itertools.permutations(curves, 2)
                if decays(pilot, run) and held_out(run)
            ]
            yield row("  … of held-out curves", unseen)
            yield row("  … without a pilot", (measure(run, share, []) for run in curves))
        if TEXT.exists():
            yield from warmup_rows(share)
        if not trained:
            continue
        yield row("own, one pilot", by_pilot(trained, share, near))
        unseen = [
            measure(run, share, [pilot])
            for pilot, run in itertools.permutations(trained, 2)
            if near(pilot, run) and held_out(run)
        ]
        yield row("  … of held-out runs", unseen)
        for count in (1, AT_ONCE):
            nearest = (measure(run, share, most_alike(trained, run, count)) for run in trained)
            yield row(f"  … the {count} most alike" if count > 1 else "  … the most alike", nearest)
        yield row("  … without a pilot", (measure(run, share, []) for run in trained))


def main() -> None:
    """Train or read, forecast, print, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace", type=Path)
    parser.add_argument("--runs", type=Path)
    given = parser.parse_args()
    folder = given.runs or (train(given.workspace) if given.workspace else None)
    lines = [f"{date.today()}  errors of the final loss in percent, and intervals of 95 %"]
    lines += sections(folder)
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":  # the processes of the runs import this file too
    main()
