"""Experts and one dense model on real text: at equal tokens, steps, parameters and memory.

    python benchmarks/twin.py [WORKSPACE]

The twin of Blevins et al. 2024 with models of 1.1M parameters (shape 0.4M, with embeddings), on
`../shared/data/text`. A base reads 1.5M tokens of eight languages. From it 560k tokens in all:
dense models, four experts of two languages by typology, eight of one, and four updates of rank 8;
and four experts of shape 0.05M, which hold together what one dense model does. Then four unseen
languages, each with its donor, in 200k tokens: an expert each (HMR), from the donor's expert or
from the dense model, or all in the dense model (LAPT); text even, or in the shares of mC4
(Azerbaijani and Turkish are Chinese and Japanese here). Held-out nats per token by the language of
the text; a document's loss is the mean over seeds, intervals are over documents in pairs. A
workspace is resumed.
"""

import pickle
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import product
from pathlib import Path

import numpy as np
import torch

import tongues
from tongues.core.frames import text_table
from tongues.core.significance import paired_mean
from tongues.evaluate.documents import held_out_documents
from tongues.evaluate.losses import DocumentLosses
from tongues.evaluate.texts import routed_losses
from tongues.experts.ensemble.model import open_model
from tongues.experts.heldout import unseen_documents
from tongues.text import Document
from tongues.text.tokens import open_tokens

TEXT = (Path(__file__).parents[1] / "../shared/data/text").resolve()
PAIRS = (("en", "fr"), ("ru", "de"), ("ar", "tr"), ("ja", "ko"))  # by typology, k = 4
KNOWN = [lang for pair in PAIRS for lang in pair]
DONORS = {"sv": "en", "pl": "ru", "he": "ar", "zh": "ja"}
SIZES = {"en": 942.1, "sv": 165.9, "ru": 1028, "pl": 422.9}  # GB of mC4
SIZES |= {"ar": 261.1, "he": 72.09, "ja": 266.4, "zh": 16.35}
SEEDS = (1, 2)
BASE, PARTITION, ADDED = 1_500_000, 560_000, 200_000  # tokens
RECIPE = """
name: twin
text:
  files:
{files}
tokens: {{vocab_size: 4096, held_out: 24k tokens}}
{model}train: {{run: {name}, {base}mixture: {{{mixture}}}, budget: {budget} tokens, seed: {seed},
  batch: {batch} tokens, context: 128 tokens, learning_rate: {rate}, trainable: {trainable},
  num_evals: 1, eval_tokens: 2k tokens}}
"""
LAST = {"HMR from dense, even", "low-rank", "small base", "small"}
LOW = "{lora: {rank: 8}, embeddings: false}"

Shares = Mapping[str, float]
Losses = dict[str, DocumentLosses]  # by language


@dataclass(frozen=True)
class Trained:
    """A run: what it branches from (by name; a shape where from nothing), and what it reads."""

    base: str
    shares: Shares
    tokens: float
    batch: int
    rate: float = 2e-3
    trainable: str = "all"


def even(languages: Sequence[str]) -> Shares:
    """The same of each."""
    return dict.fromkeys(languages, 1 / len(languages))


def by_size(languages: Sequence[str]) -> Shares:
    """As mC4 has them."""
    total = sum(SIZES[lang] for lang in languages)
    return {lang: SIZES[lang] / total for lang in languages}


def models() -> dict[str, tuple[dict[str, Trained], Sequence[str]]]:
    """By name of what is compared: its runs by name, each used for the languages it read.

    Second: the languages that it is scored on.
    """
    one = Trained("base", even(KNOWN), PARTITION, 512)
    low = {"rate": 1e-2, "trainable": LOW}
    made: dict[str, tuple[dict[str, Trained], Sequence[str]]] = {
        "base": ({"base": Trained("0.4M", even(KNOWN), BASE, 1024, 6e-3)}, [*KNOWN, *DONORS]),
        "dense": ({"dense": one}, KNOWN),
        "dense, 4 x batch": ({"dense-4x": replace(one, batch=2048)}, KNOWN),
    }

    def experts(name: str, clusters: Sequence[Sequence[str]], **changes: object) -> None:
        each = replace(one, tokens=PARTITION / len(clusters), **changes)
        runs = {f"{name}-{'-'.join(of)}": replace(each, shares=even(of)) for of in clusters}
        made[name] = runs, KNOWN

    experts("bilingual", PAIRS)
    experts("monolingual", [[lang] for lang in KNOWN])
    experts("low-rank", PAIRS, **low)
    small = Trained("0.05M", even(KNOWN), BASE, 1024, 6e-3)
    made["small base"] = {"small-base": small}, KNOWN
    experts("small", PAIRS, base="small-base")
    holder = {lang: f"bilingual-{'-'.join(pair)}" for pair in PAIRS for lang in pair}
    of_added = {lang: [donor, lang] for lang, donor in DONORS.items()}
    both = [lang for pair in of_added.values() for lang in pair]
    for text, shares in (("even", even), ("uneven", by_size)):
        for name, start in (("HMR", holder), ("HMR from dense", dict.fromkeys(KNOWN, "dense"))):
            runs = {
                f"{name.replace(' ', '-')}-{text}-{lang}": Trained(
                    start[pair[0]], shares(pair), ADDED / len(DONORS), 512
                )
                for lang, pair in of_added.items()
            }
            if (name, text) != ("HMR from dense", "uneven"):
                made[f"{name}, {text}"] = runs, both
        lapt = Trained("dense", shares(both), ADDED, 512)
        scored = [*both, *(lang for lang in KNOWN if lang not in both)]
        made[f"LAPT, {text}, same batch"] = {f"LAPT-{text}-1x": lapt}, scored
        made[f"LAPT, {text}, same steps"] = {f"LAPT-{text}-4x": replace(lapt, batch=2048)}, scored
    given = {x: of / 4 for pair in of_added.values() for x, of in by_size(pair).items()}
    name = "LAPT, uneven, same steps, shares of HMR"
    lapt = Trained("dense", given, ADDED, 2048)
    made[name] = {"LAPT-given-4x": lapt}, both
    return made


