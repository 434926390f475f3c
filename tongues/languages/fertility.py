"""Bytes of a language behind one byte of English, and behind one token: measured, or forecast.

`bytes_per_token.csv` is made by benchmarks/fertility.py. The tokenizers of `tokenizers.csv` were
measured on the Universal Declaration of Human Rights and on MediaWiki's messages. `own` is a
vocabulary of 50,000 of the language alone, from the token counts of Goldfish (arXiv 2408.10441).

What was not measured is forecast from languages in the same script, nearer relatives first; a
script without one by the amount of text in it, since tokenizers are trained on what there is.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache
from statistics import fmean, linear_regression, stdev

from tongues.core.estimate import Estimate
from tongues.languages.catalogue import find_language, languages, packaged_rows
from tongues.languages.language import Language

# Chosen and tested in benchmarks/fertility.txt; spreads are standard deviations of logarithms.
_Z = 1.96
_KIN = 8.0  # the weight of a relative is e to this times the kinship
_SPREAD, _WORTH = 0.13, 3.0  # within a script, and the number of languages that this counts as
_LEAST_SPREAD = 0.04  # of a forecast, however alike the relatives are
_OTHER_TEXT = 0.075  # between the measured text and other kinds of text
_LEAST_TEXT = 1e5  # bytes of text in a script; less is as rare
_OWN_SIZE = 50_000  # tokens of `own`
# A vocabulary of the language's own with 1/n of these tokens loses this times the square of log n.
_LOSS, _EXTENDED_SPREAD = 0.03, 0.1


_FAMILIES = {row["tokenizer"]: row for row in packaged_rows("tokenizers.csv")}
# The models of each family.
TOKENIZERS = {"own": "its own, 50,000 tokens"} | {x: row["models"] for x, row in _FAMILIES.items()}


def byte_premium(language: Language) -> Estimate:
    """UTF-8 bytes for the content of one byte of English."""
    if language.byte_premium is not None:
        return Estimate(language.byte_premium, method="measured")
    return _estimate(*forecast_log(language, measured_logs("premium")))


def bytes_per_token(language: Language, tokenizer: str = "own") -> Estimate:
    """UTF-8 bytes behind one token.

    tokenizer: one of `TOKENIZERS`; another name is any tokenizer in use, with an interval
    as wide as they differ.
    """
    if tokenizer in TOKENIZERS:
        return _measured_or_forecast(language, tokenizer)
    every = [_measured_or_forecast(language, name) for name in _FAMILIES]
    logs = [math.log(each.value) for each in every]
    spread = math.hypot(stdev(logs), fmean(map(_spread, every)))
    return _estimate(fmean(logs), spread, f"assumed: the middle of {len(every)} tokenizers in use")


def extended_bytes_per_token(
    language: Language, tokenizer: str, new_tokens: int, now: Estimate | None = None
) -> Estimate:
    """UTF-8 bytes behind one token after the tokenizer got that many tokens for this language.

    now: bytes behind one token before that, where they were measured on one's own text.

    No token is longer than what the tokenizer takes for a word: those of Llama 3 and Qwen 3 end at
    the vowel signs of Indic scripts.
    """
    old, own = now or bytes_per_token(language, tokenizer), bytes_per_token(language)
    split = _FAMILIES.get(tokenizer, {}).get("split")
    longest = _measured_or_forecast(language, split).value if split else math.inf
    value = extended_value(old.value, own.value, new_tokens, longest)
    more = math.hypot(_spread(own), _EXTENDED_SPREAD) if value > old.value else 0.0
    how = f"assumed: {old.value:.3g} now, {own.value:.3g} by a vocabulary of its own"
    if value == longest:
        how = f"{how}, {longest:.3g} by the tokenizer's words"
    return _estimate(math.log(value), math.hypot(more, _spread(old)), how)


def extended_value(old: float, own: float, new_tokens: int, longest: float = math.inf) -> float:
    """Bytes per token after an extension, from those before it and of a vocabulary of its own.

    What there is counts as a small vocabulary of the language, to which the new tokens are added.
    """
    size = _OWN_SIZE * math.exp(-math.sqrt(max(math.log(own / old), 0.0) / _LOSS)) + new_tokens
    fewer = math.log(_OWN_SIZE / min(size, _OWN_SIZE))
    return max(old, min(own * math.exp(-_LOSS * fewer**2), longest))


@cache
def measured_logs(column: str) -> Mapping[str, float]:
    """Logarithms of what was measured, by tag; column: of `bytes_per_token.csv`, or `premium`."""
    if column == "premium":
        return {x.tag: math.log(x.byte_premium) for x in languages() if x.byte_premium}
    rows = packaged_rows("bytes_per_token.csv")
    return {row["language"]: math.log(float(row[column])) for row in rows if row[column]}


def forecast_log(language: Language, logs: Mapping[str, float]) -> tuple[float, float, str]:
    """A logarithm by those of other languages, the standard deviation of its error, and how."""
    kin = {tag: weight for tag, weight in _kin(language).items() if tag in logs}
    if not kin:
        return _by_amount(language, logs)
    total = sum(kin.values())
    log = sum(weight * logs[tag] for tag, weight in kin.items()) / total
    variance = sum(weight * (logs[tag] - log) ** 2 for tag, weight in kin.items()) / total
    number = total**2 / sum(weight**2 for weight in kin.values())
    variance = (number * variance + _WORTH * _SPREAD**2) / (number + _WORTH) * (1 + 1 / number)
    how = f"assumed: from {len(kin)} of the script {language.script}, relatives first"
    return log, math.hypot(math.sqrt(variance), _LEAST_SPREAD), how


def _by_amount(language: Language, logs: Mapping[str, float]) -> tuple[float, float, str]:
    by_script: dict[str, list[float]] = defaultdict(list)
    for tag, log in logs.items():
        by_script[find_language(tag).script].append(log)
    amounts = [_text_in(script) for script in by_script]
    means = [fmean(some) for some in by_script.values()]
    slope, start = linear_regression(amounts, means)
    errors = [mean - start - slope * at for at, mean in zip(amounts, means, strict=True)]
    how = f"assumed: by the amount of text in the script {language.script or '(not known)'}"
    return start + slope * _text_in(language.script), 1.1 * stdev(errors), how


@cache
def _text_in(script: str) -> float:
    """Logarithm of the bytes of text in a script."""
    size = sum(other.text_bytes for other in languages() if other.script == script)
    return math.log10(max(size, _LEAST_TEXT))


@lru_cache(maxsize=16)
def _kin(language: Language) -> Mapping[str, float]:
    """Weights of the other languages in its script that have a measurement, by tag."""
    columns = ("premium", "own", *_FAMILIES)
    tags = set[str]().union(*(measured_logs(column) for column in columns))
    return {
        other.tag: math.exp(_KIN * language.kinship(other))
        for other in map(find_language, sorted(tags))
        if other.script == language.script and other.tag != language.tag
    }


def _measured_or_forecast(language: Language, column: str) -> Estimate:
    log = measured_logs(column).get(language.tag)
    if log is None:
        log, spread, how = forecast_log(language, measured_logs(column))
        return _estimate(max(log, 0.0), spread, how)
    if column == "own":
        return Estimate(math.exp(log), method="a vocabulary of its own, measured")
    return _estimate(log, _OTHER_TEXT, f"the tokenizer of {column}, measured")


def _spread(estimate: Estimate) -> float:
    return math.log(estimate.high / estimate.value) / _Z if estimate.high else 0.0


def _estimate(log: float, spread: float, method: str) -> Estimate:
    low, high = math.exp(log - _Z * spread), math.exp(log + _Z * spread)
    return Estimate(math.exp(log), low, high, method=method)
