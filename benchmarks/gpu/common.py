"""What the stages share: sizes, prepared tokens, bases, and how the speed of a run is measured."""

import json
import shutil
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

import tongues
from tongues.core.cores import core_count
from tongues.core.hardware import known_gpu
from tongues.models import Shape
from tongues.recipe import load_recipe
from tongues.text.tokens import Tokens, open_tokens
from tongues.train import RunPlan, derive, run_of_recipe
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import ceiling, release_memory
from tongues.train.progress import peak_memory
from tongues.train.start import LocalRun, assemble
from tongues.train.step import BatchLoader, Setup, gradient, update
from tongues.train.work import open_work

RECIPE = """
name: {name}
text: {{synthetic: {{seed: 1, size: {text}, languages: {{qaa: {{}}}}}}}}
tokens: {{{tokens}, held_out: {held_out} tokens}}
model: {{shape: 0.1M}}
train: {{mixture: {{qaa: 100%}}, budget: 20M tokens, batch: {batch} tokens,
        context: {context} tokens, compile: "{compiled}", num_evals: 1{threads}}}
"""
SMOLLM2 = {  # its config.json
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 8192,
    "rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"},
    "tie_word_embeddings": True,
}


@dataclass(frozen=True)
class Sizes:
    """What is computed: on a GPU, or in small on a processor."""

    billion: Shape
    context: int
    batch: int  # tokens of a step
    steps: int  # that are timed
    text: str
    held_out: int
    vocabulary: int  # where no prepared tokens came with the pack


GPU_SIZES = Sizes(
    Shape("1B", hidden=2048, feed_forward=5632, heads=16, head_width=128, layers=22),
    context=2048,
    batch=131_072,
    steps=5,
    text="4 MB",
    held_out=200_000,
    vocabulary=8192,
)
REHEARSAL = Sizes(
    Shape("1B in small", hidden=64, feed_forward=128, heads=2, head_width=32, layers=2),
    context=128,
    batch=1024,
    steps=2,
    text="600 kB",
    held_out=4000,
    vocabulary=400,
)


