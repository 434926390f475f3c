"""Experts and one dense model on real text: at equal tokens, steps, parameters and memory.

    python benchmarks/twin.py WORKSPACE

The twin of Blevins et al. 2024 with models of 1.1M parameters (shape 0.4M, with embeddings), on
`../shared/data/text`; `twin.yaml` has its design. A base of eight languages is trained further, by
dense models and by experts of two languages, of one, of low rank, and of a fourth of the size. Then
four unseen languages, each with its donor, are added: an expert each (HMR), or all in the dense
model (LAPT), at the same batch and at the same steps, with even text and with the shares of mC4.
Held-out nats per token by the language of the text; a document's loss is the mean over seeds,
intervals are over documents in pairs. A workspace is resumed.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

import tongues
from tongues.core.pages import text_table
from tongues.core.significance import paired_mean
from tongues.evaluate.documents import held_out_documents
from tongues.evaluate.losses import DocumentLosses
from tongues.evaluate.texts import routed_losses
from tongues.experts.ensemble.model import open_model
from tongues.experts.heldout import unseen_documents
from tongues.text.tokens import open_tokens

TEXT = (Path(__file__).parents[1] / "../shared/data/text").resolve()
DESIGN: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
KNOWN, DONORS = list[str](DESIGN["known"]), dict[str, str](DESIGN["donors"])
GROUPS = {"known": KNOWN, "added": list(DONORS), "donors": list(DONORS.values())}
GROUPS["others"] = [lang for lang in KNOWN if lang not in GROUPS["donors"]]
MODELS = {name: DESIGN["usual"] | changes for name, changes in DESIGN["models"].items()}
SEEDS, SCORED = (1, 2), 12_000  # held-out tokens of a language
RECIPE = """
name: twin
text:
  files:
{files}
tokens: {{vocab_size: 4096, held_out: 24k tokens}}
{model}train: {{run: {run}, {base}mixture: {{{mixture}}}, budget: {tokens} tokens, seed: {seed},
  batch: {batch} tokens, context: 128 tokens, learning_rate: {rate}, trainable: {trainable},
  num_evals: 1, eval_tokens: 1k tokens, eval_languages: [{first}]}}
"""

Losses = dict[str, DocumentLosses]  # by language
Found = Mapping[str, list[Losses]]  # by model and seed


def shares_of(cluster: Sequence[str], text: str) -> dict[str, float]:
    """Per cent of each language."""
    sizes = {lang: DESIGN["mC4"][lang] if text != "even" else 1.0 for lang in cluster}
    if text == "mC4, a quarter each pair":
        pairs = [(lang, donor) for lang, donor in DONORS.items()]
        total = {one: sizes[pair[0]] + sizes[pair[1]] for pair in pairs for one in pair}
        sizes = {lang: size / total[lang] for lang, size in sizes.items()}
    shares = {x: round(100 * size / sum(sizes.values()), 3) for x, size in sizes.items()}
    rest = 100 - sum(shares.values())  # of what was rounded
    return shares | {cluster[0]: round(shares[cluster[0]] + rest, 3)}


def own_seed(name: str, seed: int) -> int:
    """Of a model; what all others branch from has one."""
    return seed if MODELS[name]["from"] in MODELS else SEEDS[0]


def run_of(name: str, cluster: Sequence[str], seed: int) -> str:
    """The run of a model that read a cluster."""
    plain = name.replace(", ", "-").replace(" ", "-")
    return "-".join([plain, *cluster, f"s{own_seed(name, seed)}"])


def train(workspace: Path, name: str, cluster: Sequence[str], seed: int) -> str:
    """A run of a model, by name, once it is trained."""
    of, own = MODELS[name], run_of(name, cluster, seed)
    fresh = of["from"] not in MODELS
    base = ""
    if not fresh:
        before = DESIGN["clusters"][MODELS[of["from"]]["clusters"]]
        parent = next(one for one in before if cluster[0] in one)
        base = f"base: {run_of(of['from'], parent, seed)}, targets: [{', '.join(cluster)}], "
    shares = shares_of(cluster, of["text"]).items()
    tokens = of["tokens"] // len(DESIGN["clusters"][of["clusters"]])
    named = {"files": "\n".join(f"    {x}: '{TEXT}/*/{x}.jsonl.gz'" for x in (*KNOWN, *DONORS))}
    named |= {"model": f"model: {{shape: {of['from']}}}\n" if fresh else "", "base": base}
    named |= {"mixture": ", ".join(f"{lang}: {share:.3f}%" for lang, share in shares)}
    named |= {"tokens": tokens, "run": own, "seed": seed, "first": cluster[0]}
    file = workspace / f"{own}.yaml"
    file.write_text(RECIPE.format(**of | named))
    if not (workspace / "tokens/twin").is_dir():
        tongues.prepare(file, workspace=workspace)
    tongues.train(file, workspace=workspace)
    return own


@cache
def scored(workspace: Path, name: str, seed: int) -> Losses:
    """Losses of a model, of each language by the run that read it.

    One model is scored on all that it may know, the base also on what is added.
    """
    seed, losses = own_seed(name, seed), dict[str, DocumentLosses]()
    clusters = DESIGN["clusters"][MODELS[name]["clusters"]]
    for cluster in clusters:
        model = open_model(train(workspace, name, cluster, seed), workspace)
        more = [*DONORS] if name == "base" else KNOWN if len(clusters) == 1 else []
        tokens = open_tokens(workspace / "tokens/twin")
        unseen, asked = unseen_documents(tokens, [], workspace), {*cluster, *more}
        texts = held_out_documents(tokens, unseen, sorted(asked), tokens=SCORED)
        losses |= {lang: routed_losses([model], of)[0] for lang, of in texts.items()}
    return losses


def mean_over_seeds(of: Sequence[Losses]) -> Losses:
    """A document's loss is the mean over seeds."""
    means = {lang: np.mean([one[lang].nats for one in of], axis=0) for lang in of[0]}
    return {lang: replace(of[0][lang], nats=nats) for lang, nats in means.items()}


