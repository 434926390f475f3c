"""A run assembled on this machine: first model, optimizer and text, ready to step."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from transformers import PreTrainedModel

from tongues.core.cores import core_count, threads_for
from tongues.core.randomness import derive_seed
from tongues.models.folders import stores_bfloat16
from tongues.models.huggingface import build_model, check_causal, load_model, open_layout
from tongues.models.sources import DrawnWeights, FolderWeights, WeightSource
from tongues.models.token_map import TokenMap, resize_vocabulary
from tongues.recipe import LowRank
from tongues.text.tokens import Mixture, Tokens, load_tokenizer, open_cluster, open_tokens
from tongues.train.base import find_base, model_folder
from tongues.train.base_tokens import check_base
from tongues.train.engine.balance import balance_note
from tongues.train.engine.compiling import try_compiled
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.loading import fill_weights, first_layers
from tongues.train.engine.optimizer import make_optimizer
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import Processor, set_up
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import make_mesh, shard
from tongues.train.parts import narrow_frozen, select_parts
from tongues.train.planned import Derived, RunPlan
from tongues.train.replay import cut_parts
from tongues.train.rules import compile_pays
from tongues.train.step import BatchLoader, HeldOut, Setup, cut_windows, gradient, update
from tongues.train.transplant import transplanted
from tongues.train.trials import choose_threads, samples_that_fit, tries_threads

if TYPE_CHECKING:
    from peft import PeftModel

# Seconds of stepping in which a speed is measured, and steps before; chosen: little of any budget.
_TRIAL, _WARM = 5.0, 3

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A run and where it is to be computed."""

    plan: RunPlan
    tokens: Tokens
    base: Path | None
    token_map: TokenMap | None  # where the base's tokenizer does not have all tokens
    directory: Path
    processes: Processes
    threads: int  # of each process, at most

    @property
    def where(self) -> str:
        """Where the run's weights come from, for errors."""
        return self.plan.base or self.plan.name


def open_run(
    plan: RunPlan, workspace: Path, processes: Processes, threads: int | None, tell: Say
) -> LocalRun:
    """A run with its text and its base, which must fit.

    threads: of each process at most, where the recipe names no number; None: the machine's.
    """
    tokens = open_tokens(workspace / "tokens" / plan.tokens)
    if plan.cluster:
        tokens = open_cluster(tokens, plan.cluster)
    base, token_map = find_base(plan.base, workspace), None
    if base:
        whole = base
        base = processes.once(lambda: transplanted(whole, tokens, workspace, tell))
        plan = plan if base == whole else replace(plan, base=str(base))
        token_map = check_base(plan, load_tokenizer(tokens.tokenizer_path), base)
    share = threads_for(processes.local_count)
    each = plan.settings.threads or min(threads or share, share)
    if each > core_count():
        tell(f"caution: {each} threads on {core_count()} cores wait for each other")
    directory = workspace / "runs" / plan.name
    return LocalRun(plan, tokens, base, token_map, directory, processes, each)


def make_mixture(plan: RunPlan, derived: Derived, tokens: Tokens) -> Mixture:
    """The sampling order of the run's training text."""
    sources = {lang: tokens.train(lang) for lang in plan.shares}
    seed = derive_seed(plan.settings.seed, "mixture")
    samples = derived.batch // plan.settings.context
    context, frame = plan.settings.context, tokens.frame
    return Mixture(sources, plan.shares, context, seed, samples, frame=frame)


