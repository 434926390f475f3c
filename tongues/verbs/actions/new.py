"""A recipe and its plan: a base, a language, its text and a budget."""

from dataclasses import replace
from pathlib import Path

from tongues.core.errors import UserError
from tongues.languages import find_language
from tongues.plan import ask, make_plan, read_base
from tongues.plan.recipe import replay_language
from tongues.recipe.foreign import ForeignRecipe
from tongues.recipe.loading import read_other
from tongues.verbs.actions.own_text import with_amounts, with_files
from tongues.verbs.actions.plans import check_new_file, draft_of, measured, sample_of
from tongues.verbs.actions.results import Draft
from tongues.verbs.new import New

_USUAL = "100M tokens"  # of a budget that nobody gave; chosen: hours on one GPU


def draft(asked: New) -> Draft:
    """A recipe that continues a base on a language; writes it where that was asked for."""
    language = asked.language
    if not isinstance(language, str):
        if not language:
            raise UserError("which language?", where="--language", hint="a tag such as `sw`")
        if len(language) > 1:
            hint = "`tongues plan` takes several, and writes their recipe"
            raise UserError("names one language", where="--language", hint=hint)
        (language,) = language
    if "," in language:
        hint = "write the recipe for one; `tongues plan` takes several, and writes theirs"
        raise UserError("names one language to learn", where="--language", hint=hint)
    tag = find_language(language, "--language").tag
    other = None if asked.other is None else read_other(Path(asked.other))
    if other:
        asked = _taken(asked, other, Path(asked.other or "").parent)
    if asked.base is None:
        raise UserError("which base?", where="BASE", hint="`tongues new` lists some")
    checkpoint = read_base(asked.base, "BASE")
    if asked.out is not None:
        check_new_file(Path(asked.out))
    budget, gpus, text = asked.budget, asked.gpus, asked.text
    question = ask(budget or _USUAL, gpu=asked.gpu, gpus=gpus, bases=(checkpoint,))
    question = replace(question, usual=budget is None, settings=other.settings if other else {})
    if text is None:
        question = with_amounts(question, (tag,), None)
        replays = bool(replay_language(checkpoint, question))
    else:
        question = with_files(question, (tag,), Path(text), f"--text {text}")
        replays = question.replayed is not None
    question = measured(question if replays else replace(question, replay=0.0))
    made = draft_of(make_plan(question, sample=sample_of(question)), asked.out)
    return replace(made, lines=(other.taken, *made.lines)) if other else made


def _taken(asked: New, other: ForeignRecipe, beside: Path) -> New:
    """The question with what it does not name of another trainer's recipe."""
    base, texts = beside / other.base, [beside / text for text in other.text]
    here = next((text for text in texts if text.exists()), None)
    return replace(
        asked,
        base=asked.base or (str(base) if base.exists() else other.base),
        text=asked.text or (here and (here if here.is_dir() else here.parent)),
        budget=asked.budget or (other.tokens and f"{other.tokens} tokens"),
    )
