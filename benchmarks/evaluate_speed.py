"""A task with eight demonstrations, scored by us and by lm-eval's Hugging Face model.

XCOPA in English as prompts, the same strings, model and one thread for both, each in a process of
its own, by turns; lm-eval at the quickest of its batch sizes. What is timed, in processor time, is
strings to sums: loading is not in it. Then long documents, beside the model's bare forward pass at
the quickest of its batch sizes. The models are random: their size and not what they know makes the
time.

usage: python benchmarks/evaluate_speed.py DATA PYTHON [ROUNDS]
DATA: a folder with `xcopa` and `xcopa_val`, of `<language>.jsonl`. PYTHON: of an environment with
lm-eval.
"""

import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import torch

from tongues.evaluate.losses import Policy
from tongues.evaluate.rows import Row, score_rows
from tongues.evaluate.texts import token_nats
from tongues.experts.ensemble.model import Model, open_model
from tongues.files import write_json
from tongues.models import find_shape
from tongues.models.huggingface import build_model, save_model
from tongues.tokens.tokenizer import END, save_tokenizer, train_tokenizer

SHOTS, CONTEXT, VOCABULARY = 8, 512, 8192
ITEMS = {"1.4M": 250, "5M": 120, "22M": 40}  # of each shape, so that a round takes seconds
BATCHES = (1, 8, 32)  # of lm-eval
LONG, WINDOW = 6, 512  # documents of four windows each

THEIRS = """
import json, sys, time
import torch
torch.set_num_threads(1)
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
folder, file, batch = sys.argv[1:]
pairs = json.load(open(file))
model = HFLM(pretrained=folder, device="cpu", dtype="float32", batch_size=int(batch))
asked = [Instance("loglikelihood", {}, tuple(pair), n) for n, pair in enumerate(pairs)]
model.loglikelihood(asked[:2], disable_tqdm=True)
began = time.process_time()
sums = [found[0] for found in model.loglikelihood(asked, disable_tqdm=True)]
print(json.dumps([time.process_time() - began, sums]))
"""
OURS = (
    "import sys; sys.path[:0] = sys.argv[1:2]; import evaluate_speed as it; it.ours(*sys.argv[2:])"
)


def rows_of(file: Path) -> list[dict[str, str]]:
    """The items of a file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def prompts(data: Path, items: int) -> list[tuple[str, str]]:
    """The context and continuation of every choice."""

    def context(row: dict[str, str]) -> str:
        joint = {"cause": " because", "effect": " so"}[row["question"]]
        return row["premise"].strip().rstrip(".") + joint

    def choice(row: dict[str, str], number: int) -> str:
        text = row[f"choice{number + 1}"]
        return f" {text[0].lower()}{text[1:]}"

    shown = rows_of(data / "xcopa_val/en.jsonl")[:SHOTS]
    before = "".join(f"{context(row)}{choice(row, int(row['label']))}\n\n" for row in shown)
    return [
        (before + context(row), choice(row, number))
        for row in rows_of(data / "xcopa/en.jsonl")[:items]
        for number in range(2)
    ]


def ours(folder: str, file: str) -> None:
    """Print seconds and sums, as lm-eval's side does."""
    torch.set_num_threads(1)
    pairs = json.loads(Path(file).read_text(encoding="utf-8"))
    subject = open_model(folder, Path(folder))
    _sums(subject, pairs[:2])
    began = time.process_time()
    sums = _sums(subject, pairs)
    print(json.dumps([time.process_time() - began, sums]))


