"""What follows from the size of a model: learning rate, batch, context, memory, micro-batch.

`plan`, `check` and `train` all take these numbers from here.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tongues.core.errors import UserError
from tongues.core.hardware import Machine, this_machine
from tongues.models import SHAPES, Anatomy, Shape, find_shape, of_shape
from tongues.recipe import Train
from tongues.train.gpu_memory import WEIGHT, moments_bytes, share_bytes, trained_parameters

if TYPE_CHECKING:
    from tongues.train.planned import Derived


VOCABULARY = 36_152  # of the published study (Zheng et al. 2024), whose sizes the shapes are
_PUBLISHED = 40e6  # parameters from which its vocabulary and context hold
# Up to so many parameters, a batch of so many tokens: the same study.
_BATCHES = ((1e9, 1e6), (2.5e9, 2e6), (math.inf, 4e6))
_SMALLEST = 49e6  # parameters of its smallest model; below, a batch shrinks in proportion
# Smaller models than the study's: powers of two, so that embeddings stay below half of them.
_VOCABULARIES = ((_PUBLISHED, VOCABULARY), (5e6, 8192), (2e5, 1024), (0.0, 512))
# The study's context, and for smaller models chosen ones: their text and budgets are short too.
_CONTEXTS = ((_PUBLISHED, 2048), (5e6, 512), (0.0, 128))
# Without a search: the best at 0.2M, by a sweep of November 2026 (one seed). The power carries it
# to 2.3e-4 at 500M parameters and 1.7e-4 at a billion; the study took 2e-4.
_BEST_RATES = {"0.2M": 5.5e-3}
FASTEST = 7e-3  # the best of 0.05M: above the best rate the loss rises steeply
_SLOWS = -0.4  # power of the parameters with which the best rate falls (Li et al. 2025)
# Operations of a process from which compiling pays: the time that a compiler's start takes.
_PAYS = {"cpu": 5e13, "cuda": 1e16}

# Bytes of a process before its model. On a processor with PyTorch and transformers, measured
# (benchmarks/memory.txt); on a GPU what CUDA, its libraries and NCCL take, by their documentation.
_EMPTY = {"cpu": 440_000_000, "cuda": 1_000_000_000}
# On a processor on top of that: four chunks of logits and more, with copies and what the heap loses
# between them (of fewer logits less); what the optimizer and evaluations take; and the compiler, by
# bfloat16, when nothing is in its cache. Measured (benchmarks/memory.txt).
_CHUNKS, _CHUNK_BYTES = 4 * 2**23, 275_000_000  # logits (engine/vocabulary.py), bytes
_BESIDES, _COMPILER = 55_000_000, {True: 265_000_000, False: 45_000_000}  # bytes
# On a GPU: logits, and bytes of each in bfloat16 with three copies in float32, by reading.
_GPU_CHUNK, _GPU_LOGIT = 2**27, 14
# Times what a Llama's layers keep of a token: other families (Gemma's norms are float32), and those
# with experts, which have more weights than a token meets, by that factor. Measured, as above.
_OTHERS, _EXPERTS, _SPARSE = 1.36, 2.1, 1.5
# On a GPU of what layers keep on a processor, by whether they are compiled: norms and sums between
# layers are bfloat16 there, and its allocator leaves few gaps. From four runs of 1.3B and 139M
# parameters on one H100 (benchmarks/gpu/results/2026-11-27-h100.txt), and a tenth more.
_ON_GPUS = {True: 0.82, False: 0.52}
_SCORED = 8192  # tokens of held-out text at a time (step.py)
_UPDATED = {True: 1.0, False: 1.2}  # of layers with low-rank updates; by bfloat16, measured
_VARIES = 1.03  # times what is computed: one run takes so much more than another like it
# Bytes of a trained parameter where layers are compiled, by bfloat16; measured, of which two
# gradients in float32 (engine/compiling.py) may be 8.
_COMPARISON = {True: 11, False: 0}
_GRADIENT = 4  # bytes of a parameter's
_OUTPUT = 12  # of the output matrix, in its loss: its gradient, a part of it, itself in bfloat16
_LOGITS = 16  # of each logit in the trial of the fastest ways, whose logits are whole
_WHOLE = {True: 16, False: 24}  # of each where they stay whole; by bfloat16, measured
_TRIED = 257  # tokens of the trial's two samples (engine/fitting.py)
# Bytes of a pair of tokens in a layer, where a mask keeps documents apart on a GPU; by bfloat16.
_MASK = {True: 2.6, False: 5.2}  # measured (SmolLM2 on an H200), and twice that
_ROWS = 128  # queries whose scores are computed, and kept, together (engine/attention.py)
_AGAIN = 2  # layers' worth that computing one anew takes: what it keeps, and its backward pass
_FILLED = 2  # tokens for each one of documents in rows, at most (engine/rows.py)
USABLE = 0.9  # of a machine's memory that a run may fill: allocators leave gaps
# The words of PyTorch; the last are oneDNN's, which names no reason when an allocation fails.
_EXHAUSTED = (
    "can't allocate memory",
    "out of memory",
    "not enough memory",
    "could not create a primitive",
)


class _Kept(NamedTuple):
    """Bytes a layer keeps of each token, counted in a Llama's saved tensors; the rest measured."""

    feed_forward: int  # for each of its units
    hidden: int  # for each channel of the residual stream
    heads: int  # for each channel of the heads
    scores: int  # for each pair of a query and a key that is computed, in each head
    scattered: float  # what the allocator holds of it


