"""Small ensembles: random experts with decided opinions, as folders a user could have."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from tests.models.families import save_tiny, tiny
from tongues.core.files import file_hash
from tongues.experts.ensemble import generate as generation
from tongues.experts.ensemble.ensemble import Ensemble, expert_log_probs, mixed
from tongues.experts.ensemble.lineage import (
    Expert,
    Lineage,
    describe_expert,
    router_file,
    write_lineage,
)
from tongues.experts.ensemble.router import Router, save_router
from tongues.experts.ensemble.routing import Routing
from tongues.models import find_shape
from tongues.models.huggingface import build_model, save_model
from tongues.text.tokens.tokenizer import save_tokenizer, train_tokenizer

VOCABULARY, CONTEXT, WIDTH = 300, 96, 12
LANGUAGES = ("qaa", "qab", "qac", "qad")
TEXT = "the ban of a mal is an art and so on we go to the end of all that is said here. "


def make_tokenizer(folder: Path, text: str = TEXT) -> Path:
    save_tokenizer(train_tokenizer({"qaa": [text]}, {"qaa": 400}, VOCABULARY), folder)
    return folder / "tokenizer.json"


def make_expert(folder: Path, tokenizer: Path, seed: int, shape: str = "0.05M") -> Path:
    """A random model whose predictions differ from token to token."""
    model = build_model(find_shape(shape), VOCABULARY, CONTEXT, seed=seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4 if weight.ndim == 2 else 1)
    save_model(model, folder)
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return folder


def make_terms() -> tuple[np.ndarray, np.ndarray]:
    """An idf and a direction of each token."""
    chance = np.random.default_rng(2)
    return chance.uniform(1, 5, VOCABULARY), chance.normal(size=(VOCABULARY, WIDTH))


def make_router(k: int, *, temperature: float = 0.1, owners: Sequence[int] | None = None) -> Router:
    """A router of k experts with a centre each, or of these experts' centres."""
    idf, projection = make_terms()
    owned = np.arange(k) if owners is None else np.array(owners)
    chance = np.random.default_rng(3)
    centres = chance.normal(size=(len(owned), WIDTH))
    return Router(
        vectors=(idf[:, None] * projection).astype(np.float32),
        centres=centres / np.linalg.norm(centres, axis=1, keepdims=True),
        owners=owned,
        prior=np.arange(1, k + 1) / (k * (k + 1) / 2),
        logs=np.log(chance.dirichlet(np.full(VOCABULARY, 0.1), len(owned)).T + 1e-6),
        common=np.full(VOCABULARY, 1 / VOCABULARY),
        temperature=temperature,
    )


def make_ensemble(
    workspace: Path,
    experts: Sequence[Path],
    tokenizer: Path,
    *,
    router: Router | None = None,
    name: str = "small",
) -> Path:
    """Write `ensemble.json` and the router for experts that lie in the workspace."""
    folder = workspace / "ensembles/small" / name
    folder.mkdir(parents=True)
    described: list[Expert] = [
        describe_expert(
            f"e{number}",
            expert,
            workspace,
            languages={LANGUAGES[number % len(LANGUAGES)]: 1.0},
            parent="seed",
            run=None,
            tokens=1000,
        )
        for number, expert in enumerate(experts)
    ]
    save_router(router or make_router(len(experts)), folder / "router.safetensors")
    lineage = Lineage(
        experts=tuple(described),
        languages={lang: expert.name for expert in described for lang in expert.languages},
        base="seed",
        tokenizer_sha256=file_hash(tokenizer),
        router=router_file(folder / "router.safetensors"),
        partition={"by": "languages", "clusters": [], "shares": []},
    )
    write_lineage(lineage, folder)
    return folder


class Scores(NamedTuple):
    """A document under the mixture of experts."""

    nats: np.ndarray  # [T]
    weights: np.ndarray  # [T, k]


def score(
    ensemble: Ensemble,
    documents: Sequence[np.ndarray],
    routing: Routing,
    languages: Sequence[str] | None = None,
) -> list[Scores]:
    """Documents scored by all experts in all windows, and mixed as a routing says."""
    found = []
    likely = expert_log_probs(ensemble, documents)
    for document, language, own in zip(
        documents, languages or [None] * len(documents), likely, strict=True
    ):
        weights = routing.weights(document, ensemble.about(routing, language))
        found.append(Scores(-mixed(weights, own), weights))
    return found


class Generated(NamedTuple):
    """What was generated behind a prompt of token ids, without the token that stopped it."""

    tokens: np.ndarray  # [T]
    nats: np.ndarray  # [T], -log p of each under the mixture, before sampling changed it
    weights: np.ndarray  # [T, k], of each expert
    stopped: bool


def generate(ensemble: Ensemble, *given: Any, **more: Any) -> list[Generated]:
    """As the package's own does, in arrays."""
    found = []
    for tokens in generation.generate(ensemble, *given, **more):
        stopped = tokens[-1].ended == "stop"
        own = tokens[:-1] if stopped else tokens
        ids = np.array([token.id for token in own], dtype=np.int64)
        nats = -np.array([token.log_prob for token in own])
        weights = np.array([token.weights for token in own]).reshape(-1, ensemble.k)
        found.append(Generated(ids, nats, weights, stopped))
    return found


@contextmanager
def counted_reads(ensemble: Ensemble) -> Iterator[list[int]]:
    """The number of tokens that an expert reads in each of its passes, while the block runs."""
    counts: list[int] = []

    def note(module: Any, given: Any, named: dict[str, Any]) -> None:
        counts.append(named["input_ids"].numel())

    hooks = [
        ensemble.models[number].register_forward_pre_hook(note, with_kwargs=True)
        for number in range(ensemble.k)
    ]
    yield counts
    for hook in hooks:
        hook.remove()


def texts(count: int, length: int, seed: int = 0) -> list[np.ndarray]:
    """Documents of token ids, of lengths up to twice as long as others."""
    chance = np.random.default_rng(seed)
    sizes = chance.integers(length // 2, length + 1, count)
    return [chance.integers(1, VOCABULARY, size).astype(np.uint16) for size in sizes]


def make_house(place: Path) -> Path:
    """A workspace: experts `models/e0` to `e2`, an ensemble `small/small` of them, and a `hub`."""
    torch.set_num_threads(1)
    tokenizer = make_tokenizer(place / "tokenizer")
    folders = [make_expert(place / f"models/e{n}", tokenizer, seed=n) for n in range(3)]
    make_ensemble(place, folders, tokenizer)
    save_tiny(tiny("gpt-neox", VOCABULARY), place / "hub", tokenizer)
    return place
