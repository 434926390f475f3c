"""Losses forecast before training, and then trained: three languages, two sizes.

    python benchmarks/forecast.py forecast FOLDER    # prepares the text and writes the forecasts
    python benchmarks/forecast.py train FOLDER       # trains two sizes in each, and compares

What is published of these languages is left out of the prior. Their text is prepared, and two
forecasts are made: from the catalogue alone, of clean sentences, and from a sample of the text,
of held-out text of the same sources. Both go to `forecast.json` with the date, before a step of
training. Then 0.4M and 1.4M parameters are trained on two epochs of the text and read that held-out
text, and 200 items of XCOPA, which are clean sentences: premise and right choice. Unfinished runs
resume. `forecast.txt` is what `train` prints.
"""

import json
import math
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import tongues
from tongues.files import write_json
from tongues.languages import find_language, forecast_language, read_prior
from tongues.recipe import load_recipe
from tongues.tokens import load_tokenizer, open_tokens
from tongues.train import derive, run_of_recipe

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
KEPT = Path(__file__).with_suffix(".json")
SOURCES = {
    "sw": ("bible", "freecodecamp", "ms_beginners"),
    "tr": ("bible", "mdn"),
    "vi": ("bible", "mdn"),
}
SHAPES = {"0.4M": 3.0e-3, "1.4M": 2.0e-3}  # and learning rates
EPOCHS = 2.0
SAMPLE = 2_000_000  # tokens of the text that n-grams are counted in
ITEMS, AT_ONCE = 200, 4  # of XCOPA, and how many are read as one text


def recipe(lang: str, tokens: int | None = None, shape: str = "1.4M") -> dict:
    """A recipe of one run from scratch; without `tokens` for preparing."""
    files = [
        str((DATA / "text" / source / f"{lang}.jsonl.gz").resolve()) for source in SOURCES[lang]
    ]
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
        one, prior = find_language(lang), read_prior()
        levels = {x: y for x, y in prior.levels.items() if not x.startswith(f"{one.code}_")}
        left_out = replace(prior, levels=levels)
        for shape in SHAPES:
            tokens = round(EPOCHS * train["tokens"])
            run = run_of_recipe(load_recipe(recipe(lang, tokens, shape)))
            size = derive(run, text.vocabulary_size).parameters["total"]
            row: dict[str, Any] = {"bytes": train["bytes"], "tokens": tokens, "parameters": size}
            for name, known in (("sentences", None), ("own", sample)):
                loss = forecast_language(
                    one, train["bytes"], size, epochs=EPOCHS, sample=known, prior=left_out
                ).loss
                row[name] = [loss.value, loss.low, loss.high]
            rows[f"{lang} {shape}"] = row
            print(lang, shape, row, flush=True)
    write_json(KEPT, {"date": date.today().isoformat(), "rows": rows})


@torch.no_grad()
def of_sentences(folder: Path, lang: str) -> float:
    """Bits per byte of a model on sentences of XCOPA."""
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    lines = (DATA / f"eval/xcopa/{lang}.jsonl").read_text().splitlines()[:ITEMS]
    items = [json.loads(line) for line in lines]
    texts = [f"{x['premise']} {x['choice1'] if x['label'] == 0 else x['choice2']}" for x in items]
    nats = size = 0.0
    for first in range(0, len(texts), AT_ONCE):
        ids = tokenizer(
            "\n".join(texts[first : first + AT_ONCE]), add_special_tokens=False
        ).input_ids
        read = torch.tensor([[tokenizer.eos_token_id, *ids]])[:, :256]
        logs = model(read).logits.float().log_softmax(-1)
        nats -= float(logs[0, :-1].gather(1, read[0, 1:, None]).sum())
        size += len(tokenizer.decode(read[0, 1:].tolist()).encode())
    return nats / math.log(2.0) / size


def train(folder: Path) -> None:
    """Train what was forecast, and print outcomes next to forecasts."""
    made = json.loads(KEPT.read_text())
    head = ("text", "parameters", "clean sentences", "trained", "own held-out text", "trained")
    lines = ["{:8}{:>8}{:>12}{:>21}{:>9}{:>21}{:>9}".format("", *head)]
    inside = {"sentences": 0, "own": 0}
    for name, row in made["rows"].items():
        lang, shape = name.split()
        path = tongues.train(recipe(lang, row["tokens"], shape), workspace=folder)
        last = json.loads((path / "evals.jsonl").read_text().splitlines()[-1])
        trained = {"sentences": of_sentences(path / "model", lang), "own": last["bits_per_byte"]}
        line = f"{name:8}{row['bytes'] / 1e6:5.1f} MB{row['parameters']:12,}"
        for known in inside:
            value, low, high = row[known]
            inside[known] += low <= trained[known] <= high
            line += f"{f'{value:.2f} [{low:.2f}, {high:.2f}]':>21}{trained[known]:9.3f}"
        lines.append(line)
    print(f"{date.today()}; forecasts of {made['date']}, bits per byte, {EPOCHS:g} epochs")
    print("\n".join(lines))
    counts = ", ".join(f"{known} {n} of {len(made['rows'])}" for known, n in inside.items())
    print(f"inside the interval: {counts}")


if __name__ == "__main__":
    {"forecast": forecast, "train": train}[sys.argv[1]](Path(sys.argv[2]))
