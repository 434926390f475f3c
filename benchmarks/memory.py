"""Peak memory of runs and what `tongues check` says of them, each run a process of its own.

Some steps of every run, with evaluations and a checkpoint, as `tongues train` does them: models of
our shapes, then bases of six architectures, whole and with low-rank updates of rank 16; SmolLM2 as
it is, and with 2,000 new tokens.

usage: python benchmarks/memory.py [PLACE] [NAME…]    what PLACE has is not measured again;
    NAME: only these parts: shapes, llama, gemma, gemma2, qwen2-moe, gpt2, smollm2, new-tokens
"""

import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from tongues.plan.check import check_recipe
from tongues.recipe import load_recipe
from tongues.text.tokens import open_tokens
from tongues.train import derive
from tongues.train.base import find_base
from tongues.train.work import open_work

sys.path.insert(0, str(Path(__file__).parent))
from tongues.models.smollm2 import make_smollm2

VOCABULARY, STEPS = 8192, 4
RECIPE = f"""
name: memory
text:
  synthetic: {{seed: 1, size: 6 MB, languages: {{qaa: {{}}, qab: {{}}}}}}
tokens: {{vocab_size: {VOCABULARY}, held_out: 40000 tokens}}
model: {{shape: 1.4M}}
train: {{mixture: {{qaa: 100%}}, budget: 30k tokens, num_evals: 2, checkpoint_every: 1 seconds}}
"""
RUNS = (  # shape, context, samples, precision, compile, another setting
    ("0.05M", 128, 32, "float32", "off", ""),
    ("0.4M", 128, 64, "bfloat16", "off", ""),
    ("1.4M", 256, 16, "bfloat16", "on", ""),
    ("3M", 512, 16, "bfloat16", "on", ""),
    ("5M", 256, 16, "bfloat16", "on", ""),
    ("5M", 256, 16, "bfloat16", "off", ""),
    ("5M", 256, 16, "float32", "on", ""),
    ("5M", 256, 16, "float32", "off", ""),
    ("12M", 256, 16, "bfloat16", "on", ""),
    ("22M", 256, 16, "bfloat16", "on", ""),
    ("22M", 256, 16, "float32", "off", ""),
    ("22M", 256, 16, "bfloat16", "off", "train.recompute=true"),
    ("22M", 256, 16, "bfloat16", "off", "train.micro_batch=1024 tokens"),
)
WIDTHS: dict[str, Any] = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "max_position_embeddings": 512,
}
ENDS = {"bos_token_id": 0, "eos_token_id": 0}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512}
BASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", WIDTHS),
    "gemma": ("gemma3_text", WIDTHS),
    "gemma2": ("gemma2", WIDTHS),  # whose logits are capped, and so whole
    "qwen2-moe": ("qwen2_moe", WIDTHS | EXPERTS | {"shared_expert_intermediate_size": 512}),
    "gpt2": ("gpt2", ENDS | {"n_embd": 512, "n_layer": 8, "n_head": 8, "n_positions": 512}),
}
NEW = 2000  # tokens that SmolLM2's tokenizer gets
CODE = """
import os, signal, sys
from contextlib import suppress
from pathlib import Path
from tongues.core.errors import Stopped
from tongues.recipe import load_recipe
from tongues.train import run_of_recipe
from tongues.train.progress import peak_memory
from tongues.train.run import train
from tongues.train.work import open_work

recipe, workspace, *settings = sys.argv[1:]
def stop(progress):
    if progress.step >= 4:
        os.kill(os.getpid(), signal.SIGTERM)
with suppress(Stopped):
    work = open_work(load_recipe(recipe, settings))
    train(run_of_recipe(work), Path(workspace), threads=1, watch=stop)
print(peak_memory("cpu"))
"""


def peaks(place: Path, recipe: Path, name: str, settings: list[str]) -> tuple[int, int]:
    """Train a run, unless NAME.txt has its peak; the bytes predicted and measured."""
    done = place / f"{name}.txt"
    if not done.is_file():
        child = [sys.executable, "-c", CODE, str(recipe), str(place), *settings]
        done.write_text(subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout)
    ((plan, _),) = check_recipe(open_work(load_recipe(recipe, settings), place)).runs
    vocabulary = len(open_tokens(place / "tokens" / plan.tokens).token_bytes)
    return derive(plan, vocabulary, find_base(plan.base, place)).memory, int(done.read_text())


