"""Run directories written from known laws, so that a finding can be held against the truth.

Its fixtures are those of tests/study and tests/report.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.records import make_run
from tongues.runs import record as run_store
from tongues.runs.record import Base, Parameters, run_rows
from tongues.train.study.findings import Findings, findings

SHAPES = {"0.1M": 137_000, "0.2M": 295_000, "0.4M": 571_000, "0.6M": 940_000}
TRUTH = SimpleNamespace(
    E=1.6,
    A=60.0,
    alpha=0.36,
    B=90.0,
    beta=0.33,
    saved={"near": 0.45, "far": 0.2},  # share of scratch's tokens, at every loss
    apart={"near": 0.8, "far": 0.95},  # of the loss of random weights, before the first step
    longer=0.1,  # more of it saved from a base of the second length
    rise={0.0: 0.8, 0.2: -0.03},  # of the source language's loss at the end
    peak={0.0: 0.8, 0.2: 0.12},
    start=6.93,
)


def scratch_loss(N: float, D: np.ndarray) -> np.ndarray:
    return TRUTH.E + TRUTH.A / N**TRUTH.alpha + TRUTH.B / D**TRUTH.beta


def source_loss(start: float, replay: float, progress: np.ndarray) -> np.ndarray:
    """Up to the peak early, then to where it ends; without replay it only rises."""
    if replay == 0:
        return start + TRUTH.rise[0.0] * progress**0.3
    bump = TRUTH.peak[replay] * np.exp(-((np.log(np.maximum(progress, 1e-9) / 0.05)) ** 2))
    bump *= np.log10(np.maximum(progress, 1e-9)) ** 2 / np.log10(0.05) ** 2  # none at the end
    return start + bump + TRUTH.rise[replay] * progress**2


def write_run(
    place: Path,
    name: str,
    *,
    strategy: str,
    target: str,
    shape: str,
    seed: int,
    replay: float = 0.0,
    tokens: int = 2_000_000,
    noise: float = 0.0,
    saved: float | None = None,
    apart: float | None = None,
    parent: str | None = None,
    status: str = "finished",
) -> None:
    N, steps = SHAPES[shape], tokens // 2048
    directory = place / "study" / name
    directory.mkdir(parents=True)
    cpt = strategy == "cpt"
    if cpt and parent is None:
        parent = f"study/source-{shape}-seed{seed}"
    run = make_run(
        run=f"study/{name}",
        status=status,
        strategy=strategy,
        base=Base(str(parent), ("home",), "0" * 16) if cpt else None,
        targets=(target,),
        replay={"home": replay} if replay else {},
        shape=shape,
        params=Parameters(total=N, embedding=N // 3, non_embedding=N - N // 3),
        seed=seed,
        steps=steps,
        tokens=tokens,
        flops=6.0 * N * tokens,
        batch=2048,
        shares={target: 1 - replay} | ({"home": replay} if replay else {}),
        settings={
            "batch": "2048 tokens",
            "context": "128 tokens",
            "learning_rate": 0.003,
            "warmup": "5%",
        },
    )
    run_store.write_run(directory, run)
    rng = np.random.default_rng([seed, *name.encode()])
    points = np.concatenate([[0], np.ceil(np.geomspace(steps / 100, steps, 10).round(6))])
    D = points * 2048
    spoken = np.maximum(D * (1 - replay), 1.0)
    if cpt:
        spoken = spoken / (1 - (TRUTH.saved[target] if saved is None else saved))
    wobble = rng.normal(0, 0.3 * noise) + rng.normal(0, noise, len(D))
    loss = np.minimum(scratch_loss(N, np.maximum(spoken, 1.0)), TRUTH.start) * np.exp(wobble)
    if cpt:
        loss[0] = (TRUTH.apart.get(target, 1.0) if apart is None else apart) * TRUTH.start
    languages = {target: (loss, D * (1 - replay))}
    if cpt:
        end = float(scratch_loss(N, np.array([tokens]))[0])
        languages["home"] = (source_loss(end, replay, points / steps), D * replay)
    lines = [
        {
            "step": int(step),
            "tokens": int(total),
            "tokens_lang": int(own[i]),
            "flops": 6.0 * N * float(total),
            "lang": lang,
            "loss": float(values[i]),
            "bits_per_byte": float(values[i]) / np.log(2) / 3.2,
        }
        for i, (step, total) in enumerate(zip(points, D, strict=True))
        for lang, (values, own) in languages.items()
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (directory / "evals.jsonl").write_text(text)


def write_study(
    place: Path,
    *,
    shapes: tuple[str, ...] = tuple(SHAPES),
    seeds: tuple[int, ...] = (1, 2),
    targets: tuple[str, ...] = ("near", "far"),
    replay: tuple[float, ...] = (0.0, 0.2),
    strategies: tuple[str, ...] = ("scratch", "cpt"),
    noise: float = 0.002,
    saved: float | None = None,
    apart: float | None = None,
    lengths: tuple[int, ...] = (2_000_000,),
    bases: tuple[int, ...] = (2_000_000,),
) -> Path:
    """A whole study below `place`, which is returned.

    Runs of a length or from a base that is not the first carry it in their names; from such a base
    only runs of the first length without replay are continued.
    """
    for shape in shapes:
        for seed in seeds:
            same = {"shape": shape, "seed": seed, "noise": noise}
            names = [
                f"source-{shape}{named(base, bases)}-seed{seed}"
                for base in (bases if "cpt" in strategies else ())
            ]
            for base, name in zip(bases, names, strict=False):
                write_run(place, name, strategy="source", target="home", tokens=base, **same)
            for target, tokens in product(targets, lengths):
                end = f"{target}-{shape}{named(tokens, lengths)}-seed{seed}"
                of = {"target": target, "tokens": tokens} | same
                if "scratch" in strategies:
                    write_run(place, f"scratch-{end}", strategy="scratch", **of)
                for name, ratio in product(names, replay):
                    usual = name == names[0]
                    if not usual and (ratio or tokens != lengths[0]):
                        continue
                    more = None if usual else TRUTH.saved[target] + TRUTH.longer
                    write_run(
                        place,
                        f"cpt-r{ratio * 100:g}-{end}" + ("" if usual else f"-from-{name}"),
                        strategy="cpt",
                        replay=ratio,
                        saved=saved if usual else more,
                        apart=apart,
                        parent=f"study/{name}",
                        **of,
                    )
    return place


def named(tokens: int, usual: tuple[int, ...]) -> str:
    """What a name tells of a length that is not the first."""
    return "" if tokens == usual[0] else f"-{tokens}"


@pytest.fixture(scope="session")
def few_draws() -> Iterator[None]:
    """Laws with fewer resamples than usual, which take most of a report's time."""
    module = import_module("tongues.train.study.findings")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fit_targets", "compare_laws"):
            patch.setattr(module, name, partial(getattr(module, name), draws=40))
        yield


@pytest.fixture(scope="session")
def truth() -> SimpleNamespace:
    return TRUTH


@pytest.fixture(scope="session")
def make_study() -> Callable[..., Path]:
    return write_study


@pytest.fixture(scope="session")
def long_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of four lengths, and continued from source models of two."""
    return write_study(
        tmp_path_factory.mktemp("long"),
        lengths=(2_000_000, 500_000, 1_000_000, 4_000_000),
        bases=(2_000_000, 20_000_000),
    )


@pytest.fixture(scope="session")
def made_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def made_findings(made_study: Path, few_draws: None) -> Findings:
    return findings(run_rows([made_study]))


@pytest.fixture(scope="session")
def long_findings(long_study: Path, few_draws: None) -> Findings:
    return findings(run_rows([long_study]))


@pytest.fixture(scope="session")
def saturated(tmp_path_factory: pytest.TempPathFactory, few_draws: None) -> Findings:
    """Three sizes whose source model begins below the loss that scratch ends with."""
    place = tmp_path_factory.mktemp("saturated")
    shapes = ("0.1M", "0.2M", "0.6M")
    write_study(place, shapes=shapes, seeds=(1,), replay=(0.0,), apart=0.3)
    return findings(run_rows([place]))
