"""The steps of a run: deal, train, log, evaluate, checkpoint."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from tongues.errors import Stopped, UserError
from tongues.files import append_line
from tongues.models import flops_per_token
from tongues.tokens import Mixture, Tokens
from tongues.train.checkpoint import Position, save_checkpoint
from tongues.train.documents import logits
from tongues.train.plan import Derived, RunPlan
from tongues.train.processor import Processor, autocast
from tongues.train.schedule import evaluation_steps, rate_at
from tongues.train.signals import StopSignal
from tongues.train.validation import HeldOut, validate

__all__ = ["Progress", "Setup", "train_steps"]

_LOGGED = 200  # lines of metrics a run


@dataclass(frozen=True, slots=True)
class Progress:
    """What a watcher is told about a run, about once a second."""

    step: int
    steps: int
    loss: float  # nats per token on the training text
    losses: dict[str, float]  # the newest on held-out text, by language
    tokens_per_second: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class Setup:
    """What the steps of one run work with."""

    plan: RunPlan
    derived: Derived
    directory: Path
    tokens: Tokens
    mixture: Mixture
    texts: Mapping[str, HeldOut]  # by language
    model: PreTrainedModel
    optimizer: torch.optim.Optimizer
    processor: Processor

    @property
    def apart_by(self) -> int | None:
        """The token that ends a document, where documents are kept apart."""
        return self.tokens.end_id if self.plan.settings.documents == "apart" else None


def train_steps(
    setup: Setup, position: Position | None, watch: Callable[[Progress], None]
) -> float:
    """Every step from `position` (None: the start) to the end; returns seconds of training."""
    settings, steps, directory = setup.plan.settings, setup.derived.steps, setup.directory
    samples = setup.derived.batch // settings.context
    evaluated = set(evaluation_steps(steps, settings.evaluations))
    log_every = max(1, steps // _LOGGED)
    losses: dict[str, float] = {}
    if position is None:
        position = Position(step=0, seconds=0.0, loss_sum=0.0)
        losses = _evaluate(setup, step=0)

    loss_sum, shown_step = position.loss_sum, position.step
    started = time.monotonic() - position.seconds
    saved = shown = time.monotonic()
    with StopSignal() as stop:
        for step in range(position.step + 1, steps + 1):
            rate = rate_at(
                step - 1, steps, setup.derived.rate, settings.warmup, settings.final_rate
            )
            loss, norm = _train_step(setup, setup.mixture.batch(step - 1, samples), rate)
            loss_sum += loss
            if step % log_every == 0 or step == steps:
                averaged = loss_sum / ((step - 1) % log_every + 1)
                row = {"step": step, "tokens": step * setup.derived.batch, "loss": averaged}
                append_line(directory / "metrics.jsonl", row | {"rate": rate, "norm": norm})
                loss_sum = 0.0
            if step in evaluated:
                losses = _evaluate(setup, step)
            now = time.monotonic()
            if now - shown >= 1 or step == steps:
                speed = (step - shown_step) * setup.derived.batch / max(now - shown, 1e-9)
                left = (steps - step) * setup.derived.batch / speed
                clock = {"seconds": round(now - started, 3), "tokens_per_second": round(speed)}
                append_line(directory / "timing.jsonl", {"step": step, "steps": steps} | clock)
                watch(Progress(step, steps, loss, losses, speed, left))
                shown, shown_step = now, step
            if step < steps and (stop.asked or now - saved >= settings.checkpoint_every):
                position = Position(step, now - started, loss_sum)
                save_checkpoint(directory / "checkpoints", setup.model, setup.optimizer, position)
                saved = time.monotonic()
                if stop.asked:
                    raise Stopped(f"{setup.plan.name} stopped at step {step} of {steps}")
    return time.monotonic() - started


def _train_step(setup: Setup, dealt: np.ndarray, rate: float) -> tuple[float, float]:
    """Train on one batch [samples, context + 1]; returns its loss and the gradient's norm."""
    batch = torch.from_numpy(dealt).to(setup.processor.device)
    for group in setup.optimizer.param_groups:
        group["lr"] = rate
    with autocast(setup.processor):
        predicted = logits(setup.model, batch[:, :-1], setup.apart_by)
        loss = cross_entropy(predicted.flatten(0, 1).float(), batch[:, 1:].flatten())
    loss.backward()
    norm = nn.utils.clip_grad_norm_(setup.model.parameters(), setup.plan.settings.clip)
    setup.optimizer.step()
    setup.optimizer.zero_grad(set_to_none=True)
    loss_now, norm_now = torch.stack([loss.detach(), norm]).tolist()  # one wait for the device
    if not (math.isfinite(loss_now) and math.isfinite(norm_now)):
        raise UserError(
            "loss or gradient is no longer a number",
            where=setup.plan.name,
            hint="lower `train.rate`, or set `precision: float32`",
        )
    return loss_now, norm_now


def _evaluate(setup: Setup, step: int) -> dict[str, float]:
    """Write a line a language to `evals.jsonl`; returns nats per token by language."""
    settings, plan = setup.plan.settings, setup.plan
    samples = step * (setup.derived.batch // settings.context)
    dealt, epochs = setup.mixture.dealt(samples), setup.mixture.epochs(samples)
    flops = flops_per_token(plan.shape, setup.tokens.vocabulary_size, settings.context)
    losses = validate(setup.model, setup.texts, setup.processor, setup.apart_by)
    for lang, loss in losses.items():
        row = {
            "step": step,
            "tokens": step * setup.derived.batch,
            "tokens_lang": dealt.get(lang, 0) * settings.context,
            "epochs_lang": epochs.get(lang, 0.0),
            "flops": float(flops) * step * setup.derived.batch,
            "lang": lang,
            "loss": loss.nats_per_token,
            "bits_per_byte": loss.bits_per_byte,
        }
        append_line(setup.directory / "evals.jsonl", row)
    return {lang: loss.nats_per_token for lang, loss in losses.items()}
