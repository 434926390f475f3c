"""Experts of eight real languages: every partition and routing, then two new languages.

usage: python benchmarks/experts_real.py TEXT WORKSPACE
TEXT: a folder of `<source>/<lang>.jsonl.gz`, a document a line.

A base is trained on eight languages. From it two dense models (the same batch, and four times the
batch, so the steps of each of four experts), pairs by typology, topics and monolingual experts are
trained, each partition on the same tokens in all. Then two languages that nobody has seen are added
to the typological experts, each branched from its donor's. The tables are those of `tongues experts
measure`, and are written next to this script. Run it again to resume. What the dense model makes of
added languages: `twin.py`.
"""

import sys
from datetime import date
from pathlib import Path

import tongues
from tongues.core.pages import text_table
from tongues.core.pages.numbers import fixed, number
from tongues.evaluate.evaluation import read_evaluation
from tongues.evaluate.settings import MeasuredExperts
from tongues.experts.partition.partition import Partition

LANGUAGES = ("en", "de", "es", "fr", "ru", "pl", "ar", "he")  # pairs of a family each
DONORS = {"sv": "transfer", "bg": "ru"}  # relatives of two of them
USUAL = "batch: 2048 tokens, context: 128 tokens, num_evals: 2, eval_tokens: 8k tokens"
RECIPE = """
name: {name}
text:
  files:
{files}
tokens: {{{tokens}, held_out: 20k tokens}}
"""
BASE = """model: {{shape: 0.4M}}
train: {{run: base, mixture: {{{mixture}}}, budget: 4M tokens, learning_rate: 6.0e-3, threads: 1,
  {usual}}}
"""
PARTITIONS = """train: {{base: base, budget: 3M tokens, learning_rate: 3.0e-3, {usual}}}
experts:
  partitions:
    - {{by: dense}}
    - {{by: dense, batch: 4x}}
    - {{by: typology, k: 4}}
    - {{by: topics, k: 4}}
    - {{by: languages}}
"""
ADDED = """train: {{budget: 600k tokens, learning_rate: 3.0e-3, {usual}}}
experts: {{add_to: family/typology-4-s1, add: {{{donors}}}}}
"""


def recipe(text: Path, workspace: Path, name: str, rest: str) -> Path:
    """A recipe's file; that of `added` has two languages more, and the tokenizer of the others."""
    added = name == "added"
    langs = (*LANGUAGES, *DONORS) if added else LANGUAGES
    tokens = f"base: {workspace}/tokens/family/tokenizer.json"
    file = workspace / f"{name}.yaml"
    wanted = {
        "name": "added" if added else "family",
        "files": "\n".join(f"    {x}: ['{text.absolute()}/*/{x}.jsonl.gz']" for x in langs),
        "tokens": tokens if added else "vocab_size: 4096",
        "mixture": ", ".join(f"{lang}: 12.5%" for lang in LANGUAGES),
        "donors": ", ".join(f"{lang}: {donor}" for lang, donor in DONORS.items()),
        "usual": USUAL,
    }
    file.write_text((RECIPE + rest).format(**wanted))
    tongues.prepare(file, workspace=workspace)
    return file


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


def main(text: Path, workspace: Path) -> None:
    """Train and measure all of it; keep the outcome."""
    workspace.mkdir(parents=True, exist_ok=True)
    tongues.train(recipe(text, workspace, "base", BASE), workspace=workspace)
    found: dict[str, MeasuredExperts] = {}
    for name, rest in (("family", PARTITIONS), ("added", ADDED)):
        file = recipe(text, workspace, name, rest)
        tongues.experts.train(file, workspace=workspace)
        tongues.experts.measure(file, workspace=workspace)
        evaluation = read_evaluation(workspace / "evaluations" / f"{name}-experts")
        found[name] = MeasuredExperts.of(evaluation)
    lines = [
        f"{date.today()}  base of 0.4M on eight languages, 4M tokens; every partition 3M tokens in "
        "all, one seed",
        *(f"{label}: {clusters(of)}" for label, of in found["family"].scores.partitions.items()),
        "",
        table_of_settings(found["family"]),
        "",
        table_of_languages(found["family"], ("", "language")),
        "",
        *forgetting(found["family"]),
        "",
        f"two unseen languages, {' and '.join(DONORS)}: before, and after 600k tokens on them and "
        "their donors",
        table_of_languages(found["added"], ("", "language", "filter:1", "tfidf")),
    ]
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).absolute())
