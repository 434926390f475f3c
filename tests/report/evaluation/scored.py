"""A small outcome of `tongues evaluate`, from losses and answers drawn by a known rule."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tongues.core.roles import Roles
from tongues.evaluate.answers import task_scores
from tongues.evaluate.comparing import text_scores
from tongues.evaluate.evaluation import EvaluatedModel, Evaluation, Trained
from tongues.evaluate.losses import DocumentLosses, Policy
from tongues.evaluate.tasks import ItemScore

LANGS = ("qaa", "qab", "qac")
SOURCE, SCRATCH = "study/qaa-source-s1", "study/qab-scratch-s1"
PLAIN, MIXED = "study/qab-cpt-s1", "study/qab-cpt-r20-s1"
LOSSES: Mapping[str, Sequence[float]] = {  # nats per byte
    SOURCE: (1.0, 2.0, 1.8),
    SCRATCH: (2.6, 1.3, 1.8),
    PLAIN: (1.3, 1.1, 1.8),
    MIXED: (1.02, 1.1, 1.8),
}
RIGHT: Mapping[str, Sequence[float]] = {
    SOURCE: (0.75, 0.4, 0.34),
    SCRATCH: (0.36, 0.6, 0.33),
    PLAIN: (0.5, 0.7, 0.33),
    MIXED: (0.72, 0.7, 0.33),
}


def outcome(
    models: Sequence[str] = tuple(LOSSES),
    *,
    documents: int = 24,
    items: int = 120,
    shots: int = 0,
    languages: Sequence[str] = LANGS,
    aligned: bool = False,
) -> Evaluation:
    """An evaluation; every model is compared with the first."""
    losses = {model: _losses(model, documents, languages, aligned) for model in models}
    answers = {model: _answers(model, items, languages, 3 if shots else 1) for model in models}
    pairs = [(model, models[0]) for model in models[1:]]
    began = {model: SOURCE for model in (PLAIN, MIXED) if model in models and SOURCE in models}
    return Evaluation(
        tongues="0.0.0",
        models=[about(model) for model in models],
        policy=Policy(),
        texts={"study": text_scores(losses, pairs, began)},
        tasks={"xnli": task_scores(answers, pairs, "token", shots)},
        examples={"xnli": {"qaa": "Two sleep <here>, right? No, all run."}},
        left_out=["2 left out: empty choice (first xnli/qaa.jsonl, line 3: )"],
    )


def changed(evaluation: Evaluation, value: Any, *path: str | int) -> Evaluation:
    """The same, but for what is at a place of its JSON."""
    plain: Any = evaluation.to_json()
    inner = plain
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return Evaluation.from_json(plain)


def about(model: str, tokenizer: str = "one") -> EvaluatedModel:
    """A run as its name says."""
    strategy = model.split("-")[1]
    replay = 0.2 if model == MIXED else 0.0
    target = model.split("/")[1].split("-")[0]
    known = ("qaa",) if strategy == "cpt" else ()
    roles = Roles((target,), known, {"qaa": replay} if replay else {})
    return EvaluatedModel(
        name=model,
        kind="run",
        base=SOURCE if strategy == "cpt" else None,
        routing="",
        experts=1,
        context=64,
        first="<end>",
        prompted=True,
        tokenizer=tokenizer,
        trained=Trained(model, "0" * 16, strategy, roles, "0.05M", 51_000, 60_000, 1),
        fingerprint=model,
    )


def _losses(
    model: str, documents: int, languages: Sequence[str], aligned: bool
) -> dict[str, DocumentLosses]:
    """The same hard and easy documents for all, and a little of each model's own."""
    found = {}
    for place, language in enumerate(languages):
        texts = np.random.default_rng(place)
        own = np.random.default_rng([place, list(LOSSES).index(model)])
        sizes = texts.integers(200, 900, documents)
        hard = texts.normal(1.0, 0.1, documents) * own.normal(1.0, 0.01, documents)
        names = [f"{'' if aligned else language}{number}" for number in range(documents)]
        found[language] = DocumentLosses(
            ids=tuple(f"{language}{number}" for number in range(documents)),
            nats=LOSSES[model][place] * sizes * hard,
            tokens=sizes // 3,
            bytes=sizes,
            segments=tuple(names),
            missing=np.zeros(documents),
        )
    return found


def _answers(
    model: str, items: int, languages: Sequence[str], draws: int
) -> dict[str, list[list[ItemScore]]]:
    found = {}
    for place, language in enumerate(languages):
        easy = np.random.default_rng(100 + place).uniform(size=items)
        own = np.random.default_rng([200, place, list(LOSSES).index(model)])
        found[language] = [
            [
                _score(f"{language}{n}", easy[n] + own.normal(0, 0.02) < RIGHT[model][place])
                for n in range(items)
            ]
            for _ in range(draws)
        ]
    return found


def _score(item: str, right: bool) -> ItemScore:
    sums = (-1.0, -2.0, -3.0) if right else (-3.0, -1.0, -2.0)
    return ItemScore(item, 0, sums, (1, 1, 1), (1, 1, 1))
