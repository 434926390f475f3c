"""The recipe of a plan: the recommended option as a file that `tongues check` accepts."""

import io
import math
import textwrap
from pathlib import Path
from typing import Any

from tongues.errors import Caution, UserError, nearest
from tongues.files import write_text
from tongues.hardware import this_machine
from tongues.models import Anatomy, Shape, find_shape, of_shape
from tongues.plan.options import Option
from tongues.plan.plan import Plan
from tongues.plan.recommend import ADVISED_REPLAY
from tongues.quantities import show_bytes, show_count
from tongues.recipe import Ancestry, Made, ModelShape, Recipe, Text, TokenSettings, Train
from tongues.runs import read_run
from tongues.train.rules import (
    batch_by_size,
    context_by_size,
    micro_batch_that_fits,
    nearest_shape,
    rate_at_size,
    run_bytes,
    shared_batch,
    vocabulary_by_size,
)

__all__ = ["PLACEHOLDER_BASE", "write_recipe"]

PLACEHOLDER_BASE = "PUT-YOUR-BASE-HERE"
_STEPS = 100  # fewer steps than this teach little: rather a smaller batch
_FARTHEST = 4.0  # times the size of the nearest shape that is still of use
_READINGS = 500  # times that placeholder text is read


def write_recipe(
    plan: Plan, path: Path, like: Recipe | None = None, target: str | None = None
) -> tuple[Caution, ...]:
    """Write the recommended option as a recipe; returns what its reader must look after.

    like: a recipe whose name, text and tokens are taken; made languages stand in without one.
    target: the language to learn, where `like` has several.
    """
    if path.exists():
        hint = "choose another name, or remove it first"
        raise UserError("is there already", where=str(path), hint=hint)
    option = plan.recommendation.option
    if option.params is None or option.tokens is None:
        raise UserError(
            f"the law of `{option.name}` knows compute alone, so there is no size to write down",
            where="--write",
            hint="give a law by size and tokens too, such as `--law zheng2024-scratch`",
            code="no_size",
        )
    recipe, remarks = _compose(plan, option, like, target)
    comment = "\n".join(
        line
        for sentence in (plan.recommendation.why, plan.recommendation.sure, *remarks.values())
        for line in textwrap.wrap(sentence, 96, initial_indent="# ", subsequent_indent="#   ")
    )
    write_text(path, f"# Written by `tongues plan`.\n{comment}\n{_as_yaml(recipe)}")
    return tuple(
        Caution(code, sentence)
        for code, sentence in remarks.items()
        if code not in ("shape", "tokens", "replay")
    )


def _compose(
    plan: Plan, option: Option, like: Recipe | None, target: str | None
) -> tuple[Recipe, dict[str, str]]:
    """The recipe, and sentences about it by code."""
    assert option.params is not None
    assert option.tokens is not None
    remarks: dict[str, str] = {}
    vocabulary = like.tokens.vocabulary if like else vocabulary_by_size(option.params)
    shape, count, about_shape = _shape(option, vocabulary)
    far = abs(math.log(count / option.params)) > math.log(1.5)
    remarks["other_size" if far else "shape"] = about_shape
    tokens = int(float(f"{plan.question.tokens or option.flops / (6 * count):.4g}"))
    remarks["tokens"] = (
        f"Tokens: {show_count(tokens)}, which with these parameters takes "
        f"{6.0 * count * tokens:.3g} FLOPs."
    )
    text = like.text if like else _placeholder(option, tokens)
    share = plan.recommendation.replay_share
    learned, others = _languages(like, text, target)
    kept = others[0] if share and others else None
    if option.way.replay and not kept:
        raise UserError(
            "the plan replays source text, and the recipe has text of one language only",
            where="--for",
            hint="add the source language to its `text`, or plan with `--replay 0`",
        )
    if share and not option.way.replay:
        remarks["replay"] = (
            f"Replay: {share:.0%} of source text is put in; the published study advises "
            f"{ADVISED_REPLAY}."
            if kept
            else f"Replay: {ADVISED_REPLAY} of source text is advised; add its language to `text`."
        )
    if like is None:
        remarks["placeholder_text"] = (
            f"Text: made text ({' and '.join(text.languages)}) stands in for yours. List your own "
            f"files under `text.files` and write their tags into `train.mixture`: "
            f"`{learned}` is the language to learn."
        )
    held_out = like.tokens.held_out if like else TokenSettings().held_out
    anatomy = of_shape(shape, vocabulary)
    train: dict[str, Any] = {
        "mixture": {learned: 1.0},
        **({"replay": {kept: share}} if kept else {}),
        "budget": f"{tokens} tokens",
        "context": f"{context_by_size(option.params, held_out)} tokens",
        "rate": float(f"{rate_at_size(None, anatomy.parameters['non_embedding']):.2g}"),
    }
    train |= _batch(plan, anatomy, tokens, train, remarks)
    if like:
        train["run"] = f"{like.name}-plan"
    if option.way.strategy == "cpt":
        model, remarks["placeholder_base"] = _start(option)
        train["base"] = {"model": model, "languages": others[:1]}
    recipe = Recipe(
        name=like.name if like else "plan",
        text=text,
        tokens=like.tokens if like else TokenSettings.model_validate({"vocabulary": vocabulary}),
        model=ModelShape(shape=shape.name),
        train=Train.model_validate(train),
    )
    return recipe, {code: sentence for code, sentence in remarks.items() if sentence}


