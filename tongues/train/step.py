"""A step of training, and the loss on held-out text."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from tongues.core.errors import UserError
from tongues.core.files import append_line
from tongues.text.tokens import Mixture, Tokens
from tongues.text.tokens.frame import TextFrame
from tongues.text.tokens.mixture import Phase
from tongues.train.engine.optimizer import set_rate
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import Processor, uncompiled
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import full_tensor, reshard, synchronize
from tongues.train.planned import Derived, RunPlan

if TYPE_CHECKING:
    from peft import PeftModel


_TOKENS = 8192  # of held-out text scored at a time, about
_CLIP = 1.0  # largest norm of the gradient, as usual


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The held-out tokens of a language, cut into windows, and the bytes of their text."""

    windows: torch.Tensor  # [windows, context + 1]; neighbours share one token
    bos: int | None  # is seen in them and never predicted
    tokens: int  # that are predicted
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Setup:
    """A run ready to step."""

    plan: RunPlan
    derived: Derived
    directory: Path
    tokens: Tokens
    mixture: Mixture
    texts: Mapping[str, HeldOut]  # by language
    # of languages with `max_forgetting`: parts, checked in turn
    checked: Mapping[str, tuple[HeldOut, ...]]
    scorer: Scorer
    optimizer: torch.optim.Optimizer
    processor: Processor
    processes: Processes
    samples_at_a_time: int  # of a micro-batch, in each process
    adapter: "PeftModel | None" = None  # the model with its low-rank updates
    new_tokens: Tensor | None = None  # of each id, whether the base does not have it

    @property
    def samples(self) -> int:
        """Of a batch, over all processes."""
        return self.derived.batch // self.plan.settings.context

    def mixture_with(self, phases: Sequence[Phase]) -> Mixture:
        """The sampling order of the run; phases: where its shares changed."""
        return replace(self.mixture, phases=phases)

    def log(self, file: str, row: Mapping[str, Any]) -> None:
        """Add a line to one of the run's logs; only the first process does."""
        if self.processes.first:
            append_line(self.directory / file, row)


class BatchLoader:
    """Loads this process's samples of each batch, the next one while the device computes."""

    def __init__(self, setup: Setup, phases: Sequence[Phase] = ()) -> None:
        self._setup, self._mixture = setup, setup.mixture_with(phases)
        self._ahead: tuple[int, Tensor] | None = None
        self._predicted = 0  # tokens of the batch that is loaded ahead, in all processes

    def load(self, number: int) -> tuple[Tensor, int]:
        """The samples [samples, context + 1] of batch `number`, from 0.

        The second result is the number of tokens that are predicted, in all processes.
        """
        ahead, self._ahead = self._ahead, None
        if ahead and ahead[0] == number:
            return ahead[1], self._predicted
        batch, predicted = self._load(number)
        return batch, int(self._setup.processes.sum([predicted])[0])

    def load_ahead(self, number: int) -> int:
        """Load batch `number` in advance; the tokens of this process's part that are predicted."""
        batch, predicted = self._load(number)
        self._ahead = number, batch
        return predicted

    def know(self, predicted: int) -> None:
        """Take note of how many tokens of the batch ahead are predicted, in all processes."""
        self._predicted = predicted

    def _load(self, number: int) -> tuple[Tensor, int]:
        setup = self._setup
        share = setup.samples // setup.processes.count
        first = setup.processes.rank * share
        ours = self._mixture.batch(number, slice(first, first + share))
        batch = torch.from_numpy(ours)
        if setup.processor.device.type == "cuda":
            batch = batch.pin_memory()
        predicted = count_predicted(ours, setup.tokens.frame.bos)
        return batch.to(setup.processor.device, non_blocking=True), predicted


@dataclass(frozen=True, slots=True)
class Gradient:
    """The numbers of a step before its update."""

    loss: float  # nats per token of the batch
    norm: float  # of the gradient, before clipping
    flags: tuple[bool, ...]  # set by any process
    balance: float | None = None  # the load-balancing loss of a mixture of experts


def gradient(setup: Setup, loader: BatchLoader, number: int, flags: tuple[bool, ...]) -> Gradient:
    """Compute the clipped gradient of batch `number`; the same for any number of processes.

    flags: such as to stop after this step; a flag that one process sets is set for all.
    """
    batch, predicted = loader.load(number)
    parts = batch.split(setup.samples_at_a_time)
    nats = torch.zeros((), dtype=torch.float64, device=setup.processor.device)
    balance = torch.zeros_like(nats)
    for place, windows in enumerate(parts):
        synchronize(setup.scorer, place == len(parts) - 1)
        objective, of_part = setup.scorer(windows)
        (objective / predicted).backward()
        nats += of_part
        if setup.scorer.balance is not None:
            balance += setup.scorer.balance * windows[:, 1:].numel()
    weights = [weight for weight in setup.scorer.parameters() if weight.grad is not None]
    grads = [weight.grad for weight in weights if weight.grad is not None]
    norm = full_tensor(nn.utils.get_total_norm(grads))
    nn.utils.clip_grads_with_norm_(weights, _CLIP, norm)
    ahead = loader.load_ahead(number + 1)
    norm = norm.to(nats)  # gradients that are offloaded have theirs on the processor
    here = torch.stack([nats, norm, balance]).tolist()  # one synchronization with the device
    sums = setup.processes.sum([here[0], here[2], ahead, *map(float, flags)])
    loss, balanced = sums[0] / predicted, sums[1] / setup.derived.batch
    loader.know(int(sums[2]))
    raised = tuple(count > 0 for count in sums[3:])
    return Gradient(loss, here[1], raised, balanced if setup.scorer.balance_weight else None)


