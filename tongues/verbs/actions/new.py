"""A recipe and its plan: a base, a language, its text and a budget."""

from dataclasses import replace
from pathlib import Path

from tongues.core.errors import UserError
from tongues.languages import find_language
from tongues.plan import ask, make_plan, read_base
from tongues.plan.recipe import replay_language
from tongues.verbs.actions.own_text import with_amounts, with_files
from tongues.verbs.actions.plans import check_new_file, draft_of, measured, sample_of
from tongues.verbs.actions.results import Draft
from tongues.verbs.new import New

_USUAL = "100M tokens"  # of a budget that nobody gave; chosen: hours on one GPU


def draft(asked: New) -> Draft:
    """A recipe that continues a base on a language; writes it where that was asked for."""
    language, text = asked.language, asked.text
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
    tag, checkpoint = find_language(language, "--language").tag, read_base(asked.base, "BASE")
    if asked.out is not None:
        check_new_file(Path(asked.out))
    budget, gpus = asked.budget, asked.gpus
    question = ask(budget or _USUAL, gpu=asked.gpu, gpus=gpus, bases=(checkpoint,))
    question = replace(question, usual=budget is None)
    if text is None:
        question = with_amounts(question, (tag,), None)
        replays = bool(replay_language(checkpoint, question))
    else:
        question = with_files(question, (tag,), Path(text), f"--text {text}")
        replays = question.replayed is not None
    question = measured(question if replays else replace(question, replay=0.0))
    return draft_of(make_plan(question, sample=sample_of(question)), asked.out)