def _shape(option: Option, vocabulary: int) -> tuple[Shape, int, str]:
    """The shape to train, its exact parameters, and how far they are from the plan's."""
    assert option.params is not None
    directory = _run_of_base(option)
    if directory:
        record = read_run(directory)
        shape, count = find_shape(record.shape), record.params["total"]
        return shape, count, f"Model: shape {shape.name}, as the base has it."
    shape, count = nearest_shape(option.params, vocabulary)
    if max(count / option.params, option.params / count) > _FARTHEST:
        raise UserError(
            f"{show_count(option.params)} parameters are planned, and the nearest shape there is, "
            f"{shape.name}, has {show_count(count)}",
            where="--write",
            hint="settle a size that there is by `--params`, or ask for another budget",
            code="no_such_shape",
        )
    off = count / option.params - 1
    said = (
        f"Model: {show_count(option.params)} parameters are planned; the nearest shape is "
        f"{shape.name}, which with a vocabulary of {vocabulary:,} has {count:,} ({off:+.0%})."
    )
    return shape, count, said


def _run_of_base(option: Option) -> Path | None:
    """The directory of the base, when it is a run of the store here."""
    if option.way.base is None:
        return None
    directory = Path("runs") / option.way.base.name
    return directory if (directory / "run.json").is_file() else None


def _start(option: Option) -> tuple[str, str]:
    """What `train.base` names, and what is still to be done about it."""
    base = option.way.base
    if base is None:
        return PLACEHOLDER_BASE, (
            "Start: `train.base` must name the base, a run of the store or a Hugging Face folder "
            "of this very shape, trained on the source language; `tongues train` refuses until "
            "then."
        )
    if _run_of_base(option) or (Path(base.name) / "config.json").is_file():
        return base.name, ""
    return base.name, (
        f"Start: `train.base` names `{base.name}`, which is neither a run under runs/ nor a "
        "Hugging Face folder here; write its path, and the shape it has."
    )


def _placeholder(option: Option, tokens: int) -> Text:
    """Made languages: the source, where the option has one, and the target."""
    size = max(1, math.ceil(tokens / _READINGS / 1e6))
    languages = {"qaa": Ancestry()}
    if option.way.strategy == "cpt":
        languages["qab"] = Ancestry(mother="qaa", distance=0.2)
    made = {"size": f"{size} MB", "languages": languages}
    return Text(made=Made.model_validate(made))


def _languages(like: Recipe | None, text: Text, target: str | None) -> tuple[str, list[str]]:
    """The language to learn, and the others, the one that the base knows first."""
    known = text.languages
    if like is None:
        learned, others = known[-1], list(known[:-1])
    else:
        learned = target or _target_of(like)
        if learned not in known:
            what = f"language `{learned}` has no text in the recipe"
            raise UserError(what, where="--target", hint=nearest(learned, known))
        source = [like.study.source] if like.study else [*like.train.replay, *like.train.mixture]
        others = [lang for lang in (*source, *known) if lang != learned]
    return learned, others


def _target_of(like: Recipe) -> str:
    """The language a recipe learns; a UserError when it learns several."""
    if like.study:
        if len(like.study.targets) > 1:
            hint = f"choose one by `--target`: {', '.join(like.study.targets)}"
            raise UserError("the recipe has several targets", where="--for", hint=hint)
        return like.study.targets[0]
    learned = list(like.train.mixture) or list(like.text.languages[:1])
    if len(learned) > 1:
        hint = f"choose one by `--target`: {', '.join(learned)}"
        raise UserError("the recipe has several targets", where="--for", hint=hint)
    return learned[0]


def _batch(
    plan: Plan, anatomy: Anatomy, tokens: int, train: dict[str, Any], remarks: dict[str, str]
) -> dict[str, Any]:
    """`batch`, by size where that leaves enough steps, and `micro_batch` where memory asks."""
    cluster = plan.question.cluster
    machine = cluster.machine if cluster else this_machine()
    settings = Train.model_validate(train)
    context, by_size = (
        settings.context,
        batch_by_size(anatomy.parameters["total"], settings.context),
    )
    most = max(context, min(by_size, tokens // _STEPS))
    batch = shared_batch(most, context, machine.processes)
    written: dict[str, Any] = {"batch": "by size" if batch == by_size else f"{batch} tokens"}
    if batch < by_size:
        reason = "the run is short" if most < by_size else f"{machine.processes} GPUs share it"
        remarks["smaller_batch"] = (
            f"Batch: the rule for this size asks for {by_size:,} tokens a step; {batch:,} are "
            f"taken, since {reason}."
        )
    flops = float(anatomy.flops_per_token(context)) * tokens
    fits = micro_batch_that_fits(anatomy, settings, batch, flops, machine)
    if fits is None:
        one = settings.model_copy(update={"micro_batch": context})
        needed = show_bytes(run_bytes(anatomy, one, batch, flops, machine))
        remarks["larger_machine"] = (
            f"Memory: even one sample at a time takes {needed} in each process; {machine.name} has "
            f"{show_bytes(machine.memory)}. Train on a larger machine."
        )
        return written
    micro_batch, recompute = fits
    written |= {"micro_batch": f"{micro_batch} tokens"} if micro_batch else {}
    return written | ({"recompute": True} if recompute else {})


def _as_yaml(recipe: Recipe) -> str:
    """The recipe without what is left at its default."""
    from ruamel.yaml import YAML

    out = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.dump(recipe.model_dump(mode="json", exclude_unset=True, exclude_none=True), out)
    return out.getvalue()
