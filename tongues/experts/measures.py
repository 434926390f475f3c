"""What experts are worth: losses per language of the seed, the dense model and every ensemble.

Every expert scores every held-out document once; what any routing comes to follows from that.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tongues.experts.ensemble.ensemble import Ensemble, open_alone, open_ensemble
from tongues.experts.ensemble.lineage import read_lineage
from tongues.experts.ensemble.routing import Routing, parse_routing, posterior_weights, weigh
from tongues.experts.ensemble.score import expert_log_probs, mixed
from tongues.experts.heldout import documents_of, scored_documents
from tongues.files import write_json
from tongues.randomness import derive_seed
from tongues.tokens import Tokens, open_tokens
from tongues.train.directory import find_parent, model_folder

__all__ = ["MEASURES", "Setting", "measure", "usual_routings", "write_measures"]

MEASURES = "measures.json"
_DRAWS = 1000
_LEVEL = (2.5, 97.5)

Losses = Mapping[str, np.ndarray]  # nats of every document, by language


@dataclass(frozen=True, slots=True)
class Setting:
    """Models used in one way: a division's ensembles, a seed of its runs each, by a routing."""

    division: str  # `seed` is the model that all branch from
    routing: str
    k: int
    losses: Sequence[Losses]  # of every seed
    experts_run: float  # that run for a token, in the mean


def usual_routings(k: int) -> list[Routing]:
    """What is worth comparing for so many experts."""
    if k == 1:
        return [parse_routing("uniform")]
    sparse = [f"tfidf:{2**i}" for i in range(int(math.log2(k)) + 1) if 2**i < k]
    names = ["language", "text", *sparse, "tfidf", "posterior", "uniform", "random"]
    return [parse_routing(name) for name in names]


