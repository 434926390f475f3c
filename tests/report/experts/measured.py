"""A small evaluation of experts, put together by hand from losses, as its JSON holds it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.settings import MeasuredExperts

Losses = Mapping[str, float]
Cells = list[dict[str, Any]]

LANGS: tuple[str, ...] = ("qaa", "qab", "qac", "qad")
BASE: dict[str, float] = dict(zip(LANGS, (4.0, 3.0, 3.75, 2.625), strict=True))
DENSE: dict[str, float] = dict(zip(LANGS, (3.0, 2.5, 3.0, 2.0), strict=True))
PAIRS = ({"qaa": 1.0, "qab": 1.0}, {"qac": 1.0, "qad": 1.0})
HALF = 0.01  # of the interval of every difference


class Made(NamedTuple):
    """A partition by a routing: its experts, how many run for a token, and its losses."""

    partition: str
    routing: str
    k: int
    run: float
    losses: Losses

    @property
    def name(self) -> str:
        return f"{self.partition}@{self.routing}" if self.k > 1 else self.partition


def lower(losses: Losses, *by: float) -> dict[str, float]:
    """Losses so much lower, language by language."""
    return {lang: losses[lang] - less for lang, less in zip(LANGS, by, strict=True)}


def cells(partition: str, experts: Sequence[tuple[str, Losses, Losses]]) -> Cells:
    """What experts, by name, learned shares and rises of loss, became on every language."""
    return [
        {
            "partition": partition,
            "ensemble": f"{partition}-s1",
            "expert": name,
            "learned": learned.get(lang, 0.0),
            "language": lang,
            "loss": BASE[lang] + rises[lang],
            "base_loss": BASE[lang],
        }
        for lang in LANGS
        for name, learned, rises in experts
    ]


def outcome(
    settings: Sequence[Made],
    expert_cells: Cells,
    shares: Mapping[str, Sequence[Losses]],
    amounts: Sequence[int] = (1_000_000,) * 4,
) -> dict[str, Any]:
    """All of it; the first setting is the base of the others."""
    dense = [each for each in settings if each.partition == "dense"]
    before = [each for each in settings if each.name == "before@filter:1"]
    text = {
        "losses": {each.name: _losses(each) for each in settings},
        "unit": "nats/token",
        "segments": 0,
        "translated": False,
        "bits_per_segment": {},
        "best": {},
        "leaders": {},
        "compared": [_versus(each, to) for to in dense for each in settings if each is not to],
        "forgotten": [_versus(each, settings[0]) for each in settings[1:]],
        "added": [_versus(x, to) for to in before for x in settings if x.partition == "added"],
        "cautions": [],
        "costs": {each.name: _cost(each) for each in settings},
    }
    experts = {
        "base": "base",
        "same_tokenizer": True,
        "base_shares": None,
        "context": 64,
        "train_tokens": dict(zip(LANGS, amounts, strict=True)),
        "cells": expert_cells,
        "partitions": {name: partition(name, each) for name, each in shares.items()},
    }
    whole = {"tongues": "0.0.0", "policy": {}, "texts": {"text": text}, "experts": experts}
    models = [_model(each) for each in settings]
    return whole | {"models": models, "tasks": {}, "examples": {}, "left_out": []}


def partition(name: str, shares: Sequence[Losses]) -> dict[str, Any]:
    """One by the method that its name begins with."""
    of = {"by": name.rpartition("-")[0] or name, "shares": [dict(share) for share in shares]}
    return of | {"clusters": [list(share) for share in shares], "merges": [], "notes": []}


def compared(less: float, **others: Any) -> dict[str, Any]:
    """Pairs of languages whose loss is so much lower than that of the dense model."""
    first, second = PAIRS
    own = dict(zip(LANGS, (-0.5, -0.25, 0.75, 1.25), strict=True))
    other = dict(zip(LANGS, (0.25, 0.5, -0.5, -0.25), strict=True))
    settings = [
        Made("seed", "", 1, 1.0, BASE),
        Made("dense", "", 1, 1.0, DENSE),
        Made("typology-2", "filter:1", 2, 1.0, lower(DENSE, *[less] * 4)),
        Made("typology-2", "tfidf:1", 2, 1.0, lower(DENSE, *[less - 0.1] * 4)),
        Made("typology-2", "tfidf", 2, 1.8, lower(DENSE, *[less - 0.05] * 4)),
    ]
    each = cells("typology-2", [("e0", first, own), ("e1", second, other)])
    return outcome(settings, each, {"typology-2": PAIRS}, **others)


def differences(plain: dict[str, Any], *kinds: str) -> Iterator[dict[str, Any]]:
    """Every difference to the dense model, the base or the ensemble before, to be changed."""
    for kind in kinds or ("compared", "forgotten", "added"):
        for each in plain["texts"]["text"][kind]:
            yield from each["languages"].values()
            yield from filter(None, [each["mean"]])


def seen(plain: Mapping[str, Any]) -> MeasuredExperts:
    """An evaluation as the page takes it."""
    return MeasuredExperts.of(Evaluation.from_json(plain))


def _losses(made: Made) -> dict[str, Any]:
    about = {"documents": 12, "tokens": 4000, "bytes": 9000}
    return {
        lang: {
            "nats_per_token": loss,
            "perplexity": math.exp(loss),
            "bits_per_byte": {"value": loss / 2},
            "of_members": [loss],
            **about,
        }
        for lang, loss in made.losses.items()
    }


def _versus(one: Made, other: Made) -> dict[str, Any]:
    values = {lang: loss - other.losses[lang] for lang, loss in one.losses.items()}
    before = other.partition == "before"
    return {
        "model": one.name,
        "other": other.name,
        "languages": {lang: _difference(value) for lang, value in values.items()},
        "mean": _difference(fmean(values.values())) if len(values) == len(LANGS) else None,
        "others": dict.fromkeys(values, other.name) if before else {},
    }


def _difference(value: float) -> dict[str, Any]:
    p = 0.01 if abs(value) > HALF else 0.3  # on the side that the interval says
    return {"value": value, "low": value - HALF, "high": value + HALF, "p": p}


def _cost(made: Made) -> dict[str, float]:
    size = made.k * 1_500_000
    return {"experts_run": made.run, "memory": size}


def _model(made: Made) -> dict[str, Any]:
    return {
        "name": made.name,
        "kind": "ensemble",
        "base": None,
        "routing": made.routing,
        "experts": made.k,
        "context": 64,
        "first": "<end>",
        "prompted": True,
        "tokenizer": "one",
        "trained": None,
        "fingerprint": "",
        "partition": made.partition,
    }