def train(workspace: Path, name: str, seed: int, of: Trained) -> str:
    """The run's name, once it is trained."""
    own = f"{name}-s{seed}"
    files = "\n".join(f"    {lang}: '{TEXT}/*/{lang}.jsonl.gz'" for lang in (*KNOWN, *DONORS))
    fresh = of.base.endswith("M")
    percents = {lang: round(100 * share, 3) for lang, share in of.shares.items()}
    first = next(iter(percents))
    percents[first] = round(percents[first] + 100 - sum(percents.values()), 3)
    file = workspace / f"{own}.yaml"
    file.write_text(
        RECIPE.format(
            files=files,
            model=f"model: {{shape: {of.base}}}\n" if fresh else "",
            name=own,
            base="" if fresh else f"base: {of.base}-s{seed}, targets: [{', '.join(of.shares)}], ",
            mixture=", ".join(f"{lang}: {share:.3f}%" for lang, share in percents.items()),
            budget=int(of.tokens),
            seed=seed,
            batch=of.batch,
            rate=of.rate,
            trainable=of.trainable,
        )
    )
    tongues.prepare(file, workspace=workspace)
    tongues.train(file, workspace=workspace)
    return own


def scored(
    workspace: Path,
    texts: Mapping[str, list[Document]],
    name: str,
    seed: int,
    runs: Mapping[str, Trained],
    languages: Sequence[str],
) -> Losses:
    """Losses of each language by the run that read it, or else by the first; kept in a file."""
    kept = workspace / "losses" / f"{name}-s{seed}.pickle"
    if not kept.is_file():
        named = {own: train(workspace, own, seed, of) for own, of in runs.items()}
        losses: Losses = {}
        for own, of in runs.items():
            model = open_model(named[own], workspace)
            mine = languages if len(runs) == 1 else [x for x in languages if x in of.shares]
            losses |= {lang: routed_losses([model], texts[lang])[0] for lang in mine}
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(pickle.dumps(losses))
    return pickle.loads(kept.read_bytes())


def mean_over_seeds(of: Sequence[Losses]) -> Losses:
    """A document's loss is the mean over seeds."""
    means = {lang: np.mean([one[lang].nats for one in of], axis=0) for lang in of[0]}
    return {lang: replace(of[0][lang], nats=nats) for lang, nats in means.items()}


def difference(own: Sequence[Losses], other: Sequence[Losses], languages: Sequence[str]) -> str:
    """The mean difference over languages with its interval, and that of each seed."""

    def of(a: Losses, b: Losses) -> tuple[float, float | None, float | None]:
        found = paired_mean(
            [a[lang].nats for lang in languages],
            [b[lang].nats for lang in languages],
            [a[lang].tokens for lang in languages],
            [a[lang].segments for lang in languages],
        )
        return found.value, found.low, found.high

    value, low, high = of(mean_over_seeds(own), mean_over_seeds(other))
    seeds = " / ".join(f"{of(a, b)[0]:+.3f}" for a, b in zip(own, other, strict=True))
    ends = "" if low is None else f" [{low:+.3f}, {high:+.3f}]"
    return f"{value:+.3f}{ends} ({seeds})"