def update(setup: Setup, rate: float) -> None:
    """Update the weights by their gradient, and clear it."""
    set_rate(setup.optimizer, rate)
    setup.optimizer.step()
    setup.optimizer.zero_grad(set_to_none=True)


@dataclass(frozen=True, slots=True)
class HeldOutLoss:
    """Loss on one language's held-out text."""

    nats_per_token: float
    bits_per_byte: float
    new_tokens: float | None = None  # nats per token that the base does not have, if there are any
    old_tokens: float | None = None


def count_predicted(windows: np.ndarray, bos: int | None) -> int:
    """The tokens of windows [n, context + 1] that are predicted: all but the first and `bos`."""
    wanted = windows[:, 1:]
    return wanted.size - (0 if bos is None else int((wanted == bos).sum()))


def held_out_windows(windows: Tensor, token_bytes: np.ndarray, bos: int | None) -> HeldOut:
    """Windows of held-out text, with what is predicted in them."""
    ids = windows.numpy()
    return HeldOut(windows, bos, count_predicted(ids, bos), int(token_bytes[ids[:, 1:]].sum()))


def cut_windows(
    tokens: np.ndarray,
    token_bytes: np.ndarray,
    context: int,
    at_most: int | None = None,
    frame: TextFrame | None = None,
) -> HeldOut:
    """Cut a language's held-out tokens into windows: each token is predicted once.

    at_most: tokens to score; if there are more, evenly spaced windows are scored. frame: begins
    every window; None: as it is in the text.
    """
    count = (len(tokens) - 1) // context
    if count <= 0:
        need = f"a context of {context} takes {context + 1}"
        what = f"{len(tokens)} held-out tokens are too few: {need}"
        hint = "lower `train.context`, or raise `tokens.held_out` and prepare again"
        raise UserError(what, where="tokens.held_out", hint=hint)
    windows = np.lib.stride_tricks.sliding_window_view(tokens, context + 1)[::context][:count]
    if at_most is not None and count * context > at_most:
        taken = max(1, at_most // context)
        windows = windows[np.arange(taken) * count // taken]
    windows = windows.astype(np.int64)
    if frame:
        windows = frame.begin(windows)
    return held_out_windows(torch.from_numpy(windows), token_bytes, frame.bos if frame else None)


def validate(
    scorer: Scorer,
    texts: Mapping[str, HeldOut],
    processes: Processes,
    new_tokens: Tensor | None = None,
) -> dict[str, HeldOutLoss]:
    """The loss of each language: the sum over its tokens over their number, or their bytes.

    new_tokens: of each id, whether it counts among those whose loss is reported apart.
    Documents are kept apart or not as the scorer does in training.
    """
    scorer.eval()
    with torch.no_grad(), uncompiled():
        each = [_nats(scorer, text, processes, new_tokens) for text in texts.values()]
        sums = processes.sum([nats for pair in each for nats in pair])
    reshard(scorer)
    scorer.train()
    losses: dict[str, HeldOutLoss] = {}
    for (lang, text), total, new in zip(texts.items(), sums[::2], sums[1::2], strict=True):
        loss = HeldOutLoss(total / text.tokens, total / math.log(2) / text.text_bytes)
        count = 0 if new_tokens is None else int(new_tokens.cpu()[text.windows[:, 1:]].sum())
        if 0 < count < text.tokens:
            old = (total - new) / (text.tokens - count)
            loss = replace(loss, new_tokens=new / count, old_tokens=old)
        losses[lang] = loss
    return losses


def _nats(
    scorer: Scorer, text: HeldOut, processes: Processes, new_tokens: Tensor | None
) -> list[float]:
    """The nats of this process's windows, and those of new tokens in them.

    All processes score equally often, as FSDP asks.
    """
    parts = text.windows.split(max(1, _TOKENS // text.windows.shape[1]))
    total = torch.zeros(2, dtype=torch.float64, device=scorer.processor.device)
    for first in range(0, len(parts), processes.count):
        ours = processes.share(parts[first : first + processes.count])
        windows = (ours[0] if ours else text.windows[:1]).to(scorer.processor.device)
        if new_tokens is None:
            nats = torch.stack([scorer(windows)[1], total.new_zeros(())])
        else:
            each = scorer.nats(windows).double()
            nats = torch.stack([each.sum(), each[new_tokens[windows[:, 1:].flatten()]].sum()])
        total += nats if ours else 0.0
    return total.tolist()
