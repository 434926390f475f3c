"""A model fitted to this machine: computed by the fastest ways that are right, each tried first."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tongues.errors import UserError
from tongues.models.huggingface import logits_differ
from tongues.tokens.frame import TextFrame
from tongues.train.engine.attention import BLOCKED, DOCUMENTS
from tongues.train.engine.processor import Processor, compile_layers
from tongues.train.engine.scorer import Scorer, positions
from tongues.train.engine.vocabulary import powers

__all__ = ["Choices", "fit_scorer"]

_UNABLE = (ValueError, TypeError, AttributeError, NotImplementedError)
_TRIED = 256  # tokens of a sample at most
_SAME = 1e-4  # relative, of loss and gradients in float32; a wrong way is off by far more
_LONG = 4096  # tokens from which the keys of other documents cost more than compiling saves
_LARGE = 256.0  # logits at which any soft cap shows


@dataclass(frozen=True, slots=True)
class Choices:
    """How a run is computed on this machine, for its record."""

    device: str
    precision: str
    threads: int
    attention: str
    loss: str  # chunked or full
    compiled: bool


def fit_scorer(
    model: PreTrainedModel,
    processor: Processor,
    *,
    context: int,
    frame: TextFrame,
    sample: PreTrainedModel | None = None,
    apart: bool = False,
    recompute: bool,
    compiled: bool,
    tell: Callable[[str], None],
) -> tuple[Scorer, Choices]:
    """The model with its loss, by the fastest ways that give what its own way gives.

    Each way is compared in float32 on random tokens with the model's own, and left out with a
    message where loss or gradients differ. sample: on which they are compared, such as the model's
    first layers where its weights are not there yet; None: the model. apart: documents do not see
    each other. recompute: compute layers again in the backward pass. compiled: layer by layer,
    unless nothing can be compiled here.
    """
    sample = model if sample is None else sample
    size, seeded = (2, min(context, _TRIED) + 1), torch.Generator().manual_seed(0)
    windows = torch.randint(model.config.vocab_size, size, generator=seeded).to(processor.device)
    exact = Processor(processor.device, bfloat16=False, threads=processor.threads)
    own = Scorer(sample, exact, frame, apart=apart, chunked=False)
    model.train()
    sample.train()
    before = _chance(processor.device)
    try:
        expected = _gradients(own, windows, "eager")
    except _UNABLE as error:
        what = f"transformers cannot train this model so: {error}"
        hint = "try `cross_document_attention: true`, or take another base"
        raise UserError(what, where="train", hint=hint) from None
    if not expected.isfinite().all():
        what = "its weights give no number for a loss or a gradient"
        hint = "look for nan or inf in them, and take the model from another place"
        raise UserError(what, where="train.base", hint=hint)
    drawn = not torch.equal(_chance(processor.device), before)
    if drawn and not _same(_tried(own, windows, "eager"), expected):
        tell(
            "caution: this model draws random numbers in training: no two ways give the same, and "
            "a run that is resumed is another one (random_model)"
        )
    # Ways to try, the fastest first.
    blocks = DOCUMENTS if apart and context >= _LONG else BLOCKED
    ways = ("sdpa",) if processor.device.type == "cuda" else (blocks, "sdpa")
    attention = "eager"
    for way in ways:
        if _same(_tried(own, windows, way), expected):
            attention = way
            break
        tell(f"this model's attention is not what `{_name(way)}` gives: another way is taken")
    for each in (sample, model):
        each.set_attn_implementation(attention)
    if apart:
        _keeps_apart(sample, windows[:1, :-1], frame.first)
    trial = Scorer(sample, exact, frame, apart=apart, chunked=True)
    chunked = _same(_tried(trial, windows, attention), expected)
    chunked = chunked and _same_when_large(trial, own, windows)
    if not chunked:
        tell("this model's logits are more than one product: the loss is computed without chunks")
    scorer = Scorer(model, processor, frame, apart=apart, chunked=chunked)
    if recompute:
        model.activation_checkpointing_enable()
    if compiled and (reason := compile_layers(model, processor.device)):
        tell(f"layers are not compiled: {reason}")
        compiled = False
    if compiled:
        scorer.powers = torch.compile(powers, dynamic=False)
    return scorer, Choices(
        device=str(processor.device),
        precision="bfloat16" if processor.bfloat16 else "float32",
        threads=processor.threads,
        attention=_name(getattr(model.config, "_attn_implementation", attention)),
        loss="chunked" if scorer.chunked else "full",
        compiled=compiled,
    )


def _name(attention: str) -> str:
    return attention.removeprefix("tongues_")


def _chance(device: torch.device) -> Tensor:
    """The state of the random numbers that a model there draws."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _tried(scorer: Scorer, windows: Tensor, attention: str) -> Tensor | None:
    try:
        return _gradients(scorer, windows, attention)
    except (*_UNABLE, RuntimeError):
        return None


def _gradients(scorer: Scorer, windows: Tensor, attention: str) -> Tensor:
    scorer.model.set_attn_implementation(attention)
    objective, nats = scorer(windows, 1e-2)
    (objective / windows.numel()).backward()
    grads = [w.grad.norm() for w in scorer.parameters() if w.grad is not None]
    scorer.zero_grad(set_to_none=True)
    return torch.stack([nats.float(), *(grad.float() for grad in grads)])


def _same(values: Tensor | None, expected: Tensor) -> bool:
    if values is None or values.shape != expected.shape:
        return False
    return bool(
        torch.allclose(values, expected, rtol=_SAME, atol=_SAME * float(expected[1:].max()))
    )


@torch.no_grad()
def _same_when_large(scorer: Scorer, own: Scorer, windows: Tensor) -> bool:
    """Whether both ways give the same loss with an output matrix so large that a cap would show."""
    head = scorer.model.get_output_embeddings()
    assert head is not None  # its gradients were compared
    weight = head.get_parameter("weight")
    largest = own.model(input_ids=windows[:1, :-1], use_cache=False).logits.abs().max().item()
    times = 2.0 ** max(0, math.ceil(math.log2(_LARGE / max(largest, 1e-6))))  # undone exactly
    weight.mul_(times)
    loss, expected = (way(windows)[1].item() for way in (scorer, own))
    weight.div_(times)
    return math.isclose(loss, expected, rel_tol=1e-3)


@torch.no_grad()
def _keeps_apart(model: PreTrainedModel, tokens: Tensor, first: int) -> None:
    begins = tokens.shape[1] // 2
    tokens = torch.where(tokens == first, (first + 1) % model.config.vocab_size, tokens)
    changed = torch.flip(tokens, dims=[1])
    for sample in (tokens, changed):
        sample[:, begins:] = tokens[:, begins:].clone()
        sample[:, begins] = first
    before, after = (
        model(input_ids=sample, position_ids=positions(sample, first), use_cache=False).logits
        for sample in (tokens, changed)
    )
    if logits_differ(before[:, begins:], after[:, begins:]):
        what = f"documents cannot be kept apart in a model of the kind `{model.config.model_type}`"
        hint = "transformers lets them see one another there; set `cross_document_attention: true`"
        raise UserError(what, where="train.cross_document_attention", hint=hint)
