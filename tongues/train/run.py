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
from tongues.models.huggingface import save_model
from tongues.randomness import derive_seed
from tongues.runs import Record, read_record, write_record
from tongues.tokens import Mixture, Tokens, open_tokens, tokenizer_files
from tongues.train.card import write_card
from tongues.train.checkpoint import load_checkpoint
from tongues.train.directory import find_parent, open_directory, roll_back
from tongues.train.loop import Progress, Setup, train_steps
from tongues.train.plan import Derived, RunPlan, derive
from tongues.train.processor import attention_for, set_up
from tongues.train.start import check_parent, first_model, operate, seen_by_parent
from tongues.train.validation import held_out

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
    mixture = _mixture(plan, tokens)
    record = _record(plan, derived, tokens, mixture, parent)
    directory = workspace / "runs" / plan.name
    lacked = check_parent(plan, tokens, parent) if parent else None
    with only_one(directory):
        if open_directory(directory, record, rebuild) == "finished":
            tell(f"{plan.name} is finished already")
            return directory
        for lang, times in record["epochs"].items():
            if times > 1:
                tell(f"`{lang}` will be read {times:.3g} times")
        for lang, share in (seen_by_parent(tokens, parent, workspace) if parent else {}).items():
            tell(
                f"caution: {share:.0%} of the groups held out of `{lang}` were not held out from "
                "the parent, which may have learned them (held_out_seen)"
            )
        model = first_model(plan, derived, tokens, parent, lacked)
        nn.Module.to(model, processor.device)
        model.set_attn_implementation(attention_for(processor))
        setup = Setup(
            plan=plan,
            derived=derived,
            directory=directory,
            tokens=tokens,
            mixture=mixture,
            texts={
                lang: held_out(tokens.valid(lang), tokens.token_bytes, plan.settings.context)
                for lang in plan.settings.evaluate or tokens.languages
            },
            model=model,
            optimizer=_optimizer(model, plan, derived.rate),
            processor=processor,
        )
        record = read_record(directory)
        if lacked and not record["surgery"]:
            record["surgery"] = operate(setup, lacked, tell)
            write_record(directory, record)
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
        for file in tokenizer_files(setup.tokens.path):
            if not (aside / file.name).exists():  # what the model says of itself counts
                shutil.copyfile(file, aside / file.name)
        write_card(aside, record)
    write_record(directory, {**record, "status": "finished", "seconds": round(seconds, 3)})
    shutil.rmtree(checkpoints, ignore_errors=True)


def _optimizer(model: PreTrainedModel, plan: RunPlan, rate: float) -> torch.optim.Optimizer:
    """Fused AdamW; matrices decay, norms do not."""
    matrices = [weight for weight in model.parameters() if weight.ndim >= 2]
    vectors = [weight for weight in model.parameters() if weight.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": plan.settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=True)


def _mixture(plan: RunPlan, tokens: Tokens) -> Mixture:
    sources = {lang: tokens.train(lang) for lang in plan.shares}
    seed = derive_seed(plan.settings.seed, "mixture")
    return Mixture(sources, plan.shares, plan.settings.context, seed)


def _record(
    plan: RunPlan, derived: Derived, tokens: Tokens, mixture: Mixture, parent: Path | None
) -> Record:
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
        shares=plan.shares,
        foreign={lang: tokens.foreign[lang] for lang in plan.shares},
        epochs=mixture.epochs(derived.tokens // plan.settings.context),
        surgery=None,
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
