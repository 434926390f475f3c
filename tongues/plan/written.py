"""The recipe of a plan: the recommended option as a file that `tongues check` accepts."""

import io
import math
import os
import textwrap
from pathlib import Path

from tongues.errors import Caution, UserError, nearest
from tongues.files import write_text
from tongues.models import Shape, find_shape, of_shape
from tongues.models.memory import PYTHON, state_bytes, step_bytes
from tongues.plan.memory import CONTEXT, VOCABULARY, nearest_shape
from tongues.plan.options import Option
from tongues.plan.plan import Plan
from tongues.quantities import show_bytes, show_count
from tongues.recipe import Drift, Made, Model, Recipe, Text, TokenSettings, Train
from tongues.runs import read_record

__all__ = ["PLACEHOLDER_BASE", "write_recipe"]

PLACEHOLDER_BASE = "PUT-YOUR-BASE-HERE"
_PUBLISHED = 40e6  # parameters from which the settings of the published study hold
_RATE = 2e-4  # its peak learning rate
_FASTEST = 5e-3
_BATCHES = ((1e9, 2**20), (2.5e9, 2**21), (math.inf, 2**22))  # tokens a step, up to so many N
_STEPS = 300  # fewer steps than this teach little: rather a smaller batch
_LEAST_BATCH = 2**16  # tokens a step, for models above so many parameters: fewer learn worse
_LARGE = 100e6
_MOST_MEMORY = 0.9  # of this machine's, that a step may take
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
        if code not in ("shape", "tokens")
    )


def _compose(
    plan: Plan, option: Option, like: Recipe | None, target: str | None
) -> tuple[Recipe, dict[str, str]]:
    """The recipe, and sentences about it by code."""
    assert option.params is not None
    assert option.tokens is not None
    remarks: dict[str, str] = {}
    vocabulary = like.tokens.vocabulary if like else _vocabulary(option.params)
    shape, count, about_shape = _shape(option, vocabulary)
    far = abs(math.log(count / option.params)) > math.log(1.5)
    remarks["other_size" if far else "shape"] = about_shape
    tokens = int(float(f"{plan.question.tokens or option.flops / (6 * count):.4g}"))
    remarks["tokens"] = (
        f"Tokens: {show_count(tokens)}, which with these parameters takes "
        f"{6.0 * count * tokens:.3g} FLOPs."
    )
    text = like.text if like else _placeholder(option, tokens)
    learned, kept = _languages(like, text, target, option)
    if like is None:
        remarks["placeholder_text"] = (
            f"Text: made text ({' and '.join(text.languages)}) stands in for yours. List your own "
            f"files under `text.files` and write their tags into `train.mixture`: "
            f"`{learned}` is the language to learn."
        )
    held_out = like.tokens.held_out if like else TokenSettings().held_out
    context = _context(option.params, held_out)
    batch, about = _batch(shape, vocabulary, tokens, context, count)
    train = {
        "mixture": {learned: 1.0},
        **({"replay": {kept: option.way.replay}} if kept else {}),
        "budget": f"{tokens} tokens",
        "batch": f"{batch} tokens",
        "context": f"{context} tokens",
        "rate": _rate(count),
    }
    remarks |= about
    if like:
        train["run"] = f"{like.name}-plan"
    if option.way.strategy == "cpt":
        train["init_from"], remarks["placeholder_base"] = _start(option)
    recipe = Recipe(
        name=like.name if like else "plan",
        text=text,
        tokens=like.tokens if like else TokenSettings.model_validate({"vocabulary": vocabulary}),
        model=Model(shape=shape.name),
        train=Train.model_validate(train),
    )
    return recipe, {code: sentence for code, sentence in remarks.items() if sentence}


def _vocabulary(params: float) -> int:
    """That of the published study for its sizes; fewer pieces where they would be most of N."""
    smaller = ((_PUBLISHED, VOCABULARY), (5e6, 8192), (2e5, 1024))
    return next((pieces for least, pieces in smaller if params >= least), 512)


