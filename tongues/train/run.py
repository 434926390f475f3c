"""One run, from random weights or from another run's, interrupted and resumed exactly."""

import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
import transformers
from torch import nn
from transformers import PreTrainedModel

from tongues import __version__
from tongues.errors import UserError
from tongues.files import file_hash, fingerprint, only_one, whole_directory
from tongues.models.huggingface import build_model, load_model, save_model
from tongues.randomness import derive_seed
from tongues.runs import Record, read_record, write_record
from tongues.tokens import Tokens, open_tokens
from tongues.train.card import write_card
from tongues.train.checkpoint import load_checkpoint
from tongues.train.directory import find_parent, open_directory, roll_back
from tongues.train.loop import Progress, Setup, train_steps
from tongues.train.plan import Derived, RunPlan, derive
from tongues.train.processor import attention_for, set_up

__all__ = ["train"]


def train(
    plan: RunPlan,
    workspace: Path,
    *,
    watch: Callable[[Progress], None] = lambda progress: None,
    tell: Callable[[str], None] = lambda line: None,
    threads: int | None = None,
    rebuild: bool = False,
) -> Path:
    """Train the run of `plan` in `workspace` and return its directory.

    A finished run with the same fingerprint is left as it is; an unfinished one goes on from its
    newest whole checkpoint; one with another fingerprint is a UserError unless `rebuild`. It
    computes on `threads` threads (all cores by default) when the recipe names no number.
    """
    processor = set_up(plan.settings.precision, plan.settings.threads or threads)
    tokens = open_tokens(workspace / "tokens" / plan.tokens)
    parent = find_parent(plan.parent, workspace)
    derived = derive(plan, tokens.vocabulary_size)
    record = _record(plan, derived, tokens, parent)
    directory = workspace / "runs" / plan.name
    if parent:
        _check_parent(plan, derived, tokens, parent)
    with only_one(directory):
        if open_directory(directory, record, rebuild) == "finished":
            tell(f"{plan.name} is finished already")
            return directory
        model = _first_model(plan, derived, tokens, parent)
        nn.Module.to(model, processor.device)
        model.set_attn_implementation(attention_for(processor))
        optimizer = _optimizer(model, plan)
        setup = Setup(plan, derived, directory, tokens, model, optimizer, processor)
        _go_on(setup, record, watch, tell)
    return directory


def _go_on(
    setup: Setup,
    record: Record,
    watch: Callable[[Progress], None],
    tell: Callable[[str], None],
) -> None:
    """Train from the newest checkpoint, or the start, to the end; leave the model."""
    directory = setup.directory
    checkpoints = directory / "checkpoints"
    position, damaged = load_checkpoint(checkpoints, setup.model, setup.optimizer)
    for place in damaged:
        tell(f"{place} is damaged and passed over")
    if position:
        tell(f"{setup.plan.name} goes on from step {position.step} of {setup.derived.steps}")
    roll_back(directory, position.step if position else -1)
    try:
        seconds = train_steps(setup, position, watch)
    except UserError:
        write_record(directory, {**record, "status": "failed"})
        raise
    with whole_directory(directory / "model") as aside:
        save_model(setup.model, aside)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copyfile(setup.tokens.path / name, aside / name)
        write_card(aside, record)
    write_record(directory, {**record, "status": "finished", "seconds": round(seconds, 3)})
    shutil.rmtree(checkpoints, ignore_errors=True)


def _check_parent(plan: RunPlan, derived: Derived, tokens: Tokens, parent: Path) -> None:
    """Refuse a parent of another tokenizer, or another size, before anything is written."""
    if _tokenizer_of(parent) != file_hash(tokens.tokenizer_path):
        what = f"`{plan.parent}` was trained with another tokenizer than these tokens"
        hint = "continue from a run of the same recipe's tokens"
        raise UserError(what, where="train.init_from", hint=hint)
    recorded = read_record(parent)["params"] if (parent / "run.json").is_file() else None
    if recorded and recorded != derived.parameters:
        raise _other_shape(plan)


def _other_shape(plan: RunPlan) -> UserError:
    what = f"`{plan.parent}` is of another shape than {plan.shape.name}"
    return UserError(what, where="model.shape", hint="give the shape of the parent")


def _first_model(
    plan: RunPlan, derived: Derived, tokens: Tokens, parent: Path | None
) -> PreTrainedModel:
    """The model before its first step: random, or the parent's weights."""
    if parent is None:
        return build_model(
            plan.shape,
            tokens.vocabulary_size,
            plan.settings.context,
            tied_embeddings=plan.tied_embeddings,
            seed=derive_seed(plan.settings.seed, "weights"),
        )
    model = load_model(_model_of(parent))
    if model.num_parameters() != derived.parameters["total"]:
        raise _other_shape(plan)
    return model


def _model_of(parent: Path) -> Path:
    """The Hugging Face folder of a run, or the folder itself."""
    return parent / "model" if (parent / "run.json").is_file() else parent


def _tokenizer_of(parent: Path) -> str:
    tokenizer = _model_of(parent) / "tokenizer.json"
    if not tokenizer.is_file():
        what, hint = "holds no tokenizer.json", "put the model's own tokenizer beside it"
        raise UserError(what, where=str(_model_of(parent)), hint=hint)
    return file_hash(tokenizer)


def _optimizer(model: PreTrainedModel, plan: RunPlan) -> torch.optim.Optimizer:
    """Fused AdamW; matrices decay, norms do not."""
    matrices = [weight for weight in model.parameters() if weight.ndim >= 2]
    vectors = [weight for weight in model.parameters() if weight.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": plan.settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=plan.settings.rate, betas=(0.9, 0.95), fused=True)


def _record(plan: RunPlan, derived: Derived, tokens: Tokens, parent: Path | None) -> Record:
    parent_fingerprint = None
    if parent is not None and (parent / "run.json").is_file():
        parent_fingerprint = read_record(parent)["fingerprint"]
    elif parent is not None:
        parent_fingerprint = fingerprint(
            [file_hash(f) for f in sorted(parent.glob("*.safetensors"))]
        )
    settings = plan.identity()
    return Record(
        run=plan.name,
        fingerprint=fingerprint([settings, tokens.fingerprint, parent_fingerprint]),
        status="running",
        strategy=plan.strategy,
        target=plan.target,
        source=plan.source,
        replay=plan.replay,
        parent=plan.parent,
        parent_fingerprint=parent_fingerprint,
        shape=plan.shape.name,
        params=derived.parameters,
        seed=plan.settings.seed,
        steps=derived.steps,
        tokens=derived.tokens,
        flops=derived.flops,
        settings=settings,
        tokens_fingerprint=tokens.fingerprint,
        versions={
            "tongues": __version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
        },
        seconds=None,
    )
