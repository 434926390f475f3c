"""The laws of a plan in a language that nobody fitted any for: published ones, at its own level.

A published law knows how loss falls with parameters and tokens. How high it is in a language, the
prior of `tongues.languages` forecasts, from the catalogue alone or from a sample of text and the
losses of own runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.languages import LossForecast, OwnRun, find_language, forecast_language
from tongues.languages.fertility import byte_premium, bytes_per_token
from tongues.languages.forecast import BYTES_PER_TOKEN, EPOCHS, MOST_BYTES, MOST_PARAMETERS
from tongues.laws import preset
from tongues.plan.amounts import read_bytes, read_count, read_number
from tongues.plan.bases import text_files
from tongues.plan.laws import PUBLISHED_PAIR, Known, PlanLaws, published_law
from tongues.plan.ways import effective_amount
from tongues.quantities import show_bytes, show_count
from tongues.tables import read_table

_REPEATS = "muennighoff2023"
_SAMPLE = 4_000_000  # characters of text that are enough for n-grams


@dataclass(frozen=True, slots=True)
class LanguageLevel:
    """What the prior forecasts of a language.

    text_bytes: what a gigabyte of English takes in it. forecast: of 125M parameters on that much.
    nats: per token of a vocabulary of the language's own, of one bit per byte.
    """

    language: str
    text_bytes: float
    forecast: LossForecast
    nats: float

    @property
    def sentence(self) -> str:
        """What it is, and what it rests on."""
        own = self.forecast.loss
        what = f"prior: {show_count(MOST_PARAMETERS)} parameters, trained {EPOCHS:g} epochs on "
        what += f"{show_bytes(self.text_bytes)} of {self.language} (as much content as "
        what += f"{show_bytes(MOST_BYTES)} of English), end at {own.value:.3g} bits per byte "
        what += f"[{own.low:.3g}, {own.high:.3g}]. It rests on {'; '.join(self.forecast.rests_on)}."
        return what


def language_level(
    language: str, available: str | None = None, runs: Sequence[OwnRun] = ()
) -> LanguageLevel:
    """What is known of a language; available: text as of `--available-text`, a sample if a file."""
    one = find_language(language, "--language")
    per_token = bytes_per_token(one).value
    if math.isnan(per_token):
        what = f"how many bytes a token of `{language}` has is not known here"
        raise UserError(what, where="--language", hint="plan without `--language`")
    amount = read_bytes(available, "--available-text") if available else None
    text = _head(amount) if isinstance(amount, Path) else ""
    text_bytes = MOST_BYTES * byte_premium(one).value
    forecast = forecast_language(
        one,
        text_bytes,
        MOST_PARAMETERS,
        sample=text if len(text.encode()) >= 100_000 else None,
        runs=runs,
    )
    return LanguageLevel(one.name, text_bytes, forecast, math.log(2.0) * per_token)


def laws_of_language(
    level: LanguageLevel, tag: str, names: Sequence[str] = PUBLISHED_PAIR
) -> PlanLaws:
    """The published laws, from scratch and continued, or one of them, at a language's level."""
    # The prior and the laws are brought together at the published models of most text.
    unique = MOST_BYTES / BYTES_PER_TOKEN
    tokens = effective_amount(np.array(unique * EPOCHS), unique, preset(_REPEATS).params["R_D"])
    printed = float(preset(PUBLISHED_PAIR[0]).loss(MOST_PARAMETERS, float(tokens)))
    factor = level.forecast.loss.value * level.nats / printed
    known: list[Known] = []
    for name in names:
        known_law = published_law(name)
        scaled = {term.coefficient: factor for term in known_law.law.equation.terms}
        params = {k: v * scaled.get(k, 1.0) for k, v in known_law.law.params.items()}
        law = replace(known_law.law, params=params, target=tag)
        known.append(replace(known_law, law=law, level=level.forecast.deviation))
    return PlanLaws(tuple(known))


def read_own_runs(path: Path) -> list[OwnRun]:
    """Runs of a table: bytes, loss (bits per byte), and perhaps params and epochs."""
    runs, table = list[OwnRun](), read_table([path])
    for i, where in enumerate(table.places):
        cells = {name: column[i] for name, column in table.columns.items()}
        row = {name: str(cell) for name, cell in cells.items() if cell is not None}
        if not {"bytes", "loss"} <= row.keys():
            hint = "the columns are bytes, loss (bits per byte), params and epochs"
            raise UserError("`bytes` and `loss` are needed", where=where, hint=hint)
        amount = read_bytes(row["bytes"], where) if row["bytes"][-1] in "Bb" else None
        size = amount if isinstance(amount, float) else read_count(row["bytes"], where)
        params = read_count(row["params"], where) if "params" in row else None
        epochs = read_number(row["epochs"], where) if "epochs" in row else 1.0
        runs.append(OwnRun(size, read_number(row["loss"], where), params, epochs))
    return runs


def _head(path: Path) -> str:
    """The first characters of a file, or of the files of a folder."""
    text = ""
    for one in text_files(path):
        with one.open(encoding="utf-8", errors="ignore") as file:
            text += file.read(_SAMPLE - len(text))
        if len(text) >= _SAMPLE:
            break
    return text
