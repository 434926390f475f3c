"""What SmolLM2-135M, a real pretrained base, shows of every step of the way: a table in one run.

usage: python benchmarks/real_base.py [PLACE] [SUBJECT…]    what PLACE has is not computed again;
    SUBJECT: frame, extension, full, lora, resume, bfloat16, gguf; gguf needs `llama-cpp-python`,
    and its source in LLAMA_CPP

The table is kept in `real_base.txt`. The slow tests of `tests/real_base` measure the same.
"""

import gzip
import hashlib
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, str(Path(__file__).parent))
from memory import peaks

from tongues.core.files import read_json, read_lines, write_json, write_text
from tongues.core.pages import text_table
from tongues.models.smollm2 import make_smollm2
from tongues.runs.record import read_run
from tongues.text.tokens import load_tokenizer, open_tokens

ROOT = Path(__file__).parents[1]
TEXT = ROOT / "../shared/data/text"
START, STEPS = "<|im_start|>", 8
FRAME = """
name: frame
text:
  files: {en: {paths: [%(text)s/bible/en.jsonl.gz], limit: 60 documents}}
tokens: {base: %(base)s, document_start: %(start)s, held_out: 4k tokens}
train:
  base: {model: %(base)s, languages: [en]}
  targets: [en]
  mixture: {en: 100%%}
  budget: 512 tokens
  batch: 512 tokens
  context: 256 tokens
  learning_rate: 1.0e-5
  precision: float32
  num_evals: 1
  eval_tokens: 2048 tokens
  threads: 1
"""
LANGUAGES = {"el": "Greek", "hi": "Hindi"}
EXTENDED = """
name: extended
text:
  files:
    el: {paths: [%(text)s/ms_beginners/el.jsonl.gz], limit: 60 documents}
    hi: {paths: [%(text)s/ms_beginners/hi.jsonl.gz], limit: 60 documents}
    en: {paths: [%(text)s/mdn/en.jsonl.gz], limit: 300 documents}
tokens:
  base: %(base)s
  extend: {new_tokens: 1024, languages: [el, hi], preserve: [en]}
  held_out: 10k tokens
model: {new_embeddings: mean}
train:
  base: {model: %(base)s, languages: [en]}
  mixture: {el: 50%%, hi: 50%%}
  replay: {en: 20%%}
  budget: 2048 tokens
  batch: 256 tokens
  context: 128 tokens
  num_evals: 1
  eval_tokens: 1024 tokens
  checkpoint_every: 0.1 seconds
  threads: 1
"""
PARTS = {  # of the weights that are trained, and the learning rate that suits them
    "full": ("train.trainable=all", "train.learning_rate=3e-4"),
    "lora": ("train.trainable={lora: {rank: 16}}", "train.learning_rate=1e-3"),
}
PROMPTS = ("Η εκπαίδευση είναι", "शिक्षा का अर्थ है", "The capital of Kenya is", "def add(a, b):")
GENERATED = 24  # tokens behind each prompt


@dataclass(frozen=True, slots=True)
class Pair:
    """A number, and the one that it is compared with."""

    value: float
    other: float
    what: str  # the other one
    digits: int = 5

    def row(self, subject: str, quantity: str) -> dict[str, str]:
        """As the table has it."""
        value, other = (f"{number:,.{self.digits}f}" for number in (self.value, self.other))
        named = {"quantity": quantity, "value": value, "other": other, "which is": self.what}
        return {"subject": subject, **named}


Measured = dict[str, Pair]


def frame(place: Path) -> Measured:
    """Held-out losses of the base, by a run and by transformers, with and without a first token."""
    recipe = prepare(place, FRAME)
    tongues_run("train", recipe)
    tokens, run = open_tokens(place / "tokens/frame"), read_run(place / "runs/frame")
    base = make_smollm2(ROOT / "build/smollm2")
    bos = AutoTokenizer.from_pretrained(base).convert_tokens_to_ids(START)
    model = load(base)
    rows = [[bos, *row] for row in windows(tokens.valid("en").tolist(), 256, 8)]
    kept = [nats(model, row)[torch.tensor(row[1:]) != bos] for row in rows]
    compared, shard, left = run.frame, tokens.shard("en", "valid"), 4096
    assert compared
    assert compared.used
    framed, bare = [], []
    for begin, stop in zip(shard.bounds[:-1], shard.bounds[1:], strict=True):
        ids = shard.tokens[begin + 1 : stop - 1].tolist()[:left]
        left -= len(ids)
        framed.append(nats(model, [bos, *ids])[1:])
        bare.append(nats(model, ids))
        if left < 2:
            break
    first = read_lines(place / "runs/frame/evals.jsonl")[0]
    by_transformers = partial(Pair, what="by transformers", digits=6)
    return {
        "nats per token of windows": by_transformers(first["loss"], mean(kept)),
        f"of documents, with {START}": by_transformers(compared.with_token, mean(framed)),
        "of documents, without": by_transformers(compared.without_token, mean(bare)),
    }