COMPARED = (
    ("known", "dense, 4 x batch", "base"),
    ("known", "dense, 4 x batch", "dense"),
    ("known", "bilingual", "dense"),
    ("known", "bilingual", "dense, 4 x batch"),
    ("known", "monolingual", "dense"),
    ("known", "monolingual", "dense, 4 x batch"),
    ("known", "monolingual", "bilingual"),
    ("known", "low-rank", "base"),
    ("known", "low-rank", "dense, 4 x batch"),
    ("known", "low-rank", "bilingual"),
    ("known", "small", "dense"),
    ("known", "small", "dense, 4 x batch"),
    ("added", "HMR, even", "LAPT, even, same batch"),
    ("added", "HMR, even", "LAPT, even, same steps"),
    ("added", "HMR, even", "HMR from dense, even"),
    ("added", "HMR, uneven", "LAPT, uneven, same batch"),
    ("added", "HMR, uneven", "LAPT, uneven, same steps"),
    ("added", "HMR, uneven", "LAPT, uneven, same steps, shares of HMR"),
    ("added", "HMR, uneven", "LAPT, even, same steps"),
    ("added", "LAPT, even, same steps", "LAPT, uneven, same steps"),
    ("donors", "HMR, even", "LAPT, even, same steps"),
    ("donors", "HMR, uneven", "LAPT, uneven, same steps"),
    ("donors", "LAPT, even, same steps", "LAPT, uneven, same steps"),
    ("others", "LAPT, even, same steps", "dense"),
)


def rows(found: Mapping[str, list[Losses]]) -> Iterator[dict[str, str]]:
    """A comparison each: the mean over its languages, and every added language's own."""
    groups = {"known": KNOWN, "added": list(DONORS), "donors": list(DONORS.values())}
    groups["others"] = [lang for lang in KNOWN if lang not in groups["donors"]]
    for group, own, other in COMPARED:
        if own in found and other in found and len(found[own]) == len(found[other]):
            row = {"languages": group, "compared": own, "minus": other}
            row["mean"] = difference(found[own], found[other], groups[group])
            for lang in DONORS if group == "added" else ():
                row[lang] = difference(found[own], found[other], [lang]).partition(" (")[0]
            yield row


def report(workspace: Path, found: Mapping[str, list[Losses]]) -> str:
    """All tables."""
    languages = [*KNOWN, *DONORS]
    means = {name: mean_over_seeds(of) for name, of in found.items()}
    table = [
        {"nats per token": name}
        | {x: f"{of[x].loss:.3f}" if x in of else "" for x in languages}
        | {"known": f"{np.mean([of[x].loss for x in KNOWN]):.3f}" if "de" in of else ""}
        | {"added": f"{np.mean([of[x].loss for x in DONORS]):.3f}" if "sv" in of else ""}
        for name, of in means.items()
    ]
    counts = {name: parameters(workspace, runs) for name, (runs, _) in models().items()}
    documents = {x: len(means["base"][x].nats) for x in languages}
    return "\n".join(
        [
            f"{date.today()}  {(__doc__ or '').splitlines()[0]}",
            f"{len(SEEDS)} seeds, {BASE:,} tokens of the base, {PARTITION:,} of a partition, "
            f"{ADDED:,} of added languages; held-out documents "
            + ", ".join(f"{x} {count}" for x, count in documents.items()),
            "parameters of all that is held: "
            + "; ".join(f"{name} {count:,}" for name, count in counts.items() if count),
            "",
            text_table(table),
            "",
            "nats per token, paired; in brackets 95 % over documents; then each seed",
            text_table(list(rows(found))),
            "",
        ]
    )


def parameters(workspace: Path, runs: Mapping[str, Trained]) -> int:
    """Of all runs together; of updates of low rank the base's once and each update's."""
    total = 0
    for name, of in runs.items():
        place = workspace / "runs" / f"{name}-s{SEEDS[0]}"
        if not place.is_dir() or of.base not in ("base", "small-base", "0.4M", "0.05M"):
            return 0
        model = open_model(place.name, workspace).ensemble.models[0]
        own = sum(weights.numel() for weights in model.parameters())
        if of.trainable == LOW:
            rank = 8
            linear = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
            updates = [m for m in linear if m.out_features != model.config.vocab_size]
            own = sum(rank * (m.in_features + m.out_features) for m in updates) + (
                0 if total else own
            )
        total += own
    return total


def main(workspace: Path) -> None:
    """Train and score what is not there yet; print and keep the tables."""
    torch.set_num_threads(1)
    workspace.mkdir(parents=True, exist_ok=True)
    texts: dict[str, list[Document]] = {}
    train(workspace, "base", SEEDS[0], next(iter(models()["base"][0].values())))
    tokens = open_tokens(workspace / "tokens/twin")
    unseen = unseen_documents(tokens, [], workspace)
    texts = held_out_documents(tokens, unseen, (*KNOWN, *DONORS), tokens=12_000)
    found: dict[str, list[Losses]] = {}
    every = models()
    for group, seed in product((every.keys() - LAST, LAST), SEEDS):
        for name in (name for name in every if name in group):
            losses = scored(workspace, texts, name, seed, *every[name])
            found.setdefault(name, []).append(losses)
            print(f"{name}, seed {seed}", flush=True)
        text = report(workspace, found)
        print(text, flush=True)
        Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).absolute())
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
