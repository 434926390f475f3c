"""Experts as one mixture of experts, on real text of four languages.

    python benchmarks/moe_export.py [WORKSPACE]

A base of 0.4M parameters on 600k tokens of `../shared/data/text`, then 240k tokens more: one dense
model, and two ensembles of an expert for each language that train all weights or the feed-forward
layers alone. Each ensemble is exported by `--moe`, and the router of that trained on 40k tokens, of
one of them all weights too. A workspace is resumed.
"""

import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import torch
from twin import difference

import tongues
from tongues.core.pages import text_table
from tongues.evaluate.documents import held_out_documents
from tongues.evaluate.losses import DocumentLosses
from tongues.evaluate.texts import routed_losses
from tongues.experts.ensemble.model import open_model
from tongues.experts.heldout import unseen_documents
from tongues.text import Document
from tongues.text.tokens import open_tokens

Losses = dict[str, dict[str, DocumentLosses]]  # by model and language
Texts = dict[str, list[Document]]

TEXT = (Path(__file__).parents[1] / "../shared/data/text").resolve()
LANGUAGES = ("en", "de", "ru", "ar")
MIXTURE = ", ".join(f"{lang}: 25%" for lang in LANGUAGES)
EVEN = f"mixture: {{{MIXTURE}}}"
KNOWN = f"targets: [{', '.join(LANGUAGES)}]"
RECIPE = """
name: moe
text:
  files:
{files}
tokens: {{vocab_size: 2000, held_out: 40k tokens}}
{model}train: {{{train}, batch: 1024 tokens, context: 64 tokens, num_evals: 1}}
"""
PARTS = {"all": "all", "ffn": "feed_forward"}
RATE, FEW = "learning_rate: 0.003", "eval_tokens: 2k tokens"


def recipe(workspace: Path, name: str, train: str, model: str = "", experts: str = "") -> Path:
    """A recipe's file."""
    files = "\n".join(f"    {lang}: {TEXT}/mdn/{lang}.jsonl.gz" for lang in LANGUAGES)
    file = workspace / f"{name}.yaml"
    file.write_text(RECIPE.format(files=files, train=train, model=model) + experts)
    return file


def further(workspace: Path, run: str, base: Path, trainable: str, rate: float) -> Path:
    """A folder trained on 40k tokens of all languages; its run."""
    known = f"base: {{model: {base}, languages: [{', '.join(LANGUAGES)}]}}"
    train = (
        f"run: {run}, {known}, {KNOWN}, {EVEN}, budget: 40k tokens, trainable: {trainable}, {FEW}"
    )
    made = recipe(workspace, run, f"{train}, learning_rate: {rate}")
    return tongues.train(made, workspace=workspace)


def models(workspace: Path) -> Iterator[dict[str, str]]:
    """All that is compared, by what it is called, as `open_model` takes it; more by and by."""
    shape = "model: {shape: 0.4M}\n"
    base = recipe(workspace, "base", f"run: base, {EVEN}, budget: 600k tokens, {RATE}", shape)
    tongues.prepare(base, workspace=workspace)
    tongues.train(base, workspace=workspace)
    named = {"base": "base"}
    for name, part in PARTS.items():
        train = f"base: base, budget: 240k tokens, trainable: {part}, {RATE}"
        train += "" if name == "all" else f", {FEW}"
        ways = f"[{{by: languages, name: {name}}}" + (", {by: dense}]" if name == "all" else "]")
        experts = recipe(workspace, name, train, experts=f"experts: {{partitions: {ways}}}\n")
        tongues.experts.train(experts, workspace=workspace)
        if name == "all":
            named["dense"] = "moe/dense-s1"
        for way in ("language", "filter:1", "filter:2"):
            named[f"{name}: ensemble {way}"] = f"moe/{name}-s1@{way}"
        out = workspace / f"moe-{name}"
        if not out.exists():
            tongues.export(f"moe/{name}-s1", out, workspace=workspace, moe=True, quiet=True)
        named[f"{name}: moe"] = str(out)
        trained = further(workspace, f"r-{name}", out, "routers", 1e-2)
        named[f"{name}: moe, router trained"] = str(trained)
        if name == "all":
            trained = further(workspace, "w-all", out, "all", 1e-3)
            named["all: moe, all trained"] = str(trained)
        yield named


def score(name: str, given: str, workspace: Path, texts: Texts, losses: Losses) -> dict[str, str]:
    """A row of the table; `losses` of what it is compared with are there, and get its own."""
    model = open_model(given, workspace)
    own = losses[name] = {lang: routed_losses([model], texts[lang])[0] for lang in LANGUAGES}
    best = losses[f"{name.partition(':')[0]}: ensemble language"] if ":" in name else own
    top = losses.get(f"{name.partition(':')[0]}: ensemble filter:2", own)
    others = (best, top if "moe" in name else own, losses.get("dense", own))
    changes = ["" if other is own else difference(own, other, LANGUAGES) for other in others]
    return (
        {"model": name}
        | {lang: f"{own[lang].loss:.3f}" for lang in LANGUAGES}
        | {"mean": f"{np.mean([own[lang].loss for lang in LANGUAGES]):.3f}"}
        | dict(zip(("minus its expert", "minus top 2", "minus dense"), changes, strict=True))
    )


def main(workspace: Path) -> None:
    """Train, score, print and keep the table."""
    torch.set_num_threads(1)
    losses: Losses = {}
    rows: list[dict[str, str]] = []
    for named in models(workspace):
        tokens = open_tokens(workspace / "tokens/moe")
        unseen = unseen_documents(tokens, [], workspace)
        texts = held_out_documents(tokens, unseen, LANGUAGES, tokens=24_000)
        new = {name: given for name, given in named.items() if name not in losses}
        rows += [score(name, given, workspace, texts, losses) for name, given in new.items()]
        lines = [
            f"{date.today()}  {(__doc__ or '').splitlines()[0]}",
            "Held-out nats per token, intervals over documents in pairs.",
            "",
            text_table(rows),
        ]
        print("\n".join(lines))
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        place = Path(sys.argv[1])
        place.mkdir(parents=True, exist_ok=True)
        main(place.absolute())
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
