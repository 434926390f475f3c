"""The whole of `tongues prepare`: megabytes a second and memory, from files to shards.

First real text in 19 languages with everything on, in a fresh process of one core, stage by
stage. Then a generated corpus several times larger than the memory that each process may use.
Run as `python benchmarks/prepare.py TEXT`, a folder with `<source>/<lang>.jsonl.gz` and beside it
`eval/`, or as `python benchmarks/prepare.py GIGABYTES`; `prepare.txt` holds what both printed.
"""

import gzip
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from tongues.core.launch import run_ranks
from tongues.core.ranks import Rank
from tongues.recipe import Recipe
from tongues.text import find_sources
from tongues.text.tokens.prepare import STAGES, run_stage

TURNS = 3
MEMORY = 1_000_000_000  # bytes of private memory that a process of the large corpus may use
RANKS = 2


def real(folder: Path) -> tuple[Recipe, int]:
    """The recipe of all the text there is, and its bytes."""
    files: dict[str, list[str]] = {}
    size = 0
    for path in sorted(folder.glob("*/*.jsonl.gz")):
        files.setdefault(path.name.split(".")[0], []).append(str(path))
        size += len(gzip.decompress(path.read_bytes()))
    named = [str(path) for path in sorted(folder.parent.glob("eval/**/*.jsonl*"))]
    text = {"files": files, "benchmarks": named}
    return recipe("real", text, vocabulary=32_000, held_out="20k tokens"), size


def large(gigabytes: float) -> Recipe:
    """The recipe of a generated corpus in two languages."""
    languages = {"qaa": {}, "qab": {"parent": "qaa", "divergence": 0.3}}
    made = {"size": f"{gigabytes / 2} GB", "languages": languages}
    return recipe("large", {"synthetic": made}, vocabulary=8000, held_out="1M tokens")


def recipe(name: str, text: dict[str, Any], vocabulary: int, held_out: str) -> Recipe:
    """A recipe that is only prepared."""
    tokens = {"vocab_size": vocabulary, "held_out": held_out}
    settings = {"name": name, "text": text, "tokens": tokens, "train": {"budget": "1M tokens"}}
    return Recipe.model_validate(settings)


def stage_by_stage(settings: Recipe, workspace: Path) -> dict[str, float]:
    """Seconds of each stage, each in a fresh process of one core."""
    seconds: dict[str, float] = {}
    context = multiprocessing.get_context("spawn")
    for stage in STAGES:
        start = time.perf_counter()
        process = context.Process(target=alone, args=(stage, settings, workspace))
        process.start()
        process.join()
        assert process.exitcode == 0
        seconds[stage] = time.perf_counter() - start
    return seconds


def alone(stage: str, settings: Recipe, workspace: Path) -> None:
    """A stage in this process, on one core."""
    import os

    os.sched_setaffinity(0, {0})
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    sources = find_sources(settings.text)
    run_stage(Rank(0, 1), lambda line: None, stage, settings, workspace, sources)


def bounded(rank: Rank, tell: Callable[[str], None], *arguments: Any) -> None:
    """A rank's share of a stage with little memory; tells the most it used."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    run_stage(rank, lambda line: None, *arguments)
    tell(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


def tell_speed(folder: Path) -> None:
    """Print seconds and megabytes a second by stage."""
    settings, size = real(folder)
    print(f"{date.today()}, 10⁶ bytes a second, one core, median of {TURNS} turns (least, most)")
    print(f"{size / 1e6:.1f} MB of JSON lines in {len(settings.text.files)} languages")
    turns: list[dict[str, float]] = []
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as workspace:
            turns.append(stage_by_stage(settings, Path(workspace)))
    for stage in STAGES:
        seconds = [turn[stage] for turn in turns]
        spread = f"({size / max(seconds) / 1e6:.1f}, {size / min(seconds) / 1e6:.1f})"
        print(f"  {stage:7} {median(seconds):6.1f} s {size / median(seconds) / 1e6:8.1f} {spread}")
    totals = [sum(turn.values()) for turn in turns]
    spread = f"({size / max(totals) / 1e6:.2f}, {size / min(totals) / 1e6:.2f})"
    print(f"  all     {median(totals):6.1f} s {size / median(totals) / 1e6:8.2f} {spread}")


def tell_memory(gigabytes: float) -> None:
    """Print seconds by stage of a large corpus, and the most memory that a process had."""
    settings = large(gigabytes)
    print(f"{date.today()}, {RANKS} processes, each allowed {MEMORY / 1e9:g} GB of its own")
    print(f"{gigabytes:g} GB generated")
    with tempfile.TemporaryDirectory() as workspace:
        most, start = 0, time.perf_counter()
        sources = find_sources(settings.text)
        for stage, shared in STAGES.items():
            told: list[str] = []
            begun = time.perf_counter()
            # One rank too runs in a process of its own here, so that the limit is the process's.
            context = multiprocessing.get_context("spawn")
            if shared:
                run_ranks(
                    bounded,
                    (stage, settings, Path(workspace), sources),
                    RANKS,
                    told.append,
                    folder=Path(workspace) / "ranks",
                )
            else:
                with context.Pool(1) as pool:
                    told.append(pool.apply(single, (stage, settings, Path(workspace), sources)))
            most = max([most, *map(int, told)])
            print(f"  {stage:7} {time.perf_counter() - begun:6.1f} s")
        took = time.perf_counter() - start
        rate = gigabytes * 1e3 / took / RANKS
        print(f"  all     {took:6.1f} s, {rate:.2f} MB/s a core; most resident {most / 1e6:.0f} MB")


def single(*arguments: Any) -> str:
    """A stage of one process with little memory; returns the most it used."""
    told: list[str] = []
    bounded(Rank(0, 1), told.append, *arguments)
    return told[0]


if __name__ == "__main__":
    if Path(sys.argv[1]).is_dir():
        tell_speed(Path(sys.argv[1]))
    else:
        tell_memory(float(sys.argv[1]))
