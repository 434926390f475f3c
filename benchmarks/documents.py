"""Attention in samples of many documents that do not see one another, by three ways.

A small decoder (four layers of width 256, four heads) on one thread trains on one sample, whose
documents have about 600 tokens, in bfloat16: the loss and its gradient. "dense": blocks of rows
meet all keys up to their end. "by documents": those that one of the block's rows may see. "sdpa":
PyTorch's kernel with the whole mask. Times are of the processor, since a machine may be busy; the
peak of resident memory is above what there was before.

usage: python benchmarks/documents.py [TIMES] [CONTEXT ...]
"""

import ctypes
import sys
import time
from datetime import date
from pathlib import Path
from statistics import median
from unittest.mock import patch

import torch
from torch import Tensor

from tongues.models import Shape
from tongues.models.huggingface import build_model
from tongues.text.tokens.frame import TextFrame
from tongues.train.engine.fitting import BLOCKED, DOCUMENTS
from tongues.train.engine.processor import Processor, compile_layers
from tongues.train.engine.scorer import Scorer

SHAPE = Shape("small", hidden=256, feed_forward=704, heads=4, head_width=64, layers=4)
VOCABULARY, END, LENGTH = 4096, 3, 600
WAYS = ("dense", "by documents", "sdpa", "dense, compiled", "by documents, layers compiled")


def windows(context: int) -> Tensor:
    """One sample: documents whose lengths are drawn from an exponential distribution."""
    chance = torch.Generator().manual_seed(1)
    ids = torch.randint(END + 1, VOCABULARY, (1, context + 1), generator=chance)
    place = 0
    while place <= context:
        ids[0, place] = END
        place += 1 + int(torch.empty(1).exponential_(1 / LENGTH, generator=chance))
    return ids


def resident(field: str) -> int:
    """Bytes of this process's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def measure(way: str, context: int, times: int) -> tuple[float, float, float, Tensor]:
    """Seconds of the first pass and of a later one, bytes at the peak, and norms of gradients."""
    model = build_model(SHAPE, VOCABULARY, context, end_id=END, seed=1)
    names = {"sdpa": "sdpa", "by documents, layers compiled": DOCUMENTS}
    model.set_attn_implementation(names.get(way, BLOCKED))
    processor = Processor(torch.device("cpu"), bfloat16=True, threads=1)
    scorer = Scorer(model, processor, TextFrame(None, END), apart=True, chunked=True)
    if way.endswith("compiled"):
        assert compile_layers(model, processor.device) is None
    ids, seconds = windows(context), []
    ctypes.CDLL(None).malloc_trim(0)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    for _ in range(1 + times):
        scorer.zero_grad(set_to_none=True)
        start = time.process_time()
        (scorer(ids)[0] / context).backward()
        seconds.append(time.process_time() - start)
    norms = torch.stack(
        [weight.grad.norm() for weight in scorer.parameters() if weight.grad is not None]
    )
    return seconds[0], median(seconds[1:]), resident("VmHWM") - before, norms


def main(times: int, contexts: list[int]) -> None:
    """Keep a table next to this script."""
    torch.set_num_threads(1)
    lines = [
        f"{date.today()}, documents of about {LENGTH} tokens, one thread, median of {times} passes"
    ]
    lines += [
        f"{'context':>8}  {'way':32}{'first pass':>12}{'a pass':>10}{'peak':>10}{'gradients':>16}"
    ]
    for context in contexts:
        expected = None
        for way in WAYS:
            # Nothing is left out while it is compiled, as lengths differ from sample to sample.
            compiling = torch.compiler.is_compiling if way != "dense" else lambda: True
            with patch.object(torch.compiler, "is_compiling", compiling):
                first, later, peak, norms = measure(way, context, times)
            expected = norms if expected is None else expected
            off = float(((norms - expected).abs() / expected.max()).max())
            line = f"{context:8,}  {way:32}{first:10.2f} s{later:8.2f} s{peak / 1e6:7,.0f} MB"
            lines.append(f"{line}{off:11.0e} off")
            print(lines[-1], flush=True)
            Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]] or [2]
    main(numbers[0], numbers[1:] or [2048, 8192])
