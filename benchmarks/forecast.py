"""Losses forecast before training, and then trained: three languages, two sizes.

    python benchmarks/forecast.py forecast FOLDER    # prepares the text and writes the forecasts
    python benchmarks/forecast.py correct FOLDER     # adds forecasts of the package as it is now
    python benchmarks/forecast.py train FOLDER       # trains two sizes in each, keeps losses
    python benchmarks/forecast.py compare            # prints what is trained next to both

What is published of these languages is left out of the prior. Their text is prepared, and two
forecasts are made: from the catalogue alone, of clean sentences, and from a sample of the text,
of held-out text of the same sources. Both go to `forecast.json` with the date, before a step of
training. Then 0.4M and 1.4M parameters are trained on two epochs of the text and read that held-out
text, and 200 items of XCOPA, which are clean sentences: premise and right choice. Unfinished runs
resume. `forecast.txt` is what `compare` prints.

Turkish at 1.4M was trained a round later, on the text as it is cleaned by then (0.7 % more of it).
Vietnamese at 1.4M takes 45 to 70 minutes of one core (1.0 to 1.5k tokens a second), and is missing.

The first forecasts of own text were far too high: the table's losses are of sentences unlike the
training text, and the n-grams were taken for those of such sentences. `correct` has the forecasts
as they are made now, by trigrams that count as a run. Their constants (`_TEXT`, `_TRIGRAMS`) were
set after Swahili and Turkish at 0.4M had ended, and before Turkish at 1.4M and Vietnamese had.
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
from tongues.frames import text_table
from tongues.languages import (
    NGrams,
    find_language,
    forecast_language,
    measure_ngrams,
    read_prior,
)
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
        train = open_tokens(folder / "tokens" / lang).counts[lang]["train"]
        sample = sample_of(folder, lang)
        for shape in SHAPES:
            tokens = round(EPOCHS * train["tokens"])
            run = run_of_recipe(load_recipe(recipe(lang, tokens, shape)))
            vocabulary = open_tokens(folder / "tokens" / lang).vocabulary_size
            size = derive(run, vocabulary).parameters["total"]
            row: dict[str, Any] = {"bytes": train["bytes"], "tokens": tokens, "parameters": size}
            for name, known in (("sentences", None), ("own", sample)):
                row[name] = forecast_of(lang, row, known)
            rows[f"{lang} {shape}"] = row
            print(lang, shape, row, flush=True)
    write_json(KEPT, {"date": date.today().isoformat(), "rows": rows})


def correct(folder: Path) -> None:
    """Add forecasts of own text by the package as it is now; the first ones stay."""
    made = json.loads(KEPT.read_text())
    samples = {lang: sample_of(folder, lang) for lang in SOURCES}
    for name, row in made["rows"].items():
        lang = name.split()[0]
        row["corrected"] = forecast_of(lang, row, samples[lang])
    write_json(KEPT, made | {"corrected": date.today().isoformat()})


def sample_of(folder: Path, lang: str) -> NGrams:
    """N-grams of the first part of the training text."""
    text = open_tokens(folder / "tokens" / lang)
    words = text.train(lang)[:SAMPLE].tolist()
    return measure_ngrams(load_tokenizer(text.tokenizer_path).decode(words))


def forecast_of(lang: str, row: dict[str, Any], sample: NGrams | None) -> list[float | None]:
    """Loss and interval, without what is published of the language."""
    one, prior = find_language(lang), read_prior()
    levels = {x: y for x, y in prior.levels.items() if not x.startswith(f"{one.code}_")}
    loss = forecast_language(
        one,
        row["bytes"],
        row["parameters"],
        epochs=EPOCHS,
        sample=sample,
        prior=replace(prior, levels=levels),
    ).loss
    return [loss.value, loss.low, loss.high]


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
    """Train what was forecast, and keep what was reached: bits per byte of own text and XCOPA."""
    made = json.loads(KEPT.read_text())
    for name, row in made["rows"].items():
        if "trained" in row:
            continue
        lang, shape = name.split()
        tongues.prepare(recipe(lang), workspace=folder)
        path = tongues.train(recipe(lang, row["tokens"], shape), workspace=folder)
        last = json.loads((path / "evals.jsonl").read_text().splitlines()[-1])
        reached = of_sentences(path / "model", lang)
        row["trained"] = {"own": last["bits_per_byte"], "sentences": reached}
        write_json(KEPT, made)


def compare() -> None:
    """Print outcomes next to forecasts."""
    made = json.loads(KEPT.read_text())
    lines, inside = [], dict.fromkeys(("sentences", "own", "corrected"), 0)
    for name, row in made["rows"].items():
        line = {"text": name, "read": f"{row['bytes'] / 1e6:.1f} MB"}
        done, trained = "trained" in row, dict.fromkeys(inside, math.nan) | row.get("trained", {})
        trained["corrected"] = trained["own"]
        for known in inside:
            value, low, high = row[known]
            line[known] = f"{value:.2f} [{low:.2f}, {high:.2f}]"
            if known != "own":
                line[f"{known}: trained"] = f"{trained[known]:.3f}" if done else "not trained"
            inside[known] += done and low <= trained[known] <= high
        lines.append(line)
    print(f"{date.today()}; bits per byte, {EPOCHS:g} epochs; sentences and own: forecasts of")
    print(f"{made['date']} before training; corrected: of {made['corrected']}, see the script")
    print(text_table(lines))
    ended = sum(line["sentences: trained"] != "not trained" for line in lines)
    counts = ", ".join(f"{known} {n} of {ended}" for known, n in inside.items())
    print(f"inside the interval: {counts}")


if __name__ == "__main__":
    modes = {"forecast": forecast, "correct": correct, "train": train}
    if sys.argv[1] == "compare":
        compare()
    else:
        modes[sys.argv[1]](Path(sys.argv[2]))
