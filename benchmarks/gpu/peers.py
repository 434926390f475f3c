"""Stages: the same 1B by what others would write: a plain loop, and transformers' Trainer.

Shape, first weights, text, batch, precision (bfloat16 autocast over float32 weights), optimizer
(fused AdamW) and clipping are ours; attention is PyTorch's fused one and the model is compiled.
The micro-batch is the one that our engine chose, or half as many until it fits.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from common import Bench, maker_peak
from speed import OURS
from torch import nn
from torch.utils.data import Dataset
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainingArguments

from tongues.models import of_shape
from tongues.models.huggingface import build_model
from tongues.train.engine.processor import release_memory

BACKEND = {False: "inductor", True: "eager"}  # in a rehearsal nothing is worth compiling
WARM = 2  # steps before the clock starts: the first compiles


class Samples(Dataset[dict[str, torch.Tensor]]):
    """The training text in samples of one context."""

    def __init__(self, bench: Bench) -> None:
        text = bench.tokens().train("qaa")
        context = bench.sizes.context
        rows = len(text) // context * context
        self._rows = torch.from_numpy(np.asarray(text[:rows], np.int64)).view(-1, context)

    def __getitem__(self, place: int) -> dict[str, torch.Tensor]:
        row = self._rows[place % len(self._rows)]
        return {"input_ids": row, "labels": row}

    def __len__(self) -> int:
        return max(len(self._rows), 10_000)  # an epoch never ends


def plain_1b(bench: Bench) -> None:
    """A loop of fifteen lines."""
    _measure(bench, "plain loop", _plain)


def trainer_1b(bench: Bench) -> None:
    """Trainer as a competent user sets it up."""
    _measure(bench, "Trainer", _trainer)


Peer = Callable[[Bench, PreTrainedModel, Samples, int], list[float]]


def _measure(bench: Bench, label: str, peer: Peer) -> None:
    sizes, samples = bench.sizes, Samples(bench)
    vocabulary = bench.tokens().vocabulary_size
    micro = int(bench.kept(f"{OURS} micro-batch") or sizes.batch) // sizes.context
    while True:
        release_memory()
        torch.compiler.reset()
        model = build_model(sizes.billion, vocabulary, sizes.context, seed=1)
        model.set_attn_implementation("sdpa")
        model.config.use_cache = False
        nn.Module.to(model, bench.device)
        try:
            times = peer(bench, model, samples, micro)
            break
        except torch.OutOfMemoryError:
            if micro == 1:
                raise
            bench.say(f"{label}: out of memory at a micro-batch of {micro * sizes.context}")
            micro //= 2
    speed = sizes.batch * sizes.steps / (times[-1] - times[WARM - 1])
    line = f"{label}: {speed:,.0f} tokens/s, micro-batch {micro * sizes.context}"
    if peak := maker_peak():
        flops = of_shape(sizes.billion, vocabulary).flops_per_token(sizes.context)
        line += f", MFU {speed * flops / peak:.1%} of the maker's peak"
    if bench.device.type == "cuda":
        line += f", peak {torch.cuda.max_memory_allocated() / 1e9:.2f} GB"
    ours = bench.kept(OURS)
    bench.say(
        line + (f"; ours {ours / speed:.2f} x as fast" if ours else "; ours was not measured")
    )


def _plain(bench: Bench, model: PreTrainedModel, samples: Samples, micro: int) -> list[float]:
    sizes, kind = bench.sizes, bench.device.type
    compiled: Any = torch.compile(model, backend=BACKEND[bench.rehearse])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    parts, times = sizes.batch // sizes.context // micro, list[float]()
    for step in range(WARM + sizes.steps):
        loss = torch.zeros(())
        for part in range(parts):
            first = (step * parts + part) * micro
            rows = [samples[first + row]["input_ids"] for row in range(micro)]
            windows = torch.stack(rows).to(bench.device, non_blocking=True)
            with torch.autocast(kind, dtype=torch.bfloat16):
                loss = compiled(input_ids=windows, labels=windows).loss / parts
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()  # waits for the device
        times.append(time.perf_counter())
    return times


class _Clock(TrainerCallback):
    def __init__(self) -> None:
        self.times: list[float] = []

    def on_step_end(self, *given: Any, **named: Any) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.times.append(time.perf_counter())


def _trainer(bench: Bench, model: PreTrainedModel, samples: Samples, micro: int) -> list[float]:
    sizes, clock = bench.sizes, _Clock()
    arguments = TrainingArguments(
        output_dir=str(bench.work / "trainer"),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=sizes.batch // sizes.context // micro,
        max_steps=WARM + sizes.steps,
        learning_rate=1e-4,
        weight_decay=0.1,
        bf16=True,
        torch_compile=True,
        torch_compile_backend=BACKEND[bench.rehearse],
        optim="adamw_torch_fused",
        dataloader_num_workers=0 if bench.rehearse else 2,
        use_cpu=bench.rehearse,
        logging_steps=1000,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    Trainer(model, arguments, train_dataset=samples, callbacks=[clock]).train()
    return clock.times
