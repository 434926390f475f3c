"""What routing and mixing cost beside a single model, and whether they are exact.

- the router, one token at a time and a document at once, beside counting TF-IDF anew at every
  position: microseconds a token and the largest difference of a weight, over texts of real
  languages in all scripts
- generation with one and two of eight experts, beside one model by the same function and beside
  transformers' own
- scoring whole documents, beside each expert run alone by a bare loop
- opening eight experts

usage: python benchmarks/routing.py TEXT [SHAPE]
TEXT: a folder of `<source>/<lang>.jsonl.gz`, a document a line as {"text"}.
"""

import gzip
import json
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from tongues.experts.ensemble import parse_routing
from tongues.experts.ensemble.ensemble import Ensemble, expert_log_probs, open_ensemble
from tongues.experts.ensemble.generate import generate
from tongues.experts.ensemble.lineage import (
    Lineage,
    best_experts,
    describe_expert,
    router_file,
    write_lineage,
)
from tongues.experts.ensemble.request import Sampling
from tongues.experts.ensemble.router import Router, fit_router, save_router
from tongues.files import file_hash
from tongues.models import find_shape
from tongues.models.huggingface import build_model, save_model
from tongues.tokens.tokenizer import save_tokenizer, train_tokenizer

K, VOCABULARY, CONTEXT, DIMENSIONS = 8, 8192, 512, 100
TEXTS, CHARACTERS = 6, 3000  # of each language: texts, and of each
PROMPT, MOST, ROUNDS = 64, 96, 4

Terms = tuple[np.ndarray, np.ndarray]  # idf, projection


def read(folder: Path) -> dict[str, list[str]]:
    """The first texts of every language, from all sources."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.glob("*/*.jsonl.gz")):
        texts = found.setdefault(file.name.split(".")[0], [])
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                if len(texts) >= 4 * TEXTS:
                    break
                text = json.loads(line)["text"]
                if len(text) > CHARACTERS // 2:
                    texts.append(text[:CHARACTERS])
    return found


def term_directions(documents: list[np.ndarray]) -> Terms:
    """Inverse document frequencies and the principal directions of TF-IDF rows."""
    counts = np.array([np.bincount(text, minlength=VOCABULARY) for text in documents])
    idf = np.log((1 + len(counts)) / (1 + (counts > 0).sum(axis=0))) + 1
    rows = counts * idf
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return idf, np.linalg.svd(rows, full_matrices=False)[2][:DIMENSIONS].T


def recount(router: Router, terms: Terms, before: np.ndarray) -> np.ndarray:
    """The weights from the whole text before."""
    if not len(before):
        return router.prior
    idf, projection = terms
    row = np.bincount(before, minlength=VOCABULARY) * idf
    embedding = (row / np.linalg.norm(row)) @ projection
    embedding /= np.linalg.norm(embedding)
    distances = ((embedding - router.centres) ** 2).sum(axis=1)
    weights = np.exp(-(distances - distances.min()) / router.temperature)
    return np.bincount(router.owners, weights / weights.sum())


def route(router: Router, terms: Terms, texts: Mapping[str, list[np.ndarray]]) -> list[str]:
    """The router's speed and exactness; numpy's other threads only wait meanwhile."""
    worst = {"one at a time": 0.0, "at once": 0.0}
    seconds = {"one at a time": 0.0, "at once": 0.0, "anew": 0.0}
    pushed = 0
    for text in (text for sample in texts.values() for text in sample):
        start = time.thread_time()
        sums, alone = router.sum(text[:0]), []
        for token in text.tolist():
            alone.append(router.weights(sums))
            sums += router.vectors[token]
        seconds["one at a time"] += time.thread_time() - start
        start = time.thread_time()
        whole = router.document_weights(text)
        seconds["at once"] += time.thread_time() - start
        pushed += len(text)
        start = time.thread_time()
        anew = [recount(router, terms, text[:place]) for place in range(len(text))]
        seconds["anew"] += time.thread_time() - start
        for name, found in (("one at a time", np.array(alone)), ("at once", whole)):
            worst[name] = max(worst[name], np.abs(found - anew).max())
    count = sum(map(len, texts.values()))
    lines = [
        f"\nrouter: {count} texts in {len(texts)} languages, {pushed:,} tokens, k = {router.k},"
        f" {len(router.centres)} centres",
        f"  {'anew at every position':26s} {1e6 * seconds['anew'] / pushed:8.2f} µs a token",
    ]
    for name, difference in worst.items():
        taken = 1e6 * seconds[name] / pushed
        lines.append(f"  {name:26s} {taken:8.2f} µs a token, differs by {difference:.1e}")
    return lines


def make(folder: Path, tokenizer: Path, router: Router, shape: str) -> Path:
    """Eight experts that differ by noise from one random model."""
    described = []
    for number in range(K):
        model = build_model(find_shape(shape), VOCABULARY, CONTEXT, seed=0)
        with torch.no_grad():
            torch.manual_seed(number)
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight) * weight.std().nan_to_num(), alpha=0.1)
        place = folder / f"runs/e{number}"
        save_model(model, place)
        shutil.copyfile(tokenizer, place / "tokenizer.json")
        own = {f"part{number}": 1.0}
        expert = describe_expert(
            f"e{number}", place, folder, languages=own, parent="seed", run=None, tokens=0
        )
        described.append(expert)
    own = folder / "ensembles/routing/eight"
    own.mkdir(parents=True)
    save_router(router, own / "router.safetensors")
    lineage = Lineage(
        experts=tuple(described),
        languages=best_experts(described),
        base="seed",
        tokenizer_sha256=file_hash(tokenizer),
        router=router_file(own / "router.safetensors"),
        partition={"by": "file"},
    )
    write_lineage(lineage, own)
    return own


def fastest(ways: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Processor seconds of each, the best of rounds by turns."""
    best = dict.fromkeys(ways, float("inf"))
    for turn in range(ROUNDS + 1):
        for name, way in ways.items():
            start = time.process_time()
            way()
            if turn:
                best[name] = min(best[name], time.process_time() - start)
    return best


