"""A model and its loss as they are computed on this machine, by the fastest way that is right."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from tongues.errors import UserError
from tongues.train.engine.attention import BLOCKED
from tongues.train.engine.compiling import compile_blocks
from tongues.train.engine.documents import positions
from tongues.train.engine.processor import Processor, autocast
from tongues.train.engine.vocabulary import chunked_loss, powers, whole_loss

__all__ = ["Choices", "Scorer", "fit_scorer"]

_UNABLE = (ValueError, TypeError, AttributeError, NotImplementedError)
_TRIED = 256  # tokens of a sample at most
_SAME = 1e-4  # relative, of loss and gradients in float32; a wrong way is off by far more


@dataclass(frozen=True, slots=True)
class Choices:
    """How a run is computed on this machine, for its record."""

    device: str
    precision: str
    threads: int
    attention: str
    loss: str  # chunked or whole
    compiled: bool


class Scorer(nn.Module):
    """A causal model with its loss; `model` stays Hugging Face's own."""

    def __init__(
        self, model: PreTrainedModel, processor: Processor, apart_by: int | None, chunked: bool
    ) -> None:
        super().__init__()
        self.model, self.processor = model, processor
        self.apart_by, self.chunked = apart_by, chunked
        self.powers = powers

    def forward(self, windows: Tensor, z_loss: float = 0.0) -> tuple[Tensor, Tensor]:
        """Objective and nats of windows [samples, context + 1] of token ids, summed over tokens.

        The objective has a gradient: nats + z_loss · logsumexp(logits)²; nats is -log p alone,
        in float64, without one.
        """
        tokens, wanted = windows[:, :-1], windows[:, 1:].flatten()
        inputs: dict[str, Tensor] = {"input_ids": tokens}
        if self.apart_by is not None:
            inputs["position_ids"] = positions(tokens, self.apart_by)
        with autocast(self.processor):
            if not self.chunked:
                logits = self.model(**inputs, use_cache=False).logits
                return whole_loss(logits.flatten(0, 1), wanted, z_loss)
            hidden = self.model.base_model(**inputs, use_cache=False).last_hidden_state
            head = self.model.get_output_embeddings()
            if head is None:
                raise ValueError("the model has no output matrix")
            return chunked_loss(
                hidden.flatten(0, 1), head.weight, head.bias, wanted, z_loss, self.powers
            )


def fit_scorer(
    model: PreTrainedModel,
    processor: Processor,
    *,
    context: int,
    apart_by: int | None,
    recompute: bool,
    compiled: bool,
    tell: Callable[[str], None],
) -> tuple[Scorer, Choices]:
    """The model with its loss, by the fastest ways that give what its own way gives.

    Each way is tried in float32 on random tokens beside the model's own, and left out, and told,
    where loss or gradients differ. recompute: layers anew in the backward pass. compiled: layer
    by layer, unless nothing can be compiled here.
    """
    chance = torch.Generator().manual_seed(0)
    size = (2, min(context, _TRIED) + 1)
    windows = torch.randint(model.config.vocab_size, size, generator=chance)
    windows = windows.to(processor.device)
    exact = Processor(processor.device, bfloat16=False, threads=processor.threads)
    own = Scorer(model, exact, apart_by, chunked=False)
    model.train()
    try:
        expected = _gradients(own, windows, "eager")
    except _UNABLE as error:
        what = f"transformers cannot train this model so: {error}"
        hint = "try `documents: joined`, or take another parent"
        raise UserError(what, where="train", hint=hint) from None
    attention = "eager"
    for way in _attentions(processor):
        if _same(_tried(own, windows, way), expected):
            attention = way
            break
        tell(f"this model's attention is not what `{_name(way)}` gives: another way is taken")
    model.set_attn_implementation(attention)
    scorer = Scorer(model, exact, apart_by, chunked=True)
    if not _same(_tried(scorer, windows, attention), expected):
        tell("this model's logits are more than one product: they are computed whole")
        scorer.chunked = False
    scorer.processor = processor
    if recompute:
        model.activation_checkpointing_enable()
    if compiled and (reason := compile_blocks(model)):
        tell(f"layers are not compiled: {reason}")
        compiled = False
    if compiled:
        scorer.powers = torch.compile(powers, dynamic=False)
    return scorer, Choices(
        device=str(processor.device),
        precision="bfloat16" if processor.bfloat16 else "float32",
        threads=processor.threads,
        attention=_name(attention),
        loss="chunked" if scorer.chunked else "whole",
        compiled=compiled,
    )


def _attentions(processor: Processor) -> tuple[str, ...]:
    """Ways to try, the fastest first."""
    return ("sdpa",) if processor.device.type == "cuda" else (BLOCKED, "sdpa")


def _name(attention: str) -> str:
    return attention.removeprefix("tongues_")


def _tried(scorer: Scorer, windows: Tensor, attention: str) -> Tensor | None:
    """As `_gradients`; None where they cannot be had by this way."""
    try:
        return _gradients(scorer, windows, attention)
    except (*_UNABLE, RuntimeError):
        return None


def _gradients(scorer: Scorer, windows: Tensor, attention: str) -> Tensor:
    """Loss and the norm of each weight's gradient."""
    scorer.model.set_attn_implementation(attention)
    objective, nats = scorer(windows, 1e-2)
    (objective / windows.numel()).backward()
    grads = [w.grad.norm() for w in scorer.parameters() if w.grad is not None]
    scorer.zero_grad(set_to_none=True)
    return torch.stack([nats.float(), *(grad.float() for grad in grads)])


def _same(found: Tensor | None, expected: Tensor) -> bool:
    if found is None or found.shape != expected.shape:
        return False
    return bool(torch.allclose(found, expected, rtol=_SAME, atol=_SAME * float(expected[1:].max())))
