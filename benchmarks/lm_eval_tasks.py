"""Scores of lm-eval's own tasks, by lm-eval's own model and by `tongues evaluate`, to the digit.

Each task is lm-eval's YAML file, with its prompts, metrics and filters, on local rows in the fields
of its data set: COPA in four languages and PAWS-X as published, premises of XCOPA as translations,
web documentation for perplexities, and sums of random numbers. The models are a random Llama and a
random GPT-2, made decided so that answers differ. Both sides print four decimals, as lm-eval does;
of random models' perplexities above 10,000 six figures. In a rolling loss lm-eval also scores the
token that a tokenizer adds before a text, behind itself; `tongues` does not, so models with such a
tokenizer differ in the perplexities of documents.

usage: python benchmarks/lm_eval_tasks.py DATA
DATA: a folder with `eval/xcopa`, `eval/pawsx_dev` and `text/mdn`.
"""

import gzip
import importlib
import json
import logging
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from evaluate_parity import as_on_the_hub, make

from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.harness import HARNESS
from tongues.verbs.evaluate import evaluate

ITEMS, CONTEXT = 60, 512
FLORES = "spanish_bench/flores_es/flores_en-es"
TASKS = {  # lm-eval's file, and the split that it scores
    "xcopa_sw": ("xcopa/default_sw", "test"),
    "xcopa_et": ("xcopa/default_et", "test"),
    "xcopa_zh": ("xcopa/default_zh", "test"),
    "copa": ("super_glue/copa/default", "validation"),
    "paws_en": ("paws-x/paws_en", "test"),
    "paws_fr": ("paws-x/paws_fr", "test"),
    "lambada_openai": ("lambada/lambada_openai", "test"),
    "wikitext": ("wikitext/wikitext", "test"),
    "arithmetic_2da": ("arithmetic/arithmetic_2da", "validation"),
    "gsm8k": ("gsm8k/gsm8k", "test"),
    "spanish_bench_flores_en-es": (FLORES, "test"),
}
MODELS = {"llama": True, "gpt2": False}  # whether a token comes before a prompt


def rows_of(path: Path, count: int = ITEMS) -> list[dict[str, Any]]:
    """The first rows of a file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(count), lines, strict=False)]


def rows_by_task(data: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Rows in the fields of each task's data set."""
    random = np.random.default_rng(0)
    copa = {lang: rows_of(data / f"eval/xcopa/{lang}.jsonl") for lang in ("en", "et", "it", "sw")}
    copa["zh"] = rows_of(data / "eval/xcopa/zh.jsonl")
    for lang in ("sw", "et", "zh"):
        yield f"xcopa_{lang}", copa[lang]
    yield "copa", copa["en"]
    for lang in ("en", "fr"):
        yield f"paws_{lang}", rows_of(data / f"eval/pawsx_dev/{lang}.jsonl")
    documents = [row["text"] for row in rows_of(data / "text/mdn/en.jsonl.gz")]
    yield "lambada_openai", [{"text": " ".join(text.split()[:40])} for text in documents]
    yield "wikitext", [{"page": text[:1500]} for text in documents]
    pairs = random.integers(0, 100, (ITEMS, 2)).tolist()
    sums = [(f"What is {a} plus {b}?", a + b) for a, b in pairs]
    yield (
        "arithmetic_2da",
        [{"context": f"Question: {ask}\nAnswer:", "completion": f" {of}"} for ask, of in sums],
    )
    yield "gsm8k", [{"question": ask, "answer": f"#### {of}"} for ask, of in sums]
    both = zip(copa["en"], copa["it"], strict=True)
    yield (
        "spanish_bench_flores_en-es",
        [{"sentence_eng_Latn": e["premise"], "sentence_spa_Latn": i["premise"]} for e, i in both],
    )


def write_task(folder: Path, name: str, rows: list[dict[str, Any]]) -> str:
    """lm-eval's task on these rows, as a YAML file."""
    tasks = Path(str(importlib.import_module("lm_eval.tasks").__file__)).parent
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    path, split = TASKS[name]
    config = {
        "include": str(tasks / f"{path}.yaml"),
        "task": name,
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {
            "data_files": {split: str(folder / f"{name}.jsonl")},
            "cache_dir": str(folder / "cache"),
        },
        "num_fewshot": 0,
    } | dict.fromkeys(("training_split", "validation_split", "test_split", "fewshot_split"))
    config |= {f"{split}_split": split}
    if name in ("gsm8k", "spanish_bench_flores_en-es"):
        until = ["Question:"] if name == "gsm8k" else ["\n"]
        config["generation_kwargs"] = {"until": until, "do_sample": False, "max_gen_toks": 24}
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps(config), encoding="utf-8")
    return str(file)


def theirs(folder: Path, files: list[str]) -> dict[str, dict[str, float]]:
    """What lm-eval scores with Hugging Face's model, by task and metric."""
    harness = importlib.import_module("lm_eval")
    model = importlib.import_module("lm_eval.models.huggingface").HFLM(
        pretrained=str(folder), device="cpu", dtype="float32", batch_size=8, max_length=CONTEXT
    )
    manager = importlib.import_module("lm_eval.tasks").TaskManager(include_defaults=False)
    results = harness.simple_evaluate(
        model=model, tasks=files, task_manager=manager, bootstrap_iters=0
    )
    by_task: dict[str, dict[str, float]] = {}
    for task, values in results["results"].items():
        for key, value in values.items():
            metric, comma, way = key.partition(",")
            if comma and "stderr" not in metric:
                name = metric if way == "none" else f"{metric} {way}"
                by_task.setdefault(task, {})[name] = value
    return by_task


def main(data: Path) -> None:
    """Compare all tasks."""
    torch.set_num_threads(1)
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    env = importlib.import_module("lm_eval.evaluator")
    vars(env)["add_env_info"] = lambda storage: None  # seconds for what is not compared
    lines = [f"{date.today()}, lm-eval {version('lm_eval')}"]
    lines.append(f"{'model':6} {'task':27} {'metric':30} {'lm-eval':>14} {'tongues':>14}")
    equal = count = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        texts = {
            lang: [row["premise"] for row in rows_of(data / f"eval/xcopa/{lang}.jsonl", 200)]
            for lang in ("en", "et", "it", "sw", "zh")
        }
        for model, begun in MODELS.items():
            make(folder / model, model, texts, CONTEXT)
            as_on_the_hub(folder / model, begun=begun)
        files = [write_task(folder, name, rows) for name, rows in rows_by_task(data)]
        ours = evaluate(
            [str(folder / model) for model in MODELS],
            folder,
            tasks=[f"{HARNESS}{file}" for file in files],
            quiet=True,
        )
        for model in MODELS:
            for task, metrics in theirs(folder / model, files).items():
                for metric, value in metrics.items():
                    own = score(ours, str(folder / model), task, metric)
                    both = [f"{of:.4f}" if of < 1e4 else f"{of:.6g}" for of in (value, own)]
                    equal, count = equal + (both[0] == both[1]), count + 1
                    mark = "" if both[0] == both[1] else "  differs"
                    lines.append(
                        f"{model:6} {task:27} {metric:30} {both[0]:>14} {both[1]:>14}{mark}"
                    )
    lines.insert(
        1, f"{equal} of {count} scores of {len(TASKS)} tasks are equal to the printed digit"
    )
    print(*lines, sep="\n")
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
    main(Path(sys.argv[1]))
