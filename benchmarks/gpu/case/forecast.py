"""What the large runs of the case will end at, by the small ones; and a table of all of them.

Two ways, each with its weakness: a line over the logarithm of the tokens of short runs (`line`),
asked about hundreds of times their tokens; and the published pair of laws at the level that the
prior for Arabic and small runs from scratch give (`tongues plan`), which knows neither this base
nor this text. `forecast.json` is from before, when a law of one base stood for the line.
"""

import csv
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tongues
from tongues.core.estimate import Estimate
from tongues.core.files import read_json, read_lines, write_json
from tongues.core.pages import text_table
from tongues.languages.forecast import OwnRun, forecast_language
from tongues.laws import Predictor, fit
from tongues.runs.record import Run, read_run
from tongues.text.tokens.store import read_manifest

__all__ = ["ends", "finished", "run_table", "write_forecast"]

FULL = 60e6  # tokens of a large run
MODEL, SCRATCH = 135e6, 142e6  # parameters
REPLAYS = (0, 10, 25)  # percent
SHORT_REPLAY = 0.1  # of the short runs of all lengths
HELD_OUT = {"ar": "ar", "en": "en-US"}  # the target, and English of other sources
_SHORT = 100_000  # tokens: runs below are the short ones
# Of the law of forgetting. kappa is 0.02 to 0.17 in `benchmarks/forgetting.txt`. Textbooks teach a
# base of 2T tokens next to nothing about other English, so that the tokens B after which they help
# are endless; left free, B made English better by a third.
_HELD = {"kappa": 0.15, "B": 1e12}
_DRAWS = 1000
_CONTINUED = ("own", "new")

Values = tuple[float, ...]


