"""Texts that switch between languages: the loss of experts by every routing, on real text.

    python benchmarks/mixed_text.py

Eight languages of `../shared/data/text`, a base of 0.4M parameters on 600k tokens of all, an expert
of each language on 30k more. Scored on the half of the held-out text that the router was not fitted
on: documents as they are (120 tokens), and four languages one after the other, 60 tokens of each.
"""

import tempfile
from datetime import date
from pathlib import Path

import numpy as np

import tongues
from tongues.experts.ensemble.ensemble import expert_log_probs, mixed, open_ensemble
from tongues.experts.ensemble.routing import RoutingContext, parse_routing
from tongues.experts.heldout import documents_of, tuning_documents
from tongues.text.tokens import open_tokens

TEXT = (Path(__file__).parents[1] / "../shared/data/text").resolve()
LANGUAGES = ("en", "de", "es", "fr", "ru", "pl", "ar", "he")
PLAIN, PART, PARTS, TEXTS, DRAWS = 120, 60, 4, 16, 2000
WAYS = ("language", "filter:1", "filter", "tfidf:1", "tfidf")
RECIPE = """
name: mixed
text:
  files:
{files}
tokens: {{vocab_size: 2000, held_out: 40k tokens}}
train:
  budget: {budget}
  batch: 1024 tokens
  context: 64 tokens
  learning_rate: 3.0e-3
  mixture: {{{mixture}}}
  num_evals: 1
"""
EXPERTS = """
experts:
  partitions:
    - {by: languages}
"""


def train(workspace: Path) -> Path:
    """The folder of the ensemble."""
    files = "\n".join(f"    {lang}: {TEXT}/bible/{lang}.jsonl.gz" for lang in LANGUAGES)
    mixture = ", ".join(f"{lang}: 12.5%" for lang in LANGUAGES)
    recipe = RECIPE.format(files=files, budget="600k tokens", mixture=mixture)
    base = workspace / "base.yaml"
    base.write_text(recipe + "  run: base\nmodel: {shape: 0.4M}\n")
    tongues.prepare(base, workspace=workspace)
    tongues.train(base, workspace=workspace)
    experts = workspace / "experts.yaml"
    recipe = RECIPE.format(files=files, budget="240k tokens", mixture="")
    recipe = recipe.replace("  mixture: {}\n", "")
    experts.write_text(recipe + "  base: base\n" + EXPERTS)
    return tongues.experts.train(experts, workspace=workspace)[0]


def estimate(values: list[np.ndarray], chance: np.random.Generator) -> str:
    """The mean over tokens with a 95 % interval over texts (bootstrap)."""
    sums, counts = np.array([v.sum() for v in values]), np.array([len(v) for v in values])
    drawn = chance.integers(len(values), size=(DRAWS, len(values)))
    low, high = np.percentile(sums[drawn].sum(1) / counts[drawn].sum(1), [2.5, 97.5])
    return f"{sums.sum() / counts.sum():6.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Train, score, print and keep the table."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        ensemble = open_ensemble(train(workspace), workspace)
        tokens, chance = open_tokens(workspace / "tokens/mixed"), np.random.default_rng(0)
        by_language: dict[str, list[np.ndarray]] = {}
        for lang in LANGUAGES:
            shard = tokens.shard(lang, "valid")
            tuning = set(tuning_documents(shard.bounds, 10**9, None).tolist())
            numbers = np.array([n for n in range(len(shard.bounds) - 1) if n not in tuning])
            documents = documents_of(shard.tokens, shard.bounds, numbers)
            by_language[lang] = [d for d in documents if len(d) >= PLAIN]
        plain, switching = [], []
        for place in range(TEXTS):
            lang = LANGUAGES[place % len(LANGUAGES)]
            document = by_language[lang][int(chance.integers(len(by_language[lang])))]
            plain.append((document[:PLAIN], np.full(PLAIN, ensemble.lineage.number_of(lang))))
            langs = chance.permutation(LANGUAGES)[:PARTS]
            parts = [
                by_language[x][int(chance.integers(len(by_language[x])))][:PART] for x in langs
            ]
            owners = [ensemble.lineage.number_of(str(x)) for x in langs]
            switching.append((np.concatenate(parts), np.repeat(owners, PART)))
        about = RoutingContext(ensemble.k, ensemble.router)
        lines = [
            f"{date.today()}  eight languages, an expert of 0.4M each; nats per token with 95 % "
            f"intervals over {TEXTS} texts",
            f"{'routing':12}{'experts':>8}  {'one language':24}{'right':>6}  "
            f"{'four languages':24}{'right':>6}",
        ]
        scores = {
            name: expert_log_probs(ensemble, [ids for ids, _ in texts])
            for name, texts in (("plain", plain), ("switching", switching))
        }
        for way in WAYS:
            routing, cells, run = parse_routing(way), [], 0.0
            for name, texts in (("plain", plain), ("switching", switching)):
                values, right = [], []
                for (ids, owners), logs in zip(texts, scores[name], strict=True):
                    if way == "language":
                        weights = np.eye(ensemble.k)[owners]
                    else:
                        weights = routing.weights(ids, about)
                    values.append(-mixed(weights, logs))
                    right.append((weights.argmax(1) == owners).mean())
                    run = max(run, float((weights > 0).sum(1).mean()))
                cells.append(f"{estimate(values, chance):24}{np.mean(right):6.2f}")
            lines.append(f"{way:12}{run:8.2f}  {'  '.join(cells)}")
        router = ensemble.router
        assert router
        lines.append(f"filter: power {router.power:g}, switch {router.switch:g}, on the other half")
    table = "\n".join(lines) + "\n"
    print(table)
    Path(__file__).with_suffix(".txt").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
