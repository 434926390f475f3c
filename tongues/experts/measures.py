"""What experts are worth: losses per language of the seed, the dense model and every ensemble.

Every expert scores every held-out document once; what any routing comes to follows from that.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.experts.ensemble.ensemble import Ensemble, open_alone, open_ensemble
from tongues.experts.ensemble.lineage import Lineage, expert_folder, read_lineage
from tongues.experts.ensemble.routing import ROUTINGS, Routing, parse_routing
from tongues.experts.ensemble.score import expert_log_probs, mixed, tokens_read
from tongues.experts.heldout import documents_of, scored_documents, unseen_documents
from tongues.experts.intervals import Losses, less, less_in_all
from tongues.experts.origin import reread, same_tokenizer, seed_shares
from tongues.experts.routed import routed
from tongues.files import write_json
from tongues.significance import holm
from tongues.tokens import Tokens, load_tokenizer, open_tokens
from tongues.train.base import find_base, model_folder

__all__ = ["MEASURES", "Setting", "Use", "measure", "usual_routings", "write_measures"]

MEASURES = "measures.json"

Text = Mapping[str, list[np.ndarray]]  # held-out documents by language
Groups = Mapping[str, Sequence[str]]  # what each belongs to: its translations, copies


@dataclass(frozen=True, slots=True)
class Use:
    """What the experts of one ensemble came to by one routing, and what that took."""

    losses: Losses
    experts_run: float  # tokens that experts read, for one that is scored
    seconds: float  # of processor time for a token: reading, and choosing among the experts
    memory: int  # bytes of the weights of all experts that one text asked for, at most


@dataclass(frozen=True, slots=True)
class Setting:
    """Models used in one way: a division's ensembles, a seed of its runs each, by a routing."""

    division: str  # `seed` is the model that all branch from
    routing: str
    k: int
    uses: Sequence[Use]  # of every seed

    @property
    def losses(self) -> list[Losses]:
        """Of every seed."""
        return [use.losses for use in self.uses]


@dataclass(frozen=True, slots=True)
class _Read:
    """Held-out text as all experts of an ensemble found it."""

    likely: Mapping[str, list[np.ndarray]]  # log-probabilities [T, k] of each document
    seconds: float  # of processor time for a token of an expert


def usual_routings(k: int) -> list[Routing]:
    """What is worth comparing for so many experts."""
    if k == 1:
        return [parse_routing("uniform")]
    return [variant for routing in ROUTINGS for variant in routing.variants(k)]