def measure(
    ensembles: Mapping[str, Sequence[Path]],
    tokens_name: str,
    workspace: Path,
    *,
    scored: int,
    context: int,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Score held-out text with all ensembles of one recipe, and put together what follows.

    ensembles: folders by division, one for each seed. scored: tokens of a language, in whole
    documents. context: tokens of a window.
    """
    tokens = open_tokens(workspace / "tokens" / tokens_name)
    text = {lang: _held_out(tokens, lang, scored) for lang in tokens.languages}
    lineages = {label: [read_lineage(f) for f in folders] for label, folders in ensembles.items()}
    origin = next(iter(lineages.values()))[0].seed
    tell(f"scoring {len(text)} languages with `{origin}`")
    base = _seed_losses(origin, workspace, text, context)
    settings = [Setting("seed", "", 1, [base], 1.0)]
    cells: list[dict[str, Any]] = []
    for label, folders in ensembles.items():
        found: dict[str, list[tuple[Losses, float]]] = {}
        for folder in folders:
            tell(f"scoring {len(text)} languages with {folder.name}")
            ensemble = open_ensemble(folder, workspace)
            likely = {
                lang: expert_log_probs(ensemble, documents, context=context)
                for lang, documents in text.items()
            }
            for routing in usual_routings(ensemble.k):
                found.setdefault(str(routing), []).append(_by(routing, ensemble, text, likely))
            cells += _cells(label, folder, ensemble, likely, base, text)
        k = len(lineages[label][0].experts)
        settings += [
            Setting(label, name, k, [losses for losses, _ in each], _mean(run for _, run in each))
            for name, each in found.items()
        ]
    return {
        "seed": origin,
        "context": context,
        "text": {lang: _about(tokens, documents) for lang, documents in text.items()},
        "train": {lang: tokens.counts[lang]["train"]["tokens"] for lang in tokens.languages},
        "settings": [_told(one, settings, tokens, text) for one in settings],
        "forgetting": cells,
        "partitions": {label: each[0].partition for label, each in lineages.items()},
    }


def _held_out(tokens: Tokens, lang: str, most: int) -> list[np.ndarray]:
    """The held-out documents of a language that nothing was chosen by."""
    shard = tokens.shard(lang, "valid")
    return documents_of(shard.tokens, shard.bounds, scored_documents(shard.bounds, most))


def _seed_losses(
    origin: str, workspace: Path, text: Mapping[str, list[np.ndarray]], context: int
) -> Losses:
    """Of the model that everything began with."""
    parent = find_parent(origin, workspace)
    assert parent
    ensemble = open_alone(model_folder(parent), "seed")
    return {
        lang: np.array([-row.sum() for row in expert_log_probs(ensemble, own, context=context)])
        for lang, own in text.items()
    }


def _by(
    routing: Routing,
    ensemble: Ensemble,
    text: Mapping[str, list[np.ndarray]],
    likely: Mapping[str, list[np.ndarray]],
) -> tuple[Losses, float]:
    """Nats of every document under a routing, and how many experts ran for a token."""
    losses: dict[str, np.ndarray] = {}
    ran = total = 0.0
    for lang, documents in text.items():
        known = lang in ensemble.lineage.languages
        if routing.kind == "language" and not known:
            continue
        expert = ensemble.lineage.number_of(lang) if routing.kind == "language" else None
        nats: list[float] = []
        for document, log_probs in zip(documents, likely[lang], strict=True):
            weights = weigh(
                routing, document, k=ensemble.k, router=ensemble.router, expert=expert, seed=0
            )
            if weights is None:
                weights = posterior_weights(log_probs, ensemble.prior)
                ran += ensemble.k * len(document)
            else:
                ran += float((weights > 0).sum())
            total += len(document)
            nats.append(-float(mixed(weights, log_probs).sum()))
        losses[lang] = np.array(nats)
    return losses, ran / max(total, 1.0)


def _cells(
    label: str,
    folder: Path,
    ensemble: Ensemble,
    likely: Mapping[str, list[np.ndarray]],
    base: Losses,
    text: Mapping[str, list[np.ndarray]],
) -> list[dict[str, Any]]:
    """What each expert became on each language against the seed, nats per token."""
    rows = []
    for lang, documents in text.items():
        count = sum(map(len, documents))
        own = -np.sum([log_probs.sum(axis=0) for log_probs in likely[lang]], axis=0) / count
        before = float(base[lang].sum()) / count
        for expert, loss in zip(ensemble.lineage.experts, own.tolist(), strict=True):
            rows.append(
                {
                    "division": label,
                    "ensemble": folder.name,
                    "expert": expert.name,
                    "learned": expert.languages.get(lang, 0.0),
                    "lang": lang,
                    "loss": loss,
                    "seed_loss": before,
                    "perplexity_rise": math.exp(loss) - math.exp(before),
                }
            )
    return rows


def _told(
    one: Setting, settings: Sequence[Setting], tokens: Tokens, text: Mapping[str, list[np.ndarray]]
) -> dict[str, Any]:
    """A setting in numbers, each language's with what it gained on the seed and the dense model."""
    dense = [other for other in settings if other.division == "dense"]
    beside = {"seed": settings[0], **({"dense": dense[0]} if dense else {})}
    languages: dict[str, Any] = {}
    for lang, documents in text.items():
        if any(lang not in losses for losses in one.losses):
            continue
        lengths = np.array([len(document) for document in documents], dtype=float)
        count, size = lengths.sum(), sum(int(tokens.token_bytes[d].sum()) for d in documents)
        each = [float(losses[lang].sum()) for losses in one.losses]
        languages[lang] = {
            "loss": _mean(each) / count,
            "perplexity": math.exp(_mean(each) / count),
            "bits_per_byte": _mean(each) / math.log(2) / size,
            "by_seed": [nats / count for nats in each],
            **{
                f"less_than_{name}": _less(one, other, lang, lengths)
                for name, other in beside.items()
                if other is not one
            },
        }
    found = {
        "division": one.division,
        "routing": one.routing,
        "k": one.k,
        "seeds": len(one.losses),
        "experts_run": one.experts_run,
        "languages": languages,
        "mean": None,
    }
    if len(languages) == len(text):
        found["mean"] = {
            "loss": _mean(of["loss"] for of in languages.values()),
            "perplexity": _mean(of["perplexity"] for of in languages.values()),
            "bits_per_byte": _mean(of["bits_per_byte"] for of in languages.values()),
            **{
                f"less_than_{name}": _less_in_all(one, other, text)
                for name, other in beside.items()
                if other is not one
            },
        }
    return found


def _less(one: Setting, other: Setting, lang: str, lengths: np.ndarray) -> dict[str, float]:
    """How much lower its loss is, nats per token, with the 95 % interval over documents."""
    return _interval(_differences(one, other, lang, lengths))


def _less_in_all(
    one: Setting, other: Setting, text: Mapping[str, list[np.ndarray]]
) -> dict[str, float]:
    """The same of the mean over languages."""
    each = [
        _differences(one, other, lang, np.array([len(d) for d in documents], dtype=float))
        for lang, documents in text.items()
    ]
    return _interval(np.mean(each, axis=0))


def _differences(one: Setting, other: Setting, lang: str, lengths: np.ndarray) -> np.ndarray:
    """Loss of the other less its own: first as measured, then in draws of the documents."""
    gap = np.mean([of[lang] for of in other.losses], axis=0)
    gap = gap - np.mean([of[lang] for of in one.losses], axis=0)
    random = np.random.default_rng(derive_seed(0, "documents", lang))
    drawn = random.multinomial(len(lengths), np.full(len(lengths), 1 / len(lengths)), _DRAWS)
    weights = np.vstack([np.ones(len(lengths)), drawn])
    return (weights @ gap) / (weights @ lengths)


def _interval(differences: np.ndarray) -> dict[str, float]:
    low, high = np.percentile(differences[1:], _LEVEL)
    return {"mean": float(differences[0]), "low": float(low), "high": float(high)}


def _about(tokens: Tokens, documents: Sequence[np.ndarray]) -> dict[str, int]:
    return {
        "documents": len(documents),
        "tokens": sum(map(len, documents)),
        "bytes": sum(int(tokens.token_bytes[document].sum()) for document in documents),
    }


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def write_measures(found: Mapping[str, Any], folder: Path) -> Path:
    """Write them beside the ensembles they are of; returns the file."""
    write_json(folder / MEASURES, found)
    return folder / MEASURES