def assemble(
    task: LocalRun, derived: Derived, tell: Say, engine: Mapping[str, Any] | None
) -> tuple[Setup, dict[str, Any], Sequence[Tensor]]:
    """The run as before the first step, how it is computed here, and the base's embeddings.

    engine: how an earlier sitting computed it; precision, compilation and threads are kept to. The
    embeddings are returned where new tokens are still to get theirs (`initialize`).
    """
    plan, tokens, settings = task.plan, task.tokens, task.plan.settings
    processes, precision = task.processes, engine["precision"] if engine else settings.precision
    shared = processes.count > 1
    processor = set_up(precision, task.threads, processes.local_rank, shared=shared)
    mesh = make_mesh(processes, processor.device.type, settings.shards, settings.offload)
    model, source, sample, adapter, embeddings = _open_model(task, derived, processor, mesh)
    if settings.trains_part:
        total = derived.parameters["total"]
        tell(f"trains {derived.trained:,} parameters; the base has {total:,}")
    scorer, choices = fit_scorer(
        model,
        processor,
        context=settings.context,
        frame=tokens.frame,
        sample=sample,
        apart=not settings.cross_document_attention,
        recompute=settings.recompute,
        compiled=_is_compiled(task, derived, processor, engine),
        tell=tell,
    )
    del sample
    texts = _held_out(task)
    if note := balance_note(model):
        tell(note)
    _place_weights(scorer, source, mesh, task)
    known = _known_micro_batch(task, engine)
    setup = Setup(
        plan=plan,
        derived=derived,
        directory=task.directory,
        tokens=tokens,
        mixture=make_mixture(plan, derived, tokens),
        texts=texts,
        checked={
            lang: cut_parts(texts[lang], tokens.token_bytes, derived.tokens)
            for lang in settings.max_forgetting
        },
        scorer=scorer,
        optimizer=make_optimizer(scorer.model, settings, derived.learning_rate),
        processor=processor,
        processes=processes,
        samples_at_a_time=(known or derived.batch // processes.count) // settings.context,
        adapter=adapter,
        new_tokens=task.token_map.is_new.to(processor.device) if task.token_map else None,
    )
    if processor.device.type == "cuda" and known is None:
        setup = replace(setup, samples_at_a_time=samples_that_fit(setup))
    return setup, _settle(setup, task, choices, engine, tell), embeddings


def _open_model(
    task: LocalRun, derived: Derived, processor: Processor, mesh: DeviceMesh | None
) -> tuple[
    PreTrainedModel,
    WeightSource | None,
    PreTrainedModel | None,
    "PeftModel | None",
    Sequence[Tensor],
]:
    """The model with what is trained of it, and where its weights come from if it has none yet.

    Then the layers on which ways of computing are tried, None where the model itself will do; the
    model as peft has it; and the base's embeddings.
    """
    settings, processes = task.plan.settings, task.processes
    # Low-rank updates are of matrices that are there, and a model of one process is whole.
    whole = processes.count == 1 and not settings.offload
    if whole or isinstance(settings.trainable, LowRank):
        model, embeddings = _first_model(task, derived)
        adapter, sample = select_parts(model, settings), None
        if mesh is not None:
            sample = first_layers(model)
            nn.Module.to(sample, processor.device)
        return model, None, sample, adapter, embeddings
    if task.base:
        folder = model_folder(task.base)
        source = FolderWeights(folder, open_layout(folder), task.token_map)
        model, embeddings = source.model, source.base_rows
        assert model.num_parameters() == derived.parameters["total"]
    else:
        with DrawnWeights() as source:
            model, embeddings = _first_model(task, derived)
        source.name(model)
    select_parts(model, settings)
    sample = first_layers(model)
    fill_weights(sample, sample, source, processor.device, processes, task.where)
    if task.base:
        check_causal(model_folder(task.base), sample)
    return model, source, sample, None, embeddings


def _is_compiled(
    task: LocalRun, derived: Derived, processor: Processor, engine: Mapping[str, Any] | None
) -> bool:
    """By the recipe, or as the run was begun, or where it pays."""
    if task.plan.settings.compile != "auto":
        return task.plan.settings.compile == "on"
    if engine:
        return engine["compiled"]
    share = derived.flops / task.processes.count
    return compile_pays(share, processor.bfloat16, processor.device.type)


def _held_out(task: LocalRun) -> dict[str, HeldOut]:
    """The held-out text that the run's evaluations score, by language."""
    tokens, settings = task.tokens, task.plan.settings
    most, context = settings.eval_tokens, settings.context
    return {
        lang: cut_windows(tokens.valid(lang), tokens.token_bytes, context, most, tokens.frame)
        for lang in settings.eval_languages or tokens.languages
    }


def _place_weights(
    scorer: Scorer, source: WeightSource | None, mesh: DeviceMesh | None, task: LocalRun
) -> None:
    """Bring weights to where they are computed with, shared out; those of a source come last."""
    model, processor, offload = scorer.model, scorer.processor, task.plan.settings.offload
    narrow = (
        task.base and task.plan.settings.trains_part and stores_bfloat16(model_folder(task.base))
    )
    if narrow and processor.bfloat16 and processor.device.type == "cuda":
        narrow_frozen(model)
    if source is None:
        nn.Module.to(model, processor.device)
    shard(scorer, mesh, bfloat16=processor.bfloat16, offload=offload)
    if source is not None:
        place = torch.device("cpu") if offload else processor.device
        fill_weights(scorer, model, source, place, task.processes, task.where)
        for buffer in model.buffers():
            buffer.data = buffer.to(processor.device)


def _settle(
    setup: Setup,
    task: LocalRun,
    choices: Mapping[str, Any],
    engine: Mapping[str, Any] | None,
    tell: Say,
) -> dict[str, Any]:
    """Choose the threads and try the compiled layers; returns how the run is computed."""
    processes = task.processes
    micro_batch = setup.samples_at_a_time * setup.plan.settings.context
    used = {**choices, "processes": processes.count, "micro_batch": micro_batch}
    if setup.processor.device.type == "cuda":
        used["gpu"] = torch.cuda.get_device_name(setup.processor.device)
    if tries_threads(setup):
        before = engine["threads"] if engine else task.threads + 1
        used["threads"] = before if before <= task.threads else choose_threads(setup)
        torch.set_num_threads(used["threads"])
    if choices["compiled"]:
        windows = _first_micro_batch(setup)
        if reason := try_compiled(setup.scorer, windows, processes):
            tell(f"layers are not compiled: {reason}")
            used["compiled"] = False
    return used


def _first_micro_batch(setup: Setup) -> Tensor:
    """What this process reads first.

    Real text: on random tokens rounding alone turned SmolLM2's gradients by 76 %, on text by 5 %.
    """
    share = setup.samples // setup.processes.count
    first = setup.processes.rank * share
    windows = setup.mixture.batch(0, slice(first, first + setup.samples_at_a_time))
    return torch.from_numpy(windows).to(setup.processor.device)


def _known_micro_batch(task: LocalRun, engine: Mapping[str, Any] | None) -> int | None:
    """Tokens at a time by the recipe, or as the run was begun by as many processes."""
    named = task.plan.settings.micro_batch
    if named is None and engine and engine["processes"] == task.processes.count:
        named = engine["micro_batch"]
    return named


def measure_speed(task: LocalRun, derived: Derived, tell: Say, seconds: float = _TRIAL) -> float:
    """Tokens a second, by training that many seconds; the result is thrown away."""
    setup, _, _ = assemble(task, derived, lambda line: None, None)
    loader, step, start = BatchLoader(setup), 0, 0.0
    going = True
    while going:
        if step == _WARM:
            start = time.monotonic()
        late = step > _WARM and time.monotonic() - start > seconds
        going = not gradient(setup, loader, step, (late,)).flags[0]
        update(setup, 0.0)
        step += 1
    taken = task.processes.sum([time.monotonic() - start])[0] / task.processes.count
    speed = (step - _WARM) * derived.batch / taken
    tell(f"{speed:,.0f} tokens/s measured, for a budget of {task.plan.settings.budget}")
    return speed


def _first_model(task: LocalRun, derived: Derived) -> tuple[PreTrainedModel, Sequence[Tensor]]:
    plan, tokens = task.plan, task.tokens
    if task.base is None:
        assert plan.shape is not None
        model = build_model(
            plan.shape,
            tokens.vocabulary_size,
            plan.settings.context,
            tied_embeddings=plan.tied_embeddings,
            end_id=tokens.frame.end,
            seed=derive_seed(plan.settings.seed, "weights"),
        )
        return model, ()
    model = load_model(model_folder(task.base))
    embeddings = resize_vocabulary(model, task.token_map) if task.token_map else ()
    assert model.num_parameters() == derived.parameters["total"]
    return model, embeddings
