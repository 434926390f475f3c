"""Losses of models of languages, forecast for languages that were left out of the fit.

usage: python benchmarks/forecast.py [--write]

Goldfish's table (arXiv 2408.10441) has log-perplexities on FLORES of 121 languages, by models of 5,
10, 100 and 1,000 MB of text and by unigrams and bigrams. The lines of tongues/languages/
forecast.csv are fitted to it by least squares; --write writes them. Each language is left out in
turn, then each family: everything is fitted again without it. Runs count as those of another text.
The deviation of a line is the geometric mean of its errors in both. Goldfish's table states no
licence: 38 coefficients are shipped, and no row of it.

Three languages were also trained on own text, after forecasts had been made (OWN): 0.4M and 1.4M
parameters, two epochs. Their trigrams are those of 4 million characters of the text. The constants
for own text (`_TEXT`, `_TRIGRAMS`) were set when three of the five runs had ended.
"""

import csv
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from tongues.core.pages import text_table
from tongues.languages import Language, NGrams, OwnRun, find_language, forecast_language

Array = np.ndarray
ROOT = Path(__file__).parents[1]
GOLDFISH = ROOT / "../shared/data/published/goldfish"
COLUMNS = ("ngram1", "ngram2", "goldfish_5mb", "goldfish_10mb", "goldfish_100mb", "goldfish_1000mb")
SENTENCE = 65.0  # bytes of the second half of an English sentence of FLORES
BYTES = (5e6, 1e7, 1e8, 1e9)  # of content
SIZES = (39e6, 39e6, 125e6, 125e6)  # parameters
# What is known, and which of `BYTES` it can forecast.
KNOWN: Mapping[str, tuple[bool, Sequence[int], Sequence[int]]] = {
    "catalogue alone": (False, (), (1, 2, 3)),
    "n-grams": (True, (), (1, 2, 3)),
    "a run on 5 MB": (False, (0,), (1, 2)),
    "a run on 100 MB": (False, (2,), (3,)),
    "runs on 5 and 10 MB": (False, (0, 1), (2, 3)),
    "runs on 10 and 100 MB": (False, (1, 2), (3,)),
    "n-grams and these": (True, (1, 2), (3,)),
}
HEAD = ("known", "bytes", "constant", "amount", "unigram", "bigram", "deviation")
# Language: bytes of text; trigrams' bits, and bytes they were counted in; by parameters, bits per
# byte of held-out own text, and of 200 items of XCOPA, which are clean sentences.
OWN = {
    "sw": (8.15e6, 1.759, 3.21e6, {1.73e6: (1.500, 2.516), 3.54e6: (1.485, 2.469)}),
    "tr": (4.32e6, 1.716, 3.56e6, {1.73e6: (1.616, 2.607), 3.54e6: (1.661, 2.668)}),
    "vi": (1.02e7, 1.364, 4.16e6, {1.73e6: (1.113, 2.121)}),
}


def read_table() -> tuple[list[Language], Array, Array]:
    """Languages, log10 of the content bytes there are less 10, and log bits per byte of content."""
    with (GOLDFISH / "goldfish_data_info.tsv").open(encoding="utf-8") as file:
        full = {row["lang"]: row["full_scaled_mb"] for row in csv.DictReader(file, delimiter="\t")}
    with (GOLDFISH / "flores_logperplexities.tsv").open(encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file, delimiter="\t")
            if row["flores_lang"] == row["goldfish_used"]
        ]
    languages = [find_language(row["flores_lang"]) for row in rows]
    most = [1e6 * min(float(full[row["flores_lang"]] or 1000), 1000) for row in rows]
    amounts = [
        max(one.text_bytes / (one.byte_premium or 1.0), size)
        for one, size in zip(languages, most, strict=True)
    ]
    bits = [[float(row[k]) / SENTENCE if row[k] else math.nan for k in COLUMNS] for row in rows]
    return languages, np.clip(np.log10(amounts), 7.0, 12.0) - 10.0, np.log(bits)


def fit_lines(amount: Array, bits: Array, families: Array) -> dict[str, Array]:
    """The lines of forecast.csv: rows by size; columns: four coefficients and a deviation."""
    one = np.ones(len(amount))
    X = {"catalogue": np.stack([one, amount], 1)}
    X["n-grams"] = np.stack([one, amount, bits[:, 0], bits[:, 1]], 1)
    lines = {
        kind: np.array([least_squares(X[kind], bits[:, 2 + k], families) for k in range(4)])
        for kind in X
    }
    steps = [
        least_squares(X["catalogue"], bits[:, 3 + k] - bits[:, 2 + k], families) for k in range(3)
    ]
    return lines | {"step": np.array(steps)}