_KEPT = {  # by bfloat16 and compiled; measured (benchmarks/memory.txt)
    (True, False): _Kept(8, 28, 8, 6, 1.57),
    (True, True): _Kept(6, 12, 8, 4, 1.05),
    (False, False): _Kept(16, 28, 16, 4, 1.4),
    (False, True): _Kept(12, 20, 16, 4, 1.05),
}


def nearest_shape(params: float, vocabulary: int) -> tuple[Shape, int]:
    """The shape whose exact count of parameters is nearest, by ratio, and that count."""
    counts = [(shape, of_shape(shape, vocabulary).parameters["total"]) for shape in SHAPES.values()]
    return min(counts, key=lambda pair: max(pair[1] / params, params / pair[1]))


def vocabulary_by_size(parameters: float) -> int:
    """Entries of a vocabulary: the published 36,152 from 40M parameters on, fewer below."""
    return next(count for least, count in _VOCABULARIES if parameters >= least)


def context_by_size(parameters: float, held_out: int) -> int:
    """Tokens of a context: the published 2,048 from 40M parameters on, fewer below.

    Halved until it is less than the held-out tokens, which must fill one.
    """
    context = next(tokens for least, tokens in _CONTEXTS if parameters >= least)
    while context >= held_out:
        context //= 2
    return context


def batch_by_size(parameters: float, context: int) -> int:
    """Tokens of a batch, a whole number of contexts, for a model of `parameters` in all.

    Below the smallest model of the study in proportion to the parameters: the number of steps then
    stays the same at equal tokens per parameter.
    """
    tokens = next(tokens for most, tokens in _BATCHES if parameters <= most)
    tokens *= min(1.0, parameters / _SMALLEST)
    return max(1, round(tokens / context)) * context


def check_batch(batch: int, context: int, processes: int) -> None:
    """Refuse a batch that the processes cannot divide evenly, in whole contexts."""
    samples = batch // context
    if samples % processes:
        what = f"a batch of {samples} samples cannot be shared by {processes} processes"
        hint = f"the nearest is `{shared_batch(batch, context, processes)} tokens`"
        raise UserError(what, where="train.batch", hint=hint)


