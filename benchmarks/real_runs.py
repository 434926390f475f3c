"""Continued training and training from scratch over sizes, on real text; the largest are forecast.

    tongues prepare real_runs.yaml
    tongues study real_runs.yaml "study.also=[{shapes: [1.4M], budgets: [300k tokens, 1M tokens]}]"
    python benchmarks/real_runs.py forecast FOLDER    # `real_runs.json`, to be committed
    tongues study real_runs.yaml
    python benchmarks/real_runs.py outcome FOLDER     # `real_runs.txt`, and `real_runs.csv`

FOLDER is the workspace of the study. A forecast is what `tongues fit` says of the largest size and
budget by all other runs of that language: law `chinchilla` from scratch, `cpt` continued. Beside it
is a line over the logarithm of the tokens by the shorter runs of that size.
"""

import csv
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from tongues.core.pages import text_table
from tongues.laws import fit
from tongues.runs.record import run_rows

HERE = Path(__file__).parent
COLUMNS: tuple[str, ...] = (
    "run",
    "lang",
    "strategy",
    "shape",
    "params",
    "params_non_embedding",
    "tokens",
)
COLUMNS += ("epochs_lang", "flops", "start", "loss", "bits_per_byte", "english_start", "english")
SIZE, TOKENS = "1.4M", 2_900_000  # of the runs that are forecast, at least


def read(folder: Path) -> list[dict[str, Any]]:
    """A row a finished run: its target's loss before and after, and English's."""
    ends: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in run_rows([folder / "runs/real_runs"]):
        ends.setdefault((row["run"], row["lang"]), []).append(row)
    rows = []
    for (run, lang), (*_, last) in ends.items():
        if lang == last["target"] and last["strategy"] in ("scratch", "cpt"):
            english = ends.get((run, "en"), [{}])  # from scratch it is not scored
            more = {"start": ends[run, lang][0]["loss"], "english_start": english[0].get("loss")}
            row = last | more | {"english": english[-1].get("loss")}
            rows.append({name: row[name] for name in COLUMNS})
    return rows


def forecasts(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """What the runs say of the largest, by language and strategy; the largest are not used."""
    small = [row for row in rows if row["shape"] != SIZE or row["tokens"] < TOKENS]
    at = {"N": max(row["params"] for row in small), "D": max(row["tokens"] for row in small)}
    made: dict[str, dict[str, float]] = {}
    for lang in dict.fromkeys(row["lang"] for row in small):
        scratch = None
        for strategy, name in (("scratch", "chinchilla"), ("cpt", "cpt")):
            own = [row for row in small if (row["lang"], row["strategy"]) == (lang, strategy)]
            N, D, loss = (np.array([row[k] for row in own]) for k in ("params", "tokens", "loss"))
            law = fit(name, loss, base=scratch, N=N, D=D)
            scratch, of, last = scratch or law, law.predict(**at), at["N"] == N
            line = np.polyfit(np.log(D[last]), np.log(loss[last]), 1)
            made[f"{lang} {strategy}"] = {
                "loss": float(of.point[0]),
                "low": float(of.low[0]),
                "high": float(of.high[0]),
                "line": float(np.exp(np.polyval(line, np.log(at["D"])))),
            }
    return made


def outcome(rows: list[dict[str, Any]]) -> str:
    """The committed forecasts beside what came, and what continuing saved."""
    before = json.loads((HERE / "real_runs.json").read_text())
    ends = {
        f"{row['lang']} {row['strategy']}": row["loss"]
        for row in rows
        if row["shape"] == SIZE and row["tokens"] >= TOKENS
    }
    table, off, half = [], dict[str, list[float]](loss=[], line=[]), []
    for name, of in before["forecasts"].items():
        half.append((of["high"] - of["low"]) / 2 / of["loss"])
        for kind, errors in off.items():
            errors.append(of[kind] / ends[name] - 1)
        forecast = f"{of['loss']:.3f} [{of['low']:.3f}, {of['high']:.3f}]"
        inside = "yes" if of["low"] <= ends[name] <= of["high"] else "no"
        cells = {"run": name, "forecast": forecast, "outcome": f"{ends[name]:.3f}"}
        table.append(cells | {"off": f"{off['loss'][-1]:+.1%}", "inside": inside})
    inside, errors = sum(row["inside"] == "yes" for row in table), np.abs([*off.values()])
    return (
        f"{date.today()}; forecast {before['date']}, by {before['runs']} runs; nats per token\n"
        f"{text_table(table)}\n{inside} of {len(table)} inside; half-width: median "
        f"{np.median(half):.1%}; error: mean {errors[0].mean():.1%}, a line {errors[1].mean():.1%}"
    )


def main(part: str, folder: Path) -> None:
    """Forecast, or compare."""
    rows = read(folder)
    if part == "forecast":
        made = {"date": str(date.today()), "runs": len(rows), "forecasts": forecasts(rows)}
        (HERE / "real_runs.json").write_text(json.dumps(made, indent=1) + "\n")
        return
    with (HERE / "real_runs.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    text = outcome(rows)
    print(text)
    (HERE / "real_runs.txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