def least_squares(X: Array, y: Array, families: Array) -> list[float]:
    """Four coefficients, and the deviation for languages left out alone and with their family."""
    there = ~np.isnan(y)
    X, y, families = X[there], y[there], families[there]
    solved = np.linalg.lstsq(X, y, rcond=None)[0]
    errors = {"alone": [], "family": []}
    for name, groups in (("alone", np.arange(len(y))), ("family", families)):
        for group in set(groups.tolist()):
            out = groups == group
            fit = np.linalg.lstsq(X[~out], y[~out], rcond=None)[0]
            errors[name] += (y[out] - X[out] @ fit).tolist()
    alone, family = (math.sqrt(np.mean(np.square(of))) for of in errors.values())
    return [*solved.tolist(), *[0.0] * (4 - len(solved)), math.sqrt(alone * family)]


def leave_out(
    languages: Sequence[Language], amount: Array, bits: Array
) -> Iterator[tuple[tuple[str, str, int], tuple[float, float]]]:
    """What is left out, known and forecast, with the error in log loss and its deviation."""
    families = np.array([one.family[0] if one.family else one.name for one in languages])
    for title, groups in (("language", np.array([x.tag for x in languages])), ("family", families)):
        for group in dict.fromkeys(groups.tolist()):
            out = groups == group
            fold = fit_lines(amount[~out], bits[~out], families[~out])
            for i in np.flatnonzero(out).tolist():
                one, premium = languages[i], languages[i].byte_premium or 1.0
                loss = np.exp(bits[i]) / premium
                for known, (grams, runs, targets) in KNOWN.items():
                    for k in targets:
                        if math.isnan(loss[2 + k]):
                            continue
                        own = [OwnRun(BYTES[r] * premium, loss[2 + r], SIZES[r]) for r in runs]
                        sample = NGrams(loss[0], loss[1], reference=True) if grams else None
                        answer = forecast_language(
                            one, BYTES[k] * premium, SIZES[k], sample=sample, runs=own, lines=fold
                        )
                        error = math.log(answer.loss.value / loss[2 + k])
                        yield (title, known, k), (error, answer.deviation)


def row(key: tuple[str, str, int], scores: Array) -> dict[str, str]:
    """One line: errors, and how often the intervals hold."""
    error, deviation = scores.T
    off, z = np.abs(np.expm1(error)), np.abs(error) / deviation
    holds = z < 1.96
    return {
        "left out": key[0],
        "at": f"{BYTES[key[2]] / 1e6:.0f} MB",
        "known": key[1],
        "median error": f"{np.median(off):.1%}",
        "p90": f"{np.quantile(off, 0.9):.1%}",
        "95 % ±": f"{1.96 * np.median(deviation):.1%}",
        "holds": f"{holds.mean():.0%} ({holds.sum()} of {len(holds)})",
        "log score": f"{np.mean(-0.5 * z**2 - np.log(deviation)) - 0.919:.2f}",
    }


def own_rows() -> Iterator[dict[str, str]]:
    """Forecasts of own text by its trigrams, and of clean sentences by the catalogue."""
    for lang, (size, trigram, counted, runs) in OWN.items():
        grams = NGrams(math.nan, math.nan, trigram, counted)
        for parameters, (own, sentences) in runs.items():
            told = [
                forecast_language(lang, size, parameters, epochs=2.0, sample=sample).loss
                for sample in (grams, None)
            ]
            cells = [f"{of.value:.2f} [{of.low:.2f}, {of.high:.2f}]" for of in told]
            yield {
                "text": lang,
                "parameters": f"{parameters / 1e6:.2f}M",
                "own": cells[0],
                "own: trained": f"{own:.3f}",
                "sentences": cells[1],
                "sentences: trained": f"{sentences:.3f}",
            }


def main() -> None:
    """Print the tables, and write the lines where that is wanted."""
    languages, amount, bits = read_table()
    families = np.array([one.family[0] if one.family else one.name for one in languages])
    if "--write" in sys.argv:
        with (ROOT / "tongues/languages/forecast.csv").open("w", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(HEAD)
            for kind, lines in fit_lines(amount, bits, families).items():
                for size, line in zip(BYTES[-len(lines) :], lines, strict=True):
                    table.writerow([kind, f"{size:.0f}", *(f"{x:.5f}" for x in line)])
    scores: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for key, score in leave_out(languages, amount, bits):
        scores.setdefault(key, []).append(score)
    order = [(o, k, t) for o in ("language", "family") for t in (3, 2, 1) for k in KNOWN]
    print(f"{date.today()}; {len(languages)} languages")
    print(text_table([row(key, np.array(scores[key])) for key in order if key in scores]))
    print("\nOwn text of 4 to 10 MB by its trigrams, and clean sentences by the catalogue alone")
    print(text_table(list(own_rows())))


if __name__ == "__main__":
    main()
