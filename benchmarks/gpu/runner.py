"""Runs the stages one after another, each in a process of its own with its own limit.

Needs nothing but Python's standard library, so that it works before anything is installed. What a
stage prints is passed on line by line, and added to `results.txt`. The next stage's process starts
while one runs, imports what it needs and waits, so that imports cost no time on the GPU.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Stage:
    """A part of the benchmark: a function of one of the modules here."""

    name: str
    where: str  # module:function
    summary: str
    seconds: int  # that it takes on one GPU, about: measured, or estimated
    limit: int  # seconds after which it is killed
    environment: Mapping[str, str] = field(default_factory=dict)


STAGES = (  # by worth: what comes last is what a short slot goes without
    Stage("environment", "correctness:environment", "driver, versions, compiler, doctor", 37, 80),
    Stage("exact", "correctness:exact", "40 steps against a processor, float32", 27, 80),
    Stage("engine", "correctness:engine", "families against transformers' own way", 150, 200),
    Stage("smollm2", "speed:smollm2", "SmolLM2-135M, compiled and not", 45, 120),
    Stage("ours-1b", "speed:ours_1b", "1B, compiled and not, micro-batches", 180, 240),
    Stage("plain-1b", "peers:plain_1b", "the same 1B by a plain loop", 126, 180),
    Stage("trainer-1b", "peers:trainer_1b", "the same 1B by transformers' Trainer", 126, 180),
    Stage("moe", "families:moe", "qwen3_moe: type and speed of the experts", 60, 120),
    Stage("gemma2", "families:gemma2", "gemma2: attention chosen, against eager", 45, 120),
    Stage("lora", "families:lora", "LoRA on SmolLM2, and documents apart", 85, 150),
    Stage("resume", "whole:resume", "checkpoint, SIGKILL, resume", 88, 150),
    Stage("automodel", "handed:automodel", "NeMo AutoModel from our export", 90, 150),
    Stage("use", "whole:use", "evaluation, generation, serving", 85, 150),
    Stage(
        "tf32",
        "correctness:tf32",
        "what the trial says where TF32 is forced on",
        20,
        60,
        {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"},
    ),
)
REHEARSED = 300  # seconds of a stage on a processor, at most


class Results:
    """Lines for the terminal and for `results.txt`, each there as soon as it is known."""

    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._out, self._file = out, (out / "results.txt").open("a", encoding="utf-8")

    def say(self, line: str) -> None:
        """Print and write a line now."""
        print(line, flush=True)
        self._file.write(line + "\n")
        self._file.flush()

    def explain(self, stage: str, log: str) -> None:
        """Keep the end of a failed stage's log."""
        with (self._out / "errors.txt").open("a", encoding="utf-8") as file:
            file.write(f"{stage}:\n{log}\n\n")


class Running:
    """The process of one stage: it imports, then waits for `go`."""

    def __init__(self, stage: Stage, options: argparse.Namespace) -> None:
        self.stage, self._killed = stage, ""
        site = [str(ROOT), str(options.place / "site")]
        paths = [*site, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | dict(stage.environment)
        environment |= {"PYTHONUNBUFFERED": "1", "HF_HUB_OFFLINE": "1"}
        environment |= {"CUDA_VISIBLE_DEVICES": ""} if options.rehearse else {}
        environment.setdefault("TORCHINDUCTOR_CACHE_DIR", str(options.place / "inductor"))
        environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(min(8, os.cpu_count() or 1)))
        words = [stage.where, str(options.place), str(options.out), str(int(options.rehearse))]
        logs: Path = options.place / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        self._log = (logs / f"{stage.name}.log").open("w", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "stage.py"), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment,
            process_group=0,
        )

    def kill(self, reason: str = "") -> None:
        """End it and all that it started."""
        self._killed = reason
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def finish(self, limit: float, results: Results) -> bool:
        """Let it go, pass on its lines, and return whether it ended well within the limit."""
        start = time.monotonic()
        timer = Timer(limit, self.kill, [f"stopped at its limit of {limit:.0f} s"])
        timer.start()
        try:
            assert self.process.stdin
            assert self.process.stdout
            with suppress(BrokenPipeError):  # it died while importing: its exit status says so
                self.process.stdin.write("go\n")
                self.process.stdin.close()
            lines = 0
            for line in self.process.stdout:
                results.say(f"{self.stage.name:12} {line.rstrip()}")
                lines += 1
            status = self.process.wait()
        finally:
            timer.cancel()
            self.kill(self._killed)
            self._log.close()
        done = status == 0 and lines > 0
        how = self._killed or "done"
        if not done:
            words = Path(self._log.name).read_text(encoding="utf-8", errors="replace").strip()
            results.explain(self.stage.name, words[-4000:])
            how = self._killed or _reason(status, words)
        results.say(f"{self.stage.name:12} {how}, {time.monotonic() - start:.1f} s")
        return done


def _reason(status: int, log: str) -> str:
    """Why a stage ended before its end, with the last line that it wrote to its log."""
    last = f": {log.splitlines()[-1][:300]}" if log else ""
    if status < 0:
        return f"FAILED by {signal.Signals(-status).name}{last}"
    return f"FAILED with status {status}{last}"


def run(stages: Sequence[Stage], options: argparse.Namespace) -> int:
    """Run the stages; returns how many failed."""
    results, start, failed = Results(options.out), time.monotonic(), 0
    way = "rehearsal on a processor" if options.rehearse else "on this machine's first GPU"
    results.say(f"{time.strftime('%Y-%m-%d %H:%M:%S')}, {len(stages)} stages, {way}")
    waiting = [*stages]
    following = Running(waiting[0], options)
    while waiting:
        stage, current = waiting.pop(0), following
        left = options.total - (time.monotonic() - start)
        if not options.rehearse and left < stage.seconds:
            current.kill()
            results.say(f"{stage.name:12} NOT RUN: {left:.0f} s left, it takes {stage.seconds}")
            failed += 1
            if waiting:
                following = Running(waiting[0], options)
            continue
        if waiting:
            following = Running(waiting[0], options)
        limit = REHEARSED if options.rehearse else min(left, stage.limit)
        try:
            failed += not current.finish(limit, results)
        except BaseException:
            if waiting:
                following.kill()
            raise
    taken = time.monotonic() - start
    results.say(f"{len(stages) - failed} of {len(stages)} stages done, {taken:.0f} s in all")
    return failed


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    listed = "\n".join(f"  {one.name:12} {one.seconds:4} s  {one.summary}" for one in STAGES)
    total = sum(stage.seconds for stage in STAGES)
    parser = argparse.ArgumentParser(
        prog="benchmarks/gpu/run",
        description="What a GPU computes, how fast, and what was decided on the way.",
        epilog=f"stages, with estimated seconds on an H100 ({total} in all):\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", metavar="NAME,…", help="stages to run, in the given order")
    parser.add_argument("--rehearse", action="store_true", help="all in small, on a processor")
    parser.add_argument("--place", type=Path, default=ROOT / "packs/place", help="as of `unpack`")
    parser.add_argument("--out", type=Path, help="folder of results (PLACE/out)")
    parser.add_argument("--total", type=float, default=570.0, help="seconds in all (570)")
    options = parser.parse_args(words)
    known = {stage.name: stage for stage in STAGES}
    names = options.only.split(",") if options.only else list(known)
    if wrong := [name for name in names if name not in known]:
        parser.error(f"no stage is called {', '.join(wrong)}; there are {', '.join(known)}")
    options.place = options.place.resolve()
    options.out = (options.out or options.place / "out").resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that stages are ended, too
    return min(1, run([known[name] for name in names], options))
