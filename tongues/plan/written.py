"""The recipe of a plan: the recommended option as a file that `tongues check` accepts."""

import io
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tongues.errors import Caution, UserError
from tongues.files import write_text
from tongues.hardware import GPUS, LARGER_MACHINE, Machine, this_machine
from tongues.hub import is_hub_id
from tongues.laws import PRESETS
from tongues.models import Anatomy, Shape, of_shape
from tongues.plan.laws import Known
from tongues.plan.options import Option
from tongues.plan.plan import Plan
from tongues.plan.published import published_projects, usual_replay
from tongues.plan.recipe_text import recipe_text
from tongues.quantities import show_bytes, show_count
from tongues.recipe import ModelShape, Recipe, TokenSettings, Train
from tongues.train.base import PLACEHOLDER_BASE, is_run_name, model_folder
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

_STEPS = 100  # fewer steps than this teach little: rather a smaller batch
_FARTHEST = 4.0  # times the size of the nearest shape that is still of use
_NODE = 8  # GPUs of a usual node; what they divide, 1, 2 and 4 divide too
_PLAIN = ("shape", "tokens", "batch", "text")  # remarks that ask nothing of a reader

_NO_BASE = (
    "Start: `train.base` must name the base, a run of the store or a Hugging Face folder of this "
    "very shape, trained on the source language; `tongues train` refuses until then."
)
_UNKNOWN_BASE = (
    "Start: `train.base` names `{base}`, which is neither a run under runs/ nor a Hugging Face "
    "folder or id; if it is one by another name, write that here and in `tokens.base`, and leave "
    "`model.shape` out."
)


def write_recipe(
    plan: Plan, path: Path, like: Recipe | None = None, target: str | None = None
) -> tuple[Caution, ...]:
    """Write the recommended option as a recipe; returns what its reader must look after.

    like: a recipe whose name, text and tokens are taken.
    target: the language to learn, where `like` has several.
    """
    if path.exists():
        hint = "choose another name, or remove it first"
        raise UserError("is there already", where=str(path), hint=hint)
    option = plan.recommendation.option
    if not plan.recommendation.decided:
        raise _undecided(plan)
    if option.way.experts:
        raise UserError(
            f"`{option.name}` is trained by a recipe with a section `experts`",
            where="--write",
            hint="add `experts: {partitions: […]}` to that of the runs: `tongues experts train`",
            code="no_single_run",
        )
    if option.params is None or option.tokens is None:
        raise UserError(
            f"the law of `{option.name}` knows compute alone, so there is no size to write down",
            where="--write",
            hint="give a law by size and tokens too, such as `--law zheng2024-scratch`",
            code="no_size",
        )
    from ruamel.yaml import YAML

    recipe, remarks = _compose(plan, option, option.params, like, target)
    comment = "\n".join(
        line
        for sentence in filter(
            None, (plan.recommendation.why, plan.recommendation.sure, *remarks.values())
        )
        for line in textwrap.wrap(sentence, 96, initial_indent="# ", subsequent_indent="#   ")
    )
    out, yaml = io.StringIO(), YAML()
    yaml.default_flow_style = False  # what is left at its default is left out
    yaml.dump(recipe.model_dump(mode="json", exclude_unset=True, exclude_none=True), out)
    write_text(path, f"# Written by `tongues plan`.\n{comment}\n{out.getvalue()}")
    return tuple(Caution(code, what) for code, what in remarks.items() if code not in _PLAIN)


def _undecided(plan: Plan) -> UserError:
    """The error for a plan without advice: which options decide."""
    question, laws = plan.question, {o.way.strategy: o.way.laws for o in plan.options}
    known = [base.name for base in question.bases if question.knows_already(base)]
    if known:
        what = f"`{known[0]}` knows `{question.language}` already, and how well is unknown"
        hint = f"give its loss on your text before training by `--base-loss`, in {question.unit}"
    elif len(laws) > 1:
        what = "these laws do not decide between training from scratch and continuing"
        scratch, cpt = (_options_of(laws[strategy]) for strategy in ("scratch", "cpt"))
        bases = " and no `--base`" * bool(question.bases)
        hint = f"choose: give only {cpt} to continue a base, or only {scratch}{bases} to train "
        hint += "from scratch"
    else:
        what = "neither these laws nor published projects decide"
        hint = "give another budget, or other bases by `--base`"
    return UserError(what, where="--write", hint=hint, code="not_decided")


def _options_of(laws: Sequence[Known]) -> str:
    named = " ".join(f"--law {one.name}" for one in laws if one.name in PRESETS)
    own = [f"a file of `{one.name}`" for one in laws if one.name not in PRESETS]
    return " and ".join([*([f"`{named}`"] if named else []), *own])


