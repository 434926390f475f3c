"""A small outcome of `tongues experts measure`, put together by hand from losses."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Losses = Mapping[str, float]

LANGS: tuple[str, ...] = ("qaa", "qab", "qac", "qad")
SEED: dict[str, float] = dict(zip(LANGS, (4.0, 3.0, 3.75, 2.625), strict=True))
DENSE: dict[str, float] = dict(zip(LANGS, (3.0, 2.5, 3.0, 2.0), strict=True))
PAIRS = ({"qaa": 1.0, "qab": 1.0}, {"qac": 1.0, "qad": 1.0})


def lower(base: Losses, *by: float) -> dict[str, float]:
    """Losses so much lower, language by language."""
    return {lang: base[lang] - less for lang, less in zip(LANGS, by, strict=True)}


def setting(
    division: str, routing: str, k: int, run: float, losses: Losses, half: float = 0.01
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
        "division": division,
        "routing": routing,
        "k": k,
        "seeds": 1,
        "experts_run": run,
        "seconds_per_token": run * 0.25e-3,
        "memory": k * 1_500_000,
        "languages": languages,
        "mean": mean,
    }


def cells(division: str, experts: Sequence[tuple[str, Losses, Losses]]) -> list[dict[str, Any]]:
    """What experts, by name, learned shares and rises of loss, became on every language."""
    return [
        {
            "division": division,
            "ensemble": f"{division}-s1",
            "expert": name,
            "learned": learned.get(lang, 0.0),
            "lang": lang,
            "loss": SEED[lang] + rises[lang],
            "seed_loss": SEED[lang],
            "perplexity_rise": math.exp(SEED[lang] + rises[lang]) - math.exp(SEED[lang]),
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
    kinds = {one["division"] for one in settings}
    for one in settings:
        absent = {"seed"} if one["division"] == "seed" else set()
        absent |= {"dense"} if "dense" not in kinds or one["division"] == "dense" else set()
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
        setting("dense", "uniform", 1, 1.0, DENSE),
        setting("typology-2", "text", 2, 1.0, lower(DENSE, *[less] * 4)),
        setting("typology-2", "tfidf:1", 2, 1.0, lower(DENSE, *[less - 0.1] * 4)),
        setting("typology-2", "tfidf", 2, 1.8, lower(DENSE, *[less - 0.05] * 4)),
        setting("typology-2", "uniform", 2, 2.0, lower(DENSE, *[less + 9] * 4)),
    ]
    forgetting = cells("typology-2", [("e0", first, own), ("e1", second, other)])
    return outcome(settings, forgetting, {"typology-2": PAIRS}, **others)


def told_apart(mean: float, half: float) -> float:
    """A p-value on the side that the interval says."""
    return 0.01 if abs(mean) > half else 0.3


def average(values: Sequence[float]) -> float:
    return sum(values) / len(values)
