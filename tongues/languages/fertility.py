"""Bytes of a language behind one byte of English, and behind one token: measured, or forecast.

`bytes_per_token.csv`: `own` is a vocabulary of about 50,000 of the language alone (derived from the
token counts of Goldfish, arXiv 2408.10441), the others were measured on parallel documentation and
Bible text.
"""

import csv
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from tongues.estimate import Estimate
from tongues.languages.catalogue import find_language, languages
from tongues.languages.language import Language

TOKENIZERS = ("own", "llama2", "llama3", "gemma", "qwen")
# Of an own vocabulary's bytes per token, where a tokenizer was not measured on a language: the
# median over the 18 measured languages but English, and the standard deviation of its logarithm;
# the last line is that of all tokenizers but Gemma's.
_SHARE = {"llama2": (0.47, 0.36), "llama3": (0.64, 0.27), "gemma": (0.76, 0.14)}
_SHARE |= {"qwen": (0.62, 0.33), "": (0.55, 0.33)}
# log bytes per token of an own vocabulary = 1.54 + 0.84 log premium; its residual over 77 languages
_OWN, _OWN_SPREAD = (1.54, 0.84), 0.16
# weight of a relative by kinship; the residual over 1,270 languages, 0.20 by the script alone
_KIN, _PREMIUM_SPREAD = 8.0, 0.16
_Z = 1.96


def byte_premium(language: Language) -> Estimate:
    """UTF-8 bytes for the content of one byte of English."""
    if language.byte_premium is not None:
        return Estimate(language.byte_premium, method="measured")
    logs = weights = 0.0
    for other in languages():
        if other.byte_premium and other.script == language.script:
            weight = math.exp(_KIN * language.kinship(other))
            logs, weights = logs + weight * math.log(other.byte_premium), weights + weight
    if not weights:
        return Estimate(math.nan, reason="no language of its script was measured")
    how = "from languages of its script, weighted by kinship"
    return _log_estimate(logs / weights, _PREMIUM_SPREAD, how)


def bytes_per_token(language: Language, tokenizer: str = "own") -> Estimate:
    """UTF-8 bytes behind one token; tokenizer: `own`, or a family such as `llama3`.

    NaN where neither the language nor one of its script was measured.
    """
    row = _table().get(language.tag, {})
    if tokenizer in row:
        whose = "a vocabulary of its own" if tokenizer == "own" else f"the tokenizer of {tokenizer}"
        return Estimate(row[tokenizer], method=f"{whose}, measured")
    if "own" in row:
        own, spread, whose = row["own"], 0.0, "a vocabulary of its own"
    else:
        premium = byte_premium(language)
        own = math.exp(_OWN[0] + _OWN[1] * math.log(premium.value))
        more = 0.0 if premium.low is None else _OWN[1] * _PREMIUM_SPREAD
        spread, whose = math.hypot(_OWN_SPREAD, more), "a vocabulary of its own, by its bytes"
    if math.isnan(own):
        return Estimate(math.nan, reason="no language of its script was measured")
    if tokenizer == "own":
        return _log_estimate(math.log(own), spread, "assumed: by the bytes that its content takes")
    share, scatter = _SHARE.get(tokenizer, _SHARE[""])
    how = f"assumed: {share:.0%} of the {own:.3g} of {whose}"
    return _log_estimate(math.log(share * own), math.hypot(spread, scatter), how)


def _log_estimate(log: float, spread: float, method: str) -> Estimate:
    low, high = math.exp(log - _Z * spread), math.exp(log + _Z * spread)
    return Estimate(math.exp(log), low, high, method=method)


@cache
def _table() -> Mapping[str, Mapping[str, float]]:
    with (files("tongues.languages") / "bytes_per_token.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        find_language(row.pop("language")).tag: {k: float(v) for k, v in row.items() if v}
        for row in rows
    }


def extended_bytes_per_token(language: Language, tokenizer: str, new_tokens: int) -> Estimate:
    before=bytes_per_token(language, tokenizer).value; own=bytes_per_token(language,"own").value
    return Estimate(before+(max(own,before)-before)*min(1,(new_tokens/32000)**.3)*.9)
