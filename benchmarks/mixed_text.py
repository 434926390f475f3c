"""Texts that switch between languages, or are in none: experts by every routing, on real text.

    python benchmarks/mixed_text.py

Eight languages of `../shared/data/text`, a base of 0.4M parameters on 600k tokens of all, an expert
of each language on 30k more. Scored on the half of the held-out text that the router was not fitted
on: documents as they are, two languages by turns of 4, 8 and 16 tokens, and four by turns of 60;
then on languages that no expert learned, in the first 200 tokens of a text. Turns are cut at any
token, which is harder than what people write.
"""

import gzip
import json
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np

import tongues
from tongues.experts.ensemble.ensemble import Ensemble, expert_log_probs, mixed, open_ensemble
from tongues.experts.ensemble.routing import parse_routing
from tongues.experts.heldout import documents_of, tuning_documents
from tongues.text.tokens import Tokens, load_tokenizer, open_tokens

TEXT = (Path(__file__).parents[1] / "../shared/data/text").resolve()
LANGUAGES = ("en", "de", "es", "fr", "ar", "tr", "sw", "pl")
UNKNOWN = {"bible": ("ru", "he", "sv", "vi", "ko", "zh"), "ms_beginners": ("hi", "el")}
LENGTH, PARTS, TEXTS, DRAWS = 240, {4: 2, 8: 2, 16: 2, 60: 4}, 32, 2000
CALLED, FEWEST = 200, 100  # tokens after which a text's language is asked for, and at least
WAYS = ("language", "filter:1", "filter:2", "filter", "tfidf:1", "tfidf")
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


Text = tuple[np.ndarray, np.ndarray | None]  # tokens, and the expert of the language of each


def held_out(tokens: Tokens) -> dict[str, list[np.ndarray]]:
    """The documents of each language that the router was not fitted on."""
    documents = {}
    for lang in LANGUAGES:
        shard = tokens.shard(lang, "valid")
        tuning = set(tuning_documents(shard.bounds, 10**9, None).tolist())
        numbers = [n for n in range(len(shard.bounds) - 1) if n not in tuning]
        each = documents_of(shard.tokens, shard.bounds, numbers)
        documents[lang] = [document for document in each if len(document) >= FEWEST]
    return documents


def make_texts(ensemble: Ensemble, documents: dict[str, list[np.ndarray]]) -> dict[str, list[Text]]:
    """Texts of each kind."""
    chance = np.random.default_rng(0)

    def drawn(lang: str, count: int) -> np.ndarray:
        document = documents[lang][int(chance.integers(len(documents[lang])))]
        start = int(chance.integers(max(1, len(document) - count)))
        return document[start : start + count]

    texts: dict[str, list[Text]] = {"one language": []}
    for place in range(TEXTS):
        lang = LANGUAGES[place % len(LANGUAGES)]
        ids = documents[lang][place // len(LANGUAGES)][:LENGTH]
        texts["one language"].append((ids, np.full(len(ids), ensemble.lineage.number_of(lang))))
    for turn, count in PARTS.items():
        own = texts[f"turns of {turn}"] = []
        for _ in range(TEXTS):
            langs = [str(lang) for lang in chance.permutation(LANGUAGES)[:count]]
            turns = [langs[number % count] for number in range(LENGTH // turn)]
            parts = [drawn(lang, turn) for lang in turns]
            owners = [ensemble.lineage.number_of(lang) for lang in turns]
            own.append((np.concatenate(parts), np.repeat(owners, list(map(len, parts)))))
    tokenizer = load_tokenizer(ensemble.tokenizer)
    for source, langs in UNKNOWN.items():
        for lang in langs:
            with gzip.open(TEXT / source / f"{lang}.jsonl.gz", "rt", encoding="utf-8") as lines:
                read = [json.loads(line)["text"] for line, _ in zip(lines, range(40), strict=False)]
            ids = [np.array(tokenizer.encode(x, add_special_tokens=False).ids) for x in read]
            chosen = [x[:CALLED] for x in ids if len(x) >= FEWEST][:TEXTS]
            texts[lang] = [(x, None) for x in chosen]
    return texts


def losses(
    way: str, ensemble: Ensemble, texts: Sequence[Text], scores: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], float]:
    """The nats of every token by a routing, and the experts that run for one."""
    values, run = [], []
    for (ids, owners), logs in zip(texts, scores, strict=True):
        if way == "language":
            assert owners is not None
            weights = np.eye(ensemble.width)[owners]
        else:
            weights = parse_routing(way).weights(ids, ensemble.about(parse_routing(way)))
        values.append(-mixed(weights, logs))
        run.append((weights > 0).sum(1).mean())
    return values, float(np.mean(run))


def main() -> None:
    """Train, score, print and keep the table."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        ensemble = open_ensemble(train(workspace), workspace)
        documents = held_out(open_tokens(workspace / "tokens/mixed"))
        texts = make_texts(ensemble, documents)
        router, chance = ensemble.router, np.random.default_rng(0)
        assert router
        assert router.fallback
        lines = [
            f"{date.today()}  eight languages, an expert of 0.4M each; nats per token with 95 % "
            f"intervals over up to {TEXTS} texts; unknown: after {CALLED} tokens or all"
        ]
        every = [ids for own in documents.values() for ids in own]
        said = [router.language(router.filter.read(ids[:CALLED])) for ids in every]
        lines.append(f"known: {said.count('unknown')} of {len(every)} texts are called unknown")
        for kind, own in texts.items():
            scores = expert_log_probs(ensemble, [ids for ids, _ in own])
            said = [router.language(router.filter.read(ids[:CALLED])) for ids, _ in own]
            unknown = said.count("unknown")
            lines.append(f"{kind}: {unknown} of {len(own)} texts are called unknown")
            single = [-logs[:, np.nanargmax(logs[:, :-1].mean(0))] for logs in scores]
            lines.append(f"  {'base':12}{1:5.2f}  {estimate([-x[:, -1] for x in scores], chance)}")
            lines.append(f"  {'best expert':12}{1:5.2f}  {estimate(single, chance)}")
            for way in WAYS:
                if way != "language" or own[0][1] is not None:
                    values, run = losses(way, ensemble, own, scores)
                    lines.append(f"  {way:12}{run:5.2f}  {estimate(values, chance)}")
        lines.append(f"filter: power {router.power:g}, switch {router.switch:g}, on the other half")
    table = "\n".join(lines) + "\n"
    print(table)
    Path(__file__).with_suffix(".txt").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
