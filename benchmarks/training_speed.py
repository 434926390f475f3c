"""Tokens per second of a whole run beside a bare loop over the same Hugging Face model.

usage: python benchmarks/training_speed.py [ROUNDS]

Ours is `tongues train` as it is: deal, step, clip, log, evaluate twice, write the model. The bare
loop is what anyone would write: the same model, batches of the same tokens, bfloat16 autocast
where the processor has it, fused AdamW, clipping, transformers' own loss and default attention. A
third column gives that loop our allocator and attention settings. Each measurement is a process of
its own; the three take turns.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

SHAPES = {"0.1M": 250, "0.4M": 120, "1.4M": 60, "5M": 24}  # steps, some five seconds each
BATCH, CONTEXT, THREADS = 2048, 128, 2
RECIPE = """
name: speed
text: {made: {seed: 1, size: 4 MB, languages: {qaa: {}}}}
tokens: {vocabulary: 1024, held_out: 2048 tokens}
model: {shape: 0.1M}
train: {mixture: {qaa: 100%}, budget: 1M tokens, batch: 2048 tokens, context: 128 tokens,
        evaluations: 1, threads: 2}
"""


def ours(workspace: Path, shape: str, steps: int) -> float:
    """Tokens per second of a run, from its record."""
    from tongues.recipe import load_recipe
    from tongues.runs import read_record
    from tongues.train import run_of_recipe
    from tongues.train.run import train

    budget = f"train.budget={steps * BATCH} tokens"
    recipe = load_recipe(workspace / "speed.yaml", [f"model.shape={shape}", budget])
    plan = replace(run_of_recipe(recipe), name=f"ours-{shape}")
    record = read_record(train(plan, workspace, rebuild=True))
    return record["tokens"] / (record["seconds"] or float("nan"))


def bare(workspace: Path, shape: str, steps: int, with_our_settings: bool) -> float:
    """Tokens per second of the loop anyone would write."""
    import torch

    from tongues.models import find_shape
    from tongues.models.huggingface import build_model
    from tongues.tokens import open_tokens
    from tongues.train.processor import attention_for, set_up

    model = build_model(find_shape(shape), 1024, CONTEXT, seed=1)
    bfloat16 = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    if with_our_settings:
        model.set_attn_implementation(attention_for(set_up("auto", THREADS)))
    torch.set_num_threads(THREADS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1, fused=True)
    tokens = torch.from_numpy(open_tokens(workspace / "tokens" / "speed").train("qaa").astype("i8"))
    rows = tokens[: len(tokens) // CONTEXT * CONTEXT].view(-1, CONTEXT)
    generator = torch.Generator().manual_seed(1)
    start = time.monotonic()
    for _ in range(steps):
        batch = rows[torch.randint(len(rows), (BATCH // CONTEXT,), generator=generator)]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
    return steps * BATCH / (time.monotonic() - start)


def measure(kind: str, workspace: Path, shape: str) -> float:
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, "one", kind, str(workspace), shape]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def main(rounds: int) -> None:
    """Measure all, print the table and keep it beside this script."""
    from tongues.recipe import load_recipe
    from tongues.tokens import prepare_tokens

    lines = [
        f"{date.today()}  {THREADS} threads, batch {BATCH}, context {CONTEXT}, {rounds} rounds",
        "tokens/s, median; ratio of ours to it, median [lowest, highest]",
        f"{'shape':6} {'ours':>8} {'bare loop':>10}  {'ratio':20} {'bare + settings':>15}  ratio",
    ]
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        (workspace / "speed.yaml").write_text(RECIPE)
        recipe = load_recipe(workspace / "speed.yaml")
        prepare_tokens(recipe, workspace, lambda line: None)
        for shape in SHAPES:
            got: dict[str, list[float]] = {"ours": [], "bare": [], "settings": []}
            for _ in range(rounds):
                for kind, values in got.items():
                    values.append(measure(kind, workspace, shape))
            median = {kind: statistics.median(values) for kind, values in got.items()}
            line = f"{shape:6} {median['ours']:8,.0f} {median['bare']:10,.0f}  "
            line += f"{ratios(got['ours'], got['bare']):20} {median['settings']:15,.0f}  "
            lines.append(line + ratios(got["ours"], got["settings"]))
            print(lines[-1], flush=True)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


def ratios(ours: list[float], others: list[float]) -> str:
    """Round by round: median and extremes."""
    values = sorted(a / b for a, b in zip(ours, others, strict=True))
    return f"{statistics.median(values):.2f} [{values[0]:.2f}, {values[-1]:.2f}]"


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        kind, place, shape = sys.argv[2], Path(sys.argv[3]), sys.argv[4]
        arguments = (place, shape, SHAPES[shape])
        speed = ours(*arguments) if kind == "ours" else bare(*arguments, kind == "settings")
        print(json.dumps(speed))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 3)
