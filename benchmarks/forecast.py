"""Losses forecast before training, and then trained: three languages nobody published runs in.

    python benchmarks/forecast.py forecast FOLDER    # prepares the text and writes the forecasts
    python benchmarks/forecast.py train FOLDER       # trains two sizes in each, and compares

The prior has no run in Swahili, Polish or Urdu. Their text is prepared, a forecast is made from the
catalogue alone and one from a sample of the text too, and both are kept in `forecast.json`
with the date, before a step of training. Then 1.4M and 5M parameters are trained on two epochs of
the text. Unfinished runs resume. `forecast.txt` is what `train` prints.
"""

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import tongues
from tongues.files import write_json
from tongues.languages import forecast_language
from tongues.recipe import load_recipe
from tongues.tokens import load_tokenizer, open_tokens
from tongues.train import derive, run_of_recipe

TEXT = Path(__file__).resolve().parents[1] / "../shared/data/text"
KEPT = Path(__file__).with_suffix(".json")
SOURCES = {
    "sw": ("bible", "freecodecamp", "ms_beginners"),
    "pl": ("bible", "mdn"),
    "ur": ("ms_beginners",),
}
SHAPES = {"1.4M": 2.0e-3, "5M": 1.5e-3}  # and learning rates
EPOCHS = 2.0
SAMPLE = 2_000_000  # tokens of the text that n-grams are counted in


def recipe(lang: str, tokens: int | None = None, shape: str = "1.4M") -> dict:
    """A recipe of one run from scratch; without `tokens` for preparing."""
    files = [str((TEXT / source / f"{lang}.jsonl.gz").resolve()) for source in SOURCES[lang]]
    train = {
        "run": f"{lang}-{shape}",
        "mixture": {lang: "100%"},
        "budget": f"{tokens or 1_000_000} tokens",
        "batch": "4096 tokens",
        "context": "256 tokens",
        "learning_rate": SHAPES[shape],
        "num_evals": 2,
    }
    return {
        "name": lang,
        "text": {"files": {lang: files}},
        "tokens": {"vocab_size": 8192, "held_out": "60k tokens"},
        "model": {"shape": shape},
        "train": train,
    }


def forecast(folder: Path) -> None:
    """Prepare the text, and forecast what both sizes will reach on it."""
    rows = {}
    for lang in SOURCES:
        tongues.prepare(recipe(lang), workspace=folder)
        text = open_tokens(folder / "tokens" / lang)
        train = text.counts[lang]["train"]
        sample = load_tokenizer(text.tokenizer_path).decode(text.train(lang)[:SAMPLE].tolist())
        for shape in SHAPES:
            tokens = round(EPOCHS * train["tokens"])
            run = run_of_recipe(load_recipe(recipe(lang, tokens, shape)))
            size = derive(run, text.vocabulary_size).parameters["total"]
            row: dict[str, Any] = {"bytes": train["bytes"], "tokens": tokens, "parameters": size}
            for name, known in (("catalogue", None), ("sample", sample)):
                made = forecast_language(lang, train["bytes"], size, epochs=EPOCHS, sample=known)
                loss = made.loss
                row[name] = [loss.value, loss.low, loss.high]
                row[f"{name} cautions"] = [caution.code for caution in made.cautions]
            rows[f"{lang} {shape}"] = row
            print(lang, shape, row, flush=True)
    write_json(KEPT, {"date": date.today().isoformat(), "rows": rows})


def train(folder: Path) -> None:
    """Train what was forecast, and print outcomes next to forecasts."""
    made = json.loads(KEPT.read_text())
    lines = [f"{'':10}{'text':>8}{'parameters':>12}  catalogue alone    with a sample      trained"]
    inside = {"catalogue": 0, "sample": 0}
    for name, row in made["rows"].items():
        lang, shape = name.split()
        path = tongues.train(recipe(lang, row["tokens"], shape), workspace=folder)
        trained = json.loads((path / "evals.jsonl").read_text().splitlines()[-1])["bits_per_byte"]
        line = f"{name:10}{row['bytes'] / 1e6:5.1f} MB{row['parameters']:12,}"
        for known in inside:
            value, low, high = row[known]
            inside[known] += low <= trained <= high
            line += f"  {value:.2f} [{low:.2f}, {high:.2f}]"
        caution = "  unlike_prior" if row["sample cautions"] else ""
        lines.append(f"{line}  {trained:.3f}{caution}")
    print(f"{date.today()}; forecasts of {made['date']}, bits per byte; {EPOCHS:g} epochs")
    print("\n".join(lines))
    print(
        "inside: " + ", ".join(f"{known} {n} of {len(made['rows'])}" for known, n in inside.items())
    )


if __name__ == "__main__":
    {"forecast": forecast, "train": train}[sys.argv[1]](Path(sys.argv[2]))
