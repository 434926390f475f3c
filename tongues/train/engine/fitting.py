"""A model fitted to this machine: computed by the fastest ways that are right, each tried first."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from tongues.core.errors import UserError
from tongues.text.tokens.frame import TextFrame
from tongues.train.engine.processor import Processor, compile_layers, reason_of
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.trial import exact_products, random_state, take_gradients
from tongues.train.engine.vocabulary import powers

# Causal attention by blocks of rows on a CPU.
#
# Each block of queries meets only the keys up to its end, by plain batched products, which small
# heads multiply several times faster than the built-in kernel and half as much as a whole matrix.
# Keys before the first that any query of the block may see are left out too: of documents that do
# not see one another, and before a window.

# Compiled code leaves no keys out, since how many differs from sample to
# sample; the second is never compiled.
BLOCKED, DOCUMENTS = "tongues_blocked", "tongues_documents"
_ROWS = 128  # queries at a time


def blocked_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    **kwargs: object,
) -> tuple[Tensor, None]:
    """What transformers' attention interface asks for; heads of queries may share keys.

    attention_mask: true where a query [.., rows, 1] may see a key [.., 1, columns], the same for
    all heads; it must forbid later columns.
    """
    if dropout or softcap or query.shape[2] != key.shape[2]:
        raise ValueError("blocked attention knows no dropout, soft caps or caches")
    if attention_mask is None or attention_mask.dtype != torch.bool or attention_mask.shape[1] > 1:
        raise ValueError("blocked attention wants a mask of yes and no, one for all heads")
    heads, context, width = query.shape[1:]
    groups = key.shape[1]
    query = query * (width**-0.5 if scaling is None else scaling)
    query = query.unflatten(1, (groups, heads // groups))
    key = key.transpose(2, 3)
    parts, left_out = [], not torch.compiler.is_compiling()
    for start in range(0, context, _ROWS):
        stop = min(start + _ROWS, context)
        rows = query[:, :, :, start:stop]
        seen = attention_mask[:, :, None, start:stop, :stop]
        first = int(seen.amax((0, 1, 2, 3)).int().argmax()) if start and left_out else 0
        seen = seen[..., first:]
        scores = torch.matmul(rows.flatten(2, 3), key[..., first:stop])
        scores = scores.unflatten(2, rows.shape[2:4])
        # Added, not filled in: so its gradient costs nothing.
        hidden = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
        weights = (scores.float() + hidden).softmax(-1).to(value.dtype)
        part = torch.matmul(weights.flatten(2, 3), value[:, :, first:stop])
        parts.append(part.unflatten(2, rows.shape[2:4]))
    mixed = torch.cat(parts, dim=3).flatten(1, 2)
    return mixed.transpose(1, 2).contiguous(), None


def _whole_mask(*given: Any, **named: Any) -> Tensor | None:
    """Transformers' mask, made even where it says no more than that attention is causal."""
    return sdpa_mask(*given, **named | {"allow_is_causal_skip": False})


AttentionInterface.register(BLOCKED, blocked_attention)
AttentionInterface.register(DOCUMENTS, torch.compiler.disable(blocked_attention))
AttentionMaskInterface.register(BLOCKED, _whole_mask)
AttentionMaskInterface.register(DOCUMENTS, _whole_mask)
_UNABLE = (ValueError, TypeError, AttributeError, NotImplementedError)
_TRIED = 256  # tokens of a sample at most
_SAME = 1e-4  # relative, of loss and gradients in float32; a wrong way is off by far more
_LONG = 4096  # tokens from which the keys of other documents cost more than compiling saves
# Of the logits' spread: what rounding changes where experts share products is 1e-6 of it, and a
# short convolution with random weights 3e-4. Rows are right however their experts are rounded.
_SEEN, _NOISE = 1e-5, 1e-3
_LARGE = 256.0  # logits at which any soft cap shows


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
) -> tuple[Scorer, dict[str, Any]]:
    """The model with its loss, by the fastest ways that give what its own way gives; and which.

    Each way is compared in float32 on random tokens with the model's own, and left out with a
    message where loss or gradients differ. sample: on which they are compared, such as the model's
    first layers where its weights are not there yet; None: the model. apart: documents do not see
    each other. recompute: compute layers again in the backward pass. compiled: layer by layer,
    unless nothing can be compiled here; `try_compiled` compares it.
    """
    sample = model if sample is None else sample
    size, seeded = (2, min(context, _TRIED) + 1), torch.Generator().manual_seed(0)
    windows = torch.randint(model.config.vocab_size, size, generator=seeded).to(processor.device)
    exact = Processor(processor.device, bfloat16=False, threads=processor.threads)
    own = Scorer(sample, exact, frame, apart=apart, chunked=False)
    model.train()
    sample.train()
    with exact_products():
        attention, chunked = _try_ways(own, windows, context, tell)
    for each in (sample, model):
        each.set_attn_implementation(attention)
    scorer = Scorer(model, processor, frame, apart=apart, chunked=chunked)
    scorer.rows = own.rows
    if recompute:
        model.activation_checkpointing_enable()
    if compiled and scorer.rows:
        tell("layers are not compiled: rows of documents change their shape from step to step")
        compiled = False
    if compiled and (reason := compile_layers(model, processor.device)):
        tell(f"layers are not compiled: {reason}")
        compiled = False
    if compiled:
        scorer.powers = torch.compile(powers, dynamic=False)
    return scorer, {
        "device": str(processor.device),
        "precision": "bfloat16" if processor.bfloat16 else "float32",
        "threads": processor.threads,
        "attention": _name(getattr(model.config, "_attn_implementation", attention)),
        "loss": "chunked" if scorer.chunked else "full",
        "compiled": compiled,
    }


