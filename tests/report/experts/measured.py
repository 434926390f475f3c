"""A small evaluation of experts, put together by hand from losses."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.settings import MeasuredExperts

Losses = Mapping[str, float]

LANGS: tuple[str, ...] = ("qaa", "qab", "qac", "qad")
SEED: dict[str, float] = dict(zip(LANGS, (4.0, 3.0, 3.75, 2.625), strict=True))
DENSE: dict[str, float] = dict(zip(LANGS, (3.0, 2.5, 3.0, 2.0), strict=True))
PAIRS = ({"qaa": 1.0, "qab": 1.0}, {"qac": 1.0, "qad": 1.0})


def lower(base: Losses, *by: float) -> dict[str, float]:
    """Losses so much lower, language by language."""
    return {lang: base[lang] - less for lang, less in zip(LANGS, by, strict=True)}


def setting(
    partition: str, routing: str, k: int, run: float, losses: Losses, half: float = 0.01
) -> dict[str, Any]:
    """A setting of one seed; every difference has an interval of `half` to both sides."""

    def less(other: Losses, lang: str) -> dict[str, float]:
        mean = other[lang] - losses[lang]
        return {"mean": mean, "low": mean - half, "high": mean + half, "p": told_apart(mean, half)}

    def told(lang: str) -> dict[str, Any]:
        loss = losses[lang]
        found = {"loss": loss, "perplexity": math.exp(loss), "bits_per_byte": loss / 2}
        beside = {"less_than_seed": less(SEED, lang), "less_than_dense": less(DENSE, lang)}
        return found | {"by_seed": [loss]} | beside

    languages = {lang: told(lang) for lang in losses}
    mean: dict[str, Any] | None = None
    if len(losses) == len(LANGS):
        names = ("loss", "perplexity", "bits_per_byte")
        mean = {name: average([of[name] for of in languages.values()]) for name in names}
        for name in ("less_than_seed", "less_than_dense"):
            mean[name] = {
                end: average([of[name][end] for of in languages.values()])
                for end in ("mean", "low", "high")
            }
            mean[name]["p"] = told_apart(mean[name]["mean"], half)
    return {
        "partition": partition,
        "routing": routing,
        "k": k,
        "seeds": 1,
        "experts_run": run,
        "seconds_per_token": run * 0.25e-3,
        "memory": k * 1_500_000,
        "languages": languages,
        "mean": mean,
    }


def cells(partition: str, experts: Sequence[tuple[str, Losses, Losses]]) -> list[dict[str, Any]]:
    """What experts, by name, learned shares and rises of loss, became on every language."""
    return [
        {
            "partition": partition,
            "ensemble": f"{partition}-s1",
            "expert": name,
            "learned": learned.get(lang, 0.0),
            "lang": lang,
            "loss": SEED[lang] + rises[lang],
            "seed_loss": SEED[lang],
        }
        for lang in LANGS
        for name, learned, rises in experts
    ]


def outcome(
    settings: list[dict[str, Any]],
    forgetting: list[dict[str, Any]],
    shares: Mapping[str, Sequence[Losses]],
    amounts: Sequence[int] = (1_000_000, 1_000_000, 1_000_000, 1_000_000),
) -> dict[str, Any]:
    """All of it."""
    kinds = {one["partition"] for one in settings}
    for one in settings:
        absent = {"seed"} if one["partition"] == "seed" else set()
        absent |= {"dense"} if "dense" not in kinds or one["partition"] == "dense" else set()
        for of in [*one["languages"].values(), *([one["mean"]] if one["mean"] else [])]:
            for name in absent:
                of.pop(f"less_than_{name}")
    return {
        "seed": "base",
        "seed_tokenizer": "same",
        "seed_shares": None,
        "context": 64,
        "text": {lang: {"documents": 12, "tokens": 4000, "bytes": 9000} for lang in LANGS},
        "train": dict(zip(LANGS, amounts, strict=True)),
        "settings": settings,
        "forgetting": forgetting,
        "partitions": {
            name: {"by": name.partition("-")[0], "shares": [dict(of) for of in each]}
            for name, each in shares.items()
        },
        "routed": {},
    }


def compared(less: float, **others: Any) -> dict[str, Any]:
    """Pairs of languages whose loss is so much lower than that of the dense model."""
    first, second = PAIRS
    own = dict(zip(LANGS, (-0.5, -0.25, 0.75, 1.25), strict=True))
    other = dict(zip(LANGS, (0.25, 0.5, -0.5, -0.25), strict=True))
    settings = [
        setting("seed", "", 1, 1.0, SEED),
        setting("dense", "", 1, 1.0, DENSE),
        setting("typology-2", "filter:1", 2, 1.0, lower(DENSE, *[less] * 4)),
        setting("typology-2", "tfidf:1", 2, 1.0, lower(DENSE, *[less - 0.1] * 4)),
        setting("typology-2", "tfidf", 2, 1.8, lower(DENSE, *[less - 0.05] * 4)),
    ]
    forgetting = cells("typology-2", [("e0", first, own), ("e1", second, other)])
    return outcome(settings, forgetting, {"typology-2": PAIRS}, **others)


def told_apart(mean: float, half: float) -> float:
    """A p-value on the side that the interval says."""
    return 0.01 if abs(mean) > half else 0.3


def average(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def evaluation_of(plain: Mapping[str, Any]) -> Evaluation:
    """What `outcome` gives, as an evaluation holds it."""
    names = {id(one): _name(one) for one in plain["settings"]}
    nothing = {"wins": 0, "losses": 0, "ties": 0}

    def versus(reference: str, other: str) -> list[dict[str, Any]]:
        key = f"less_than_{reference}"
        return [
            {
                "model": names[id(one)],
                "other": other,
                "languages": {
                    lang: _higher(of[key]) for lang, of in one["languages"].items() if key in of
                },
                "mean": _higher(one["mean"][key]) if one["mean"] and key in one["mean"] else None,
                "signs": nothing,
                "others": {
                    lang: f"before@{of[key]['routing']}"
                    for lang, of in one["languages"].items()
                    if key in of and "routing" in of[key]
                },
            }
            for one in plain["settings"]
            if any(key in of for of in one["languages"].values())
        ]

    losses = {
        names[id(one)]: {
            lang: {
                "nats_per_token": of["loss"],
                "perplexity": of["perplexity"],
                "bits_per_byte": {"value": of["bits_per_byte"]},
                "of_members": of["by_seed"],
                **plain["text"][lang],
            }
            for lang, of in one["languages"].items()
        }
        for one in plain["settings"]
    }
    text = {
        "losses": losses,
        "unit": "nats/token",
        "segments": 0,
        "translated": False,
        "bits_per_segment": {},
        "best": {},
        "leaders": {},
        "compared": versus("dense", "dense"),
        "forgotten": versus("seed", "base"),
        "added": versus("before", "before@filter:1"),
        "cautions": [],
        "costs": {
            names[id(one)]: {
                "experts_run": one["experts_run"],
                "seconds": one["seconds_per_token"],
                "memory": one["memory"],
            }
            for one in plain["settings"]
        },
    }
    about = {"kind": "ensemble", "base": None, "context": 64, "first": "<end>", "prompted": True}
    models = [
        {
            **about,
            "name": names[id(one)],
            "routing": one["routing"] if one["k"] > 1 else "",
            "experts": one["k"],
            "tokenizer": "one",
            "trained": None,
            "fingerprint": "",
            "partition": one["partition"],
        }
        for one in plain["settings"]
    ]
    experts = {
        "base": plain["seed"],
        "same_tokenizer": plain["seed_tokenizer"] == "same",
        "base_shares": plain["seed_shares"],
        "context": plain["context"],
        "train_tokens": plain["train"],
        "cells": [
            {"language": cell["lang"], "base_loss": cell["seed_loss"]}
            | {key: cell[key] for key in ("partition", "ensemble", "expert", "learned", "loss")}
            for cell in plain["forgetting"]
        ],
        "partitions": {
            name: {"by": of["by"], "shares": of["shares"]}
            | {"clusters": [list(share) for share in of["shares"]], "merges": [], "notes": []}
            for name, of in plain["partitions"].items()
        },
        "routed": plain["routed"],
        "mixed": plain.get("mixed"),
    }
    whole = {"tongues": "0.0.0", "models": models, "policy": {}, "texts": {"text": text}}
    rest = {"tasks": {}, "examples": {}, "left_out": [], "experts": experts}
    return Evaluation.from_json(whole | rest)


def seen(plain: Mapping[str, Any]) -> MeasuredExperts:
    """The same as the page takes it."""
    return MeasuredExperts.of(evaluation_of(plain))


def _name(one: Mapping[str, Any]) -> str:
    alone = one["k"] == 1
    return one["partition"] if alone else f"{one['partition']}@{one['routing']}"


def _higher(less: Mapping[str, Any]) -> dict[str, Any]:
    """A difference the other way, as evaluations have it."""
    ends = {key: None if less[key] is None else -less[key] for key in ("low", "high")}
    return {"value": -less["mean"], "low": ends["high"], "high": ends["low"], "p": less["p"]} | {
        "reason": less.get("reason", "")
    }