def extension(place: Path) -> Measured:
    """Bytes per token before and after, and English text of another source that changes."""
    prepare(place, EXTENDED)
    base = load_tokenizer(make_smollm2(ROOT / "build/smollm2"))
    tokens = open_tokens(place / "tokens/extended")
    extended = load_tokenizer(tokens.tokenizer_path)
    found = {}
    for lang, title in LANGUAGES.items():
        text = extended.decode(tokens.valid(lang).tolist())
        size, ids = len(text.encode()), [len(x.encode(text).ids) for x in (extended, base)]
        found[f"{title}, bytes per token"] = Pair(size / ids[0], size / ids[1], "the base's", 2)
    with gzip.open(TEXT / "bible/en.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(next(lines))["text"] for _ in range(200)]
    before, after = (
        [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
        for tokenizer in (base, extended)
    )
    known = base.get_vocab_size()
    changed = sum(number >= known for ids in after for number in ids)
    assert changed or before == after
    total = sum(map(len, before))
    return found | {"new tokens in unseen English": Pair(changed, total, "tokens of it", 0)}


def training(place: Path, part: str) -> Measured:
    """Losses before and after a run that trains some weights, and its peak memory."""
    recipe = prepare(place, EXTENDED)
    settings = [f"train.run={part}", *PARTS[part]]
    predicted, measured = peaks(place, recipe, part, settings)
    rows = read_lines(place / f"runs/{part}/evals.jsonl")
    found = {}
    for lang, title in (LANGUAGES | {"en": "English"}).items():
        start, end = (row["loss"] for row in rows if row["lang"] == lang)
        found[f"{title}, nats per token"] = Pair(end, start, "before training", 4)
    memory = Pair(measured / 1e6, predicted / 1e6, "predicted", 0)
    return found | {"peak memory, MB": memory}


def resume(place: Path) -> Measured:
    """Bytes of weights and losses of a run that was killed twice, and of one that was not."""
    training(place, "full")
    recipe, run = place / "extended.yaml", place / "runs/killed"
    command = [*tongues("train", recipe), "train.run=killed", *PARTS["full"]]
    chance = random.Random(1)
    if not (run / "model").is_dir():
        for half in (False, True):
            print(f"kill: {kill_once(command, run, STEPS // 3, chance, half)}", flush=True)
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        resumed = re.search(r"resumes from step (\d+)", done.stderr)
        (place / "resumed.txt").write_text(resumed[1] if resumed else "0")
    whole, killed = digests(place / "runs/full"), digests(run)
    step = int((place / "resumed.txt").read_text())
    same = {
        f"{name}: same bytes": Pair(killed[name] == whole[name], 1, "as it must", 0)
        for name in SAME
    }
    return {"the last resume, from step": Pair(step, STEPS, "steps of the run", 0), **same}


def bfloat16(place: Path) -> Measured:
    """Sizes and held-out losses of a model stored in bfloat16, and as it was trained."""
    training(place, "full")
    tokens = open_tokens(place / "tokens/extended")
    folders = [export(place, "bf16"), place / "runs/full/model"]
    sizes = [(folder / "model.safetensors").stat().st_size / 1e6 for folder in folders]
    found = {"weights, MB": Pair(sizes[0], sizes[1], "in float32", 0)}
    models = [load(folder) for folder in folders]
    for lang, title in (LANGUAGES | {"en": "English"}).items():
        rows = windows(tokens.valid(lang).tolist(), 128, 4)
        losses = [mean([nats(model, row) for row in rows]) for model in models]
        found[f"{title}, nats per token"] = Pair(losses[0], losses[1], "in float32", 4)
    return found


def gguf(place: Path) -> Measured:
    """Ids of llama.cpp's tokenizer by language, and its greedy text."""
    training(place, "full")
    folder = export(place, "fp32", "--gguf")
    found = {}
    for line in (place / "fp32-gguf.txt").read_text().splitlines():
        if row := re.fullmatch(r"(\w+) +([\d,]+) +([\d,]+)", line):
            lang, documents, other = row[1], *(float(x.replace(",", "")) for x in row.groups()[1:])
            title = LANGUAGES.get(lang, "English")
            found[f"{title}, documents with other ids"] = Pair(other, documents, "documents", 0)
    ours, theirs = greedy(folder), greedy_gguf(folder / "model-f32.gguf")
    same = sum(
        a == b
        for one, other in zip(ours, theirs, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    return found | {
        "greedy tokens that are the same": Pair(same, GENERATED * len(PROMPTS), "tokens", 0)
    }


SUBJECTS: dict[str, Callable[[Path], Measured]] = {
    "frame": frame,
    "extension": extension,
    "full": partial(training, part="full"),
    "lora": partial(training, part="lora"),
    "resume": resume,
    "bfloat16": bfloat16,
    "gguf": gguf,
}


def prepare(place: Path, text: str) -> Path:
    """A recipe, whose text is prepared."""
    base = make_smollm2(ROOT / "build/smollm2").resolve()
    written = text % {"text": TEXT.resolve(), "base": base, "start": START}
    recipe = place / f"{written.split()[1]}.yaml"
    write_text(recipe, written)
    tongues_run("prepare", recipe)
    return recipe


def tongues_run(verb: str, recipe: Path) -> None:
    """A verb on a recipe; what it prints is shown where it fails."""
    subprocess.run(tongues(verb, recipe), check=True, stdout=subprocess.DEVNULL)


def export(place: Path, dtype: str, *options: str) -> Path:
    """The full run's model in a type; what the export printed is kept next to it."""
    folder = place / "".join([dtype, *options]).replace("--", "-")
    if not folder.is_dir():
        words = ["export", str(place / "runs/full"), "-o", str(folder), "--dtype", dtype, *options]
        command = [sys.executable, "-m", "tongues", *words, "--workspace", str(place)]
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        folder.with_name(f"{folder.name}.txt").write_text(done.stderr)
    return folder


def load(folder: Path) -> Any:
    """A model in float32, by transformers."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@torch.no_grad()
def nats(model: Any, ids: list[int]) -> torch.Tensor:
    """The loss of each id but the first."""
    logits = model(input_ids=torch.tensor([ids])).logits[0, :-1]
    return cross_entropy(logits, torch.tensor(ids[1:]), reduction="none").double()


def mean(losses: list[torch.Tensor]) -> float:
    """Over all tokens."""
    return float(torch.cat(losses).mean())


def windows(stream: list[int], context: int, scored: int) -> list[list[int]]:
    """The held-out windows that training scores, without their first token."""
    count = (len(stream) - 1) // context
    taken = [number * count // scored for number in range(scored)]
    return [stream[n * context + 1 : (n + 1) * context + 1] for n in taken]


def greedy(folder: Path) -> list[list[int]]:
    """Tokens behind each prompt, by transformers."""
    model, tokenizer = load(folder), AutoTokenizer.from_pretrained(folder)
    found = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
        settings = {"max_new_tokens": GENERATED, "do_sample": False, "eos_token_id": []}
        out = model.generate(ids, attention_mask=torch.ones_like(ids), **settings)
        found.append(out[0, ids.shape[1] :].tolist())
    return found


def greedy_gguf(file: Path) -> list[list[int]]:
    """The same by llama.cpp."""
    llama_cpp: Any = import_module("llama_cpp")
    threads = {"n_threads": 1, "n_threads_batch": 1}  # more wait for each other on a busy machine
    llama = llama_cpp.Llama(str(file), n_ctx=256, verbose=False, **threads)
    found = []
    for prompt in PROMPTS:
        ids = llama.tokenize(prompt.encode(), add_bos=False, special=False)
        each = llama.generate(ids, temp=0.0, repeat_penalty=1.0, reset=True)
        found.append([token for token, _ in zip(each, range(GENERATED), strict=False)])
    return found


SAME = ("model/model.safetensors", "metrics.jsonl", "evals.jsonl")


def tongues(verb: str, recipe: Path) -> list[str]:
    """The command line of a verb on a recipe."""
    words = ["-m", "tongues", verb, str(recipe), "--workspace", str(recipe.parent)]
    return [sys.executable, *words]


def digests(run: Path) -> dict[str, str]:
    """SHA-256 of the weights and of every logged number."""
    return {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in SAME}


def kill_once(command: list[str], run: Path, steps: int, chance: random.Random, half: bool) -> str:
    """Start the command, let it get some steps further and kill it; returns what happened."""
    rows = read_lines(run / "metrics.jsonl")
    goal = (rows[-1]["step"] if rows else 0) + steps
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and (not rows or rows[-1]["step"] < goal):
        time.sleep(0.002)
        rows = read_lines(run / "metrics.jsonl")
    time.sleep(chance.random() * 0.1)
    deadline = time.monotonic() + 2
    while half and not list(run.glob("checkpoints/.*.part")) and time.monotonic() < deadline:
        time.sleep(0.0005)
    process.kill()
    process.wait()
    halves = len(list(run.glob("checkpoints/.*.part")))
    return f"near step {rows[-1]['step']}" + ", a checkpoint half written" * bool(halves)


def main() -> None:
    """Print the table, and keep it where it is whole."""
    place = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/real_base").resolve()
    place.mkdir(parents=True, exist_ok=True)
    chosen = sys.argv[2:] or [*SUBJECTS]
    rows = []
    for subject in chosen:
        kept = place / f"{subject}.json"
        if not kept.is_file():
            write_json(kept, {k: asdict(pair) for k, pair in SUBJECTS[subject](place).items()})
        measured = {quantity: Pair(**pair) for quantity, pair in read_json(kept).items()}
        rows += [pair.row(subject, quantity) for quantity, pair in measured.items()]
        print(text_table(rows[-len(measured) :]), flush=True)
    head = f"{date.today()}, SmolLM2-135M with 1,024 new tokens for Greek and Hindi, trained on "
    head += f"{STEPS * 256:,} tokens;\none thread. Held-out losses; in gguf, float32.\n\n"
    if chosen == [*SUBJECTS]:
        (ROOT / "benchmarks/real_base.txt").write_text(
            f"{head}{text_table(rows)}\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
