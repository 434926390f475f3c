"""A recipe and its plan: a base, a language, its text and a budget."""

import re
from itertools import chain, count
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.files import check_writable
from tongues.languages import find_language
from tongues.plan import Plan, ask, make_plan, read_base, recipe_of
from tongues.plan.check import FEW_STEPS
from tongues.plan.recipe import recipe_name, replay_language
from tongues.verbs.actions.own_text import OwnText, read_own_text, read_targets
from tongues.verbs.actions.plans import measured, sample_of
from tongues.verbs.actions.results import Draft
from tongues.verbs.new import New

_USUAL = "100M tokens"  # of a budget that nobody gave
_NAME = re.compile(r"^name: *(\S+)", re.MULTILINE)


def draft(asked: New) -> Draft:
    """A recipe that continues a base on a language; writes it where that was asked for."""
    language, out, text, budget = asked.language, asked.out, asked.text, asked.budget
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
    one, checkpoint = find_language(language, "--language"), read_base(asked.base, "BASE")
    if out is not None:
        check_new_file(Path(out))
    own = read_own_text(Path(text), one, checkpoint) if text is not None else None
    files = own.own.files if own else None
    replays = bool(replay_language(checkpoint, (one.tag,), files))
    question = ask(
        _USUAL if budget is None else budget,
        gpu=asked.gpu,
        gpus=asked.gpus,
        bases=(checkpoint,),
        targets=(own.target,) if own else read_targets(None, (one.tag,), (checkpoint,)),
        replay=None if replays else "0",
    )
    question = measured(question)
    made = make_plan(question, sample=sample_of(question))
    name = _free_name(recipe_name(made.decision.option, one.tag), Path(out)) if out else None
    recipe = recipe_of(made, own.own if own else None, name)
    lines = [*_lines(made, own), *made.sentences()]
    lines.append("Written before any training: `tongues report` shows it next to what came of it.")
    made_draft = Draft(recipe, tuple(lines), made.decision.option.loss, made)
    if out is not None:
        made_draft.write(Path(out))
    return made_draft


def _lines(made: Plan, own: OwnText | None) -> list[str]:
    option = made.decision.option
    steps = option.tokens / (option.batch or 1.0)
    lines = list(own.lines) if own else []
    if steps < FEW_STEPS:
        lines.append(f"caution: fewer than {FEW_STEPS} steps teach little: give a larger budget.")
    return lines


def _free_name(name: str, out: Path) -> str:
    """The name, or with a number that no recipe next to `out` and no run here has."""
    files = out.parent.glob("*.yaml")
    texts = [file.read_text(encoding="utf-8", errors="ignore") for file in files]
    taken = {match[1] for text in texts for match in _NAME.finditer(text)}
    taken |= {folder.name for folder in Path("runs").glob("*")}
    numbered = (f"{name}-{number}" for number in count(2))
    return next(one for one in chain([name], numbered) if one not in taken)


def check_new_file(out: Path) -> None:
    """A UserError where a file is already, or none can be written."""
    if out.exists():
        raise UserError("is there already", where=str(out), hint="name another file")
    check_writable(out)
