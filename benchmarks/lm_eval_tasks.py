"""Scores of lm-eval's own tasks, by lm-eval's own model and by `tongues evaluate`, to the digit.

Each task is lm-eval's YAML file, with its prompts, metrics and filters, on local rows in the fields
of its data set: XCOPA and PAWS-X as published; from them answers to find in a passage and French
sentences to translate; web documentation to continue and for perplexities; sums. The model is
SmolLM2 135M with a context of 256 tokens, so that documents need several windows: as it is
(`plain`, whose tokenizer adds nothing) and with a tokenizer that puts a token before a text
(`begun`). lm-eval's model is Hugging Face's in float32. Both sides print four decimals, as lm-eval
does.

By default lm-eval takes the softmax in float32, in which PyTorch's is 8e-6 nats too likely at a
vocabulary of 49,152, so perplexities differ by a hundred-thousandth; they are compared with
lm-eval's at `softmax_dtype=float64` too, which has its own column. What is left is in the seventh
digit, which lm-eval's batch size changes too.

A second table has seconds of processor time, of one thread, that each side's model takes for
lm-eval's requests, behind 0, 3 and 8 demonstrations, which lm-eval draws for each item, and behind
the same 8 for all items. Each side is warmed up by an item of each task in a process of its own.

usage: python benchmarks/lm_eval_tasks.py DATA [BASE]
DATA: a folder with `eval/xcopa`, `eval/pawsx_dev` and `text/mdn`. BASE: SmolLM2 135M, by default
build/smollm2.
"""

import gzip
import importlib
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from tongues.core.files import write_json
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.harness import HARNESS
from tongues.evaluate.lm_eval import as_lm_eval
from tongues.verbs.models import evaluate

ITEMS, DOCUMENTS, SHOTS, CONTEXT = 16, 6, 3, 256
TASKS = {  # lm-eval's file, and the split that it scores
    "copa": ("super_glue/copa/default", "validation"),
    "xcopa_sw": ("xcopa/default_sw", "test"),
    "paws_en": ("paws-x/paws_en", "test"),
    "hellaswag": ("hellaswag/hellaswag", "validation"),
    "lambada_openai": ("lambada/lambada_openai", "test"),
    "wikitext": ("wikitext/wikitext", "test"),
    "arithmetic_2da": ("arithmetic/arithmetic_2da", "validation"),
    "gsm8k": ("gsm8k/gsm8k", "test"),
    "triviaqa": ("triviaqa/default", "validation"),
    "wmt14-fr-en": ("translation/wmt14_fr-en", "test"),
}
LOSSES = ("lambada_openai", "wikitext")
BEGUN = (*LOSSES, "gsm8k", "triviaqa")  # of the second model
SHOWN = ("gsm8k", "triviaqa")  # behind demonstrations
TIMED, MOST = ("xcopa_sw", "paws_en", "hellaswag", "triviaqa"), 8  # demonstrations
TIMES = ((0, True, 64), (3, True, 24), (MOST, True, 12), (MOST, False, 12))  # drawn; items
UNTIL = {"gsm8k": ["Question:"], "triviaqa": ["\n", ".", ","], "wmt14-fr-en": ["\n"]}


def rows_of(path: Path, count: int) -> list[dict[str, Any]]:
    """The first rows of a file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(count), lines, strict=False)]


def rows_by_task(data: Path, count: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Rows in the fields of each task's data set."""
    random = np.random.default_rng(0)
    copa = rows_of(data / "eval/xcopa/en.jsonl", count)
    yield "copa", copa
    yield "xcopa_sw", rows_of(data / "eval/xcopa/sw.jsonl", count)
    paws, french = (rows_of(data / f"eval/pawsx_dev/{lang}.jsonl", count) for lang in ("en", "fr"))
    yield "paws_en", paws
    documents = [row["text"].split() for row in rows_of(data / "text/mdn/en.jsonl.gz", count)]
    endings = [" ".join(words[24:36]) for words in documents]
    others = [random.permutation([at, *random.permutation(count)[:3]]) for at in range(count)]
    yield (
        "hellaswag",
        [
            {"activity_label": words[0], "ctx_a": " ".join(words[:23]), "ctx_b": words[23]}
            | {"endings": [endings[other] for other in four], "label": list(four).index(at)}
            for at, (words, four) in enumerate(zip(documents, others, strict=True))
        ],
    )
    yield "lambada_openai", [{"text": " ".join(words[:40])} for words in documents]
    yield "wikitext", [{"page": " ".join(words[:240])} for words in documents[:DOCUMENTS]]
    pairs = random.integers(0, 10, (count, 2)).tolist()
    sums = [(f"What is {a} plus {b}?", a + b) for a, b in pairs]
    yield (
        "arithmetic_2da",
        [{"context": f"Question: {ask}\nAnswer:", "completion": f" {of}"} for ask, of in sums],
    )
    yield "gsm8k", [{"question": ask, "answer": f"It is {of}.\n#### {of}"} for ask, of in sums]
    yield (
        "triviaqa",
        [
            {"question": f"{row['premise']} The {row['question']}: {answer} What was it"}
            | {"answer": {"aliases": [answer.rstrip(".")]}}
            for row in copa
            for answer in (row[f"choice{row['label'] + 1}"],)
        ],
    )
    yield (
        "wmt14-fr-en",
        [
            {"translation": {"fr": fr["sentence1"], "en": en["sentence1"]}}
            for fr, en in zip(french, paws, strict=True)
        ],
    )