def measure(place: Path, recipe: Path, name: str, settings: list[str]) -> None:
    """Print the bytes predicted and measured at the peak of a run."""
    predicted, measured = peaks(place, recipe, name, settings)
    off = predicted / measured - 1
    print(f"{name:46}{predicted / 1e6:10,.0f}{measured / 1e6:10,.0f}{off:+7.0%}", flush=True)


def main() -> None:
    """Print a line a run."""
    place = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    place.mkdir(exist_ok=True)
    parts = sys.argv[2:] or ["shapes", *BASES, "smollm2", "new-tokens"]
    recipe = place / "memory.yaml"
    recipe.write_text(RECIPE)
    prepare(recipe, place)
    print(f"{date.today()}, vocabulary {VOCABULARY:,}, one thread; MB\n")
    print(f"{'':46}{'predicted':>10}{'measured':>10}{'off':>7}")
    if "shapes" in parts:
        for shape, context, samples, precision, compiled, other in RUNS:
            name = f"{shape} {samples} x {context} {precision}"
            name += " compiled" * (compiled == "on") + other.removeprefix("train").replace("=", " ")
            settings = [*sizes(context, samples), f"model.shape={shape}"]
            settings += [f"train.precision={precision}", f"train.compile={compiled}"]
            named = name.replace(" ", "-").replace("/", "")
            measure(place, recipe, name, [f"train.run={named}", *settings, *filter(None, [other])])
    for base in (base for base in BASES if base in parts):
        continued(place, recipe, base, make_base(place, base))
    folder = Path("build/smollm2").resolve()
    if {"smollm2", "new-tokens"} & set(parts):
        make_smollm2(folder)
    tokens = f"base: {folder}, held_out: 40000 tokens, byte_fallback: allow"
    if "smollm2" in parts:
        own = with_tokens(place, "own", tokens)
        for precision in ("float32", "bfloat16"):
            continued(place, own, "smollm2", folder, precision)
    if "new-tokens" in parts:
        tokens += f", extend: {{new_tokens: {NEW}, languages: [qaa], preserve: [qab]}}"
        extended = with_tokens(place, "extended", tokens)
        for precision in ("float32", "bfloat16"):
            continued(place, extended, "new-tokens", folder, precision)


def with_tokens(place: Path, name: str, tokens: str) -> Path:
    """The recipe with other tokens, prepared."""
    recipe = place / f"{name}.yaml"
    before, _, after = RECIPE.replace("name: memory", f"name: {name}").partition("tokens: ")
    recipe.write_text(f"{before}tokens: {{{tokens}}}\n{after.partition(chr(10))[2]}")
    prepare(recipe, place)
    return recipe


def continued(
    place: Path, recipe: Path, name: str, base: Path, precision: str = "bfloat16"
) -> None:
    """Two runs from a base: all of it, and low-rank updates with embeddings."""
    for part in ("all", "{lora: {rank: 16}}"):
        short = "lora" if "lora" in part else part
        settings = [f"train.run={name}-{precision}-{short}", "model.shape=null"]
        settings += [f"train.trainable={part}", *sizes(256, 4)]
        settings += [f"train.base={{model: {base}, languages: [qac]}}"]
        settings += [f"train.precision={precision}", "train.compile=off"]
        settings += ["train.eval_tokens=512 tokens"]
        measure(place, recipe, f"{name} 4 x 256 {precision} {short}", settings)


def sizes(context: int, samples: int) -> list[str]:
    """Settings of a run of a few steps of so many samples."""
    batch = context * samples
    sizes = {"context": context, "batch": batch, "budget": STEPS * batch}
    return [f"train.{key}={count} tokens" for key, count in sizes.items()]


def prepare(recipe: Path, place: Path) -> None:
    """The tokens of a recipe."""
    command = [sys.executable, "-m", "tongues", "prepare", str(recipe)]
    subprocess.run([*command, "--workspace", str(place)], check=True, capture_output=True)


def make_base(place: Path, name: str) -> Path:
    """A random model of an architecture with the tokenizer of the recipe."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    folder, (family, settings) = place / name, BASES[name]
    if not folder.is_dir():
        torch.manual_seed(1)
        config = AutoConfig.for_model(family, vocab_size=VOCABULARY, **settings)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        shutil.copyfile(place / "tokens/memory/tokenizer.json", folder / "tokenizer.json")
    return folder


if __name__ == "__main__":
    main()