def shared_batch(batch: int, context: int, processes: int) -> int:
    """The largest batch up to this one that the processes divide evenly, or a context each."""
    return max(1, batch // context // processes) * processes * context


def rate_at_size(rates: Mapping[str, float] | None, parameters: int) -> float:
    """The peak learning rate for a number of parameters outside the embeddings.

    rates: the best ones by shape; None: what was measured at 0.2M. A power law through them, by
    least squares of the logarithms; through a single one with the power -0.4 (Li et al. 2025, at
    equal tokens per parameter).
    """
    if rates is None:
        return min(FASTEST, rate_at_size(_BEST_RATES, parameters))
    shapes = [find_shape(name, where="train.learning_rate") for name in rates]
    sizes = np.log([of_shape(shape, 0).parameters["non_embedding"] for shape in shapes])
    logs = np.log(list(rates.values()))
    power = np.polyfit(sizes, logs, 1)[0] if len(rates) > 1 else _SLOWS
    return float(np.exp(logs.mean() + power * (math.log(parameters) - sizes.mean())))


def compile_pays(flops: float, bfloat16: bool, device_type: str = "cpu") -> bool:
    """Whether a run of these FLOPs in each process is long enough to regain a compiler's start.

    In float32 a processor's time goes into matrix products, which a compiler does not speed up.
    """
    return flops >= _PAYS[device_type] and (bfloat16 or device_type != "cpu")


def layer_bytes(
    anatomy: Anatomy,
    tokens: int,
    context: int,
    *,
    bfloat16: bool,
    compiled: bool = False,
    recompute: bool = False,
    scores: bool = True,
    shared: bool = False,
) -> int:
    """Bytes that a forward and backward pass over `tokens` at a time needs on top of the state.

    recompute: layers keep their input alone. scores: attention keeps its matrix, as it does on a
    CPU; fused attention on a GPU does not. shared: weights are gathered in bfloat16, a layer at a
    time; a process with all of them has them once more.
    """
    kept = _KEPT[bfloat16, compiled]
    width = anatomy.heads * anatomy.head_width
    matrices = (anatomy.products - anatomy.vocabulary * anatomy.hidden) / anatomy.hidden
    units = max(0.0, matrices / anatomy.layers - 4 * width) / 3  # of a gated feed-forward
    rest = kept.feed_forward * units + kept.hidden * anatomy.hidden + kept.heads * width
    seen = (context + min(_ROWS, context)) / 2 if scores else 0.0
    attention = kept.scores * anatomy.heads * seen * len(anatomy.windows) / anatomy.layers
    rest *= _beyond_llama(anatomy)
    layers = anatomy.layers * (rest + attention)
    if recompute:
        layers = anatomy.layers * 4 * anatomy.hidden + _AGAIN * (rest + attention)
    narrow = 2 * anatomy.products if bfloat16 and not shared else 0
    ends = 16 * anatomy.hidden  # embeddings, last norm, and their gradients
    whole = kept.scattered * (tokens * (layers + ends) + narrow)
    return round(whole * (_ON_GPUS[compiled] if shared and bfloat16 else 1.0))


def _beyond_llama(anatomy: Anatomy) -> float:
    """Times what a Llama's layer keeps of a token that this family's keeps."""
    met = anatomy.products - anatomy.vocabulary * anatomy.hidden
    if anatomy.parameters["non_embedding"] > _SPARSE * met:
        return _EXPERTS
    return 1.0 if anatomy.family == "llama" else _OTHERS


def reads_rows(anatomy: Anatomy, settings: Train) -> bool:
    """Whether each document is read in a row of its own (engine/rows.py), uncompiled."""
    return not (settings.cross_document_attention or anatomy.packs)


def run_bytes(
    anatomy: Anatomy,
    settings: Train,
    batch: int,
    flops: float,
    machine: Machine,
    *,
    new_tokens: bool = False,
) -> int:
    """Bytes of each process at the peak, on a machine.

    batch: tokens. flops: of the whole run, by which it is compiled or not. On a processor: Python,
    weights, moments, and the most of three: what layers keep with the gradient of the output
    matrix, all gradients, or, before there are moments, the trial of the fastest ways. Gradients
    come as what the layers kept goes, unless there are several micro-batches. new_tokens: they get
    their embeddings from a copy of the base's.
    """
    share = max(batch // machine.processes, settings.context)
    at_a_time = min(settings.micro_batch or share, share)
    several = at_a_time < share
    bfloat16 = {"auto": machine.bfloat16}.get(settings.precision, settings.precision == "bfloat16")
    pays = compile_pays(flops / machine.processes, bfloat16, machine.device)
    rows = reads_rows(anatomy, settings)
    read = at_a_time * (_FILLED if rows else 1)
    compiled = {"auto": pays}.get(settings.compile, settings.compile == "on") and not rows
    step = layer_bytes(
        anatomy,
        read,
        settings.context,
        bfloat16=bfloat16,
        compiled=compiled,
        recompute=settings.recompute,
        scores=machine.device == "cpu",
        shared=machine.device == "cuda",
    )
    if machine.device == "cuda" and not (settings.cross_document_attention or rows):
        layers = _AGAIN if settings.recompute else anatomy.layers
        step += round(_MASK[bfloat16] * read * settings.context * layers)
    if anatomy.whole_logits:
        step += _WHOLE[bfloat16] * read * anatomy.vocabulary
    if machine.device == "cuda":
        held = anatomy if bfloat16 else replace(anatomy, frozen_width=WEIGHT)
        state = share_bytes(
            held,
            machine.processes,
            moments_bytes(settings),
            shards=settings.shards,
            offload=settings.offload,
            memory=machine.memory,
        )
        loss = _GPU_LOGIT * min(at_a_time * anatomy.vocabulary, _GPU_CHUNK)
        return _EMPTY["cuda"] + state + step + loss
    if anatomy.updates:
        step = round(_UPDATED[bfloat16] * step)
    gradients, table = _GRADIENT * trained_parameters(anatomy), anatomy.vocabulary * anatomy.hidden
    step += _OUTPUT * table + WEIGHT * anatomy.merged
    if several:  # those of the micro-batches before, and of this one
        step += 2 * gradients
    elif settings.recompute:
        step += gradients
    tried = 2 * min(_TRIED, settings.context)
    trial = layer_bytes(anatomy, tried, settings.context, bfloat16=False)
    trial += gradients + WEIGHT * anatomy.merged + _LOGITS * tried * anatomy.vocabulary
    weights = WEIGHT * (anatomy.parameters["total"] + anatomy.updates)
    if new_tokens:
        weights += WEIGHT * anatomy.parameters["embedding"]
    moments = moments_bytes(settings) * trained_parameters(anatomy)
    training = moments + max(step, gradients + _GRADIENT * table)
    scored = max(at_a_time, min(_SCORED, settings.eval_tokens or _SCORED))
    besides = round(_CHUNK_BYTES * min(1.0, scored * anatomy.vocabulary / _CHUNKS)) + _BESIDES
    if compiled:
        besides += _COMPILER[bfloat16] + _COMPARISON[bfloat16] * trained_parameters(anatomy)
    return round(_VARIES * (_EMPTY["cpu"] + besides + weights + max(training, trial)))


def micro_batch_that_fits(
    anatomy: Anatomy, settings: Train, batch: int, flops: float, machine: Machine
) -> tuple[int | None, bool] | None:
    """The largest micro-batch that fits in each process, and whether layers must be recomputed.

    The micro-batch is None where the whole batch fits at once; all of it None where not even one
    sample does. Neither changes what is learned.
    """
    share = max(batch // machine.processes, settings.context)
    for recompute in (settings.recompute, True):
        tokens = min(settings.micro_batch or share, share)
        while tokens >= settings.context:
            smaller = settings.model_copy(update={"micro_batch": tokens, "recompute": recompute})
            needed = run_bytes(anatomy, smaller, batch, flops, machine)
            if needed <= USABLE * machine.memory:
                return None if tokens == share else tokens, recompute
            tokens = tokens // settings.context // 2 * settings.context
    return None


def what_would_fit(settings: Train, derived: "Derived", machine: Machine) -> str:
    """The settings of the same run that would fit on the machine, as a hint."""
    fits = micro_batch_that_fits(derived.anatomy, settings, derived.batch, derived.flops, machine)
    if fits is None:
        return "choose a smaller shape or context: one sample at a time would not fit either"
    changes = [f"`train.micro_batch: {fits[0]} tokens`"] if fits[0] else []
    changes += ["`train.recompute: true`"] if fits[1] else []
    return f"{' with '.join(changes)} would fit; the result stays the same up to rounding"


@contextmanager
def enough_memory(name: str, settings: Train, derived: "Derived") -> Iterator[None]:
    """While entered, running out of memory is a UserError that names settings to try."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # PyTorch's are RuntimeErrors
        reason = str(error).lower()
        if not isinstance(error, MemoryError) and not any(x in reason for x in _EXHAUSTED):
            raise
        what = "out of memory; its checkpoints are kept: run it again to resume from there"
        machine = this_machine()
        less = replace(machine, memory=min(machine.memory, 0.8 * derived.memory))
        hint = what_would_fit(settings, derived, less)
        raise UserError(what, where=name, hint=hint, code="out_of_memory") from None