def write_task(
    folder: Path, name: str, rows: list[dict[str, Any]], shots: int = 0, *, drawn: bool = True
) -> str:
    """lm-eval's task on these rows, as a YAML file; drawn: demonstrations differ between items."""
    tasks = Path(str(importlib.import_module("lm_eval.tasks").__file__)).parent
    path, split = TASKS[name]
    parts = {split: rows[: len(rows) - shots]}
    if shots:
        parts["shown"] = rows[-shots:]
    for part, some in parts.items():
        file = folder / f"{name}-{part}.jsonl"
        file.write_text("\n".join(map(json.dumps, some)), encoding="utf-8")
    config = {
        "include": str(tasks / f"{path}.yaml"),
        "task": name,
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {
            "data_files": {part: str(folder / f"{name}-{part}.jsonl") for part in parts},
            "cache_dir": str(folder / "cache"),
        },
        "num_fewshot": shots,
    } | dict.fromkeys(("training_split", "validation_split", "test_split", "fewshot_split"))
    config |= {f"{split}_split": split} | ({"fewshot_split": "shown"} if shots else {})
    if not drawn:
        config["fewshot_config"] = {"sampler": "first_n"}
    if name in UNTIL:
        stop = {"until": UNTIL[name], "do_sample": False, "max_gen_toks": 32}
        config["generation_kwargs"] = stop
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps(config), encoding="utf-8")
    return str(file)


