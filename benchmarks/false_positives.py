"""How often each test tells apart what is equal, and how often it tells what is not.

usage: python benchmarks/false_positives.py [SIMULATIONS]

Claim: 5 % ± 1.5 false positives for each test offered, also where demonstrations matter; fewer
where a count is too coarse for 5 % (few items). Beside it stand the usual ways (`usual`): a
percentile bootstrap of the documents; for accuracies one of the items, pooled over draws; and a
paired t over draws alone (`draws`); of several models, allowing for fewer comparisons than were
made. `power` is how often a useful effect is told: half the spread among documents; 0.1 of the
latent spread of 1,000 items (3 points of 40 %), 0.6 of that of 30 (19 points). No claim is made of
gaps that are skewed as a lognormal's. In groups of items, `usual` ignores the groups, and `best` is
the power of a test that knows the true standard error, which no valid test exceeds. The standard
error stands beside every rate. SIMULATIONS of each world, 3,000 by default, take 100 s of one
processor. The result also goes to the file of the same name beside this script.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import sys
from collections.abc import Iterator
from datetime import date
from itertools import combinations, product
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from time import process_time

import numpy as np

from tongues.core.estimate import LEVEL, Estimate
from tongues.core.significance import holm, paired_mean
from tongues.core.significance.draws import spread, wilson
from tongues.core.significance.paired import halves
from tongues.core.significance.student import critical, two_sided

__all__ = ["main"]

SIMULATIONS = 3000
AT_ONCE = 40  # simulations in memory
LEAST, MOST = 0.035, 0.065
# latent standard deviations of item × model, draw × model, and of both (all × model)
WORLDS = {
    "items": (0.7, 0.0, 0.0),
    "draws": (0.1, 0.3, 0.0),
    "both": (0.5, 0.2, 0.5),
    "neither": (0.0, 0.0, 0.7),
}
SIZES = ((30, 0.6), (1000, 0.1))  # items, and by how much one is better
# what is simulated, false positives, the rates beside it, whether 5 % is claimed, simulations
Line = tuple[str, float, dict[str, float], bool, int]


def gaps(
    documents: int, long: bool, tails: str, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Differences of loss and lengths, (simulations, documents); none on average."""
    size = (AT_ONCE, documents)
    lengths = np.exp(random.standard_normal(size)) if long else np.ones(size)
    if tails == "skewed":
        rate = np.exp(random.standard_normal(size)) - np.exp(0.5)
    elif tails == "heavy":
        rate = random.standard_t(2, size)
    else:
        rate = random.standard_normal(size)
    return lengths * rate, lengths


