"""Tokens per second of training beside a bare loop and Hugging Face's Trainer, all in one go.

usage: python benchmarks/training_speed.py [ROUNDS] [SHAPES]

Ours is `tongues train` as it is: load, step, clip, log, evaluate, write the model; its layers
compiled. The bare loop is what anyone would write over the same Hugging Face model and tokens:
bfloat16 autocast where the processor has it, fused AdamW, clipping, transformers' own loss and
default attention; once more with our allocator setting, once with that and `torch.compile`, and
once in float32. Trainer does the same by its own loop, as it is and with `torch_compile` and our
allocator setting (needs `accelerate`; left out where it is not installed). Each measurement is a
process of its own, and they take turns. Speeds are steady ones, from the fifth step on, by the
clock and by processor time; what compiling costs us at the start, with nothing cached, and when it
is won back stands apart. At the
end, quality: the loss on held-out text after the same training, by the fast way in bfloat16 and
by transformers' own way in float32, over three seeds.
"""

import ctypes
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

STEPS = {"1.4M": 45, "5M": 24, "22M": 13}
SAMPLES, CONTEXT, THREADS, WARM = 16, 256, 2, 5
BATCH = SAMPLES * CONTEXT
QUALITY_SHAPE, QUALITY_STEPS, SEEDS = "0.4M", 250, (1, 2, 3)
RECIPE = f"""
name: speed
text: {{synthetic: {{seed: 1, size: 24 MB, languages: {{qaa: {{}}, qab: {{}}}}}}}}
tokens: {{vocab_size: 8192, held_out: 8192 tokens}}
model: {{shape: 1.4M}}
train: {{mixture: {{qaa: 50%, qab: 50%}}, budget: 1M tokens, batch: {BATCH} tokens,
        context: {CONTEXT} tokens, num_evals: 1, threads: {THREADS}}}
"""
KINDS = {
    "ours": "ours, bf16",
    "uncompiled": "ours, bf16, not compiled",
    "bare": "bare loop, bf16",
    "allocator": "bare loop, bf16, our allocator setting",
    "compiled": "bare loop, bf16, allocator, torch.compile",
    "trainer": "Trainer, bf16",
    "trainer compiled": "Trainer, bf16, allocator, torch_compile",
    "ours fp32": "ours, fp32",
    "bare fp32": "bare loop, fp32",
}
OURS = ("ours", "uncompiled", "ours fp32")
BESIDE = {kind: "ours fp32" if "fp32" in kind else "ours" for kind in KINDS if kind not in OURS}


@dataclass(frozen=True)
class Moment:
    """When a step was seen to be done, in seconds by the clock and of processor time."""

    clock: float
    processor: float


def now() -> Moment:
    """The time by both clocks."""
    return Moment(time.monotonic(), time.process_time())


def steady(first: Moment, last: Moment, steps: int) -> dict[str, float]:
    """Tokens a second between two moments `steps` apart, and processor seconds a million tokens."""
    tokens = BATCH * steps
    return {
        "speed": tokens / (last.clock - first.clock),
        "processor": (last.processor - first.processor) / tokens * 1e6,
    }


def run(workspace: Path, shape: str, steps: int, *changes: str) -> tuple[Path, dict[int, Moment]]:
    """A run, and the moment at which each step was seen to be done; 0 is the start."""
    from tongues.recipe import load_recipe
    from tongues.train import run_of_recipe
    from tongues.train.run import train
    from tongues.train.work import open_work

    settings = [f"model.shape={shape}", f"train.budget={steps * BATCH} tokens", *changes]
    recipe = load_recipe(workspace / "speed.yaml", settings)
    plan = replace(run_of_recipe(open_work(recipe)), name=f"{shape}-{os.getpid()}")
    seen = {0: now()}

    def watch(progress: Any) -> None:
        seen[progress.step] = now()

    return train(plan, workspace, watch=watch), seen


def ours(workspace: Path, shape: str, steps: int, kind: str) -> dict[str, float]:
    """Steady speed of a run, and the seconds before it."""
    precision = "float32" if kind == "ours fp32" else "auto"
    compiled = "off" if kind == "uncompiled" else "on"
    changes = f"train.precision={precision}", f"train.compile={compiled}"
    _, seen = run(workspace, shape, steps, *changes)
    first, last = min(step for step in seen if step >= WARM), max(seen)
    speeds = steady(seen[first], seen[last], last - first)
    start = seen[first].clock - seen[0].clock - first * BATCH / speeds["speed"]
    return speeds | {"start": start}


