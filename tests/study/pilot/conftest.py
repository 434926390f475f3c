"""A pilot whose runs end where known laws say, so that no model need be trained."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.records import make_run
from tongues.files import write_json
from tongues.laws import Law
from tongues.laws.predict import sampler
from tongues.randomness import derive_seed
from tongues.recipe import Recipe, load_recipe
from tongues.runs import Base, write_run
from tongues.train import RunPlan, derive

RECIPE = """
name: pil
text: {synthetic: {seed: 1, languages: {qaa: {}, qab: {parent: qaa, divergence: 0.2}}}}
tokens: {vocab_size: 512}
train: {budget: 60 TFLOPs, batch: by size, context: 64 tokens}
pilot: {source: qaa, target: qab, share: 15%, source_budget: 3 tokens per parameter}
"""
SIZES = {"E": 1.8, "A": 60.0, "alpha": 0.4}
TRUTH = {
    "source": Law("chinchilla", SIZES | {"B": 150.0, "beta": 0.4}),
    "scratch": Law("chinchilla", SIZES | {"B": 150.0, "beta": 0.4}),
    "cpt": Law("cpt", SIZES | {"B": 20.0, "beta": 0.25, "gamma": 0.03}),
    "forgetting": Law(
        "forgetting", {"F": 8e3, "A": 0.2, "kappa": 0.13, "W": 0.2, "B": 1.5e5, "beta": 0.095}
    ),
}
VOCABULARY = 512
Trainer = Callable[[Sequence[RunPlan]], None]


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer moves of the walkers, where it is not their draws that are looked at."""
    monkeypatch.setattr(sampler, "_LAST", 4)


@pytest.fixture
def recipe_of(tmp_path: Path) -> Callable[..., Recipe]:
    """The recipe with overrides."""
    path = tmp_path / "pil.yaml"
    path.write_text(RECIPE)
    return lambda *overrides: load_recipe(path, overrides)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace that says it has 20M tokens of both languages."""
    counts = {"documents": 9, "tokens": 20_000_000, "bytes": 9, "bytes_per_token": 5.0}
    manifest = {
        "fingerprint": "made",
        "inputs": {},
        "vocabulary_size": VOCABULARY,
        "frame": {"start": 0, "end": 0},
        "tokenizer_sha256": "",
        "languages": {lang: {"train": counts, "valid": counts} for lang in ("qaa", "qab")},
        "held_out": {},
        "splits": {},
        "missing": {},
        "groups": {},
        "foreign": {},
    }
    (tmp_path / "tokens" / "pil").mkdir(parents=True)
    write_json(tmp_path / "tokens" / "pil" / "tokens.json", manifest)
    return tmp_path


@pytest.fixture
def train(workspace: Path) -> Trainer:
    """Leaves runs that end where the laws say, within half a per cent."""
    ended: dict[str, float] = {}

    def one(plan: RunPlan) -> None:
        derived = derive(plan, VOCABULARY)
        random = np.random.default_rng(derive_seed(1, plan.name))
        N, D = float(derived.parameters["total"]), float(derived.tokens)
        learned = float(TRUTH[plan.strategy].loss(N, (1 - plan.roles.replay_share) * D))
        learned *= float(np.exp(0.005 * random.standard_normal()))
        ended[plan.name] = learned
        losses = {plan.roles.targets[0]: (6.2, learned)}
        if plan.base:
            S = ended[plan.base]
            kept = float(TRUTH["forgetting"].loss(D=D, r=plan.roles.replay_share, S=S))
            kept *= float(np.exp(0.005 * random.standard_normal()))
            losses[plan.roles.base_languages[0]] = (S, kept)
        directory = workspace / "runs" / plan.name
        directory.mkdir(parents=True, exist_ok=True)
        start = plan.base and Base(plan.base, plan.roles.base_languages, "made")
        record = make_run(
            run=plan.name,
            strategy=plan.strategy,
            base=start,
            targets=plan.roles.targets,
            replay=dict(plan.roles.replay),
            shape=plan.shape.name if plan.shape else "",
            seed=plan.settings.seed,
            tokens_fingerprint="made",
            params=derived.parameters,
            tokens=derived.tokens,
            flops=derived.flops,
            shares=dict(plan.shares),
        )
        write_run(directory, record)
        rows = [
            {"step": at * derived.steps, "lang": lang, "loss": loss[at], "bits_per_byte": 1.0}
            | {"tokens": at * derived.tokens, "flops": at * derived.flops}
            | {"tokens_lang": at * derived.tokens, "epochs_lang": 0.1}
            for lang, loss in losses.items()
            for at in (0, 1)
        ]
        (directory / "evals.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def every(plans: Sequence[RunPlan]) -> None:
        for plan in plans:
            one(plan)

    return every
