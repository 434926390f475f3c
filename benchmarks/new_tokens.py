"""How 2,000 new tokens of a real base start: the loss at once, and after training.

    python benchmarks/new_tokens.py [TOKENS] [CELLS]

SmolLM2-135M gets 2,000 tokens for Greek, and for Hindi (lessons, `ms_beginners`), next to English
(web documentation and Bible), and is trained on TOKENS (200,000) of them, 20 % English: the start
of a run of 10M tokens. A cell is a language, a method and a seed. At most CELLS of them (all) are
run; each is kept in `build/new_tokens/`, and not run again. The table goes to `new_tokens.txt`.
What new rows alone cost English is measured before the first step, on all held-out text.

The table of November 2026 also has the three methods that lost and left, and the losses of a short
try of each.
"""

import json
import os
import sys
from datetime import date
from pathlib import Path

import torch

from tongues.core.files import write_json
from tongues.models.smollm2 import make_smollm2
from tongues.recipe import load_recipe
from tongues.text.tokens import load_tokenizer, open_tokens, prepare_tokens
from tongues.train import derive, run_of_recipe
from tongues.train.base_tokens import check_base
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import release_memory
from tongues.train.initialize import initialize
from tongues.train.schedule import rate_at
from tongues.train.start import LocalRun, assemble
from tongues.train.step import BatchLoader, Setup, gradient, update, validate
from tongues.train.work import open_work

ROOT = Path(__file__).parents[1]
TEXT = ROOT / "../shared/data/text"
BUILD = ROOT / "build/new_tokens"
LANGUAGES = {"el": "Greek", "hi": "Hindi"}
SEEDS = {1: ("mean", "distilled"), 2: ("mean",)}  # the second for the noise between seeds
RECIPE = """
name: {lang}
text:
  files:
    en: [{text}/mdn/en.jsonl.gz, {text}/bible/en.jsonl.gz]
    {lang}: {text}/ms_beginners/{lang}.jsonl.gz
tokens:
  base: {base}
  extend: {{new_tokens: 2000, languages: [{lang}], preserve: [en]}}
  sample: 3 MB
  held_out: 40k tokens
train:
  base: {{model: {base}, languages: [en]}}
  mixture: {{{lang}: 100%}}
  replay: {{en: 20%}}
  budget: 10M tokens
  batch: 8192 tokens
  micro_batch: 2048 tokens
  context: 512 tokens
  learning_rate: 3.0e-4
  warmup: 1%
  eval_tokens: 16384 tokens
  compile: off
  threads: {threads}
"""


def cell(lang: str, method: str, seed: int, tokens: int) -> dict:
    """Losses by language at the start and after training; what English loses."""
    base = make_smollm2(ROOT / "build/smollm2")
    file, threads = BUILD / f"{lang}.yaml", len(os.sched_getaffinity(0))
    BUILD.mkdir(parents=True, exist_ok=True)
    file.write_text(RECIPE.format(lang=lang, base=base, text=TEXT.resolve(), threads=threads))
    recipe = load_recipe(file, (f"train.seed={seed}", f"model.new_embeddings={method}"))
    if not (BUILD / "tokens" / lang).is_dir():
        prepare_tokens(recipe, BUILD, print)
    text, plan = open_tokens(BUILD / "tokens" / lang), run_of_recipe(open_work(recipe))
    derived = derive(plan, text.vocabulary_size, base)
    token_map = check_base(plan, load_tokenizer(text.tokenizer_path), base)
    assert token_map is not None
    task = LocalRun(plan, text, base, token_map, BUILD / "run", Processes(), threads)
    setup, _, matrices = assemble(task, derived, print, None)
    initialize(setup, token_map, matrices, print)
    at_start = validate(setup.scorer, setup.texts, setup.processes)
    rise, loader = english_rise(setup, token_map.base_size), BatchLoader(setup)
    for step in range(tokens // derived.batch):
        loss = gradient(setup, loader, step, ()).loss
        update(setup, rate_at(step, derived.steps, derived.learning_rate, plan.settings))
        print(f"  {lang} {method} step {step + 1}: {loss:.3f}", flush=True)
    at_end = validate(setup.scorer, setup.texts, setup.processes)
    losses = {"start": at_start, "end": at_end}
    return {"rise": rise} | {
        name: {lang: loss.nats_per_token for lang, loss in by_language.items()}
        for name, by_language in losses.items()
    }


@torch.no_grad()
def english_rise(setup: Setup, known: int) -> float:
    """Nats per token by which new rows alone raise the loss of English: -log(1 - their share)."""
    head = setup.scorer.model.get_output_embeddings()
    assert head is not None
    total = count = 0.0
    for windows in setup.texts["en"].windows.split(1):
        hidden = setup.scorer.hidden_states(windows[:, :-1]).flatten(0, 1).float()
        logits = hidden @ head.get_parameter("weight").T
        total += float((logits.logsumexp(1) - logits[:, :known].logsumexp(1)).sum())
        count += len(hidden)
    return total / count


def table(cells: dict[str, dict], tokens: int) -> str:
    """All that is known, a line a cell."""
    what = "2,000 new tokens; held-out nats per token"
    lines = [f"{date.today()}  SmolLM2-135M, {what} after {tokens:,} tokens"]
    lines.append(f"{'':18}{'start':>8}{'end':>8}{'en start':>10}{'en end':>8}{'rise':>8}")
    for lang, title in LANGUAGES.items():
        for seed, methods in SEEDS.items():
            for method in methods:
                if losses := cells.get(f"{lang} {method} {seed} {tokens}"):
                    each = [losses[at][lang] for at in ("start", "end")]
                    english = [losses[at]["en"] for at in ("start", "end")]
                    name = f"{title} {method}" + f", seed {seed}" * (seed > 1)
                    lines.append(
                        f"{name:18}" + "".join(f"{x:8.3f}" for x in each)
                        + f"{english[0]:10.3f}{english[1]:8.3f}{losses['rise']:8.4f}"
                    )  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is missing, and write the table."""
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    place = BUILD / "cells.json"
    cells = json.loads(place.read_text()) if place.is_file() else {}
    wanted = [
        (lang, method, seed)
        for seed, methods in SEEDS.items()
        for method in methods
        for lang in LANGUAGES
    ]
    missing = [one for one in wanted if " ".join(map(str, (*one, tokens))) not in cells]
    for lang, method, seed in missing[:most]:
        cells[f"{lang} {method} {seed} {tokens}"] = cell(lang, method, seed, tokens)
        write_json(place, cells)
        release_memory()
        print(table(cells, tokens), flush=True)
    if len(missing) <= most:
        (ROOT / "benchmarks/new_tokens.txt").write_text(table(cells, tokens), encoding="utf-8")


if __name__ == "__main__":
    main()
