"""The prior for losses: what it forecasts of languages that were left out of its fit.

usage: python benchmarks/prior.py [--write]

Goldfish's table (arXiv 2408.10441) has log-perplexities on FLORES of 121 languages, by models of 5,
10, 100 and 1,000 MB of text and by unigrams and bigrams. Each language is left out in turn, then
each family; everything is fitted again without it. --write puts the prior fitted to all languages
into tongues/languages/prior.npz: effects and covariances, no row of the table, which states no
licence.
"""

import csv
import math
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from tongues.frames import text_table
from tongues.languages import NGrams, OwnRun, forecast_language, known_language
from tongues.languages.prior_fit import LossTable, fit_prior

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
ROUNDS = 4  # of a fit that starts from that to all languages


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
    """Print the table, or write the prior."""
    began = time.time()
    table = read_table()
    prior = fit_prior(table)
    if "--write" in sys.argv:
        prior.save(OUT)
        print(f"{OUT.name}: {OUT.stat().st_size / 1000:.0f} kB")
        return
    everyone = np.arange(len(table.tags))
    rows = []
    for title, label in (("language", table.tags), ("family", table.families)):
        scores = defaultdict(list)
        for one in dict.fromkeys(label):
            out = [i for i in everyone if label[i] == one]
            fold = fit_prior(table.take(np.setdiff1d(everyone, out)), prior, ROUNDS)
            for i in out:
                for target in (4, 5):
                    truth = table.log_bits[i, target]
                    if not math.isnan(truth):
                        for known in KNOWN:
                            if score := forecast(table, i, target, known, fold):
                                scores[known, target].append((truth, *score, i))
        rows += [
            row(title, known, target, np.array(scores[known, target]), table)
            for target in (5, 4)
            for known in KNOWN
            if scores[known, target]
        ]
    print(text_table(rows))
    print(f"{len(table.tags)} languages, {time.time() - began:.0f} s")


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
    """One line: errors, and how often the intervals hold, by script too."""
    truth, value, deviation, index = scores.T
    error, z = np.abs(np.expm1(value - truth)), np.abs(truth - value) / deviation
    latin = np.array([table.scripts[int(i)] == "Latn" for i in index])
    holds = z < 1.96
    return {
        "left out": title,
        "at": f"{MEGABYTES[target]} MB",
        "known": known,
        "n": str(len(z)),
        "median error": f"{np.median(error):.2%}",
        "p90": f"{np.quantile(error, 0.9):.1%}",
        "95 % ±": f"{1.96 * np.median(deviation):.1%}",
        "holds": f"{holds.mean():.0%}",
        "Latin": f"{holds[latin].mean():.0%}",
        "other": f"{holds[~latin].mean():.0%}",
        "80 % holds": f"{(z < 1.2816).mean():.0%}",
        "log score": f"{np.mean(-0.5 * z**2 - np.log(deviation)) - 0.919:.2f}",
    }


if __name__ == "__main__":
    main()
