"""The prior for losses: what it forecasts of languages that were left out of its fit.

usage: python benchmarks/prior.py [--write]

Goldfish's table (arXiv 2408.10441) has log-perplexities on FLORES of 121 languages, by models of 5,
10, 100 and 1,000 MB of text and by unigrams and bigrams. Each language is left out in turn, then
each family; everything is fitted again without it. Runs count as those of another text than the
table's. --write puts the prior fitted to all languages into tongues/languages/prior.npz: effects
and covariances, no row of the table, which states no licence. What a sample of another text says
is measured in forecast.txt.
"""

import csv
import math
import re
import sys
import time
from collections import defaultdict
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.prior_fit import LossTable, fit_prior
from tongues.frames import text_table
from tongues.languages import (
    LossPrior,
    NGrams,
    OwnRun,
    forecast_language,
    known_language,
)

ROOT = Path(__file__).parents[1]
GOLDFISH = ROOT / "../shared/data/published/goldfish"
OUT = ROOT / "tongues/languages/prior.npz"
COLUMNS = ("ngram1", "ngram2", "goldfish_5mb", "goldfish_10mb", "goldfish_100mb", "goldfish_1000mb")
SENTENCE = 65.0  # bytes of the second half of an English sentence of FLORES
MEGABYTES = {2: 5, 3: 10, 4: 100, 5: 1000}
SIZES = {2: 39e6, 3: 39e6, 4: 125e6, 5: 125e6}
KNOWN = {
    "catalogue alone": (False, ()),
    "with n-grams": (True, ()),
    "with runs on 5 and 10 MB": (False, (2, 3)),
    "with runs on 10 and 100 MB": (False, (3, 4)),
    "with n-grams and these runs": (True, (3, 4)),
}
FACTORS = (
    "catalogue alone",
    "with n-grams",
    "with runs on 10 and 100 MB",
    "with n-grams and these runs",
)
ROUNDS = 4  # of a fit that starts from that to all languages
LEAVING_OUT = ("language", "family")
Scores = dict[tuple[str, str, int], np.ndarray]  # by what is left out, what is known, and target


def read_table() -> LossTable:
    """Goldfish's languages that FLORES has, with what the catalogue knows of them."""
    with (GOLDFISH / "goldfish_data_info.tsv").open(encoding="utf-8") as file:
        full = {row["lang"]: row["full_scaled_mb"] for row in csv.DictReader(file, delimiter="\t")}
    with (GOLDFISH / "flores_logperplexities.tsv").open(encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file, delimiter="\t")
            if row["flores_lang"] == row["goldfish_used"]
        ]
    languages = [known_language(row["flores_lang"]) for row in rows]
    reach = [min(float(full[row["flores_lang"]] or 1000), 1000) * 1e6 for row in rows]
    amounts = [
        max(one.text_bytes / (one.byte_premium or 1.0), most)
        for one, most in zip(languages, reach, strict=True)
    ]
    bits = [
        [float(row[key]) / SENTENCE if row[key] else math.nan for key in COLUMNS] for row in rows
    ]
    return LossTable(
        tuple(f"{one.code}_{one.script}" for one in languages),
        tuple(one.family[0] if one.family else one.name for one in languages),
        tuple(one.script for one in languages),
        np.log10(amounts),
        np.log10(reach),
        np.log(bits),
    )


def main() -> None:
    """Print the tables, and write the prior where that is wanted."""
    began = time.time()
    table = read_table()
    prior = fit_prior(table)
    scores = leave_out(table, prior)
    order = [(o, k, t) for o in LEAVING_OUT for t in (5, 4) for k in KNOWN if (o, k, t) in scores]
    lines = [row(*key, scores[key], table) for key in order]
    print(date.today())
    print(text_table(lines))
    print(expected([line[group] for line in lines for group in ("holds", "Latin", "other")]))
    print(f"{len(table.tags)} languages, {time.time() - began:.0f} s")
    if "--write" in sys.argv:
        factors = [[factor(deviations(scores[o, k, 5])) for k in FACTORS] for o in LEAVING_OUT]
        replace(prior, factors=np.array(factors)).save(OUT)
        print(f"{OUT.name}: {OUT.stat().st_size / 1000:.0f} kB; factors {np.round(factors, 2)}")


def deviations(scores: np.ndarray) -> np.ndarray:
    """How many deviations off each forecast is."""
    return np.abs(scores[:, 0] - scores[:, 1]) / scores[:, 2]