def _sums(subject: Model, pairs: list[tuple[str, str]]) -> list[float]:
    rows, first = [], np.array([subject.first])
    for number, (context, choice) in enumerate(pairs):
        whole = np.concatenate([first, subject.encode(context + choice)])
        rows.append(Row(whole, 1 + len(subject.encode(context)), None, number // 2))
    return [-float(one.nats.sum()) for one in score_rows(subject, rows)]


def run(*command: str) -> tuple[float, list[float]]:
    """What a side prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, sums = json.loads(done.stdout.splitlines()[-1])
    return seconds, sums


def make(folder: Path, shape: str, texts: list[str]) -> None:
    """A random model with a tokenizer of the task's own text."""
    size = sum(len(text.encode()) for text in texts)
    save_tokenizer(train_tokenizer({"en": texts}, {"en": size}, VOCABULARY), folder)
    save_model(build_model(find_shape(shape), VOCABULARY, CONTEXT, seed=1), folder)


def few_shot(place: Path, shape: str, data: Path, python: str, rounds: int) -> str:
    """Ours beside theirs."""
    folder, pairs = str(place / shape), prompts(data, ITEMS[shape])
    write_json(place / "ours.json", pairs)
    write_json(place / "theirs.json", [(END + context, choice) for context, choice in pairs])
    here = (
        sys.executable,
        "-c",
        OURS,
        str(Path(__file__).parent),
        folder,
        str(place / "ours.json"),
    )
    there = (python, "-c", THEIRS, folder, str(place / "theirs.json"))
    timed = {batch: run(*there, str(batch)) for batch in BATCHES}
    batch = min(timed, key=lambda one: timed[one][0])
    us, them, apart = [], [timed[batch][0]], 0.0
    for turn in range(rounds):
        seconds, sums = run(*here)
        us.append(seconds)
        if turn:
            them.append(run(*there, str(batch))[0])
        apart = max(apart, *(abs(a - b) for a, b in zip(sums, timed[batch][1], strict=True)))
    ratios = [theirs / own for theirs, own in zip(them, us, strict=True)]
    return (
        f"  {shape:5s} {ITEMS[shape]:4d} items  ours {statistics.median(us):7.2f} s   lm-eval"
        f" {statistics.median(them):7.2f} s (batches of {batch})   {spread(ratios)} times as quick;"
        f" sums differ by {apart:.1e} at most"
    )


def long_documents(place: Path, shape: str, rounds: int) -> str:
    """Tokens a second of long documents, beside the bare model's."""
    subject = open_model(str(place / shape), place)
    model, chance = subject.ensemble.models[0], np.random.default_rng(1)
    documents = [chance.integers(1, VOCABULARY, 4 * WINDOW) for _ in range(LONG)]
    windows = torch.from_numpy(np.concatenate(documents).reshape(-1, WINDOW))

    @torch.inference_mode()
    def bare(batch: int) -> None:
        for some in windows.split(batch):
            model(input_ids=some, use_cache=False)

    def taken(work: Callable[[], object]) -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    taken(lambda: bare(1))
    batch = min((1, 2, 4, 8), key=lambda size: taken(lambda: bare(size)))
    ratios, speeds = [], []
    for _ in range(rounds):
        raw = taken(lambda: bare(batch))
        own = taken(lambda: token_nats(subject, documents, Policy(WINDOW)))
        ratios.append(raw / own)
        speeds.append(LONG * 4 * WINDOW / own)
    return (
        f"  {shape:5s} {statistics.median(speeds):7.0f} tokens a second, {spread(ratios)} of the"
        f" bare forward pass's (batches of {batch})"
    )


def spread(ratios: list[float]) -> str:
    """The median, and the least and the most."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main(data: Path, python: str, rounds: int) -> None:
    """Measure all of it."""
    torch.set_num_threads(1)
    lines: list[str] = []

    def tell(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    tell(f"{date.today()}, {platform.machine()}, torch {torch.__version__}, one thread")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        texts = [context + choice for context, choice in prompts(data, 500)]
        tell(f"XCOPA en, {SHOTS} demonstrations, {rounds} rounds by turns")
        for shape in ITEMS:
            make(place / shape, shape, texts)
            tell(few_shot(place, shape, data, python, rounds))
        tell(f"{LONG} documents of {4 * WINDOW} tokens in windows of {WINDOW}")
        for shape in ITEMS:
            tell(long_documents(place, shape, rounds))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int((sys.argv[3:] or ["3"])[0]))