def ends(folder: Path, lang: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run's first and last evaluation of a language; the first is before training."""
    rows = [row for row in read_lines(folder / "evals.jsonl") if row["lang"] == lang]
    return rows[0], rows[-1]


def finished() -> Iterator[tuple[Path, Run]]:
    """The finished runs of the workspace, by name."""
    for record in sorted(Path("runs").glob("*/run.json")):
        run = read_run(record.parent)
        if run.status == "finished":
            yield record.parent, run


def text_bytes(tokenizer: str, lang: str = "ar") -> tuple[float, float]:
    """Bytes of a language to train on, and bytes of a token."""
    counts = read_manifest(Path("tokens", tokenizer))["languages"][lang]["train"]
    return float(counts["bytes"]), counts["bytes"] / counts["tokens"]


def short_runs(tokenizer: str) -> list[tuple[Path, float, float]]:
    """Folder, tokens and share of replay of the short runs of SmolLM2."""
    return [
        (folder, float(run.tokens), run.roles.replay_share)
        for folder, run in finished()
        if folder.name.startswith(f"{tokenizer}-")
    ]


@cache
def fitted(loss: Values, D: Values, S: Values, r: Values) -> Predictor:
    """The predictions of the law of forgetting of these runs."""
    return fit("forgetting", loss, fix=_HELD, draws=_DRAWS, D=D, S=S, r=r).predictor(_DRAWS)


def line_of(folders: list[Path], tokens: float) -> tuple[dict[str, float], float]:
    """What runs of one base that differ in length say of a longer one.

    Bits per byte on Arabic, and those of the base.
    """
    pairs = [ends(folder, "ar") for folder in folders]
    D, loss = [row["tokens"] for _, row in pairs], [row["loss"] for _, row in pairs]
    start = pairs[0][0]["loss"]
    bits = pairs[0][0]["bits_per_byte"] / start  # of a nat per token
    one = fit("line", loss, draws=0, D=D).predict(D=tokens).estimates[0].times(bits)
    return interval(one), start * bits


def rehearsed(shape: str = "1.4M") -> str:
    """What the short runs of the small model say of its longest run, and where that ended."""
    of = {run.tokens: folder for folder, run in finished() if folder.name.startswith(f"{shape}-")}
    longest = max(
        (folder for folder, _ in finished() if folder.name.endswith("continued")),
        key=lambda folder: ends(folder, "ar")[1]["tokens"],
    )
    end = ends(longest, "ar")[1]
    shorts = [of[tokens] for tokens in sorted(of) if tokens < _SHORT]
    law, _ = line_of(shorts, end["tokens"])
    words = f"{longest.name}, by short runs: {law['value']:.3f} [{law['low']:.3f}, "
    words += f"{law['high']:.3f}] bits per byte; outcome "
    return words + f"{end['bits_per_byte']:.3f}"


def arabic(tokenizer: str, share: float) -> dict[str, Any]:
    """Bits per byte on held-out Arabic after a large run, each way; English teaches no Arabic."""
    same = [folder for folder, _, r in short_runs(tokenizer) if r == SHORT_REPLAY]
    law, start = line_of(same, FULL * (1 - share) / (1 - SHORT_REPLAY))
    ways = {"line": law, "plan": interval(planned(tokenizer, share))}
    return {"start": start} | together([*ways.values()]) | {"ways": ways}


def english(tokenizer: str, share: float) -> dict[str, Any]:
    """Bits per byte on held-out English of other sources: the law of forgetting, and a line."""
    rows = short_runs(tokenizer)
    pairs = [ends(row[0], "en-US") for row in rows]
    D, r, loss = [x[1] for x in rows], [x[2] for x in rows], [after["loss"] for _, after in pairs]
    bits = pairs[0][1]["bits_per_byte"] / pairs[0][1]["loss"]
    start = pairs[0][0]["loss"]
    law = fitted(tuple(loss), tuple(D), (start,) * len(D), tuple(r))
    one = law(D=FULL, r=share, S=start).estimates[0].times(bits)
    same = [i for i, other in enumerate(r) if other == SHORT_REPLAY]
    slope = np.polyfit(np.log([D[i] for i in same]), [loss[i] for i in same], 1)
    line = float(np.polyval(slope, np.log(FULL))) * bits if share == SHORT_REPLAY else None
    chance = float(np.log(read_manifest(Path("tokens", tokenizer))["vocabulary_size"])) * bits
    told = {end: min(value, chance) for end, value in interval(one).items()}
    return {"start": start * bits} | told | {"ways": {"forgetting": told, "line": line}}


def planned(tokenizer: str, share: float) -> Estimate:
    """What `tongues plan` says of continuing SmolLM2, at the level of the small runs."""
    read, per_token = text_bytes(tokenizer)
    path = Path("own-runs.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["bytes", "loss", "params", "epochs"])
        for run in own_runs():
            rows.writerow([round(run.text_bytes), run.loss, round(run.parameters or 0), run.epochs])
    plan = tongues.plan(
        budget=f"{FULL} tokens",
        bases=["models/smollm2"],
        language="ar",
        available_text=f"{read / per_token:.0f} tokens",
        replay=share,
        runs=path if own_runs() else None,
    )
    loss = plan.decision.option.loss
    assert loss is not None
    return loss


def own_runs() -> list[OwnRun]:
    """The small runs from scratch, as the prior takes them: by bytes read once."""
    per_token = text_bytes("small")[1]
    return [
        OwnRun(
            run.tokens * per_token,
            ends(folder, "ar")[1]["bits_per_byte"],
            float(run.params["total"]),
            1.0,
        )
        for folder, run in finished()
        if folder.name.endswith("-scratch") and not folder.name.startswith("large")
    ]


def scratch(tokenizer: str) -> dict[str, Any]:
    """Bits per byte on held-out Arabic of a model from random weights, by the prior for Arabic."""
    available, per_token = text_bytes(tokenizer)
    read = FULL * per_token
    epochs = max(1.0, read / available)
    amount = min(read, available)
    ways = {
        "prior": interval(forecast_language("ar", amount, SCRATCH, epochs=epochs).loss),
    }
    if runs := own_runs():
        one = forecast_language("ar", amount, SCRATCH, epochs=epochs, runs=runs).loss
        ways["prior and small runs"] = interval(one)
    return together(list(ways.values())) | {"ways": ways}


def interval(one: Estimate) -> dict[str, float]:
    """A value and its 95 % interval."""
    assert one.low is not None
    assert one.high is not None
    return {"value": one.value, "low": one.low, "high": one.high}


def together(ways: list[dict[str, float]]) -> dict[str, float]:
    """The geometric mean of several ways, from the lowest to the highest end of any of them."""
    value = float(np.exp(np.mean([np.log(way["value"]) for way in ways])))
    return {
        "value": value,
        "low": min(way["low"] for way in ways),
        "high": max(way["high"] for way in ways),
    }


def write_forecast(path: Path) -> None:
    """Forecasts of the large runs; what was written before is kept."""
    kept = read_json(path) if path.is_file() else {}
    today = {"date": date.today().isoformat()}
    for tokenizer in _CONTINUED:
        for share in REPLAYS:
            of = {"ar": arabic(tokenizer, share / 100), "en": english(tokenizer, share / 100)}
            kept.setdefault(f"large-{tokenizer}-{share}", today | of)
        kept.setdefault(f"large-{tokenizer}-scratch", today | {"ar": scratch(tokenizer)})
    write_json(path, kept)


def run_rows() -> list[dict[str, str]]:
    """A row a finished run: bits per byte before and after, on Arabic and English."""
    rows: list[dict[str, str]] = []
    for folder, run in finished():
        row = {"run": folder.name, "parameters": f"{run.params['total'] / 1e6:.1f}M"}
        row |= {"tokens": f"{run.tokens:,}"}
        for name, lang in HELD_OUT.items():
            row |= {f"{name}, bits per byte": "", f"{name}, nats": ""}
            if any(line["lang"] == lang for line in read_lines(folder / "evals.jsonl")):
                before, after = ends(folder, lang)
                bits = f"{before['bits_per_byte']:.3f} → {after['bits_per_byte']:.3f}"
                row |= {f"{name}, bits per byte": bits, f"{name}, nats": f"{after['loss']:.3f}"}
        row |= {"seconds": f"{run.seconds or 0:.0f}", "date": run_date(folder)}
        rows.append(row)
    return rows


def run_table() -> str:
    """Every finished run, and how well short runs of the small model forecast a long one."""
    return f"{text_table(run_rows())}\n{rehearsed()}"


def run_date(folder: Path) -> str:
    """The day its record was last written."""
    return date.fromtimestamp((folder / "run.json").stat().st_mtime).isoformat()
