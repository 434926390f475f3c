"""Stages: the environment, and whether a GPU computes what a processor does."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from common import Bench, set_up
from torch import nn
from torch.nn.functional import cross_entropy

from tongues.core.files import read_lines
from tongues.models.huggingface import load_model
from tongues.train.step import BatchLoader, gradient

STEPS = 40
WIDTHS = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 128,
}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
FAMILIES = {
    "llama": WIDTHS,
    "qwen3_moe": WIDTHS | EXPERTS | {"router_aux_loss_coef": 0.0},
    "gemma2": WIDTHS | {"sliding_window": 64, "query_pre_attn_scalar": 64},
}


def environment(bench: Bench) -> None:
    """The driver, the versions, the compiler, and what `tongues doctor` says."""
    for words, most in ((["nvidia-smi"], 40), (["cc", "--version"], 1)):
        if shutil.which(words[0]):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            for line in [line for line in done.stdout.splitlines() if line.strip()][:most]:
                bench.say(line)
        else:
            bench.say(f"{words[0]}: not found")
    bench.say(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, device {bench.device}")
    if bench.device.type == "cuda":
        card = torch.cuda.get_device_properties(0)
        bench.say(
            f"{card.name}, {card.total_memory / 1e9:.1f} GB, compute {card.major}.{card.minor}"
        )
    elif not bench.rehearse:
        bench.check("PyTorch sees a GPU", passed=False)
    with bench.attempt("torch.compile(torch.sin)"):
        x = torch.ones(64, device=bench.device)
        same = torch.allclose(torch.compile(torch.sin)(x), torch.sin(x))
        bench.check("torch.compile(torch.sin)", same)
    done = subprocess.run(
        [sys.executable, "-m", "tongues", "doctor"], capture_output=True, text=True, check=False
    )
    for line in done.stdout.splitlines():
        bench.say(line.rstrip())
    bench.check("tongues doctor", done.returncode == 0)


def exact(bench: Bench) -> None:
    """Losses of 40 steps in float32, by this machine's GPU and by its processor."""
    bench.tokens("tiny")
    recipe = bench.recipe("tiny")
    budget = STEPS * 1024
    runs: dict[str, subprocess.Popen[str]] = {}
    for name, hidden in (("processor", True), ("device", False)):
        shutil.rmtree(bench.work / "runs" / name, ignore_errors=True)
        words = [f"train.run={name}", f"train.budget={budget} tokens", "train.precision=float32"]
        words += ["train.compile=off", f"train.threads={1 if hidden else 2}"]
        hide = {"CUDA_VISIBLE_DEVICES": ""} if hidden else {}
        runs[name] = train_command(bench, recipe, words, hide)
    for name, process in runs.items():
        said, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{name}: {said.strip().splitlines()[-1]}")
    ours, theirs = (
        [row["loss"] for row in read_lines(bench.work / "runs" / name / "metrics.jsonl")]
        for name in runs
    )
    off = [abs(one - other) / other for one, other in zip(ours, theirs, strict=True)]
    label = f"{len(off)} losses of a {bench.device.type} run differ from a processor's by "
    label += f"{max(off):.1e} at most (first step {off[0]:.1e}), limit 1e-5"
    bench.check(label, max(off) < 1e-5)


def train_command(
    bench: Bench, recipe: Path, changes: Sequence[str], environment: dict[str, str]
) -> subprocess.Popen[str]:
    """`tongues train` in a process of its own."""
    command = [sys.executable, "-m", "tongues", "train", str(recipe), "-w", str(bench.work)]
    return subprocess.Popen(
        [*command, "-q", *changes],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | environment,
    )


def engine(bench: Bench) -> None:
    """The first step of three families, against transformers' own way in float32."""
    for family, config in FAMILIES.items():
        base = bench.base(f"tiny-{family}", family, config, "tiny")
        for apart in (False, True):
            label = f"{family}{', documents apart' if apart else ''}"
            with bench.attempt(label):
                _first_step(bench, label, base, apart)


def _first_step(bench: Bench, label: str, base: Path, apart: bool) -> None:
    found: dict[str, tuple[float, float]] = {}
    expected = None
    for precision in ("float32", "bfloat16"):
        changes = [f"train.precision={precision}", "train.compile=off"]
        changes += ["train.cross_document_attention=false"] if apart else []
        plan = bench.plan(*changes, base=base, tokens="tiny")
        setup, used = set_up(bench, plan, base, label)
        if not found and not apart:
            expected = _reference(bench, base, setup.mixture.batch(0))
        step = gradient(setup, BatchLoader(setup), 0, ())
        found[precision] = step.loss, step.norm
        if precision == "bfloat16":
            bench.say(f"{label}: attention {used['attention']}, loss {used['loss']}")
    expected = expected or found["float32"]
    pairs = {way: _off(values, expected) for way, values in found.items()}
    words = "; ".join(
        f"{way} off by {loss:.1e} (loss), {norm:.1e} (gradient)"
        for way, (loss, norm) in pairs.items()
    )
    exact, narrow = pairs["float32"], pairs["bfloat16"]
    passed = exact[0] < 1e-5 and exact[1] < 1e-3 and narrow[0] < 1e-2 and narrow[1] < 5e-2
    bench.check(f"{label}: {words}", passed)


def _off(values: tuple[float, float], expected: tuple[float, float]) -> tuple[float, float]:
    loss, norm = (abs(one - other) / other for one, other in zip(values, expected, strict=True))
    return loss, norm


def _reference(bench: Bench, base: Path, batch: object) -> tuple[float, float]:
    """Loss and norm of the gradient by transformers alone, with its own attention, in float32."""
    model = load_model(base)
    nn.Module.to(model, bench.device)
    model.set_attn_implementation("eager")
    windows = torch.as_tensor(batch, device=bench.device).long()
    logits = model(input_ids=windows[:, :-1], use_cache=False).logits
    loss = cross_entropy(logits.flatten(0, 1).float(), windows[:, 1:].flatten())
    loss.backward()
    grads = [weight.grad for weight in model.parameters() if weight.grad is not None]
    return loss.item(), torch.nn.utils.get_total_norm(grads).item()


def tf32(bench: Bench) -> None:
    """What the trial of the fastest ways decides where TF32 is forced on."""
    left = torch.randn(1024, 1024, generator=torch.Generator().manual_seed(0)).to(bench.device)
    product = (left @ left).double() - left.double() @ left.double()
    off = (product.norm() / (left.double() @ left.double()).norm()).item()
    bench.say(f"a float32 product is off by {off:.1e} (TF32: about 3e-4; float32: under 1e-6)")
    for precision in ("bfloat16", "float32"):
        with bench.attempt(precision):
            changes = (f"train.precision={precision}", "train.compile=off")
            plan = bench.plan(*changes, base=bench.smollm2)
            _, used = set_up(bench, plan, bench.smollm2, precision)
            bench.say(f"{precision}: attention {used['attention']}, loss {used['loss']}")
            if bench.device.type == "cuda":
                fast = used["attention"] != "eager" and used["loss"] == "chunked"
                bench.check(f"{precision}: the fast ways are taken", fast)