def _try_ways(
    own: Scorer, windows: Tensor, context: int, tell: Callable[[str], None]
) -> tuple[str, bool]:
    """The attention to take, and whether the loss may be computed in chunks.

    own: computes the model's own way; from here on with documents in rows where they need it.
    """
    sample, apart, frame = own.model, own.apart, own.frame
    before = random_state(windows.device)
    try:
        if apart:
            sample.set_attn_implementation("eager")
            _keep_apart(own, windows[:1, :-1], tell)
        expected = _gradients(own, windows, "eager")
    except _UNABLE as error:
        what = f"transformers cannot train this model so: {error}"
        hint = "try `cross_document_attention: true`, or take another base"
        raise UserError(what, where="train", hint=hint) from None
    if not expected.isfinite().all():
        what = "its weights give no number for a loss or a gradient"
        hint = "look for nan or inf in them, and take the model from another place"
        raise UserError(what, where="train.base", hint=hint)
    drawn = not torch.equal(random_state(windows.device), before)
    if drawn and not _same(_tried(own, windows, "eager"), expected):
        tell(
            "caution: this model draws random numbers in training: no two ways give the same, and "
            "a run that is resumed is another one (random_model)"
        )
    ways = ("sdpa",)
    if windows.device.type == "cpu":  # documents are left out where they are multiplied in blocks
        ways = (DOCUMENTS if apart and context >= _LONG else BLOCKED, "sdpa")
    attention = _choose_attention(own, windows, expected, ways, tell)
    sample.set_attn_implementation(attention)
    if apart:
        _keep_apart(own, windows[:1, :-1], tell)
    trial = Scorer(sample, own.processor, frame, apart=apart, chunked=True)
    trial.rows = own.rows
    chunked = _same(_tried(trial, windows, attention), expected)
    chunked = chunked and _same_when_large(trial, own, windows)
    if not chunked:
        tell("in chunks, the loss is not this model's own: it takes all logits of a micro-batch")
    return attention, chunked


def _choose_attention(
    own: Scorer,
    windows: Tensor,
    expected: Tensor,
    ways: Sequence[str],
    tell: Callable[[str], None],
) -> str:
    """The first of the ways that gives what the model's own attention gives; or that."""
    for way in ways:
        fault = "loss or gradients are not this model's own"
        try:
            right = _same(_gradients(own, windows, way), expected)
        except Exception as error:  # kernels, and compilers of kernels, may fail in any way
            own.zero_grad(set_to_none=True)
            right, fault = False, reason_of(error)
        if right:
            return way
        tell(f"attention is not computed by `{_name(way)}`: {fault}")
    return "eager"


def _name(attention: str) -> str:
    return attention.removeprefix("tongues_")


def _tried(scorer: Scorer, windows: Tensor, attention: str) -> Tensor | None:
    try:
        return _gradients(scorer, windows, attention)
    except (*_UNABLE, RuntimeError):
        return None


def _gradients(scorer: Scorer, windows: Tensor, attention: str) -> Tensor:
    scorer.model.set_attn_implementation(attention)
    objective, nats = scorer(windows)
    (objective / windows.numel()).backward()
    norms = [grad.norm().float() for grad in take_gradients(scorer).values()]
    return torch.stack([nats.float(), *norms])


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


def _keep_apart(scorer: Scorer, tokens: Tensor, tell: Callable[[str], None]) -> None:
    """Have documents read in rows where the model mixes those packed into a sample."""
    kind = f"a model of the kind `{scorer.model.config.model_type}`"
    with suppress(*_UNABLE):  # some know no positions
        if not _mixes(scorer, tokens, _SEEN):
            return
    if not scorer.rows:
        scorer.rows = True
        tell(f"each document is read in a row of its own: packed, {kind} would mix them")
    if _mixes(scorer, tokens, _NOISE):
        what = f"documents cannot be kept apart in {kind}"
        hint = "set `cross_document_attention: true`: even in rows of their own they change others"
        raise UserError(what, where="train.cross_document_attention", hint=hint)


@torch.no_grad()
def _mixes(scorer: Scorer, tokens: Tensor, tolerance: float) -> bool:
    """Whether the document before moves a document's logits by more than that of their spread."""
    first, begins = scorer.frame.first, tokens.shape[1] // 2
    other = (first + 1) % scorer.model.config.vocab_size
    tokens = torch.where(tokens == first, other, tokens)
    changed = torch.flip(tokens, dims=[1])
    for sample in (tokens, changed):
        sample[:, begins:] = tokens[:, begins:].clone()
        sample[:, begins] = first
    scorer.model.eval()  # which draws no random numbers
    try:
        before, after = (scorer.logits(sample)[:, begins:] for sample in (tokens, changed))
    finally:
        scorer.model.train()
    return bool((before - after).abs().max() > tolerance * before.std())
