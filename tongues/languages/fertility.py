"""Bytes of a language behind one byte of English, and behind one token: measured, or forecast.

`bytes_per_token.csv` is made by benchmarks/fertility.py. Tokenizers in use (`tokenizers.csv`) were
measured on the Universal Declaration of Human Rights and on MediaWiki's messages. `own` is a
vocabulary of about 50,000 of the language alone, derived from the token counts of Goldfish
(arXiv 2408.10441).

A language without a measurement is forecast from those in its script, nearer relatives first; a
script without one by the amount of text in it, since tokenizers are trained on what there is.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from statistics import fmean, linear_regression, stdev

from tongues.estimate import Estimate
from tongues.languages.catalogue import find_language, languages
from tongues.languages.language import Language

_Z = 1.96
# benchmarks/fertility.txt has all of these and what they give on languages that are left out.
_KIN = 8.0  # weight of a relative: e to this times the kinship
_SPREAD, _WORTH = 0.16, 4.0  # of log bytes within a script; the languages that this counts as
_LEAST_SPREAD = 0.05
_OTHER_TEXT = 0.07  # of the logarithm, between the measured text and other kinds
_LEAST_TEXT = 1e5  # bytes of a script; what has less is as rare to a tokenizer
_OWN_SIZE = 50_000  # tokens of `own`
# Bytes per token grow by this power of the tokens that a language has for itself.
_GROWTH, _EXTENDED_SPREAD = 0.2, 0.1


def byte_premium(language: Language) -> Estimate:
    """UTF-8 bytes for the content of one byte of English."""
    if language.byte_premium is not None:
        return Estimate(language.byte_premium, method="measured")
    return _estimate(*forecast_log(language, _premiums()))


def bytes_per_token(language: Language, tokenizer: str = "own") -> Estimate:
    """UTF-8 bytes behind one token.

    tokenizer: `own`, or one of `TOKENIZERS`; another name stands for any tokenizer in use, with an
    interval as wide as they differ.
    """
    if tokenizer not in TOKENIZERS:
        return _any_tokenizer(language)
    measured = _table().get(language.tag, {})
    if tokenizer not in measured:
        log, spread, how = forecast_log(language, measured_logs(tokenizer))
        return _estimate(max(log, 0.0), spread, how)
    if tokenizer == "own":
        return Estimate(measured["own"], method="a vocabulary of its own, measured")
    how = f"the tokenizer of {TOKENIZERS[tokenizer]}, measured"
    return _estimate(math.log(measured[tokenizer]), _OTHER_TEXT, how)


def extended_bytes_per_token(language: Language, tokenizer: str, new_tokens: int) -> Estimate:
    """UTF-8 bytes behind one token after the tokenizer got so many tokens for this language.

    Its old tokens count as a small vocabulary of the language's own, to which the new ones are
    added. Never below what it has now.
    """
    old, own = bytes_per_token(language, tokenizer), bytes_per_token(language)
    share = (old.value / own.value) ** (1 / _GROWTH) + new_tokens / _OWN_SIZE
    value = max(old.value, own.value * min(share, 1.0) ** _GROWTH)
    gained = math.log(value / old.value)
    spread = math.hypot(_log_spread(own), _EXTENDED_SPREAD) if gained else 0.0
    how = f"assumed: {old.value:.3g} now, {own.value:.3g} by a vocabulary of its own"
    return _estimate(math.log(value), math.hypot(spread, _log_spread(old)), how)


def size_of_tokenizer(tokenizer: str) -> int:
    """Tokens of a family of `TOKENIZERS`."""
    return _OWN_SIZE if tokenizer == "own" else int(_families()[tokenizer]["vocabulary"])


def _any_tokenizer(language: Language) -> Estimate:
    every = [bytes_per_token(language, name) for name in TOKENIZERS if name != "own"]
    logs = [math.log(each.value) for each in every]
    inside = fmean(_log_spread(each) for each in every)
    how = f"assumed: the middle of {len(every)} tokenizers in use"
    return _estimate(fmean(logs), math.hypot(stdev(logs), inside), how)


def forecast_log(language: Language, logs: Mapping[str, float]) -> tuple[float, float, str]:
    """A logarithm by those of other languages, the standard deviation of its error, and how.

    logs: by the tags of other languages that are in `bytes_per_token.csv` or have a byte premium.
    """
    kin = {tag: each for tag, each in _kin(language).items() if tag in logs}
    if not kin:
        return _by_amount(language, logs)
    total = sum(kin.values())
    log = sum(each * logs[tag] for tag, each in kin.items()) / total
    variance = sum(each * (logs[tag] - log) ** 2 for tag, each in kin.items()) / total
    number = total**2 / sum(each**2 for each in kin.values())
    variance = (number * variance + _WORTH * _SPREAD**2) / (number + _WORTH) * (1 + 1 / number)
    noun = "language" if len(kin) == 1 else "languages"
    how = f"assumed: from {len(kin)} {noun} in the script {language.script}"
    return log, math.hypot(math.sqrt(variance), _LEAST_SPREAD), how


def _by_amount(language: Language, logs: Mapping[str, float]) -> tuple[float, float, str]:
    by_script: dict[str, list[float]] = defaultdict(list)
    for tag, log in logs.items():
        by_script[find_language(tag).script].append(log)
    by_script.pop(language.script, None)
    amounts = [_text_in(script) for script in by_script]
    means = [fmean(some) for some in by_script.values()]
    slope, start = linear_regression(amounts, means)
    errors = [mean - start - slope * at for at, mean in zip(amounts, means, strict=True)]
    how = f"assumed: by the amount of text in the script {language.script}"
    return start + slope * _text_in(language.script), 1.1 * stdev(errors), how


@cache
def _text_in(script: str) -> float:
    """Logarithm of the bytes of text in a script."""
    size = sum(other.text_bytes for other in languages() if other.script == script)
    return math.log10(max(size, _LEAST_TEXT))


@lru_cache(maxsize=8)
def _kin(language: Language) -> Mapping[str, float]:
    """Weights of the other languages in its script that something was measured of, by tag."""
    return {
        other.tag: math.exp(_KIN * language.kinship(other))
        for other in _measured(language.script)
        if other.tag != language.tag
    }


@cache
def _measured(script: str) -> tuple[Language, ...]:
    every = [find_language(tag) for tag in _table().keys() | _premiums().keys()]
    return tuple(one for one in every if one.script == script)


@cache
def _premiums() -> Mapping[str, float]:
    return {x.tag: math.log(x.byte_premium) for x in languages() if x.byte_premium}


@cache
def measured_logs(tokenizer: str) -> Mapping[str, float]:
    """Logarithms of the measured bytes per token, by tag."""
    return {tag: math.log(row[tokenizer]) for tag, row in _table().items() if tokenizer in row}


def _log_spread(estimate: Estimate) -> float:
    if estimate.low is None or estimate.high is None:
        return 0.0
    return math.log(estimate.high / estimate.value) / _Z


def _estimate(log: float, spread: float, method: str) -> Estimate:
    low, high = math.exp(log - _Z * spread), math.exp(log + _Z * spread)
    return Estimate(math.exp(log), low, high, method=method)


def _rows(name: str) -> list[dict[str, str]]:
    with (files("tongues.languages") / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def _table() -> Mapping[str, Mapping[str, float]]:
    return {
        row["language"]: {k: float(v) for k, v in row.items() if k != "language" and v}
        for row in _rows("bytes_per_token.csv")
    }


@cache
def _families() -> Mapping[str, Mapping[str, str]]:
    return {row["tokenizer"]: row for row in _rows("tokenizers.csv")}


# By family, the models that have it.
TOKENIZERS: Mapping[str, str] = {"own": "the language alone"}
TOKENIZERS = {**TOKENIZERS, **{name: row["models"] for name, row in _families().items()}}
