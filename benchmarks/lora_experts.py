"""Experts of three languages over SmolLM2-135M: low-rank updates against all weights and dense.

    python benchmarks/lora_experts.py FOLDER [TOKENS]

FOLDER gets text, models and runs, and needs `models/smollm2`, as `python -m tongues.models.smollm2`
makes it. Three experts (Greek, Hindi, Swahili; lessons, `ms_beginners`, with the base's own tokens)
share TOKENS (98,304), once with all weights and once as updates of rank 16 of the attention and
feed-forward layers; a dense model of all three reads as many. All three ways have the learning rate
that `tongues` takes for them. The losses are those of held-out documents; an expert is given the
language of its text, or the filter chooses it. Memory is what a process holds of the weights after
it has read the same text by every expert.
"""

import json
import os
import platform
import subprocess
import sys
from datetime import date
from pathlib import Path

import tongues
from tongues.evaluate.evaluation import TextScores
from tongues.experts.ensemble.lineage import expert_folder, read_lineage
from tongues.frames import text_table
from tongues.pages.numbers import fixed, number

HERE = Path(__file__).resolve().parent
TEXT = HERE.parents[1] / "shared/data/text/ms_beginners"
LANGUAGES = {"el": "Greek", "hi": "Hindi", "sw": "Swahili"}
BASE = Path("models/smollm2")
RECIPE = """
name: {name}
text:
  files:
    el: {text}/el.jsonl.gz
    hi: {text}/hi.jsonl.gz
    sw: {text}/sw.jsonl.gz
tokens: {{base: models/smollm2, held_out: 40k tokens}}
train:
  base: {{model: models/smollm2, languages: [en]}}
  budget: {tokens} tokens
  batch: 2048 tokens
  micro_batch: 1024 tokens
  context: 512 tokens
  num_evals: 1
  eval_tokens: 4096 tokens
  compile: off
  trainable: {trainable}
experts:
  partitions: {partitions}
"""
WAYS = {
    "full": ("all", "[{by: languages}, {by: dense}]"),
    "lora": ("{lora: {rank: 16}, embeddings: false}", "[{by: languages}]"),
}
MODELS = {
    str(BASE): "base",
    "full/dense-s1": "dense, all weights",
    "full/languages-s1@language": "experts, all weights, given the language",
    "lora/languages-s1@language": "experts, rank 16, given the language",
    "lora/languages-s1@filter:1": "experts, rank 16, filter",
}


def train(tokens: int) -> None:
    """All experts and the dense model."""
    for name, (trainable, partitions) in WAYS.items():
        file, text = Path(f"{name}.yaml"), TEXT.resolve()
        file.write_text(
            RECIPE.format(
                name=name, text=text, tokens=tokens, trainable=trainable, partitions=partitions
            )
        )
        tongues.prepare(file)
        tongues.experts.train(file)


def table(scores: TextScores) -> str:
    """Bits per byte by language, and how far each model is from the dense one."""
    dense = {one.model: one for one in scores.compared}
    rows = []
    for model, name in MODELS.items():
        row = {"model": name}
        for lang, title in LANGUAGES.items():
            row[title] = fixed(3)(scores.losses[model][lang].bits_per_byte.value)
        overall = dense[model].overall if model in dense else None
        rows.append(row | {"mean, minus dense": number(overall, fixed(3)) if overall else ""})
    return text_table(rows)


def memory(ensemble: str) -> dict[str, float]:
    """Megabytes of weights of one expert and of all, in a process of its own."""
    command = [sys.executable, __file__, "memory", ensemble]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def held(ensemble: str) -> dict[str, float]:
    """Resident megabytes after a text was read by one expert and by all, above those before."""
    import torch

    from tongues.experts.ensemble.ensemble import ExpertModels

    folder = Path("ensembles", ensemble)
    workspace = Path.cwd()
    folders = [expert_folder(x, workspace) for x in read_lineage(folder).experts]
    models, ids = ExpertModels(folders, workspace=workspace), torch.arange(64)[None]

    def resident() -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 1e6

    before, found = resident(), []
    with torch.inference_mode():
        for number in range(len(models)):
            models[number](ids)
            found.append(resident() - before)
    return {"first": found[0], "all": found[-1], "more": (found[-1] - found[0]) / (len(found) - 1)}


def main(folder: str, tokens: int = 98_304) -> None:
    """Train, score, measure memory, and keep what was found next to this script."""
    os.chdir(folder)
    train(tokens)
    evaluation = tongues.evaluate(
        ["full/dense-s1", *(x for x in MODELS if x != "full/dense-s1")],
        text="full",
        dtype="bf16",
        limit=6,
        name="lora-experts",
    )
    lines = [
        f"{date.today()}, {platform.machine()}: SmolLM2-135M, {tokens:,} tokens in all for three "
        "languages; held-out bits per byte, 95 % interval over documents",
        "",
        table(evaluation.texts["full"]),
        "",
    ]
    for name in WAYS:
        found = memory(f"{name}/languages-s1")
        lines.append(
            f"{name}: one expert {found['first']:,.0f} MB, three {found['all']:,.0f} MB; "
            f"each further one {found['more'] / found['first']:.1%} of the first"
        )
    text = "\n".join(lines) + "\n"
    print(text)
    (HERE / "lora_experts.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "memory":
        print(json.dumps(held(sys.argv[2])))
    else:
        main(sys.argv[1], *map(int, sys.argv[2:]))
