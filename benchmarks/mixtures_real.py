"""Mixtures of eight real languages with uneven text, at equal tokens.

    python benchmarks/mixtures_real.py [WORKSPACE]

Web documentation (`../shared/data/text/mdn`) in eight languages, of which the largest has ten times
the text of the smallest. Models of 0.2M parameters read 4M tokens, with two seeds: in proportion
to the text, by temperature (the text to the power 0.3), by UniMax (equal amounts of content, at
most 4 epochs, the default), and by the best shares of 27 proxies of 0.05M. The proxies' shares are
trained whether `tongues` would take them or not; it takes them where their expected gain is surely
above zero. Held-out nats per token, the mean over languages; a document's loss is the mean over
seeds, intervals are over documents. A workspace is resumed.
"""

import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import torch

import tongues
from tongues.core.pages import text_table
from tongues.core.significance import paired_mean
from tongues.evaluate.documents import read_texts
from tongues.evaluate.losses import DocumentLosses
from tongues.evaluate.texts import routed_losses
from tongues.experts.ensemble.model import open_model
from tongues.recipe import load_recipe
from tongues.runs.record import DerivedMixture, read_run
from tongues.train import run_of_recipe
from tongues.train.words import describe_mixture
from tongues.train.work import open_work

TEXT = (Path(__file__).parents[1] / "../shared/data/text/mdn").resolve()
LANGUAGES = ("en", "ru", "zh", "ko", "pl", "tr", "ar", "he")
SEEDS = (1, 2)
RULES = {
    "proportional": "{by: text, power: 1, max_epochs: off}",
    "temperature": "{by: text, power: 0.3, max_epochs: off}",
    "unimax": "{by: text}",
}
RECIPE = """
name: mixed
text:
  files:
{files}
tokens: {{vocab_size: 3000, held_out: 20k tokens}}
train:
  batch: 1024 tokens
  context: 128 tokens
  learning_rate: 3.0e-3
  eval_tokens: 10k tokens
  num_evals: 1
"""
PROXIES = """  budget: 55k tokens
study: {{targets: [{langs}], shapes: [0.05M], mixtures: 27}}
"""
RUN = "  budget: 4M tokens\nmodel: {shape: 0.2M}\n"

Losses = dict[str, DocumentLosses]  # by language


def recipe(workspace: Path, name: str, rest: str) -> Path:
    """A recipe's file."""
    files = "\n".join(f"    {lang}: {TEXT}/{lang}.jsonl.gz" for lang in LANGUAGES)
    file = workspace / f"{name}.yaml"
    file.write_text(RECIPE.format(files=files) + rest)
    return file


def train(workspace: Path) -> tuple[DerivedMixture, dict[str, Path]]:
    """What the proxies advise; and all runs, the first seed's by mixture."""
    proxies = recipe(workspace, "proxies", PROXIES.format(langs=", ".join(LANGUAGES)))
    tongues.prepare(proxies, workspace=workspace)
    tongues.study(proxies, workspace=workspace)
    large = recipe(workspace, "large", RUN)
    rule = "train.mixture={by: proxies, runs: mixed}"
    advice = run_of_recipe(open_work(load_recipe(large, (rule,)), workspace)).mixture
    assert advice
    assert "by_proxies" in advice
    best = {lang: f"{share:.2%}" for lang, share in advice["by_proxies"].items() if share}
    mixtures = RULES | {"proxies": "{" + ", ".join(f"{x}: {y}" for x, y in best.items()) + "}"}
    first = {}
    for name, mixture in mixtures.items():
        for seed in SEEDS:
            changes = [f"train.mixture={mixture}", f"train.seed={seed}"]
            run = tongues.train(large, (*changes, f"train.run={name}-s{seed}"), workspace=workspace)
            first.setdefault(name, run)
    return advice, first


def scored(workspace: Path, name: str) -> Losses:
    """The held-out losses of a mixture, a document's the mean over seeds."""
    texts = read_texts("mixed", workspace)
    models = [open_model(f"{name}-s{seed}", workspace) for seed in SEEDS]
    losses = {}
    for lang in LANGUAGES:
        of = [routed_losses([model], texts[lang])[0] for model in models]
        losses[lang] = replace(of[0], nats=np.mean([one.nats for one in of], axis=0))
    return losses


def difference(own: Losses, other: Losses) -> str:
    """Of the mean losses, with its interval."""
    of = paired_mean(
        [own[lang].nats for lang in LANGUAGES],
        [other[lang].nats for lang in LANGUAGES],
        [own[lang].tokens for lang in LANGUAGES],
        [own[lang].segments for lang in LANGUAGES],
    )
    p = f", p {of.p:.3f}" if of.p is not None else ""
    return f"{of.value:+.3f} [{of.low:+.3f}, {of.high:+.3f}]{p}"


def flops(runs: Iterable[Path]) -> float:
    """Of training, in all."""
    return sum(read_run(run).flops for run in runs)


def main(workspace: Path) -> None:
    """Train, score, print and keep the tables."""
    torch.set_num_threads(1)
    workspace.mkdir(parents=True, exist_ok=True)
    advice, first = train(workspace)
    runs = {name: read_run(run) for name, run in first.items()}
    losses = {name: scored(workspace, name) for name in first}
    proxies = flops(path.parent for path in (workspace / "runs/mixed").glob("*/run.json"))
    lines = [
        f"{date.today()}  {(__doc__ or '').splitlines()[0]}",
        f"A run of {runs['unimax'].tokens:,} tokens, {len(SEEDS)} seeds; the proxies take "
        f"{proxies / flops([first['unimax']]):.1%} of the FLOPs of one run.",
        describe_mixture(advice)[0],
        "",
        text_table(
            [
                {"text and shares": lang}
                | {"MB": f"{advice['languages'][lang]['bytes'] / 1e6:.2f}"}
                | {name: f"{run.shares.get(lang, 0):.1%}" for name, run in runs.items()}
                for lang in LANGUAGES
            ]
        ),
        "",
        text_table(
            [
                {"nats per token": name}
                | {lang: f"{of[lang].loss:.3f}" for lang in LANGUAGES}
                | {"mean": f"{np.mean([one.loss for one in of.values()]):.3f}"}
                | {
                    f"minus {other}": difference(of, losses[other]) if other != name else ""
                    for other in ("temperature", "unimax")
                }
                for name, of in losses.items()
            ]
        ),
    ]
    table = "\n".join(lines) + "\n"
    print(table)
    Path(__file__).with_suffix(".txt").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).absolute())
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