def _shape(option: Option, vocabulary: int) -> tuple[Shape, int, str]:
    """The shape to train, its exact parameters, and how far they are from the plan's."""
    assert option.params is not None
    directory = _run_of_base(option)
    if directory:
        record = read_record(directory)
        shape, count = find_shape(record["shape"]), record["params"]["total"]
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
    """What `init_from` names, and what is still to be done about it."""
    base = option.way.base
    if base is None:
        return PLACEHOLDER_BASE, (
            "Start: `init_from` must name the base, a run of the store or a Hugging Face folder "
            "of this very shape, trained on the source language; `tongues train` refuses until "
            "then."
        )
    if _run_of_base(option) or (Path(base.name) / "config.json").is_file():
        return base.name, ""
    return base.name, (
        f"Start: `init_from` names `{base.name}`, which is neither a run under runs/ nor a Hugging "
        "Face folder here; write its path, and the shape it has."
    )


def _placeholder(option: Option, tokens: int) -> Text:
    """Made languages: the source, where the option has one, and the target."""
    size = max(1, math.ceil(tokens / _READINGS / 1e6))
    languages = {"qaa": Drift()}
    if option.way.strategy == "cpt":
        languages["qab"] = Drift(mother="qaa", distance=0.2)
    made = {"size": f"{size} MB", "languages": languages}
    return Text(made=Made.model_validate(made))


def _languages(
    like: Recipe | None, text: Text, target: str | None, option: Option
) -> tuple[str, str | None]:
    """The language to learn, and the one to replay where the option replays."""
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
    if not option.way.replay:
        return learned, None
    if not others:
        raise UserError(
            "the plan replays source text, and the recipe has text of one language only",
            where="--for",
            hint="add the source language to its `text`, or plan with `--replay 0`",
        )
    return learned, others[0]


def _target_of(like: Recipe) -> str:
    """The language a recipe learns; a UserError when it learns several."""
    if like.study:
        if len(like.study.targets) > 1:
            hint = f"choose one by `--target`: {', '.join(like.study.targets)}"
            raise UserError("the recipe has several targets", where="--for", hint=hint)
        return like.study.targets[0]
    mixture = like.train.mixture
    return max(mixture, key=lambda lang: mixture[lang]) if mixture else like.text.languages[0]


def _context(params: float, held_out: int) -> int:
    """2,048 tokens as published, fewer for small models and little held-out text."""
    context = CONTEXT if params >= _PUBLISHED else 512 if params >= 5e6 else 128
    while context >= held_out:
        context //= 2
    return context


def _rate(count: int) -> float:
    """The published peak rate; below the published sizes it grows as 1/sqrt(N), up to a limit."""
    return float(f"{min(_FASTEST, _RATE * max(1.0, (_PUBLISHED / count) ** 0.5)):.2g}")


def _batch(
    shape: Shape, vocabulary: int, tokens: int, context: int, count: int
) -> tuple[int, dict[str, str]]:
    """Tokens a step by the published rule, fewer for short runs and for this machine's memory."""
    rule = next(batch for most, batch in _BATCHES if count <= most)
    enough = 2 ** int(math.log2(max(context, min(rule, tokens / _STEPS))))
    least = min(enough, _LEAST_BATCH if count > _LARGE else context)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    anatomy = of_shape(shape, vocabulary)
    needed = {
        enough >> halved: PYTHON
        + state_bytes(anatomy)
        + step_bytes(anatomy, enough >> halved, context, bfloat16=True)
        for halved in range((enough // least).bit_length())
    }
    batch = next((one for one in needed if needed[one] <= there / 2), least)
    said: dict[str, str] = {}
    if needed[batch] > _MOST_MEMORY * there:
        batch = enough
        said["larger_machine"] = (
            f"Memory: a step of {batch:,} tokens takes {show_bytes(needed[batch])} at once; this "
            f"machine has {show_bytes(there)} and could hold no sensible batch; train on a larger "
            "one."
        )
    elif batch < enough:
        said["smaller_batch"] = (
            f"Batch: the rule for this size asks for {enough:,} tokens a step, which takes "
            f"{show_bytes(needed[enough])} of memory at once; {batch:,} fit this machine."
        )
    return batch, said


def _as_yaml(recipe: Recipe) -> str:
    """The recipe without what is left at its default."""
    from ruamel.yaml import YAML

    out = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.dump(recipe.model_dump(mode="json", exclude_unset=True, exclude_none=True), out)
    return out.getvalue()