def write(ensemble: Ensemble, prompts: list[np.ndarray], folder: Path, said: str) -> list[str]:
    """Generation by one model and by one, two and all of eight."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder / "runs/e0").eval()
    given = torch.tensor(np.stack([np.concatenate([[0], prompt]) for prompt in prompts]))

    def own() -> object:
        with torch.inference_mode():
            return model.generate(given, max_new_tokens=MOST, do_sample=False, eos_token_id=None)

    def by(said: str) -> Callable[[], object]:
        parts = ["part0"] * len(prompts)
        return lambda: generate(
            ensemble,
            prompts,
            parse_routing(said),
            most=MOST,
            languages=parts,
            sampling=Sampling(temperature=0),
            stop=(),
        )

    ways = {"one model": by("language"), "one model, transformers": own}
    ways |= {way: by(way) for way in ("tfidf:1", "tfidf:2", "tfidf")}
    seconds = fastest(ways)
    lines = [f"\ngeneration, {said}, {MOST} tokens behind {PROMPT}"]
    for name, taken in seconds.items():
        each, times, ran = 1e3 * taken / MOST, taken / seconds["one model"], ""
        if name in ("tfidf:1", "tfidf:2"):
            found = generate(ensemble, prompts, parse_routing(name), most=MOST, stop=())
            weights = np.stack([one.weights for one in found])  # [texts, T, k]
            ran = f", {weights.any(axis=0).sum(axis=1).mean():.1f} experts a step"
        lines.append(f"  {name:24s} {each:7.2f} ms a step, {times:5.2f} x one model{ran}")
    return lines


def windows(documents: list[np.ndarray]) -> Iterator[torch.Tensor]:
    """Documents behind the end token in windows, those of like length together."""
    rows = [
        np.concatenate(
            [[0] if not start else text[start - 1 : start], text[start : start + CONTEXT]]
        )
        for text in documents
        for start in range(0, len(text), CONTEXT)
    ]
    batch: list[np.ndarray] = []
    for row in [*sorted(rows, key=len, reverse=True), None]:
        if batch and (row is None or (len(batch) + 1) * len(batch[0]) > 2048):
            padded = torch.zeros(len(batch), len(batch[0]), dtype=torch.long)
            for place, one in zip(padded, batch, strict=True):
                place[: len(one)] = torch.from_numpy(one.astype(np.int64))
            yield padded
            batch = []
        if row is not None:
            batch.append(row)


def judge(ensemble: Ensemble, documents: list[np.ndarray]) -> list[str]:
    """Scoring by all experts in batches, and by a bare loop."""

    def alone() -> None:
        with torch.inference_mode():
            for number in range(K):
                for batch in windows(documents):
                    logits = ensemble.models[number](batch[:, :-1], use_cache=False).logits
                    cross_entropy(logits.transpose(1, 2), batch[:, 1:], reduction="none")

    ways: dict[str, Callable[[], object]] = {
        "each expert by a bare loop": alone,
        "each expert in batches": lambda: expert_log_probs(ensemble, documents),
    }
    seconds = fastest(ways)
    size, bare = sum(map(len, documents)), seconds["each expert by a bare loop"]
    lines = [f"\nscoring, {len(documents)} documents, {size:,} tokens"]
    for name, taken in seconds.items():
        cost = f"{1e6 * taken / size:7.1f} µs a token, {taken / bare:5.2f} x the bare loop"
        lines.append(f"  {name:28s} {cost}")
    return lines


def resident() -> float:
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main(text: Path, shape: str) -> None:
    """Measure all of it, on one thread."""
    torch.set_num_threads(1)
    lines: list[str] = []

    def tell(*more: str) -> None:
        print(*more, sep="\n", flush=True)
        lines.extend(more)

    read_texts = read(text)
    whole = {lang: sum(len(each.encode()) for each in texts) for lang, texts in read_texts.items()}
    tokenizer = train_tokenizer(read_texts, whole, VOCABULARY)
    encoded = {
        lang: [np.array(tokenizer.encode(each).ids) for each in texts]
        for lang, texts in read_texts.items()
    }
    groups = [[] for _ in range(K)]
    for place, texts in enumerate(encoded.values()):
        groups[place % K].append(texts[TEXTS:])
    terms = term_directions([each for group in groups for texts in group for each in texts])
    router = fit_router(*terms, groups)
    tell(f"{date.today()}, {platform.machine()}, torch {torch.__version__}, one thread")
    fresh = {lang: texts[:TEXTS] for lang, texts in encoded.items()}
    tell(*route(router, terms, fresh))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        save_tokenizer(tokenizer, folder / "tokens")
        ensemble_folder = make(folder, folder / "tokens/tokenizer.json", router, shape)
        before, start = resident(), time.process_time()
        ensemble = open_ensemble(ensemble_folder, verified=False)
        held = [ensemble.models[number] for number in range(K)]
        taken = 1e3 * (time.process_time() - start)
        size = 4 * sum(model.num_parameters() for model in held) / 1e6
        tell(
            f"\n{K} experts of shape {shape} ({size:.0f} MB) open in {taken:.0f} ms",
            f"  and take {resident() - before:.0f} MB before they are used",
        )
        prompts = {lang: [text[:PROMPT] for text in texts] for lang, texts in fresh.items()}
        tell(*write(ensemble, prompts["en"][:1], folder, "one text"))
        tell(*write(ensemble, prompts["en"], folder, f"{TEXTS} texts of one language"))
        others = [own[0] for own in prompts.values()][:TEXTS]
        tell(*write(ensemble, others, folder, f"{TEXTS} texts of {TEXTS} languages"))
        tell(*judge(ensemble, [texts[0] for texts in fresh.values()][:TEXTS]))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:] or ["5M"])