def theirs(workspace: Path, shape: str, steps: int, kind: str) -> dict[str, float]:
    """Steady speed of the loop anyone would write, or of Trainer."""
    import torch

    from tongues.models import find_shape
    from tongues.models.huggingface import build_model
    from tongues.text.tokens import open_tokens

    if kind == "allocator" or "compiled" in kind:
        libc = ctypes.CDLL(None)
        libc.mallopt(-3, 1 << 30)
        libc.mallopt(-1, (1 << 31) - 1)
    torch.set_num_threads(THREADS)
    store = open_tokens(workspace / "tokens" / "speed")
    model = build_model(find_shape(shape), store.vocabulary_size, CONTEXT, seed=1)
    tokens = torch.from_numpy(store.train("qaa").astype("i8"))
    rows = tokens[: len(tokens) // CONTEXT * CONTEXT].view(-1, CONTEXT)
    seen: list[Moment] = []
    if "trainer" in kind:
        trainer_loop(model, rows, steps, "compiled" in kind, lambda: seen.append(now()))
    else:
        ready = torch.compile(model) if kind == "compiled" else model
        bare_loop(ready, rows, steps, kind != "bare fp32", lambda: seen.append(now()))
    return steady(seen[WARM - 1], seen[-1], steps - WARM)


def bare_loop(
    model: Any, rows: Any, steps: int, bfloat16: bool, stepped: Callable[[], None]
) -> None:
    """The loop anyone would write."""
    import torch

    bfloat16 = bfloat16 and bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1, fused=True)
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        batch = rows[torch.randint(len(rows), (SAMPLES,), generator=generator)]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        stepped()


def trainer_loop(
    model: Any, rows: Any, steps: int, compiled: bool, stepped: Callable[[], None]
) -> None:
    """The same by Hugging Face's Trainer in bfloat16, otherwise with its defaults."""
    import torch
    from torch.utils.data import Dataset
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Samples(Dataset[dict[str, Any]]):
        def __getitem__(self, place: int) -> dict[str, Any]:
            return {"input_ids": rows[place], "labels": rows[place]}

        def __len__(self) -> int:
            return len(rows)

    class Stepped(TrainerCallback):
        def on_step_end(self, *given: Any, **named: Any) -> None:
            stepped()

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=SAMPLES,
            max_steps=steps,
            learning_rate=3e-3,
            bf16=bool(torch.cpu.get_capabilities().get("avx512_bf16")),
            torch_compile=compiled,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        )
        Trainer(model, arguments, train_dataset=Samples(), callbacks=[Stepped()]).train()


def quality(workspace: Path, seed: int, kind: str) -> dict[str, float]:
    """Held-out loss, the mean over the languages, after a run of its own way."""
    from tongues.core.files import read_lines

    exact = ("train.precision=float32", "train.compile=off")
    fast = ("train.precision=bfloat16", "train.compile=on")
    chosen = (f"train.seed={seed}", *(fast if kind == "fast" else exact))
    directory, _ = run(workspace, QUALITY_SHAPE, QUALITY_STEPS, *chosen)
    lines = read_lines(directory / "evals.jsonl")
    return {"loss": statistics.mean(row["loss"] for row in lines if row["step"] == QUALITY_STEPS)}


def ceilings() -> dict[str, float]:
    """Operations a second of big matrix products."""
    from tongues.train.engine.processor import ceiling, set_up

    return {name: ceiling(set_up(name, THREADS)) for name in ("bfloat16", "float32")}