def measure(
    ensembles: Mapping[str, Sequence[Path]],
    tokens_name: str,
    workspace: Path,
    *,
    scored: int,
    context: int,
    memory: int | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Score held-out text with all ensembles of one recipe, and put together what follows.

    ensembles: folders by division, one for each seed. scored: tokens of a language, in whole
    documents. context: tokens of a window. memory: bytes of weights to hold at most; None: any.
    """
    tokens = open_tokens(workspace / "tokens" / tokens_name)
    lineages = {
        label: [_of_these_tokens(folder, tokens, workspace) for folder in folders]
        for label, folders in ensembles.items()
    }
    unseen = unseen_documents(tokens, chain(*lineages.values()), workspace)
    text: dict[str, list[np.ndarray]] = {}
    groups: dict[str, Sequence[str]] = {}
    for lang in tokens.languages:
        text[lang], groups[lang] = _held_out(tokens, lang, scored, unseen[lang])
    origin = next(iter(lineages.values()))[0].seed
    tell(f"scoring {len(text)} languages with `{origin}`")
    seed, alike = _seed_use(origin, workspace, tokens, text, context)
    settings = [Setting("seed", "", 1, [seed])]
    cells: list[dict[str, Any]] = []
    shown: dict[str, list[dict[str, Any]]] = {}
    for label, folders in ensembles.items():
        found: dict[str, list[Use]] = {}
        for folder in folders:
            tell(f"scoring {len(text)} languages with {folder.name}")
            ensemble = open_ensemble(folder, workspace, memory=memory)
            read = _read(ensemble, text, context)
            for routing in usual_routings(ensemble.k):
                use = _use(routing, ensemble, text, read, context)
                found.setdefault(str(routing), []).append(use)
            cells += _cells(label, folder, ensemble, read.likely, seed.losses, text)
            if ensemble.router and ensemble.k > 1 and label not in shown:
                tokenizer = load_tokenizer(tokens.tokenizer_path)
                shown[label] = routed(ensemble.lineage, ensemble.router, tokenizer, text)
        k = len(lineages[label][0].experts)
        settings += [Setting(label, name, k, uses) for name, uses in found.items()]
    return {
        "seed": origin,
        "seed_tokenizer": "same" if alike else "own",
        "seed_shares": seed_shares(origin, tokens.languages, workspace),
        "context": context,
        "text": {lang: _about(tokens, documents) for lang, documents in text.items()},
        "train": {lang: tokens.counts[lang]["train"]["tokens"] for lang in tokens.languages},
        "settings": [_told(one, settings, tokens, text, groups) for one in settings],
        "forgetting": cells,
        "partitions": {label: each[0].partition for label, each in lineages.items()},
        "routed": shown,
    }


def _held_out(
    tokens: Tokens, lang: str, most: int, unseen: np.ndarray
) -> tuple[list[np.ndarray], list[str]]:
    """The held-out documents of a language that nothing was chosen by or learned from.

    And the group of each.
    """
    shard, groups = tokens.shard(lang, "valid"), tokens.groups_of(lang)
    numbers = scored_documents(shard.bounds, most, unseen)
    filled = [n for n in numbers if shard.bounds[n + 1] - shard.bounds[n] > 1]
    return documents_of(shard.tokens, shard.bounds, filled), [groups[n] for n in filled]


def _of_these_tokens(folder: Path, tokens: Tokens, workspace: Path) -> Lineage:
    """An ensemble's lineage; a UserError where its experts know other tokens than these."""
    lineage = read_lineage(folder)
    place = expert_folder(lineage.experts[0], workspace)
    if not same_tokenizer(place, tokens.tokenizer_path):
        what = f"its experts have another tokenizer than the text in {tokens.path}"
        hint = "train it again, or prepare the text with its `tokenizer.json` by `tokens.base`"
        raise UserError(what, where=str(folder), hint=hint)
    return lineage


def _seed_use(
    origin: str, workspace: Path, tokens: Tokens, text: Text, context: int
) -> tuple[Use, bool]:
    """Of the model that everything began with, and whether its tokenizer is that of the text.

    If not, it reads the same documents in its own tokens.
    """
    parent = find_base(origin, workspace)
    assert parent
    folder = model_folder(parent)
    ensemble, alike = open_alone(folder, "seed"), same_tokenizer(folder, tokens.tokenizer_path)
    own = text
    if not alike:
        own = {lang: reread(each, tokens.tokenizer_path, folder) for lang, each in text.items()}
    read = _read(ensemble, own, context)
    use = _use(parse_routing("uniform"), ensemble, own, read, context)
    longer = _tokens(own) / _tokens(text)
    return replace(use, experts_run=longer, seconds=longer * use.seconds), alike


def _read(ensemble: Ensemble, text: Text, context: int) -> _Read:
    """Let every expert read everything, one after the other."""
    documents = list(chain(*text.values()))
    expert_log_probs(ensemble, [documents[0][:1]], context=context)  # opening is not reading
    began = process_time()
    each = iter(expert_log_probs(ensemble, documents, context=context))
    seconds = process_time() - began
    likely = {lang: list(islice(each, len(own))) for lang, own in text.items()}
    for expert, name in enumerate(ensemble.lineage.names):
        if not all(np.isfinite(own[:, expert]).all() for by in likely.values() for own in by):
            hint = "its weights are broken; train it again"
            raise UserError("finds no probability for held-out text", where=name, hint=hint)
    return _Read(likely, seconds / (ensemble.k * _tokens(text)))


def _tokens(text: Text) -> int:
    return sum(len(document) for documents in text.values() for document in documents)


def _use(routing: Routing, ensemble: Ensemble, text: Text, read: _Read, context: int) -> Use:
    """What a routing comes to, from what every expert found."""
    losses: dict[str, np.ndarray] = {}
    total, choosing, memory = 0, 0.0, 0
    ran = np.zeros(ensemble.k, dtype=np.int64)
    for lang, documents in text.items():
        known = lang in ensemble.lineage.languages
        if routing.needs_language and not known:
            continue
        about = ensemble.about(routing, lang)
        nats: list[float] = []
        for document, log_probs in zip(documents, read.likely[lang], strict=True):
            began = process_time()
            weights = routing.weights(document, about, log_probs if routing.learns else None)
            nats.append(-float(mixed(weights, log_probs).sum()))
            choosing += process_time() - began
            asked = weights if routing.chooses(ensemble.k) else None
            (each,) = tokens_read([document], [asked], ensemble.k, context)
            memory = max(memory, int(np.array(ensemble.models.bytes)[each > 0].sum()))
            ran += each
            total += len(document)
        losses[lang] = np.array(nats)
    run = float(ran.sum()) / max(total, 1)
    return Use(losses, run, run * read.seconds + choosing / max(total, 1), memory)


def _cells(
    label: str,
    folder: Path,
    ensemble: Ensemble,
    likely: Mapping[str, list[np.ndarray]],
    base: Losses,
    text: Text,
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
    one: Setting, settings: Sequence[Setting], tokens: Tokens, text: Text, groups: Groups
) -> dict[str, Any]:
    """A setting in numbers, each language's with what it gained on other models."""
    lengths = {
        lang: np.array([len(document) for document in documents], dtype=float)
        for lang, documents in text.items()
        if all(lang in losses for losses in one.losses)
    }
    languages: dict[str, Any] = {}
    others: dict[str, dict[str, Setting]] = {}
    for lang, counts in lengths.items():
        count, size = counts.sum(), sum(int(tokens.token_bytes[d].sum()) for d in text[lang])
        each = [float(losses[lang].sum()) for losses in one.losses]
        languages[lang] = {
            "loss": _mean(each) / count,
            "perplexity": math.exp(_mean(each) / count),
            "bits_per_byte": _mean(each) / math.log(2) / size,
            "by_seed": [nats / count for nats in each],
        }
        for name, other in _beside(one, settings, lang).items():
            others.setdefault(name, {})[lang] = other
    for name, by in others.items():
        found = {
            lang: less(one.losses, other.losses, lang, lengths[lang], groups[lang])
            for lang, other in by.items()
        }
        for lang, gained in holm(found).items():
            way = {"routing": by[lang].routing} if name == "before" else {}
            languages[lang][f"less_than_{name}"] = asdict(gained) | way
    mean: dict[str, Any] | None = None
    if len(languages) == len(text):
        names = ("loss", "perplexity", "bits_per_byte")
        mean = {name: _mean(of[name] for of in languages.values()) for name in names}
        for name, by in others.items():
            each = {lang: other.losses for lang, other in by.items()}
            mean[f"less_than_{name}"] = asdict(less_in_all(one.losses, each, lengths, groups))
    return {
        "division": one.division,
        "routing": one.routing,
        "k": one.k,
        "seeds": len(one.uses),
        "experts_run": _mean(use.experts_run for use in one.uses),
        "seconds_per_token": _mean(use.seconds for use in one.uses),
        "memory": max(use.memory for use in one.uses),
        "languages": languages,
        "mean": mean,
    }


def _beside(one: Setting, settings: Sequence[Setting], lang: str) -> dict[str, Setting]:
    """What a setting is compared with on a language: the seed, the dense model, what was before.

    What was before was used alike, all of fewer experts for some of more; where that could not
    score the language, by the expert that the text is nearest to.
    """
    found = {other.division: other for other in settings if other.division in ("seed", "dense")}
    found.pop(one.division, None)
    before = {
        other.routing: other
        for other in settings
        if other.division == "before" and lang in other.losses[0]
    }
    if before and one.division not in ("seed", "before"):
        ways = (one.routing, one.routing.partition(":")[0], "text", "uniform")
        found["before"] = next(before[way] for way in ways if way in before)
    return found


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