def _compose(
    plan: Plan, option: Option, params: float, like: Recipe | None, target: str | None
) -> tuple[Recipe, dict[str, str]]:
    remarks: dict[str, str] = {}
    vocabulary = like.tokens.vocab_size if like else vocabulary_by_size(params)
    home, shape, count = _home(option.base), None, params
    if home:
        remarks["shape"] = f"Model: the base's, {show_count(params)} parameters."
    else:
        shape, nearest_count, about_shape = _shape(params, vocabulary, plan.largest)
        count = params if option.base else nearest_count
        far = abs(math.log(nearest_count / params)) > math.log(1.5)
        remarks["other_size" if far else "shape"] = about_shape
    planned = min(option.flops / (6 * count), option.way.most_tokens)
    tokens = int(float(f"{plan.question.tokens or planned:.4g}"))
    flops = 6.0 * count * tokens
    remarks["tokens"] = (
        f"Tokens: {show_count(tokens)}, which with these parameters takes {flops:.3g} FLOPs."
    )
    share, advised = option.way.replay, option.way.strategy == "cpt" and not option.way.base
    if advised and not plan.question.replay and not option.way.advice:
        share = usual_replay(published_projects())[0]
    text = recipe_text(option, plan.question, share, tokens, like, target)
    learned, others = text.learned, list(text.others)
    replayed = others[0] if share and others else None
    if option.way.replay and not replayed:
        raise UserError(
            "the plan replays source text, and the recipe has text of one language only",
            where="--for",
            hint="add the source language to its `text`, or plan with `--replay 0`",
        )
    if text.remark:
        remarks["placeholder_text" if text.made else "text"] = text.remark
    train: dict[str, Any] = {
        "mixture": {learned: 1.0},
        **({"replay": {replayed: share}} if replayed else {}),
        "budget": f"{tokens} tokens",
    }
    if shape:  # a base that is there says the rest itself
        held_out = (like.tokens if like else TokenSettings()).held_out_of(tokens)
        anatomy = of_shape(shape, vocabulary)
        rate = rate_at_size(None, anatomy.parameters["non_embedding"])
        train["context"] = f"{context_by_size(params, held_out)} tokens"
        train["learning_rate"] = float(f"{rate:.2g}")
        train |= _batch(plan, anatomy, tokens, train, remarks)
    if like:
        train["run"] = f"{like.name}-plan"
    if option.way.strategy == "cpt":
        train["base"] = {"model": option.base or PLACEHOLDER_BASE, "languages": others[:1]}
        if not home:
            unknown = _UNKNOWN_BASE.format(base=option.base)
            remarks["placeholder_base"] = unknown if option.base else _NO_BASE
    model: dict[str, Any] = {"model": ModelShape(shape=shape.name)} if shape else {}
    recipe = Recipe(
        name=like.name if like else "plan" if text.made else f"plan-{learned}",
        text=text.text,
        tokens=_tokens(like, option.base, vocabulary),
        train=Train.model_validate(train),
        **model,
    )
    return recipe, remarks


def _tokens(like: Recipe | None, base: str, vocabulary: int) -> TokenSettings:
    """Those of `like`, or else the tokenizer of the base; where neither is there, a new one."""
    home = _home(base)
    if like and (not home or _run_of(base) or like.tokens.base or like.tokens.replace):
        return like.tokens
    if not home:
        return TokenSettings.model_validate({"vocab_size": vocabulary})
    kept: dict[str, Any] = like.tokens.model_dump(mode="json", exclude_unset=True) if like else {}
    kept.pop("vocab_size", None)
    return TokenSettings.model_validate(kept | {"base": home})


def _shape(params: float, vocabulary: int, most: float) -> tuple[Shape, int, str]:
    """The nearest shape, of at most that many parameters, its own count, and a remark."""
    shape, count = nearest_shape(params, vocabulary, most)
    if max(count / params, params / count) > _FARTHEST:
        raise UserError(
            f"{show_count(params)} parameters are planned, and the nearest shape there is, "
            f"{shape.name}, has {show_count(count)}",
            where="--write",
            hint="settle a size that there is by `--params`, or ask for another budget",
            code="no_such_shape",
        )
    return (
        shape,
        count,
        f"Model: {show_count(params)} parameters are planned; the nearest shape is {shape.name}, "
        f"which with a vocabulary of {vocabulary:,} has {count:,} ({count / params - 1:+.0%}).",
    )


def _run_of(base: str) -> Path | None:
    directory = Path("runs") / base
    return directory if base and (directory / "run.json").is_file() else None


def _home(base: str) -> str:
    """The folder of a base, or its id on the hub; empty where neither is known yet."""
    if directory := _run_of(base):
        return str(model_folder(directory))
    there = (Path(base) / "config.json").is_file()
    return base if there or (is_hub_id(base) and not is_run_name(base, Path())) else ""


def _batch(
    plan: Plan, anatomy: Anatomy, tokens: int, train: dict[str, Any], remarks: dict[str, str]
) -> dict[str, Any]:
    cluster, settings = plan.question.cluster, Train.model_validate(train)
    machine, context = cluster.machine if cluster else this_machine(), settings.context
    by_size = batch_by_size(anatomy.parameters["total"], context)
    most = max(context, min(by_size, tokens // _STEPS))
    gpus = machine.processes
    if not cluster and gpus == 1 and most >= _NODE * context:  # to be trained who knows where
        gpus = _NODE
    batch = shared_batch(most, context, gpus)
    written: dict[str, Any] = {"batch": "by size" if batch == by_size else f"{batch} tokens"}
    if batch < by_size:
        short = most < by_size
        reason = "the run is short" if short else f"{gpus} GPUs can share that"
        code = "smaller_batch" if short or machine.processes > 1 else "batch"
        remarks[code] = (
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
        if cluster is None:  # then for the node that the next command names
            node = Machine.of_gpus(GPUS[LARGER_MACHINE[0]], LARGER_MACHINE[1])
            fits = micro_batch_that_fits(anatomy, settings, batch, flops, node)
    if fits is None:
        return written
    micro_batch, recompute = fits
    written |= {"micro_batch": f"{micro_batch} tokens"} if micro_batch else {}
    return written | ({"recompute": True} if recompute else {})