def variant(base: Path, folder: Path, *, begun: bool) -> None:
    """The base with a short context, whose tokenizer puts its first token before a text or not."""
    folder.mkdir()
    for file in base.iterdir():
        (folder / file.name).symlink_to(file.resolve())
    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").unlink()
    write_json(folder / "config.json", config | {"max_position_embeddings": CONTEXT})
    if begun:
        settings = json.loads((base / "tokenizer_config.json").read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        first = settings["bos_token"]
        pieces = {"single": f"{first} $A", "pair": f"{first} $A $B"}
        special = [(first, tokenizer.token_to_id(first))]
        tokenizer.post_processor = TemplateProcessing(**pieces, special_tokens=special)
        (folder / "tokenizer.json").unlink()
        tokenizer.save(str(folder / "tokenizer.json"))


def theirs(folder: Path, softmax: str | None = None, context: int = CONTEXT) -> Any:
    """lm-eval's model of Hugging Face's."""
    return importlib.import_module("lm_eval.models.huggingface").HFLM(
        pretrained=str(folder),
        device="cpu",
        dtype="float32",
        softmax_dtype=softmax,
        batch_size=8 if context == CONTEXT else 4,
        max_length=context,
    )


def scored(model: Any, files: list[str], limit: int | None = None) -> dict[str, dict[str, float]]:
    """What lm-eval scores with a model, by task and metric."""
    manager = importlib.import_module("lm_eval.tasks").TaskManager(include_defaults=False)
    results = importlib.import_module("lm_eval").simple_evaluate(
        model=model, tasks=files, task_manager=manager, bootstrap_iters=0, limit=limit
    )
    by_task: dict[str, dict[str, float]] = {}
    for task, values in results["results"].items():
        for key, value in values.items():
            metric, comma, way = key.partition(",")
            if comma and "stderr" not in metric:
                name = metric if way == "none" else f"{metric} {way}"
                by_task.setdefault(task, {})[name] = value
    return by_task


def clock(side: str, base: str, files: list[str]) -> None:
    """Print the seconds of processor time that a side takes for each task, and its scores."""
    model: Any = as_lm_eval(base) if side == "tongues" else theirs(Path(base), context=2048)
    taken = [0.0]

    def timed(asked: Any) -> Any:
        def answer(*requests: Any, **options: Any) -> Any:
            began = time.process_time()
            found = asked(*requests, **options)
            taken[0] += time.process_time() - began
            return found

        return answer

    model.loglikelihood = timed(model.loglikelihood)
    model.generate_until = timed(model.generate_until)
    scored(model, files, limit=1)
    found = []
    for file in files:
        taken[0] = 0.0
        scores = scored(model, [file])
        found.append([taken[0], scores])
    print(json.dumps(found))


def compare_times(folder: Path, data: Path, base: Path) -> Iterator[str]:
    """Lines of the table of both sides' seconds."""
    yield f"{'demonstrations':16} {'task':15} {'lm-eval':>9} {'tongues':>9}  times  scores"
    for shots, drawn, items in TIMES:
        place = folder / f"{shots}-{drawn}"
        place.mkdir()
        rows = dict(rows_by_task(data, items + shots))
        files = [write_task(place, name, rows[name], shots, drawn=drawn) for name in TIMED]
        sides = []
        for side in ("lm-eval", "tongues"):
            command = [sys.executable, __file__, "--clock", side, str(base), *files]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            sides.append(json.loads(done.stdout.splitlines()[-1]))
        said = f"{shots}" + (", the same" if not drawn else ", drawn" if shots else "")
        for name, (own, one), (other, two) in zip(TIMED, *sides, strict=True):
            same = "equal" if one == two else "differ"
            yield f"{said:16} {name:15} {own:9.2f} {other:9.2f}  {own / other:5.2f}  {same}"
        of, to = (sum(seconds for seconds, _ in side[:-1]) for side in sides)
        yield f"{said:16} {'by choices':15} {of:9.2f} {to:9.2f}  {of / to:5.2f}  {items} items each"


def quiet() -> None:
    """One thread, no warnings."""
    torch.set_num_threads(1)
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    env = importlib.import_module("lm_eval.evaluator")
    vars(env)["add_env_info"] = lambda storage: None  # seconds for what is not compared


def main(data: Path, base: Path) -> None:
    """Compare all tasks."""
    lines = [
        f"{'model':6} {'task':15} {'metric':29} {'lm-eval':>9} {'float64':>9} {'tongues':>9}  equal"
    ]
    count, equal, whole, inside = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        times = []
        for line in compare_times(folder, data, base):
            times.append(line)
            print(line, flush=True)
        files = {
            name: write_task(folder, name, rows[: ITEMS + shots], shots)
            for name, rows in rows_by_task(data, ITEMS + SHOTS)
            for shots in (SHOTS if name in SHOWN else 0,)
        }
        for model, names in (("plain", list(TASKS)), ("begun", list(BEGUN))):
            variant(base, folder / model, begun=model == "begun")
            place, asked = str(folder / model), [files[name] for name in names]
            by_us = evaluate(place, folder, tasks=[f"{HARNESS}{file}" for file in asked])
            losses = [files[name] for name in LOSSES]
            exact = scored(theirs(folder / model, "float64"), losses)
            for task, metrics in scored(theirs(folder / model), asked).items():
                for metric, value in metrics.items():
                    other = exact.get(task, {}).get(metric, value)
                    own = score(by_us, place, task, metric)
                    texts = [f"{of:.4f}" for of in (value, other, own)]
                    same = "yes" if texts[2] == texts[0] else "float64"
                    same = same if texts[2] in texts[:2] else "NO"
                    count, equal, whole = count + 1, equal + (same == "yes"), whole + (same != "NO")
                    inside += texts[0] not in ("0.0000", "1.0000")
                    shown = texts[1] if task in exact else ""
                    lines.append(
                        f"{model:6} {task:15} {metric:29} {texts[0]:>9} {shown:>9} {texts[2]:>9}"
                        f"  {same}"
                    )
                    print(lines[-1], flush=True)
    lines = [
        f"{date.today()}, lm-eval {version('lm_eval')}, SmolLM2 135M, {ITEMS} items a task"
        f" ({DOCUMENTS} of wikitext), {SHOTS} demonstrations for {' and '.join(SHOWN)}",
        f"of {count} scores of {len(TASKS)} tasks {equal} are equal to the printed digit, {whole}"
        f" where its softmax is taken in float64; {inside} are neither 0 nor 1",
        *lines,
        "seconds of processor time for a task, SmolLM2 135M in fp32, lm-eval in fours",
        *times,
    ]
    print(*lines[:3], sep="\n")
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def score(ours: Evaluation, model: str, task: str, metric: str) -> float:
    """Of a task and metric by lm-eval's names, in which the language may be the task's end."""
    for key, scores in ours.tasks.items():
        name = key.removeprefix(HARNESS).removesuffix(f" {metric}")
        for language, accuracy in scores.accuracies[model].items():
            if task in (name, f"{name}_{language}") and key.endswith(f" {metric}"):
                return accuracy.share.value
    raise KeyError(task, metric)


if __name__ == "__main__":
    quiet()
    if sys.argv[1] == "--clock":
        clock(sys.argv[2], sys.argv[3], sys.argv[4:])
        sys.exit()
    main(Path(sys.argv[1]), Path((sys.argv[2:] or ["build/smollm2"])[0]))