def cut(gap: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The p-value of each simulation, as `paired_loss` has it."""
    low, high = halves(gap, lengths)
    return np.mean((low <= 0) & (high >= 0), axis=-1)


def bootstrapped(gap: np.ndarray, lengths: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Whether the percentile bootstrap's interval leaves out 0."""
    documents = gap.shape[1]
    drawn = random.multinomial(documents, np.full(documents, 1 / documents), 1000).T.astype(float)
    low, high = np.percentile((gap @ drawn) / (lengths @ drawn), [2.5, 97.5], axis=1)
    return (low > 0) | (high < 0)


def of_losses(count: int, random: np.random.Generator) -> Iterator[Line]:
    for tails in ("normal", "heavy", "skewed"):
        for long in (False, True):
            for documents in (8, 15, 30, 200):
                false, usual, power = [], [], []
                for _ in range(-(-count // AT_ONCE)):
                    gap, lengths = gaps(documents, long, tails, random)
                    false.append(cut(gap, lengths) <= LEVEL)
                    usual.append(bootstrapped(gap, lengths, random))
                    power.append(cut(gap + lengths / 2, lengths) <= LEVEL)
                unlike = "unlike in length, " if long else ""
                rates = {"usual": float(np.mean(usual)), "power": float(np.mean(power))}
                name = f"{documents} documents, {unlike}{tails}"
                yield name, float(np.mean(false)), rates, tails != "skewed", count


def right(
    world: tuple[float, float, float],
    shape: tuple[int, int, int],
    level: float,
    effect: float,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each of two models is right: two of (simulations, draws, items)."""
    count, draws, items = shape
    of_item, of_draw, of_all = world
    shared = random.standard_normal((count, 1, items), dtype=np.float32)
    spread_of = sqrt(1 + of_item**2 + of_draw**2 + of_all**2)
    middle = NormalDist().inv_cdf(level) * spread_of
    found = []
    for shift in (middle + effect, middle):
        latent = shared + of_item * random.standard_normal((count, 1, items), dtype=np.float32)
        latent = latent + of_draw * random.standard_normal((count, draws, 1), dtype=np.float32)
        if of_all:
            latent = latent + of_all * random.standard_normal(shape, dtype=np.float32)
        found.append((latent + shift > 0).astype(float))
    return found[0], found[1]


def significant(parts: list[np.ndarray], places: list[np.ndarray] | None = None) -> np.ndarray:
    """Whether each simulation's mean differs significantly from 0, as by `paired_accuracy`."""
    mean, error, freedom = spread(parts, places)
    pairs = zip((mean / error).tolist(), freedom.tolist(), strict=True)
    return np.array([two_sided(t, free) <= LEVEL for t, free in pairs])


def by_items_alone(gap: np.ndarray) -> np.ndarray:
    """The bootstrap of all results pooled, by its normal limit."""
    flat = gap.reshape(len(gap), -1)
    error = np.maximum(flat.std(-1), 1e-9) / sqrt(flat.shape[1])
    return np.abs(flat.mean(-1)) / error > critical(float("inf"))


def by_draws_alone(gap: np.ndarray) -> np.ndarray:
    """The paired t over draws."""
    of_draw = gap.mean(-1)
    draws = of_draw.shape[1]
    error = np.maximum(of_draw.std(-1, ddof=1), 1e-9) / sqrt(draws)
    return np.abs(of_draw.mean(-1)) / error > critical(draws - 1)


def of_accuracies(count: int, random: np.random.Generator) -> Iterator[Line]:
    matter = {"items": "only items matter", "draws": "only draws matter"}
    matter |= {"both": "both matter", "neither": "only noise"}
    designs = [(1, "items"), *((draws, name) for draws in (3, 5) for name in WORLDS)]
    sizes = ((items, effect, level) for items, effect in SIZES for level in (0.4, 0.9))
    for (draws, name), (items, effect, level) in product(designs, sizes):
        found: dict[str, list[np.ndarray]] = {key: [] for key in ("", "usual", "draws", "power")}
        for _ in range(-(-count // 500)):
            own, other = right(WORLDS[name], (500, draws, items), level, 0.0, random)
            found[""].append(significant([own - other]))
            found["usual"].append(by_items_alone(own - other))
            if draws > 1:
                found["draws"].append(by_draws_alone(own - other))
            own, other = right(WORLDS[name], (100, draws, items), level, effect, random)
            found["power"].append(significant([own - other]))
        rates = {key: float(np.mean(of)) for key, of in found.items() if of}
        said = f"{items:,} items, {draws} {'draw' if draws == 1 else 'draws'}"
        yield f"{said}, accuracy {level:.0%}, {matter[name]}", rates.pop(""), rates, True, count


def in_groups(
    sizes: np.ndarray, tau: float, draws: int, shift: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Differences of two models of 45 %, (simulations, draws, items), and the items' groups.

    tau: latent standard deviation of group × model, where that of item × model is 0.7.
    """
    place = np.repeat(np.arange(len(sizes)), sizes)
    shape, right = (AT_ONCE, draws, len(place)), []
    shared = random.standard_normal((AT_ONCE, 1, len(place)), dtype=np.float32)
    middle = NormalDist().inv_cdf(0.45) * sqrt(1.49 + tau**2 + 0.09 * (draws > 1))
    for more in (shift, 0.0):
        latent = shared + 0.7 * random.standard_normal(shared.shape, dtype=np.float32)
        of_group = random.standard_normal((AT_ONCE, 1, len(sizes)), dtype=np.float32)
        latent = latent + tau * of_group[:, :, place]
        if draws > 1:
            latent = latent + 0.3 * random.standard_normal(shape, dtype=np.float32)
        right.append((latent + middle + more > 0).astype(float))
    return right[0] - right[1], place


def of_groups(count: int, random: np.random.Generator) -> Iterator[Line]:
    """Questions on a passage, hypotheses on a premise, sentences of a document."""
    equal = {f"{300 // size} groups of {size}": np.full(300 // size, size) for size in (2, 3, 5)}
    equal |= {"30 groups of 10": np.full(30, 10), "100 groups of 10": np.full(100, 10)}
    sizes = equal | {"488 groups of 1 or 2": 1 + (np.arange(488) < 412)}
    sizes |= {"40 groups of 1 to 20": np.tile([1, 2, 3, 5, 8, 12, 16, 20], 5)}
    effects = (("weak", 0.2), ("strong", 0.8))
    for (name, of), (word, tau), draws in product(sizes.items(), effects, (1, 5)):
        runs = range(-(-count // AT_ONCE))
        gaps = [in_groups(of, tau, draws, 0.0, random) for _ in runs]
        place = [gaps[0][1]]
        false = [significant([gap], place) for gap, _ in gaps]
        rates = {"usual": float(np.mean([by_items_alone(gap) for gap, _ in gaps]))}
        if draws == 1:
            true = float(np.std([gap.mean((1, 2)) for gap, _ in gaps]))
            normal = NormalDist()
            slope = normal.pdf(normal.inv_cdf(0.45)) / sqrt(1.49 + tau**2)
            useful = [in_groups(of, tau, draws, 2.5 * true / slope, random)[0] for _ in runs]
            rates["power"] = float(np.mean([significant([gap], place) for gap in useful]))
            best = [np.abs(gap.mean((1, 2))) > critical(float("inf")) * true for gap in useful]
            rates["best"] = float(np.mean(best))
        shown = "1 draw" if draws == 1 else f"{draws} draws"
        yield f"{name}, {word}, {shown}", float(np.mean(false)), rates, True, len(runs) * AT_ONCE


def of_many(count: int, random: np.random.Generator) -> Iterator[Line]:
    """Means over languages, and many languages at once."""
    both = WORLDS["both"]
    parts = [right(both, (count, 5, 200), level, 0, random) for level in (0.4, 0.5, 0.6, 0.7)]
    yield (
        "mean of 4 languages, 5 draws of 200 items",
        *plain(significant([a - b for a, b in parts])),
    )
    for languages in (8, 16):
        gap = random.standard_t(4, (count, languages))
        yield f"mean difference of {languages} languages", *plain(cut_all(gap))
    for languages in (16, 50):
        repeats = count // 2
        p = [cut(*gaps(30, True, "normal", random)) for _ in range(repeats * languages // AT_ONCE)]
        table = np.concatenate(p)[: repeats * languages].reshape(-1, languages)
        yield f"Holm, any of {languages} languages by 30 documents", *plain(any_told(table))
    p = np.stack([p_values(both, (count // 2, 5, 100), random) for _ in range(16)], axis=1)
    yield "Holm, any of 16 languages by 5 draws of 100 items", *plain(any_told(p))


def of_models(count: int, random: np.random.Generator) -> Iterator[Line]:
    """Several equal models: any beside the first in any language, and the best beside any.

    `usual` allows for a model's languages alone, or for the models beside the best alone. Then the
    mean of languages of which one is lower by as much as the other is higher; `usual` cuts the
    documents of all languages as one lot.
    """
    for models in (3, 5):
        first, alone, lead, beside = [], [], [], []
        for _ in range(-(-count // AT_ONCE)):
            _, lengths = gaps(4 * 12, True, "normal", random)
            nats = lengths * random.standard_normal((models, *lengths.shape))
            nats, size = nats.reshape(models, AT_ONCE, 4, 12), lengths.reshape(AT_ONCE, 4, 12)
            each = np.stack([cut(own - nats[0], size) for own in nats[1:]], axis=1)
            first.append(any_told(each.reshape(AT_ONCE, -1)))
            alone.append(np.any([any_told(of) for of in each.transpose(1, 0, 2)], axis=0))
            told, usual = first_told(nats[:, :, 0], size[:, 0])
            lead.append(told)
            beside.append(usual)
        several = f"{models - 1} models beside the first, any in any of 4 languages"
        rates = {"usual": float(np.mean(alone))}
        yield several, float(np.mean(first)), rates, True, count
        rates = {"usual": float(np.mean(beside))}
        yield f"the best of {models} models beside any", float(np.mean(lead)), rates, True, count
    for documents in (12, 30):
        told, usual = [], []
        for _ in range(count // 5):
            lengths = np.exp(random.standard_normal((4, documents)))
            apart = np.array([1.0, -1.0, 0.5, -0.5])[:, None]
            own = list(lengths * (apart + random.standard_normal(lengths.shape)))
            found = paired_mean(own, list(np.zeros_like(lengths)), list(lengths))
            told.append(found.significant != 0)
            shares = lengths / lengths.sum(-1, keepdims=True)
            together = cut((own * shares / lengths).reshape(1, -1), shares.reshape(1, -1))
            usual.append(together[0] <= LEVEL)
        name = f"mean loss of 4 languages that differ, {documents} documents each"
        yield name, float(np.mean(told)), {"usual": float(np.mean(usual))}, True, len(told)


def first_told(nats: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether any of equal models is told from the best, as `leaders` does and without all pairs.

    nats: (models, simulations, documents).
    """
    pairs = list(combinations(range(len(nats)), 2))
    p = {pair: cut(nats[pair[0]] - nats[pair[1]], lengths) for pair in pairs}
    found = []
    for place, best in enumerate(nats.sum(-1).argmin(0).tolist()):
        beside = [float(of[place]) for pair, of in p.items() if best in pair]
        each = {n: Estimate(1.0, 0.0, 0.0, p=of) for n, of in enumerate(beside)}
        found.append(
            [
                any(of.significant for of in holm(each, among).values())
                for among in (len(pairs), None)
            ]
        )
    told, usual = np.array(found).T
    return told, usual


def cut_all(gap: np.ndarray) -> np.ndarray:
    pieces = np.array_split(gap, max(1, len(gap) // AT_ONCE))
    return np.concatenate([cut(piece, np.ones_like(piece)) for piece in pieces]) <= LEVEL


def p_values(
    world: tuple[float, float, float], shape: tuple[int, int, int], random: np.random.Generator
) -> np.ndarray:
    own, other = right(world, shape, 0.4, 0.0, random)
    mean, error, freedom = spread([own - other])
    pairs = zip((mean / error).tolist(), freedom.tolist(), strict=True)
    return np.array([two_sided(t, free) for t, free in pairs])


def any_told(table: np.ndarray) -> np.ndarray:
    """Whether any of the comparisons in a row is told after Holm."""
    rows = [{i: Estimate(1.0, 0.0, 0.0, p=p) for i, p in enumerate(row)} for row in table.tolist()]
    return np.array([any(of.significant for of in holm(row).values()) for row in rows])


def of_intervals(count: int, random: np.random.Generator) -> Iterator[Line]:
    """How often the interval of one value leaves out the truth."""
    for documents in (8, 30, 200):
        missed = []
        for _ in range(-(-count // AT_ONCE)):
            lengths = np.exp(random.standard_normal((AT_ONCE, documents)))
            loss = lengths * random.gamma(20, 0.15, lengths.shape)  # 3 nats a token, ± 22 %
            missed.append(cut(loss - 3 * lengths, lengths) <= LEVEL)
        yield f"a loss, {documents} documents unlike in length", *plain(np.concatenate(missed))
    for draws in (1, 5):
        for items in (30, 1000):
            for level in (0.4, 0.9):
                world = WORLDS["both"] if draws > 1 else WORLDS["items"]
                one, _ = right(world, (min(count, 2000), draws, items), level, 0.0, random)
                mean, error, freedom = spread([one])
                missed = [
                    outside(level, *values, items, draws)
                    for values in zip(mean, error, freedom, strict=True)
                ]
                said = f"{items:,} items, {draws} {'draw' if draws == 1 else 'draws'}"
                yield f"an accuracy of {level:.0%}, {said}", *plain(np.array(missed))
    for draws in (1, 5):
        world = WORLDS["both"] if draws > 1 else WORLDS["items"]
        own, other = right(world, (min(count, 2000), draws, 1000), 0.6, 0.0, random)
        gap = (own - 0.25) - (other - 0.25)
        said = "1 draw" if draws == 1 else f"{draws} draws"
        yield f"a relative score, 1,000 items, {said}", *plain(significant([gap]))


def outside(
    level: float, mean: float, error: float, freedom: float, items: int, draws: int
) -> bool:
    """Whether the interval of `measured_accuracy` leaves out the truth."""
    worth = mean * (1 - mean) / error**2 if 0 < mean < 1 else items
    low, high = wilson(mean, min(worth, items * draws), critical(float(freedom)))
    return not low <= level <= high


def plain(found: np.ndarray) -> tuple[float, dict[str, float], bool, int]:
    return float(np.mean(found)), {}, True, len(found)


def main() -> None:
    """Simulate, print and write."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SIMULATIONS
    random = np.random.default_rng(0)
    start, said, off = process_time(), [], []
    for title, lines in {
        "losses, paired over documents": of_losses(count, random),
        "accuracies, paired over items and draws": of_accuracies(count, random),
        "accuracies, items in groups": of_groups(count, np.random.default_rng(1)),
        "many languages": of_many(count, random),
        "several models": of_models(count, random),
        "intervals of one value": of_intervals(count, random),
    }.items():
        said.append(title)
        for name, rate, others, claimed, made in lines:
            error = sqrt(max(rate, 1 / made) * (1 - rate) / made)
            beside = "".join(f"  {key} {value:6.1%}" for key, value in others.items())
            mark = "" if claimed else "  (no claim)"
            said.append(f"    {name:66} {rate:5.1%} ± {error:.1%}{beside}{mark}")
            if claimed and not LEAST <= rate <= MOST:
                off.append((rate > MOST, f"    {rate:5.1%}  {name}"))
    head = f"{date.today()}  false positives, {count:,} simulations a world, "
    head += f"{process_time() - start:.0f} s of one processor"
    above, below = ([line for over, line in off if over == side] for side in (True, False))
    report = [head, f"above {MOST:.1%}: {len(above)}", *above]
    report += [f"below {LEAST:.1%}, a count too coarse or a rule too careful: {len(below)}", *below]
    text = "\n".join([*report, "", *said]) + "\n"
    print(text, end="")
    if count >= SIMULATIONS:
        Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
