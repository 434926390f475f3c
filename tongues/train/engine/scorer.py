"""A model with its loss, the one way in which training and validation compute it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from tongues.models.scorer import chunked_logits, log_probs
from tongues.text.tokens.frame import TextFrame
from tongues.train.engine.balance import balance_weight, balanced_outputs, balanced_rows
from tongues.train.engine.processor import Processor, autocast
from tongues.train.engine.rows import cut_rows
from tongues.train.engine.vocabulary import LOGITS, chunked_loss, full_loss, powers


class Scorer(nn.Module):
    """A causal model with its loss; `model` stays Hugging Face's own.

    apart: documents do not see one another, by positions that begin again; with `rows`, because
    each is read in a row of its own.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        processor: Processor,
        frame: TextFrame,
        *,
        apart: bool = False,
        chunked: bool = False,
    ) -> None:
        super().__init__()
        self.model, self.processor = model, processor
        self.frame, self.apart, self.chunked = frame, apart, chunked
        self.rows = False
        self.powers = powers
        self.balance_weight = balance_weight(model)
        self.balance: Tensor | None = None  # load-balancing loss of the last batch

    def forward(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        """Objective and nats of windows [samples, context + 1] of token ids, summed over tokens.

        The token that begins documents is given and never predicted. The objective has a
        gradient; nats is -log p alone, in float64, without one.
        In training, a mixture of experts adds its own load-balancing loss, times the number of
        tokens.
        """
        tokens, targets = windows[:, :-1], windows[:, 1:].flatten()
        counted = None if self.frame.bos is None else targets != self.frame.bos
        balanced = self.balance_weight and self.training and torch.is_grad_enabled()
        balance = hidden = logits = None
        with autocast(self.processor):
            if balanced and self.rows:
                rows = cut_rows(tokens, self.frame.first)
                hidden, logits, balance = balanced_rows(self.model, rows, self.chunked)
            elif balanced:
                inputs = self._inputs(tokens)
                hidden, logits, balance = balanced_outputs(self.model, inputs, self.chunked)
            elif self.chunked:
                hidden = self.hidden_states(tokens)
            else:
                logits = self.logits(tokens)
            if self.chunked:
                assert hidden is not None
                given = (targets, self.powers, counted)
                objective, nats = self._by_head(chunked_loss, hidden, *given)
            else:
                assert logits is not None
                logits = logits.flatten(0, 1)
                objective, nats = full_loss(logits, targets, counted)
        if balance is not None:
            self.balance = balance.detach()
            objective = objective + self.balance_weight * tokens.numel() * balance
        return objective, nats

    def hidden_states(self, tokens: Tensor) -> Tensor:
        """What comes before the output matrix, of token ids [samples, tokens]."""
        body = self.model.base_model
        with autocast(self.processor):
            return self._read(tokens, lambda inputs: body(**inputs).last_hidden_state)

    def logits(self, tokens: Tensor) -> Tensor:
        """The model's own, of token ids [samples, tokens]."""
        with autocast(self.processor):
            return self._read(tokens, lambda inputs: self.model(**inputs).logits)

    @torch.no_grad()
    def nats(self, windows: Tensor) -> Tensor:
        """-log p of every token of windows [samples, context + 1] but the first ones, flat.

        It is 0 for the token that begins documents, which is given.
        """
        tokens, targets = windows[:, :-1], windows[:, 1:].flatten()
        with autocast(self.processor):
            if not self.chunked:
                nats = -log_probs(self.logits(tokens).flatten(0, 1), targets)[0]
            else:
                nats = self._by_head(_nats, self.hidden_states(tokens), targets)
        return nats if self.frame.bos is None else nats * (targets != self.frame.bos)

    def _by_head(self, function: Callable[..., Any], hidden: Tensor, *given: Any) -> Any:
        """What a function makes of hidden states, the output matrix and its bias."""
        head: Any = self.model.get_output_embeddings()
        if head is None:
            raise ValueError("the model has no output matrix")
        use = getattr(head, "use", None) or partial(use_head, head)
        return use(hidden.flatten(0, 1), function, *given)

    def _read(self, tokens: Tensor, read: Callable[[dict[str, Any]], Tensor]) -> Tensor:
        """What the model makes of its inputs, as [samples, tokens, …]."""
        if not self.rows:
            return read(self._inputs(tokens) | {"use_cache": False})
        rows = cut_rows(tokens, self.frame.first)
        return rows.join([read({"input_ids": part, "use_cache": False}) for part in rows.parts])

    def _inputs(self, tokens: Tensor) -> dict[str, Tensor]:
        inputs = {"input_ids": tokens}
        if self.apart:
            inputs["position_ids"] = positions(tokens, self.frame.first)
        return inputs


def use_head(head: Any, hidden: Tensor, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function with hidden states, the output matrix and its bias.

    Where a model is shared out, it is this that gathers the matrix (`engine/sharding.py`).
    """
    return function(hidden, head.weight, head.bias, *given)


def _nats(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    chunks = chunked_logits(hidden, weight, bias, LOGITS[hidden.device.type])
    return torch.cat([-log_probs(logits, targets[part])[0] for part, logits in chunks])


def positions(tokens: Tensor, first: int) -> Tensor:
    """The place of every token [samples, context] in its document, from 0.

    Transformers reads positions that begin again as documents packed into one sample, unless
    there is a cache. `first` is what the first token of a document is predicted from, alone, as it
    is when the model is used: `bos`, or the token that ends the document before.
    """
    place = torch.arange(tokens.shape[1], device=tokens.device)
    return place - torch.where(tokens == first, place, 0).cummax(dim=1).values
