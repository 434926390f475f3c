"""The recipe of a plan: the advised option as a file that `tongues check` accepts.

A recipe names only what neither the base nor a rule decides; the rest follows from it
(`tongues.train.defaults`).
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.hardware import Machine, this_machine
from tongues.core.quantities import show_count
from tongues.languages import find_language
from tongues.models import Shape, of_shape
from tongues.plan.bases import BaseCheckpoint, known_bases
from tongues.plan.options import EPOCHS, Option
from tongues.plan.plan import Plan
from tongues.plan.question import PER_TOKEN, Question, Target
from tongues.recipe import Train
from tongues.text.tokens.fertility import TokenizerTrial
from tongues.train.rules import (
    batch_by_size,
    context_by_size,
    micro_batch_that_fits,
    nearest_shape,
    rate_at_size,
    shared_batch,
    vocabulary_by_size,
)

_RECIPE = """\
# {title}. What the recipe leaves out follows from {source}: `tongues check` shows it.
{about}name: {name}
text:
{texts}
tokens:
{tokens}{model}train:
{base}{mixture}
  budget: {budget}    # replay included; in tokens, FLOPs, hours or days
{settings}"""
_SHORT = 10_000_000  # tokens of a run, below which evaluations during it would take long
_READ_MORE = 1.25  # times the text that is needed: some of it is dropped
_LEAST_TEXT = 2e6  # bytes
_SAMPLES = (("sample-10BT", 4e4), ("sample-100BT", 4e5), ("sample-350BT", 1.4e6))  # MB of FineWeb
_FARTHEST = 4.0  # times the size of the nearest shape that is still of use
_STEPS = 100  # fewer steps than this teach little: rather a smaller batch


def recipe_of(plan: Plan, trial: TokenizerTrial | None = None, name: str | None = None) -> str:
    """The advised option as YAML; a UserError where it is no single run.

    Text is the plan's own, or public text of the hub. trial: of the base's tokenizer on it. name:
    of the recipe; None: of base and languages.
    """
    option, question = plan.decision.option, plan.question
    if not plan.writable:
        what = f"`{option.name}` is trained by `tongues experts train`"
        hint = "add `experts: {partitions: […]}` to the recipe of the runs"
        if not plan.decision.decided:
            what = "these laws do not decide between training from scratch and continuing"
            hint = "give only the law of the way that you choose"
        raise UserError(what, where="--write", hint=hint, code="no_single_run")
    targets = question.languages
    if not targets:
        what = "no language is named, and so no text"
        raise UserError(what, where="--write", hint="add `--language sw`", code="no_language")
    replayed = replay_language(option.base, question) if option.replay else ""
    needed = {lang: option.parts.get(lang, 0.0) for lang in targets}
    needed |= {replayed: option.replay * option.tokens} if replayed else {}
    base, tokens = option.base, round(float(f"{option.tokens:.4g}"))
    machine = question.cluster.machine if question.cluster else this_machine()
    settings = _settings(option, question, replayed, tokens, machine)
    return _RECIPE.format(
        title=f"{_title(option)} on {', '.join(f'`{lang}`' for lang in targets)}",
        source="the base" if base else "its size",
        about="".join(f"# {line}\n" for line in _about(base)),
        name=name or recipe_name(option, targets),
        texts="\n".join(_texts(needed, option, question)),
        tokens="".join(f"  {line}\n" for line in _tokens(option, question, replayed, trial)),
        model="" if base else f"model: {{shape: {_shape_of(option).name}}}\n",
        base=_base(base),
        mixture="\n".join(_mixture(option, question, replayed)),
        budget=_count(tokens),
        settings="".join(f"  {line}\n" for line in settings),
    )


def _count(tokens: int) -> str:
    """Tokens as a recipe writes them, to four digits."""
    for letter, scale in (("B", 1e9), ("M", 1e6)):
        if tokens >= scale:
            return f"{tokens / scale:.4g}{letter} tokens"
    return f"{tokens} tokens"


def recipe_name(option: Option, languages: Sequence[str]) -> str:
    """The usual name of a recipe, and so of its run."""
    return "-".join([option.base.short.lower() if option.base else "scratch", *languages])


def replay_language(base: BaseCheckpoint | None, question: Question) -> str:
    """What a base replays: text on this disk, else its first language that is not to be learned."""
    known = (base.languages or ("en",)) if base else ()
    if question.replayed and question.replayed.language in known:
        return question.replayed.language
    return next((lang for lang in known if lang not in question.languages), "")


def hub_text(language: str, limit: str) -> dict[str, str]:
    """Public text of a language on the hub: FineWeb, or FineWeb-2 for what is not English."""
    if language == "en":
        megabytes = float(limit.split()[0])
        sample = next((name for name, most in _SAMPLES if megabytes <= most), "default")
        source = {"dataset": "HuggingFaceFW/fineweb", "subset": sample}
    else:
        one = find_language(language)
        source = {"dataset": "HuggingFaceFW/fineweb-2", "subset": f"{one.code}_{one.script}"}
    return source | {"limit": limit}


def text_limit(tokens: float, bytes_per_token: float = PER_TOKEN, most: float = math.inf) -> str:
    """How much text to read for that many tokens, of `most` bytes; some of it is dropped."""
    needed = max(_READ_MORE * bytes_per_token * tokens, _LEAST_TEXT)
    return f"{min(needed, most) / 1e6:.0f} MB"


def _title(option: Option) -> str:
    if option.base:
        return option.base.short
    _, count = nearest_shape(option.params, vocabulary_by_size(option.params))
    return f"{show_count(count)} parameters (the nearest shape to {show_count(option.params)})"


def _about(base: BaseCheckpoint | None) -> Iterator[str]:
    if base is None:
        return
    if base.name not in known_bases() and not base.folder:
        yield f"`{base.name}` is only a name: write the folder or id of the base in its place."
    yield f"The base: {base.params:,.0f} parameters, licence {base.licence or 'not known'}."
    if base.gated:
        yield f"Gated: accept its terms at huggingface.co/{base.name}"


def _base(base: BaseCheckpoint | None) -> str:
    if base is None:
        return ""
    assumed = "" if base.languages else "    # assumed: write the languages that it knows"
    known = ", ".join(base.languages or ("en",))
    return f"  base: {{model: {base.name}, languages: [{known}]}}{assumed}\n"


def _mixture(option: Option, question: Question, replayed: str) -> Iterator[str]:
    base, targets = option.base, question.languages
    if len(targets) > 1 or (base and set(targets) & set(base.languages or ("en",))):
        yield f"  targets: [{', '.join(targets)}]"
    if len(targets) == 1:
        yield f"  mixture: {{{targets[0]}: 100%}}"
    else:
        yield f"  mixture: {{by: text, max_epochs: {EPOCHS['continue']:g}}}    # alike (UniMax)"
    if replayed:
        yield f"  replay: {{{replayed}: {option.replay:.0%}}}"
    elif base and question.targets[0].files:
        yield "  # no replay: there is no text of another language of the base"


def _tokens(
    option: Option, question: Question, replayed: str, trial: TokenizerTrial | None
) -> Iterator[str]:
    """The tokenizer: the base's, with new tokens where the plan or a trial asks for them."""
    base = option.base
    if base is None:
        yield f"vocab_size: {vocabulary_by_size(option.params)}"
    else:
        yield f"base: {base.folder or base.name}"
    held = f"{question.held_out:,}".replace(",000", "k")
    yield f"held_out: {held} tokens    # never trained on, for `tongues evaluate`"
    new = option.new_tokens or (trial.new_tokens if trial else 0)
    if new and replayed:
        extended = [lang for lang, one in option.vocabularies.items() if one.new_tokens]
        langs = ", ".join(extended or question.languages)
        yield f"extend: {{new_tokens: {new}, languages: [{langs}], preserve: [{replayed}]}}"
    if trial and trial.unfit:
        langs = ", ".join(trial.unfit)
        yield f"byte_fallback: allow    # the base has too few tokens for {langs}"


