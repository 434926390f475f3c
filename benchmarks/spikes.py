"""Alarms of the spike rule on ordinary steps, and damaged batches that it finds.

A plain loop trains small models; a batch in 200 is replaced by random tokens. Beside the rule:
its six deviations alone, without the least excess.

usage: python benchmarks/spikes.py [STEPS]
"""

import math
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import torch
from torch import nn

from tongues.models import find_shape
from tongues.models.huggingface import build_model
from tongues.tokens import Mixture, open_tokens
from tongues.train.spikes import Recent, judge

RECIPE = """
name: spikes
text: {synthetic: {seed: 1, size: 4 MB, languages: {qaa: {}, qab: {parent: qaa, divergence: 0.2}}}}
tokens: {vocab_size: 1024, held_out: 8192 tokens}
model: {shape: 0.1M}
train: {mixture: {qaa: 80%, qab: 20%}, budget: 1M tokens}
"""
CONTEXT = 128
WAYS = ((1, 3e-3), (4, 3e-3), (16, 3e-3), (4, 1e-2), (4, 1e-1))  # samples a batch, rate


def six_deviations(recent: Recent, loss: float, norm: float) -> bool:
    """The rule without a least excess."""
    for value, before in ((loss, recent.losses), (norm, recent.norms)):
        if len(before) >= 64 and value > statistics.fmean(before) + 6 * statistics.pstdev(before):
            return True
    return False


def curve(
    mixture: Mixture, rate: float, steps: int, damaged: Callable[[int], bool]
) -> list[tuple[float, float]]:
    """Loss and gradient norm of each step of a plain loop; damaged batches are not learned."""
    torch.manual_seed(1)
    model = build_model(find_shape("0.1M"), 1024, CONTEXT, seed=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), fused=True)
    curve = []
    for step in range(steps):
        batch = torch.from_numpy(mixture.batch(step))
        if damaged(step):
            batch = torch.randint(0, 1024, batch.shape)
        warming, left = min((step + 1) / (0.05 * steps), 1), 1 - step / steps
        for group in optimizer.param_groups:
            group["lr"] = rate * warming * (0.55 - 0.45 * math.cos(math.pi * left))
        predicted = model(input_ids=batch[:, :-1], use_cache=False).logits
        loss = nn.functional.cross_entropy(predicted.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not damaged(step):
            optimizer.step()
        optimizer.zero_grad()
        curve.append((loss.item(), norm.item()))
    return curve


def main(steps: int) -> None:
    """Train, judge each step, and keep the counts beside this script."""
    torch.set_num_threads(1)
    chance = random.Random(7)
    hit = {step for step in range(100, steps) if chance.random() < 1 / 200}
    lines = [
        f"{date.today()}  0.1M, vocabulary 1,024, {steps:,} steps each, {len(hit)} damaged batches",
        "tokens a batch    rate   alarms on ordinary steps (six deviations alone)   damaged found",
    ]
    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder) / "spikes.yaml"
        recipe.write_text(RECIPE)
        command = [sys.executable, "-m", "tongues", "prepare", str(recipe), "--workspace", folder]
        subprocess.run(command, check=True, capture_output=True)
        tokens = open_tokens(Path(folder) / "tokens" / "spikes")
        sources, shares = (
            {lang: tokens.train(lang) for lang in tokens.languages},
            {"qaa": 0.8, "qab": 0.2},
        )
        for samples, rate in WAYS:
            mixture = Mixture(sources, shares, CONTEXT, 1, samples)
            recent, alarms, alone, found = Recent(), 0, 0, 0
            for step, (loss, norm) in enumerate(curve(mixture, rate, steps, hit.__contains__)):
                spike = judge(recent, loss, norm)
                if step in hit:
                    found += spike is not None
                    continue
                alarms += spike is not None
                alone += six_deviations(recent, loss, norm)
                recent = recent.followed_by(loss, norm)
            lines.append(
                f"{samples * CONTEXT:>14,}  {rate:>6g}   {alarms:>24} ({alone})"
                f"   {found:>34} of {len(hit)}"
            )
            print(lines[-1], flush=True)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 2000)