def apart(workspace: Path, *arguments: str, cache: Path) -> dict[str, float]:
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, "one", str(workspace), *arguments]
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(cache)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def spread(values: list[float], form: str = ".2f") -> str:
    """Median and extremes."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} [{low:{form}}, {high:{form}}]"


def measured(workspace: Path, shape: str, rounds: int, kinds: list[str]) -> list[str]:
    """The lines on one shape."""
    from tongues.models import find_shape, of_shape
    from tongues.text.tokens import open_tokens

    got: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    tops: list[dict[str, float]] = []
    for _ in range(rounds):
        tops.append(apart(workspace, "ceilings", cache=workspace))
        for kind, found in got.items():
            cache = workspace / f"cache-{shape}-{kind.replace(' ', '-')}"
            found.append(apart(workspace, "speed", shape, kind, cache=cache))
    vocabulary = open_tokens(workspace / "tokens" / "speed").vocabulary_size
    flops = of_shape(find_shape(shape), vocabulary).flops_per_token(CONTEXT)
    best = {name: statistics.median(top[name] for top in tops) for name in tops[0]}
    lines = [f"{shape}: products {best['bfloat16'] / 1e9:,.0f} GFLOP/s bf16, "]
    lines[0] += f"{best['float32'] / 1e9:,.0f} fp32"
    for kind, found in got.items():
        speed = statistics.median(one["speed"] for one in found)
        share = speed * flops / best["float32" if "fp32" in kind else "bfloat16"]
        processor = statistics.median(one["processor"] for one in found)
        line = f"  {KINDS[kind]:42} {speed:8,.0f} tokens/s {share:5.0%} of the ceiling"
        line += f" {processor:6,.0f} processor s a million tokens"
        if beside := BESIDE.get(kind):
            pairs = zip(got[beside], found, strict=True)
            ratios = [a["speed"] / b["speed"] for a, b in pairs]
            pairs = zip(got[beside], found, strict=True)
            spent = [b["processor"] / a["processor"] for a, b in pairs]
            line += f"   ours {spread(ratios)} x, by processor time {spread(spent)} x"
        lines.append(line)
    saved = BATCH / statistics.median(one["speed"] for one in got["uncompiled"])
    saved -= BATCH / statistics.median(one["speed"] for one in got["ours"])
    base = statistics.median(one["start"] for one in got["uncompiled"])
    for name, starts in (("cold", got["ours"][:1]), ("warm", got["ours"][1:])):
        if starts:
            cost = statistics.median(one["start"] for one in starts) - base
            back = f"won back after {cost / saved:,.0f} steps" if saved > 0 else "never won back"
            lines.append(f"  compiling, {name} cache: {cost:.1f} s at the start, {back}")
    return lines


def main(rounds: int, shapes: list[str]) -> None:
    """Measure all, print the table and keep it beside this script."""
    from tongues.recipe import load_recipe
    from tongues.text.tokens import prepare_tokens

    kinds = [
        kind for kind in KINDS if "trainer" not in kind or importlib.util.find_spec("accelerate")
    ]
    lines = [
        f"{date.today()}  {platform.machine()}, {THREADS} threads, batch {SAMPLES} x {CONTEXT}, "
        f"{rounds} rounds; medians, ratios round by round: median [lowest, highest]"
    ]
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        (workspace / "speed.yaml").write_text(RECIPE)
        prepare_tokens(load_recipe(workspace / "speed.yaml"), workspace, lambda line: None)
        for shape in shapes:
            lines += measured(workspace, shape, rounds, kinds)
            print("\n".join(lines[-len(kinds) - 3 :]), flush=True)
        losses = {
            kind: [
                apart(workspace, "quality", str(seed), kind, cache=workspace / "cache")["loss"]
                for seed in SEEDS
            ]
            for kind in ("fast", "exact")
        }
        lines += [
            f"held-out loss of {QUALITY_SHAPE} after {QUALITY_STEPS} steps, {len(SEEDS)} seeds: "
            f"{spread(losses['fast'], '.3f')} by the fast way in bf16, "
            f"{spread(losses['exact'], '.3f')} in fp32"
        ]
    print(lines[-1])
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


def one(workspace: Path, what: str, *arguments: str) -> dict[str, float]:
    """What `apart` asks of a process."""
    if what == "ceilings":
        return ceilings()
    if what == "quality":
        return quality(workspace, int(arguments[0]), arguments[1])
    shape, kind = arguments
    way = ours if kind in OURS else theirs
    return way(workspace, shape, STEPS[shape], kind)


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(one(Path(sys.argv[2]), *sys.argv[3:])))
    else:
        main(int((sys.argv[1:] or ["5"])[0]), sys.argv[2:] or list(STEPS))