def _settings(
    option: Option, question: Question, replayed: str, tokens: int, machine: Machine
) -> Iterator[str]:
    """What neither the base nor its size decides."""
    for key, value in {**option.method.settings, **question.settings}.items():
        yield f"{key}: {json.dumps(value)}".replace('"', "")
    if question.max_forgetting is not None and replayed:
        limit = f"{100 * question.max_forgetting:.4g}%"
        yield f"max_forgetting: {{{replayed}: {limit}}}    # replay follows it"
    if option.base is None:
        yield from _from_scratch(option, question.held_out, tokens, machine)
    if tokens < _SHORT:
        yield "num_evals: 4    # during training, each of this many held-out tokens a language:"
        yield f"eval_tokens: {max(round(tokens / 64), 4096)} tokens"


def _from_scratch(option: Option, held_out: int, tokens: int, machine: Machine) -> Iterator[str]:
    """Context, batch, rate and micro-batch by the size, as there is no base to follow."""
    shape, vocabulary = _shape_of(option), vocabulary_by_size(option.params)
    anatomy, context = of_shape(shape, vocabulary), context_by_size(option.params, held_out)
    batch = max(context, min(batch_by_size(option.params, context), tokens // _STEPS))
    batch = shared_batch(batch, context, machine.processes)
    written = {"context": f"{context} tokens", "batch": f"{batch} tokens"}
    settings = Train.model_validate(written | {"budget": f"{tokens} tokens"})
    flops = float(anatomy.flops_per_token(context)) * tokens
    if fits := micro_batch_that_fits(anatomy, settings, batch, flops, machine):
        written |= {"micro_batch": f"{fits[0]} tokens"} if fits[0] else {}
        written |= {"recompute": "true"} if fits[1] else {}
    rate = rate_at_size(None, anatomy.parameters["non_embedding"])
    yield from (f"{key}: {value}" for key, value in written.items())
    yield f"learning_rate: {rate:.2g}"


def _shape_of(option: Option) -> Shape:
    """The nearest shape to a model from scratch; a UserError where there is none near."""
    shape, count = nearest_shape(option.params, vocabulary_by_size(option.params))
    if max(count / option.params, option.params / count) > _FARTHEST:
        size = show_count(option.params)
        what = (
            f"{size} parameters are far from the nearest shape, {shape.name} ({show_count(count)})"
        )
        hint = "settle a size that there is by `--params`"
        raise UserError(what, where="--write", hint=hint, code="no_such_shape")
    return shape


def _own(target: Target) -> bool:
    """Whether there is more text than the hub has, and so text of one's own."""
    return math.isfinite(target.text) and target.text > find_language(target.language).text_bytes


def _texts(needed: Mapping[str, float], option: Option, question: Question) -> Iterator[str]:
    """needed: tokens by language, repeats included."""
    targets = {target.language: target for target in question.targets}
    texts = [*question.targets, *([question.replayed] if question.replayed else [])]
    files = {text.language: list(text.files) for text in texts if text.files}
    files |= {x: [f"text/{x}"] for x in targets if x not in files and _own(targets[x])}
    roles = {lang: "learned" if lang in targets else "of the base, replayed" for lang in needed}
    if files:
        yield "  files:    # folders, files or globs of .txt, .jsonl, .parquet, .csv"
        for lang in (lang for lang in needed if lang in files):
            place = "" if Path(files[lang][0]).exists() else "; write where it is"
            listed = json.dumps(files[lang], ensure_ascii=False)
            yield f"    {lang}: {listed}    # {roles[lang]}{place}"
    rest = [lang for lang in needed if lang not in files]
    if rest:
        yield f"  hub:    # streamed; own text: `files: {{{rest[0]}: [FOLDER]}}`"
    for lang in rest:
        target, vocabulary = targets.get(lang), option.vocabularies.get(lang)
        each = vocabulary.after.value if vocabulary else PER_TOKEN
        limit = text_limit(needed[lang], each, target.text if target else math.inf)
        words = ", ".join(f"{key}: {value}" for key, value in hub_text(lang, limit).items())
        yield f"    {lang}: {{{words}}}    # {roles[lang]}"
