"""Experts on synthetic or real languages: every partition and routing, then two new languages.

usage: python benchmarks/experts.py [--text TEXT] [--workspace WORKSPACE] [--workers 2]
TEXT: a folder of `<source>/<lang>.jsonl.gz`, a document a line; synthetic languages without it.

A base is trained on eight languages. From it two dense models (the same batch, and four times the
batch, so the steps of each of four experts), pairs by typology, pairs by gradient similarity,
topics and monolingual experts are trained, each partition on the same tokens in all. Then two
languages that nobody has seen are added to the typological experts, each branched from its donor's.
The tables are those of `tongues experts measure`, and are written next to this script. Run it again
to resume. What the dense model makes of added languages: `twin.py`.
"""

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import tongues
from tongues.core.frames import text_table
from tongues.core.pages.numbers import fixed, number
from tongues.evaluate.evaluation import read_evaluation
from tongues.evaluate.settings import MeasuredExperts
from tongues.experts.partition.partition import Partition


@dataclass(frozen=True)
class World:
    """Where the text comes from, and how large all of it is."""

    source: str  # the recipe's `text`, up to its languages
    languages: Mapping[str, str]  # eight, and how the recipe says each
    new: Mapping[str, str]  # two that nobody has seen
    donors: Mapping[str, str]  # how the expert that each branches from is found
    tokens: str
    shape: str
    base: str  # tokens
    partition: str  # tokens
    added: str  # tokens
    kept: str  # beside this script

    def text(self, *, added: bool) -> str:
        """The recipe's `text`."""
        named = {**self.languages, **self.new} if added else self.languages
        return self.source + "".join(f"      {lang}: {said}\n" for lang, said in named.items())


MADE = World(
    source="text:\n  synthetic:\n    seed: 8\n    size: 4 MB\n    languages:\n",
    languages={
        "qaa": "{}",
        "qab": "{parent: qaa, divergence: 0.2}",
        "qac": "{parent: qaa, divergence: 0.4}",
        "qad": "{parent: qac, divergence: 0.2}",
        "qae": "{parent: qaa, divergence: 0.7}",
        "qaf": "{parent: qae, divergence: 0.2}",
        "qag": "{parent: qae, divergence: 0.4}",
        "qah": "{parent: qag, divergence: 0.2}",
    },
    new={"qai": "{parent: qab, divergence: 0.25}", "qaj": "{parent: qag, divergence: 0.25}"},
    donors={"qai": "transfer", "qaj": "loss"},
    tokens="vocab_size: 1024",
    shape="0.2M",
    base="3M",
    partition="3M",
    added="600k",
    kept="experts.txt",
)


def real(text: Path) -> World:
    """Pairs of a family each, and a relative of two of them."""

    def files(*languages: str) -> dict[str, str]:
        return {lang: f"[{text.absolute()}/*/{lang}.jsonl.gz]" for lang in languages}

    return World(
        source="text:\n  files:\n",
        languages=files("en", "de", "es", "fr", "ru", "pl", "ar", "he"),
        new=files("sv", "bg"),
        donors={"sv": "transfer", "bg": "loss"},
        tokens="vocab_size: 4096",
        shape="0.4M",
        base="4M",
        partition="3M",
        added="600k",
        kept="experts_real.txt",
    )


USUAL = "batch: 2048 tokens, context: 128 tokens, num_evals: 2, eval_tokens: 8k tokens"


def base_recipe(world: World) -> str:
    """The model that knows all eight."""
    mixture = ", ".join(f"{lang}: 12.5%" for lang in world.languages)
    return f"""\
name: family
{world.text(added=False)}tokens: {{{world.tokens}, held_out: 20k tokens}}
model: {{shape: {world.shape}}}
train: {{run: base, mixture: {{{mixture}}}, budget: {world.base} tokens,
  learning_rate: 6.0e-3, threads: 1, {USUAL}}}
"""


def partition_recipe(world: World, workers: int) -> str:
    """Every partition of it."""
    return f"""\
name: family
{world.text(added=False)}tokens: {{{world.tokens}, held_out: 20k tokens}}
train: {{base: base, budget: {world.partition} tokens, learning_rate: 3.0e-3, {USUAL}}}
experts:
  partitions:
    - {{by: dense}}
    - {{by: dense, batch: 4x}}
    - {{by: typology, k: 4}}
    - {{by: gradient-similarity, k: 4}}
    - {{by: topics, k: 4}}
    - {{by: languages}}
  workers: {workers}
"""


