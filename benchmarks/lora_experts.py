"""Experts of three languages over SmolLM2-135M: low-rank updates against all weights and dense.

    python benchmarks/lora_experts.py FOLDER [TOKENS]

FOLDER gets text, models and runs, and needs `models/smollm2`, as `python -m tongues.models.smollm2`
makes it. Three experts (Greek, Hindi, Swahili; lessons, `ms_beginners`, with the base's own tokens)
share TOKENS (98,304), once with all weights and once as updates of rank 16 of the attention and
feed-forward layers; a dense model of all three reads as many. All three ways have the learning rate
that `tongues` takes for them. Losses are those at the end of training, on 4,096 held-out tokens of
each language (no interval over so few documents), of the expert of a language and of the others.
Memory is what a process holds of the weights after it has read a text by every expert.
"""

import json
import os
import platform
import subprocess
import sys
from datetime import date
from pathlib import Path
from statistics import fmean

import tongues
from tongues.core.files import read_lines
from tongues.core.pages import text_table
from tongues.experts.ensemble.lineage import expert_folder, read_lineage

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


def at_end(run: str, step: int | None = None) -> dict[str, float]:
    """Bits per byte by language after a step of a run, the last by default."""
    rows = read_lines(Path("runs", run, "evals.jsonl"))
    step = max(row["step"] for row in rows) if step is None else step
    return {row["lang"]: row["bits_per_byte"] for row in rows if row["step"] == step}


def table() -> str:
    """Bits per byte of the base, the dense model and the experts, each on its own language."""
    dense = "full/dense-e0-s1"
    losses = {"base": at_end(dense, 0), "dense, all weights": at_end(dense)}
    for name, title in {"full": "experts, all weights", "lora": "experts, rank 16"}.items():
        ends = {
            lang: at_end(f"{name}/languages-e{place}-s1") for place, lang in enumerate(LANGUAGES)
        }
        losses[f"{title}, own language"] = {lang: ends[lang][lang] for lang in LANGUAGES}
        losses[f"{title}, mean of the others'"] = {
            lang: fmean(end[lang] for own, end in ends.items() if own != lang) for lang in LANGUAGES
        }
    return text_table(
        [
            {"bits per byte": name}
            | {title: f"{of[lang]:.3f}" for lang, title in LANGUAGES.items()}
            | {"mean": f"{fmean(of.values()):.3f}"}
            for name, of in losses.items()
        ]
    )


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
        for number in range(len(folders)):
            models[number](ids)
            found.append(resident() - before)
    return {"first": found[0], "all": found[-1], "more": (found[-1] - found[0]) / (len(found) - 1)}


def main(folder: str, tokens: int = 98_304) -> None:
    """Train, score, measure memory, and keep what was found next to this script."""
    os.chdir(folder)
    train(tokens)
    lines = [
        f"{date.today()}, {platform.machine()}: SmolLM2-135M, {tokens:,} tokens in all for three "
        "languages; one seed",
        "",
        table(),
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
