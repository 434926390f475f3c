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
OWN = HERE.parents[1] / ".engines/automodel/bin/python"  # of the slow tests
STEPS, WARM = 20, 5  # steps before the clock starts
MICRO = {False: 16_384, True: 1024}  # tokens at a time; in a rehearsal


def automodel(bench: Bench) -> None:
    """Its first loss against ours on the same batch, and its speed against ours."""
    site = bench.place / "site-automodel"
    if not site.is_dir() and not OWN.is_file():
        bench.say("NOT RUN: AutoModel is not here: its pack is `automodel`")
        return
    bench.tokens()
    folder = _hand_over(bench)
    paths = os.pathsep.join([str(site), str(bench.place / "site")]) if site.is_dir() else ""
    command = [sys.executable if paths else str(OWN), str(HERE / "automodel.py")]
    micro = MICRO[bench.rehearse] // bench.sizes.context
    command += ["--checkpoint.enabled=false", f"--step_scheduler.local_batch_size={micro}"]
    with (bench.out / "automodel.log").open("w", encoding="utf-8") as log:
        given = os.environ | {"PYTHONPATH": paths}
        subprocess.run(command, cwd=folder, env=given, stdout=log, stderr=log, check=True)
    rows = [json.loads(line) for line in (folder / "out/training.jsonl").open(encoding="utf-8")]
    bench.check(f"{len(rows)} steps, loss {rows[-1]['loss']:.3f} at the end", len(rows) == STEPS)
    ours, theirs, cuda = _our_loss(bench, folder), rows[0]["loss"], bench.device.type == "cuda"
    off = abs(theirs - ours) / ours
    words = f"first loss {theirs:.6f}, ours on its batch {ours:.6f}: off by {off:.1e}"
    bench.check(words, off < (1e-2 if cuda else 1e-4))
    speed = median(row["tps"] for row in rows[WARM:])
    bench.say(f"AutoModel: {speed:,.0f} tokens/s, the median of {STEPS - WARM} steps")
    measure(bench, "ours", bench.plan(base=bench.smollm2), bench.smollm2)


def _hand_over(bench: Bench) -> Path:
    """The folder for AutoModel of a recipe of 20 steps."""
    base = f"train.base={{model: {bench.smollm2}, languages: [qab]}}"
    budget = f"train.budget={STEPS * bench.sizes.batch} tokens"
    changes = ["model.shape=null", base, budget, "train.learning_rate=1e-4"]
    # Tokens of its own: those of the packs name a base of the machine that packed them.
    recipe = bench.recipe("handed", f"base: {bench.smollm2}, byte_fallback: allow")
    recipe.write_text(show_recipe(load_recipe(recipe, changes)), encoding="utf-8")
    tongues.prepare(str(recipe), workspace=bench.work, overwrite=True, quiet=True)
    folder = bench.work / "handed"
    shutil.rmtree(folder, ignore_errors=True)
    return tongues.export(
        str(recipe), engine="automodel", out=folder, workspace=bench.work, quiet=True
    )


def _our_loss(bench: Bench, folder: Path) -> float:
    """Of the base that was handed over, on the rows that AutoModel read first."""
    first, kind = torch.load(folder / "first.pt"), bench.device.type
    setup, _ = set_up(bench, bench.plan(base=folder / "base"), folder / "base")
    ids, labels = (first[key].to(bench.device) for key in ("input_ids", "labels"))
    with torch.no_grad(), torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
        return cross_entropy(setup.scorer.model(input_ids=ids).logits.float().mT, labels).item()