@dataclass
class Bench:
    """Where a stage reads and writes, and what it says."""

    place: Path  # that `unpack` filled; may be empty
    out: Path
    rehearse: bool
    failed: list[str] = field(default_factory=list)

    @property
    def sizes(self) -> Sizes:
        """Of this machine's kind."""
        return REHEARSAL if self.rehearse else GPU_SIZES

    @property
    def work(self) -> Path:
        """The workspace: tokens, models and runs."""
        return self.place / ("rehearsal" if self.rehearse else "workspace")

    @property
    def device(self) -> torch.device:
        """What computes."""
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def say(self, line: str) -> None:
        """Print a line now."""
        print(line, flush=True)

    def check(self, label: str, passed: bool) -> None:
        """Print whether something holds; the stage fails if it does not."""
        self.say(f"{'ok' if passed else 'FAILED'}: {label}")
        if not passed:
            self.failed.append(label)

    @contextmanager
    def attempt(self, label: str) -> Iterator[None]:
        """Go on where a part fails; the stage fails at its end."""
        try:
            yield
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            words = str(error).strip().splitlines() or [""]
            self.say(f"{label}: FAILED: {type(error).__name__}: {words[0][:300]}")
            self.failed.append(label)
        release_memory()

    def keep(self, name: str, value: float) -> None:
        """Keep a figure for the stages after this one."""
        with (self.place / "figures.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, "value": value}) + "\n")

    def kept(self, name: str) -> float | None:
        """The newest figure of this name."""
        file = self.place / "figures.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        values = [row["value"] for row in map(json.loads, lines) if row["name"] == name]
        return values[-1] if values else None

    def recipe(self, name: str, tokens: str = "vocab_size: 400") -> Path:
        """The recipe of some tokens; `tiny` ones are the same on every machine."""
        sizes = REHEARSAL if name == "tiny" else self.sizes
        values: dict[str, Any] = {
            "text": sizes.text,
            "held_out": sizes.held_out,
            "batch": sizes.batch,
        }
        path = self.work / f"{name}.yaml"
        self.work.mkdir(parents=True, exist_ok=True)
        values |= {"compiled": "off" if self.rehearse else "on", "context": sizes.context}
        values["threads"] = ", threads: 1" if self.rehearse else ""
        text = RECIPE.format(name=name, tokens=tokens, **values)
        path.write_text(text, encoding="utf-8")
        return path

    def tokens(self, name: str = "bench") -> Tokens:
        """The tokens that came with the pack, or of a made language."""
        folder = self.work / "tokens" / name
        if not (folder / "tokens.json").is_file():
            start, words = time.monotonic(), "vocab_size: 400"
            if name == "bench":
                words = f"vocab_size: {self.sizes.vocabulary}"
                smollm2 = self.work / "models/smollm2"
                words = f"base: {smollm2}, byte_fallback: allow" if smollm2.is_dir() else words
            recipe = load_recipe(self.recipe(name, words))
            tongues.prepare(recipe, workspace=self.work, quiet=True)
            self.say(f"tokens `{name}` prepared here in {time.monotonic() - start:.1f} s")
        return open_tokens(folder)

    def base(self, name: str, family: str, config: Mapping[str, Any], tokens: str) -> Path:
        """A base with random weights and the tokenizer of these tokens; made once."""
        folder = self.work / "models" / f"{name}-{tokens}"
        if (folder / "tokenizer.json").is_file():
            return folder
        prepared = self.tokens(tokens)
        ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
        rows = {"vocab_size": prepared.vocabulary_size}
        torch.manual_seed(1)
        with self.device:
            whole = AutoConfig.for_model(family, **ends, **rows, **config)
            model = AutoModelForCausalLM.from_config(whole, dtype=torch.float32)
        model.to(torch.bfloat16).save_pretrained(folder)
        shutil.copyfile(prepared.tokenizer_path, folder / "tokenizer.json")
        return folder

    @cached_property
    def smollm2(self) -> Path:
        """SmolLM2-135M where the pack brought it, else a base of its shape."""
        given = self.work / "models/smollm2"
        if (given / "model.safetensors").is_file():
            return given
        small = {"num_hidden_layers": 2, "hidden_size": 72, "intermediate_size": 192}
        config = SMOLLM2 | (small if self.rehearse else {})
        self.say("SmolLM2's weights are not here: random ones of its shape")
        return self.base("smollm2", "llama", config, "bench")

    def plan(self, *changes: str, base: Path | None = None, tokens: str = "bench") -> RunPlan:
        """A run of the 1B shape, or from a base."""
        given = [f"train.base={{model: {base}, languages: [qab]}}", "model.shape=null"]
        given += ["train.learning_rate=1e-4"]
        plan = run_of_recipe(
            open_work(load_recipe(self.recipe(tokens), [*(given if base else ()), *changes]))
        )
        return plan if base else replace(plan, shape=self.sizes.billion)


def set_up(
    bench: Bench, plan: RunPlan, base: Path | None = None, label: str = ""
) -> tuple[Setup, dict[str, Any]]:
    """The run before its first step, and how it is computed; says what the engine tells."""
    release_memory()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    torch.compiler.reset()
    tokens = bench.tokens(plan.tokens)
    derived = derive(plan, tokens.vocabulary_size, base)
    directory = bench.work / "runs" / plan.name
    threads = plan.settings.threads or core_count()
    task = LocalRun(plan, tokens, base, None, directory, Processes(), threads)
    setup, used, _ = assemble(task, derived, lambda line: bench.say(f"{label}: {line}"), None)
    return setup, used


def measure(
    bench: Bench,
    label: str,
    plan: RunPlan,
    base: Path | None = None,
    *,
    name: str | None = None,
    attention: str | None = None,
) -> None:
    """Print the speed of a run, its MFU and memory, and what was decided.

    name: of the figure, if it is kept. attention: in place of the one that was chosen.
    """
    steps, start = bench.sizes.steps, time.perf_counter()
    setup, used = set_up(bench, plan, base, label)
    if attention:
        setup.scorer.model.set_attn_implementation(attention)
        used["attention"] = attention
    assembled = time.perf_counter() - start
    loader, losses, first = BatchLoader(setup), [], 0.0
    for step in range(2 + steps):
        begun = time.perf_counter()
        if step == 2:
            start = begun
        losses.append(gradient(setup, loader, step, ()).loss)  # waits for the device
        update(setup, setup.derived.learning_rate)
        first = first or time.perf_counter() - begun
    if bench.device.type == "cuda":
        torch.cuda.synchronize()
    speed = steps * setup.derived.batch / (time.perf_counter() - start)
    if name:
        bench.keep(name, speed)
        bench.keep(f"{name} micro-batch", used["micro_batch"])
    flops = speed * setup.derived.anatomy.flops_per_token(plan.settings.context)
    fitted = plan.settings.model_copy(update={"micro_batch": used["micro_batch"]})
    vocabulary = setup.tokens.vocabulary_size
    predicted = derive(replace(plan, settings=fitted), vocabulary, base).memory
    peak = peak_memory(bench.device.type)
    line = f"{label}: {speed:,.0f} tokens/s, MFU {mfu(setup, flops)}, "
    line += f"peak {peak / 1e9:.2f} GB (predicted {predicted / 1e9:.2f})"
    bench.say(f"{line}, loss {losses[0]:.3f} to {losses[-1]:.3f}")
    decided = ", ".join(f"{key} {value}" for key, value in used.items() if key != "gpu")
    bench.say(f"{label}: {decided}; assembled in {assembled:.1f} s, first step {first:.1f} s")


def mfu(setup: Setup, flops: float) -> str:
    """Operations a second as a share of the maker's peak, and of a big product's speed here."""
    product = flops / ceiling(setup.processor)
    peak = maker_peak()
    measured = f"{product:.1%} of a measured product"
    return f"{flops / peak:.1%} of the maker's peak ({measured})" if peak else measured


def maker_peak() -> float | None:
    """Dense bfloat16 operations a second of the first GPU, as its maker states them."""
    if not torch.cuda.is_available():
        return None
    card = torch.cuda.get_device_properties(0)
    gpu = known_gpu(card.name, card.total_memory)
    return gpu.peak if gpu else None
