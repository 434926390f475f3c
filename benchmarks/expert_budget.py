"""Experts that share a budget evenly and by their text, on real text of uneven amounts.

    python benchmarks/expert_budget.py [WORKSPACE]

Four languages of `../shared/data/text`, one of them with about half of the text, or a third. A base
of 0.2M parameters, then as many tokens again: one dense model, and experts of each language that
share them by either rule. The base has read all languages equally (`even base`) or in proportion to
their text (`uneven base`). Intervals are over documents: another order of training text is not in
them. A workspace is resumed.
"""

import gzip
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import torch

import tongues
from tongues.estimate import Estimate
from tongues.evaluate.documents import read_texts
from tongues.evaluate.losses import DocumentLosses
from tongues.evaluate.texts import routed_losses
from tongues.experts.ensemble.model import open_model
from tongues.experts.plans import plan_rounds
from tongues.frames import text_table
from tongues.recipe import load_recipe
from tongues.significance import paired_mean
from tongues.tokens import open_tokens

Losses = dict[str, DocumentLosses]  # by language


@dataclass(frozen=True)
class Setting:
    """Languages, how many times as much text the first has as each other, what the base read."""

    languages: tuple[str, ...]
    times: float
    even_base: bool


TEXT = (Path(__file__).parents[1] / "../shared/data/text/mdn").resolve()
SETTINGS = {
    "even base": Setting(("de", "en", "es", "ru"), 2.5, even_base=True),
    "uneven base": Setting(("fr", "en", "ko", "vi"), 2.5, even_base=False),
    "uneven base, a third": Setting(("ja", "en", "pl", "zh"), 1.5, even_base=False),
}
SIZE = 400_000  # bytes of each language but the first
SCORED = 40  # texts of each language, of pages that no language was trained on
RECIPE = """
name: uneven
text:
  files:
{files}
tokens: {{vocab_size: 1000, held_out: 24k tokens}}
{model}train:
  {base}
  budget: 240k tokens
  batch: 512 tokens
  context: 64 tokens
  learning_rate: 0.003
  eval_tokens: 4k tokens
{rest}"""
EXPERTS = """  num_evals: 1
experts:
  partitions: [{{by: languages, name: {name}}}{dense}]
  budget: {budget}
"""


def cut(workspace: Path, setting: Setting) -> str:
    """Text of each language, as the recipe names it; `unseen/` gets other pages."""
    lines, rest, used = [], {}, set()
    for place, lang in enumerate(setting.languages):
        size = SIZE * (1 if place else setting.times)
        file, left, kept = workspace / f"{lang}.jsonl", size, []
        lines.append(f"    {lang}: {file}")
        with gzip.open(TEXT / f"{lang}.jsonl.gz", "rt") as packed:
            rows = list(packed)
        for row in rows:
            left -= len(json.loads(row)["text"].encode())
            kept.append(row)
            if left < 0:
                break
        file.write_text("".join(kept))
        rest[lang] = rows[len(kept) :]
        used |= {json.loads(row)["group"] for row in kept}
    (workspace / "unseen").mkdir(exist_ok=True)
    for lang, rows in rest.items():
        new = [row for row in rows if json.loads(row)["group"] not in used]
        (workspace / f"unseen/{lang}.jsonl").write_text("".join(new[:SCORED]))
    return "\n".join(lines)


def recipe(workspace: Path, name: str, **parts: str) -> Path:
    """A recipe's file."""
    file = workspace / f"{name}.yaml"
    file.write_text(RECIPE.format(**({"model": ""} | parts)))
    return file


def difference(own: Losses, other: Losses, langs: Sequence[str]) -> Estimate:
    """Of the mean losses on these languages."""
    return paired_mean(
        [own[lang].nats for lang in langs],
        [other[lang].nats for lang in langs],
        [own[lang].tokens for lang in langs],
        [own[lang].segments for lang in langs],
    )


def shown(of: Estimate) -> str:
    """With its interval."""
    return f"{of.value:+.3f} [{of.low:+.3f}, {of.high:+.3f}]" if of.low is not None else "none"


def measure(setting: Setting, workspace: Path) -> Iterator[str]:
    """Train all, and say what came out of it."""
    workspace.mkdir(parents=True, exist_ok=True)
    langs = setting.languages
    files, first = cut(workspace, setting), langs[0]
    even = ", ".join(f"{lang}: {1 / len(langs):.0%}" for lang in langs)
    rule = f"{{{even}}}" if setting.even_base else "{by: text, power: 1, max_epochs: off}"
    model, rest = "model: {shape: 0.2M}\n", "  num_evals: 12\n"
    base = f"run: base\n  mixture: {rule}"
    base_file = recipe(workspace, "base", files=files, model=model, base=base, rest=rest)
    tongues.prepare(base_file, workspace=workspace)
    tongues.train(base_file, workspace=workspace)
    tokens = open_tokens(workspace / "tokens/uneven")
    amounts = np.array([tokens.counts[lang]["train"]["tokens"] for lang in langs])
    texts = read_texts(str(workspace / "unseen"), workspace, languages=langs)

    def scored(name: str) -> Losses:
        model = open_model(name, workspace)
        return {lang: routed_losses([model], texts[lang])[0] for lang in langs}

    rules = {"even": "even", "text": "by text"}
    losses, rows = {"base": scored("base")}, [{"model": "base"}]
    for name, budget in rules.items():
        dense = ", {by: dense}" if name == "even" else ""
        rest = EXPERTS.format(name=name, dense=dense, budget=budget)
        file = recipe(workspace, name, files=files, base="base: base", rest=rest)
        made = plan_rounds(load_recipe(file), workspace, make=True)[0]
        spent = np.array([run.settings.budget.amount for run in made.runs])
        of = {"experts": " ".join(f"{share:.0%}" for share in spent / spent.sum())}
        tongues.experts.train(file, workspace=workspace)
        losses[name] = scored(f"uneven/{name}-s1@language")
        if name == "even":
            losses["dense"] = scored("uneven/dense-s1")
            rows.append({"model": "dense"})
        rows.append({"model": name} | of)
    for row in rows:
        own = losses[row["model"]]
        row |= {lang: f"{own[lang].loss:.3f}" for lang in langs}
        if row["model"] not in ("base", "dense"):
            row[f"{first} minus dense"] = shown(difference(own, losses["dense"], [first]))
            row["mean minus dense"] = shown(difference(own, losses["dense"], langs))
        if row["model"] not in ("base", "dense", "even"):
            row["mean minus even"] = shown(difference(own, losses["even"], langs))
    yield "share of the text: " + ", ".join(
        f"{lang} {share:.0%}" for lang, share in zip(langs, amounts / amounts.sum(), strict=True)
    )
    yield ""
    yield text_table([{key: row.get(key, "") for key in rows[-1]} for row in rows])


def main(workspace: Path) -> None:
    """Train, score, print and keep the tables."""
    torch.set_num_threads(1)
    lines = [
        f"{date.today()}  {(__doc__ or '').splitlines()[0]}",
        "Held-out nats per token; differences with 95 % intervals over documents.",
    ]
    for name, setting in SETTINGS.items():
        lines += ["", f"{name}: {', '.join(setting.languages)}"]
        for line in measure(setting, workspace / re.sub(r"\W+", "-", name)):
            print(line, flush=True)
            lines.append(line)
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).absolute())
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
