"""Muon beside AdamW: tokens and seconds to equal loss, at rates tuned for both.

usage: python benchmarks/muon.py [--shapes 0.1M 0.4M 1.4M] [--tokens 1000000 ...] [--threads 1]

One synthetic language. Muon (torch.optim.Muon) takes the matrices of the layers, its updates as
large as AdamW's (`match_rms_adamw`); embeddings, output matrix and norms stay with AdamW. Each
optimizer gets its own sweep of the peak rate at each shape. Printed are the loss at the end, and
the tokens and time that each needs to reach the worse of the two. The result also goes to the file
of the same name.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import torch

from tongues.models import find_shape
from tongues.models.huggingface import build_model
from tongues.recipe import Train, load_recipe
from tongues.tokens import Mixture, Tokens, open_tokens, prepare_tokens
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.optimizer import make_optimizer, set_rate
from tongues.train.engine.processor import set_up
from tongues.train.schedule import rate_at

CONTEXT, BATCH = 128, 4096  # tokens
RECIPE = """\
name: muon
text:
  synthetic:
    seed: 9
    size: 24 MB
    languages: {qaa: {}}
tokens: {vocab_size: 512, held_out: 20k tokens}
model: {shape: 0.1M}
train:
  mixture: {qaa: 100%}
  budget: 1M tokens
"""
RATES = {"adamw": (3.5e-3, 5e-3, 7e-3, 1e-2, 1.4e-2), "muon": (7e-3, 1e-2, 1.4e-2, 2e-2, 2.8e-2)}
SETTINGS = Train.model_validate({"budget": "1 token"})  # schedule, decay and clip by default
POINTS = 12  # evaluations, evenly spaced


@dataclass(frozen=True, slots=True)
class Curve:
    """What a run came to: tokens, held-out nats per token, seconds a step on median."""

    rate: float
    tokens: list[int]
    losses: list[float]
    step_seconds: float
    optimizer_seconds: float

    def tokens_to(self, loss: float) -> float:
        """Tokens after which the loss is reached, between evaluations by a line."""
        return float(np.interp(-loss, [-one for one in self.losses], self.tokens))


def learn(tokens: Tokens, shape: str, name: str, rate: float, budget: int, threads: int) -> Curve:
    """One run."""
    processor = set_up("auto", threads)
    model = build_model(find_shape(shape), tokens.vocabulary_size, CONTEXT, seed=1)
    scorer, _ = fit_scorer(
        *(model, processor),
        context=CONTEXT,
        frame=tokens.frame,
        recompute=False,
        compiled=False,
        tell=print,
    )
    mixture = Mixture({"qaa": tokens.train("qaa")}, {"qaa": 1.0}, CONTEXT, 1, BATCH // CONTEXT)
    valid = torch.from_numpy(tokens.valid("qaa").astype(np.int64))[
        : 16_000 // CONTEXT * CONTEXT + 1
    ]
    windows = valid.unfold(0, CONTEXT + 1, CONTEXT)
    settings, steps = SETTINGS.model_copy(update={"optimizer": name}), budget // BATCH
    optimizer = make_optimizer(model, settings, rate)
    whole, stepping, curve = [], [], ([], [])
    for step in range(steps):
        start = time.perf_counter()
        dealt = torch.from_numpy(mixture.batch(step))
        objective, _ = scorer(dealt)
        (objective / BATCH).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), SETTINGS.clip)
        before = time.perf_counter()
        set_rate(optimizer, rate_at(step, steps, rate, settings))
        optimizer.step()
        optimizer.zero_grad()
        stepping.append(time.perf_counter() - before)
        whole.append(time.perf_counter() - start)
        if (step + 1) % (steps // POINTS) == 0 or step + 1 == steps:
            with torch.no_grad():
                nats = sum(float(scorer(some)[1]) for some in windows.split(32))
            curve[0].append((step + 1) * BATCH)
            curve[1].append(nats / (len(valid) - 1))
    return Curve(rate, *curve, float(np.median(whole)), float(np.median(stepping)))


def compared(tokens: Tokens, shape: str, budget: int, threads: int) -> Iterator[str]:
    """The sweeps of both at a shape, and what their best come to."""
    yield f"\n{shape}, {budget:,} tokens"
    best: dict[str, Curve] = {}
    for name, rates in RATES.items():
        curves = [learn(tokens, shape, name, rate, budget, threads) for rate in rates]
        best[name] = min(curves, key=lambda curve: curve.losses[-1])
        cells = "  ".join(f"{curve.rate:g}: {curve.losses[-1]:.4f}" for curve in curves)
        yield f"  {name:6}{cells}"
    ours, theirs = best["adamw"], best["muon"]
    adamw, muon = 1e3 * ours.optimizer_seconds, 1e3 * theirs.optimizer_seconds
    yield f"  a step {1e3 * ours.step_seconds:.0f} ms, of them AdamW {adamw:.1f}; Muon {muon:.1f}"
    target = max(ours.losses[-1], theirs.losses[-1])
    tokens_ratio = theirs.tokens_to(target) / ours.tokens_to(target)
    dearer = 1 + (theirs.optimizer_seconds - ours.optimizer_seconds) / ours.step_seconds
    yield (
        f"  to {target:.4f}: Muon takes {tokens_ratio:.2f} x the tokens, "
        f"{tokens_ratio * dearer:.2f} x the time"
    )


def main(shapes: Sequence[str], budgets: Sequence[int], threads: int) -> None:
    """Print the comparison and keep it."""
    lines = [
        f"{date.today()}  held-out nats per token at the end by peak rate; {threads} thread(s)"
    ]
    print(lines[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.yaml"
        path.write_text(RECIPE)
        tokens = open_tokens(prepare_tokens(load_recipe(path), Path(folder), print))
        for shape, budget in zip(shapes, budgets, strict=True):
            for line in compared(tokens, shape, budget, threads):
                print(line, flush=True)
                lines.append(line)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", nargs="+", default=["0.4M", "1.4M", "5M"])
    parser.add_argument("--tokens", nargs="+", type=int, default=[5_000_000, 5_000_000, 5_000_000])
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    main(chosen.shapes, chosen.tokens, chosen.threads)
