"""Stage: NeMo AutoModel continues SmolLM2 from the folder that `tongues export` hands it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

import torch
from common import Bench, measure, set_up
from torch.nn.functional import cross_entropy

import tongues
from tongues.recipe import load_recipe, show_recipe

HERE = Path(__file__).resolve().parent
STEPS, WARM = 20, 5  # steps before the clock starts
MICRO = 16_384  # tokens at a time, on a GPU


def automodel(bench: Bench) -> None:
    """Its first loss against ours on the same batch, and its speed against ours."""
    python, site = sys.executable, bench.place / "site-automodel"
    own = HERE.parents[1] / ".engines/automodel/bin/python"
    if not site.is_dir() and own.is_file():
        python, site = str(own), None
    elif not site.is_dir():
        bench.say("NOT RUN: AutoModel is not here: its pack is `automodel`")
        return
    folder = _hand_over(bench)
    given = (
        {}
        if site is None
        else {"PYTHONPATH": os.pathsep.join([str(site), str(site.parent / "site")])}
    )
    command = [python, str(HERE / "automodel.py"), "--checkpoint.enabled=false"]
    if not bench.rehearse:
        command.append(f"--step_scheduler.local_batch_size={MICRO // bench.sizes.context}")
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    log = bench.out / "automodel.log"
    with log.open("w", encoding="utf-8") as file:
        subprocess.run(
            command, cwd=folder, env=without | given, stdout=file, stderr=file, check=True
        )
    rows = [json.loads(line) for line in (folder / "out/training.jsonl").open(encoding="utf-8")]
    bench.check(f"{len(rows)} steps, loss {rows[-1]['loss']:.3f} at the end", len(rows) == STEPS)
    ours, theirs = _our_loss(bench, folder), rows[0]["loss"]
    limit = 1e-2 if bench.device.type == "cuda" else 1e-4
    off = abs(theirs - ours) / ours
    words = f"first loss {theirs:.6f}, ours on its batch {ours:.6f}: off by {off:.1e}"
    bench.check(words, off < limit)
    speed = median(row["tps"] for row in rows[WARM:])
    bench.say(f"AutoModel: {speed:,.0f} tokens/s, the median of {STEPS - WARM} steps")
    measure(bench, "ours", bench.plan(base=bench.smollm2), bench.smollm2)


def _hand_over(bench: Bench) -> Path:
    """The folder for AutoModel of a recipe of 20 steps."""
    bench.tokens()
    base = f"train.base={{model: {bench.smollm2}, languages: [qab]}}"
    budget = f"train.budget={STEPS * bench.sizes.batch} tokens"
    changes = ["model.shape=null", base, budget, "train.learning_rate=1e-4"]
    recipe, folder = bench.work / "handed.yaml", bench.work / "handed"
    recipe.write_text(show_recipe(load_recipe(bench.recipe("bench"), changes)), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    tongues.export(str(recipe), engine="automodel", out=folder, workspace=bench.work, quiet=True)
    return folder


def _our_loss(bench: Bench, folder: Path) -> float:
    """Of the base that was handed over, on the first rows that AutoModel read."""
    first = torch.load(folder / "first.pt")
    setup, _ = set_up(bench, bench.plan("train.compile=off", base=folder / "base"), folder / "base")
    ids, labels = (first[name].to(bench.device) for name in ("input_ids", "labels"))
    with (
        torch.no_grad(),
        torch.autocast(bench.device.type, torch.bfloat16, bench.device.type == "cuda"),
    ):
        logits = setup.scorer.model(input_ids=ids).logits
    return cross_entropy(logits.float().mT, labels).item()