def difference(own: Losses, other: Losses, languages: Sequence[str]) -> str:
    """The mean difference over languages, with its interval."""
    of = paired_mean(
        [own[lang].nats for lang in languages],
        [other[lang].nats for lang in languages],
        [own[lang].tokens for lang in languages],
        [own[lang].segments for lang in languages],
    )
    return f"{of.value:+.3f}" + ("" if of.low is None else f" [{of.low:+.3f}, {of.high:+.3f}]")


def rows(found: Found) -> Iterator[dict[str, str]]:
    """A comparison each: the mean over its languages, each seed's, every added language's own."""
    for group, name, minus in DESIGN["compared"]:
        pairs = list(zip(found.get(name, ()), found.get(minus, ()), strict=False))
        if not pairs:
            continue
        each = [difference(a, b, GROUPS[group]).split()[0] for a, b in pairs]
        own, other = (mean_over_seeds(of) for of in zip(*pairs, strict=True))
        row = {"nats per token, in pairs": f"{group}: {name} minus {minus}"}
        row |= {"mean": difference(own, other, GROUPS[group]), "seeds": " / ".join(each)}
        added = group == "added"
        yield row | {x: difference(own, other, [x]) if added else "" for x in DONORS}


def report(found: Found) -> str:
    """Both tables."""
    means = {name: mean_over_seeds(of) for name, of in found.items()}
    table = []
    for name, of in means.items():
        row = {"nats per token": name, "seeds": f"{len(found[name])}"}
        row |= {x: f"{of[x].loss:.3f}" if x in of else "" for x in (*KNOWN, *DONORS)}
        for group in ("known", "added"):
            losses = [of[lang].loss for lang in GROUPS[group] if lang in of]
            row[group] = f"{np.mean(losses):.3f}" if len(losses) == len(GROUPS[group]) else ""
        table.append(row)
    documents = ", ".join(f"{x} {len(of.nats)}" for x, of in means["base"].items())
    counts = "; ".join(f"{name} {count:,}" for name, count in DESIGN["parameters"].items())
    lines = [
        f"{date.today()}  {(__doc__ or '').splitlines()[0]}",
        f"Held-out documents: {documents}. Parameters: {counts}.",
        "",
        text_table(table),
        "",
        "In brackets 95 % confidence intervals over documents.",
        text_table(list(rows(found))),
    ]
    return "\n".join(lines) + "\n"


def main(workspace: Path) -> None:
    """Train and score what is not there yet; print and keep the tables."""
    torch.set_num_threads(1)
    workspace.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Losses]] = {}
    for seed, name in product(SEEDS, MODELS):
        found.setdefault(name, []).append(scored(workspace, name, seed))
        Path(__file__).with_suffix(".txt").write_text(report(found), encoding="utf-8")
    print(report(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
