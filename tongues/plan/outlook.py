"""What a model of a language comes to: bits per byte by parameters and by text read.

    bits per byte = level × f(N, D0 + D')

f is Chinchilla's law by Besiroglu et al. (2024). The level is that of the language on clean
sentences: what `tongues.languages` forecasts for 125M parameters on the content of 1 GB of English,
over f there. D' is the text read, in tokens of the law (bytes of English content / 4.7), what is
read again worth less. D0 is the head start of a base: the text of the language that it is worth,
drawn from what bases usually have. A base that was measured on the user's text is worse than that
before training, by a share of which most goes in its first steps. Draws of level, head start and
that share are weighted by how well they give the loss. `benchmarks/plan_losses.txt` holds this
against runs.
"""

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tongues.core.estimate import Estimate
from tongues.languages import LossForecast, forecast_language
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import byte_premium
from tongues.languages.forecast import BYTES_PER_TOKEN, EPOCHS, MOST_BYTES, MOST_PARAMETERS
from tongues.laws import preset
from tongues.laws.uncertainty import percentiles
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.question import Target

Array = np.ndarray
LAW = "besiroglu2024"
_REPEATS = "muennighoff2023"
# A base's share of a language is that of the web times so much, with the deviation of its
# logarithm: of a language that its makers name, and of another; at most nearly all. Then bytes of
# all languages in FineWeb and FineWeb-2, and tokens that related languages are worth at least
# (benchmarks/plan_losses.txt).
_NAMED, _OTHER, _MOST_OF_IT, _WEB, _LEAST = (2.0, 1.5), (0.2, 1.8), 0.9, 8.9e13, 1e7
# Tokens that a base has read whose makers do not say: since the middle of 2024, and before.
_LATE, _LATELY, _ONCE = "2024-07", 1.5e13, 2e12
# Before training a base's log loss is above the law's by an exponential draw of this mean; of that
# (1 + D' / tokens) ** -power is left. Chosen on runs of at most 131k tokens (the same file).
_ABOVE, _ABOVE_TOKENS, _ABOVE_POWER = 0.4, 3e3, 0.34
_FORM = 0.05  # of the log loss: the law on other text and models than those it was fitted on
# Of the log level: a user's text next to the forecast's clean sentences (benchmarks/forecast.txt).
_TEXT = 0.25
_DRAWS, _TRIED = 2000, 40  # draws, and how many times as many are weighted


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Draws of the level of a text, and of the head start of a base on it, in tokens.

    above: what the base's log loss is above the law before it is trained.
    """

    level: Array
    tokens: Array | float = 0.0
    above: Array | float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """Draws of what models of one language come to, in bits per byte.

    forecast: of 125M parameters on `text_bytes`. premium: bytes for one of English. level: median.
    """

    language: str
    name: str
    forecast: LossForecast
    premium: float
    text_bytes: float
    level: float

    def covers(self, params: float) -> bool:
        """Whether the law's runs had models of about that size."""
        low, high = preset(LAW).range["N"]
        return low <= params <= high

    def start(self, base: BaseCheckpoint | None, loss: float | None = None) -> Start:
        """Where a base is, or a model from scratch; loss: measured, in bits per byte."""
        count = _DRAWS if base is None or loss is None else _TRIED * _DRAWS
        spread = self.forecast.deviation
        level = self.level * np.exp(spread * _noise("level", self.language, count))
        if base is None:
            return Start(level)
        times, wide = _NAMED if self.language in base.languages else _OTHER
        usual = _LATELY if base.released >= _LATE else _ONCE
        read = usual if math.isnan(base.tokens) else base.tokens
        share = min(_MOST_OF_IT, times * find_language(self.language).text_bytes / _WEB)
        tokens = _LEAST + share * read * np.exp(wide * _noise("start", self.language, count))
        if loss is None:
            return Start(level, tokens)
        above = _ABOVE * _chance("above", self.language).exponential(size=count)
        implied = loss / _law(base.dense, tokens) / np.exp(above)
        off = math.hypot(spread, 0.0 if self.forecast.text == "own" else _TEXT)
        weights = np.exp(-0.5 * (np.log(implied / self.level) / off) ** 2) + 1e-300
        places = (np.arange(_DRAWS) + 0.5) / _DRAWS
        chosen = np.searchsorted(np.cumsum(weights) / weights.sum(), places)
        chosen = _chance("order", self.language).permutation(chosen.clip(max=count - 1))
        return Start(implied[chosen], tokens[chosen], above[chosen])

    def loss(self, params: float, text_bytes: float, start: Start) -> Array:
        """Draws of the bits per byte after `text_bytes` of the language, repeats counted less."""
        read = text_bytes / self.premium / BYTES_PER_TOKEN
        form = np.exp(_FORM * _noise("form", self.language, _DRAWS))
        above = np.exp(start.above * (1.0 + read / _ABOVE_TOKENS) ** -_ABOVE_POWER)
        return start.level * form * above * _law(params, start.tokens + read)


def outlook(target: Target, runs: tuple = ()) -> Outlook:
    """What is known of a language; runs: small ones of one's own on its text."""
    one = find_language(target.language, "--language")
    premium = byte_premium(one).value
    premium = 1.0 if math.isnan(premium) else premium
    whole = MOST_BYTES * premium
    forecast = forecast_language(one, whole, MOST_PARAMETERS, runs=runs)
    unique = MOST_BYTES / BYTES_PER_TOKEN
    printed = float(_law(MOST_PARAMETERS, np.array(worth(EPOCHS * unique, unique))))
    level = forecast.loss.value / printed
    return Outlook(one.tag, one.name, forecast, premium, whole, level)


def worth(amount: float, unique: float) -> float:
    """What an amount of text is worth when there is only `unique` of it, by Muennighoff's law."""
    if amount <= unique:
        return amount
    decay = preset(_REPEATS).params["R_D"]
    return unique * (1.0 - decay * math.expm1(-(amount / unique - 1.0) / decay))


def estimate(draws: Array, method: str = "") -> Estimate:
    """The median of draws with their 95 % interval."""
    low, high = percentiles(draws)
    return Estimate(float(np.median(draws)), float(low), float(high), method=method)


def _law(params: float, tokens: Array | float) -> Array:
    return np.asarray(preset(LAW).loss(params, np.maximum(tokens, 1.0)))


def _chance(what: str, language: str) -> np.random.Generator:
    """Random numbers that are the same whenever the same is asked."""
    return np.random.default_rng(zlib.crc32(f"{what} {language}".encode()))


@lru_cache(maxsize=256)
def _noise(what: str, language: str, count: int) -> Array:
    return _chance(what, language).standard_normal(count)