def added_recipe(world: World, workspace: Path, workers: int) -> str:
    """Two languages more, with an expert each."""
    donors = ", ".join(f"{lang}: {donor}" for lang, donor in world.donors.items())
    return f"""\
name: added
{world.text(added=True)}tokens: {{base: {workspace}/tokens/family/tokenizer.json,
  held_out: 20k tokens}}
train: {{budget: {world.added} tokens, learning_rate: 3.0e-3, {USUAL}}}
experts:
  add_to: family/typology-4-s1
  add: {{{donors}}}
  workers: {workers}
"""


def table_of_settings(found: MeasuredExperts) -> str:
    """Mean over the languages of each partition and routing, in nats per token."""
    rows = []
    for one in (one for one in found.settings if one.whole):
        of = one.difference
        minus = {f"minus {name}": of(name) for name in ("base", "dense")}
        rows.append(
            {
                "partition": one.partition,
                "routing": one.routing,
                "experts run": f"{one.cost.experts_run:.2f}",
                "loss": f"{one.loss:.3f}",
                "perplexity": f"{one.perplexity:.2f}",
                "bits/byte": f"{one.bits_per_byte:.3f}",
                **{name: number(of, fixed(3)) if of else "" for name, of in minus.items()},
            }
        )
    return text_table(rows)


def table_of_languages(found: MeasuredExperts, routings: tuple[str, ...]) -> str:
    """The loss of every language under the settings with these routings, in nats per token."""
    rows = []
    for one in (one for one in found.settings if one.routing in routings):
        name = f"{one.partition}/{one.routing}".strip("/")
        losses = {lang: one.losses.get(lang) for lang in found.languages}
        cells = {lang: f"{of.nats_per_token:.3f}" if of else "" for lang, of in losses.items()}
        rows.append({"nats per token": name} | cells)
    return text_table(rows)


def clusters(partition: Partition) -> str:
    """The languages of each cluster, with the share of its text where that is not all of it."""
    return ", ".join(
        " ".join(
            lang if share == 1 else f"{lang} {share:.0%}"
            for lang, share in cluster.items()
            if share >= 0.005
        )
        for cluster in partition.shares
    )


def forgetting(found: MeasuredExperts) -> list[str]:
    """How often an expert became worse than the base, and by how much."""
    lines = []
    for partition in dict.fromkeys(cell.partition for cell in found.scores.cells):
        rises = [c.perplexity_rise for c in found.scores.cells if c.partition == partition]
        worse = [rise for rise in rises if rise > 0]
        mean = sum(worse) / len(worse) if worse else 0.0
        lines.append(
            f"{partition}: {len(worse)} of {len(rises)} pairs of expert and language became worse "
            f"({len(worse) / len(rises):.1%}), in the mean by {mean:.1f} of perplexity"
        )
    return lines


def main(world: World, workspace: Path, workers: int) -> None:
    """Train and measure all of it; keep the outcome."""
    base, partitions, added = (workspace / f"{name}.yaml" for name in ("base", "family", "added"))
    base.write_text(base_recipe(world))
    partitions.write_text(partition_recipe(world, workers))
    added.write_text(added_recipe(world, workspace, workers))
    tongues.prepare(base, workspace=workspace)
    tongues.train(base, workspace=workspace)
    for recipe in (partitions, added):
        tongues.prepare(recipe, workspace=workspace)
        tongues.experts.train(recipe, workspace=workspace)
        tongues.experts.measure(recipe, workspace=workspace)
    found = {
        name: MeasuredExperts.of(read_evaluation(workspace / "evaluations" / f"{name}-experts"))
        for name in ("family", "added")
    }
    lines = [
        f"{date.today()}  base of {world.shape} on eight languages, {world.base} tokens; every "
        f"partition {world.partition} tokens in all, one seed",
        *(f"{label}: {clusters(of)}" for label, of in found["family"].scores.partitions.items()),
        "",
        table_of_settings(found["family"]),
        "",
        table_of_languages(found["family"], ("", "language")),
        "",
        *forgetting(found["family"]),
        "",
        f"two unseen languages, {' and '.join(world.new)}: before, and after {world.added} tokens "
        "on them and their donors",
        table_of_languages(found["added"], ("", "language", "filter:1", "tfidf")),
    ]
    print("\n".join(lines))
    Path(__file__).with_name(world.kept).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", type=Path)
    parser.add_argument("--workspace", dest="workspace", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = (given.workspace or Path(folder)).absolute()
        place.mkdir(parents=True, exist_ok=True)
        main(real(given.text) if given.text else MADE, place, given.workers)