def factor(z: np.ndarray) -> float:
    """On deviations, so that of one more language 95 % of intervals hold (split conformal)."""
    return float(np.quantile(z, min(1.0, 0.95 * (1.0 + 1.0 / len(z)))) / 1.96)


def leave_out(table: LossTable, prior: LossPrior) -> Scores:
    """Truth, forecast, its deviation and the row, of every language that was left out."""
    scores = defaultdict(list)
    for title, label in zip(LEAVING_OUT, (table.tags, table.families), strict=True):
        for one in dict.fromkeys(label):
            out = np.array([i for i, other in enumerate(label) if other == one])
            rest = np.setdiff1d(np.arange(len(label)), out)
            fold = fit_prior(table.take(rest), prior, ROUNDS)
            for i in out:
                for target in (4, 5):
                    truth = table.log_bits[i, target]
                    for known in KNOWN:
                        score = forecast(table, i, target, known, fold)
                        if score and not math.isnan(truth):
                            scores[title, known, target].append((truth, *score, i))
    return {key: np.array(of) for key, of in scores.items()}


def forecast(
    table: LossTable, i: int, target: int, known: str, prior
) -> tuple[float, float] | None:
    """Log bits per byte of content that are forecast, and their deviation."""
    ngrams, runs = KNOWN[known]
    if target in runs:
        return None
    code = table.tags[i]
    language = known_language(code)
    premium = language.byte_premium or 1.0
    bits = np.exp(table.log_bits[i]) / premium
    answer = forecast_language(
        language,
        MEGABYTES[target] * 1e6 * premium,
        SIZES[target],
        sample=NGrams(bits[0], bits[1], reference=True) if ngrams else None,
        runs=[OwnRun(MEGABYTES[k] * 1e6 * premium, bits[k], SIZES[k]) for k in runs],
        prior=prior,
    )
    return math.log(answer.loss.value * premium), answer.deviation


def row(
    title: str, known: str, target: int, scores: np.ndarray, table: LossTable
) -> dict[str, str]:
    """One line: errors, and how often the intervals hold, by script too.

    At a gigabyte each deviation has the factor that the other languages' errors give.
    """
    truth, value, deviation, index = scores.T
    error, z = np.abs(np.expm1(value - truth)), deviations(scores)
    if target == 5 and known in FACTORS:
        others = np.array([factor(np.delete(z, i)) for i in range(len(z))])
        z, deviation = z / others, deviation * others
    latin = np.array([table.scripts[int(i)] == "Latn" for i in index])
    holds = z < 1.96
    return {
        "left out": title,
        "at": f"{MEGABYTES[target]} MB",
        "known": known,
        "median error": f"{np.median(error):.2%}",
        "p90": f"{np.quantile(error, 0.9):.1%}",
        "95 % ±": f"{1.96 * np.median(deviation):.1%}",
        "holds": share(holds),
        "Latin": share(holds[latin]),
        "other": share(holds[~latin]),
        "80 % holds": f"{(z < 1.2816).mean():.0%}",
        "log score": f"{np.mean(-0.5 * z**2 - np.log(deviation)) - 0.919:.2f}",
    }


def share(holds: np.ndarray) -> str:
    """In how many the interval holds."""
    return f"{holds.mean():.0%} ({holds.sum()} of {len(holds)})"


def expected(shares: list[str]) -> str:
    """How many of groups that small would hold if 95 % did: the middle 95 % of binomials."""
    found = [tuple(map(int, re.findall(r"\d+", one)[1:])) for one in shares]
    usual = {n: binomial(n) for n in sorted({n for _, n in found})}
    said = "; ".join(f"{low} to {high} of {n}" for n, (low, high) in usual.items())
    outside = [f"{k} of {n}" for k, n in found if not usual[n][0] <= k <= usual[n][1]]
    text = f"Intervals that hold 95 % hold in 95 % of samples: {said}. "
    return text + f"Outside that: {', '.join(outside) or 'none'} (of {len(found)} groups)."


def binomial(n: int, p: float = 0.95) -> tuple[int, int]:
    """The middle 95 % of how many of n hold."""
    chance = np.cumsum([math.comb(n, k) * p**k * (1.0 - p) ** (n - k) for k in range(n + 1)])
    return int(np.searchsorted(chance, 0.025)), int(np.searchsorted(chance, 0.975))


if __name__ == "__main__":
    main()
