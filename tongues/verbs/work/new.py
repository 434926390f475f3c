"""A recipe and its plan: a base, a language, its text and a budget."""

import re
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, count
from pathlib import Path
from typing import Any

from tongues.check import FEW_STEPS
from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.files import check_writable, write_json, write_text
from tongues.languages import find_language
from tongues.plan import Budget, Plan, ask, make_plan, read_base, recipe_of
from tongues.plan.budget import read_budget
from tongues.plan.recipe import recipe_name, replay_language
from tongues.verbs.work.own_text import OwnText, read_own_text
from tongues.verbs.work.plans import measured, sample_of

_USUAL = 1e8  # tokens of a budget that nobody gave
_NAME = re.compile(r"^name: *(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Draft:
    """A recipe as YAML, and the plan of it.

    lines: what it takes and what comes of it, in sentences. forecast: bits per byte on held-out
    text of the language; None where no law covers the budget.
    """

    recipe: str
    lines: tuple[str, ...]
    forecast: Estimate | None
    plan: Plan

    def to_json(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "date": date.today().isoformat(),
            "lines": list(self.lines),
            "bits_per_byte": self.forecast and self.forecast.to_json(),
            "plan": self.plan.to_json(),
        }

    def write(self, out: Path) -> None:
        """Write the recipe, and next to it the plan to be read and as JSON."""
        from tongues.pages import as_markdown
        from tongues.report.plan import plan_answer

        write_text(out, self.recipe)
        lines = "\n".join(f"- {line}" for line in self.lines)
        title = f"# Plan of {out.name}, {date.today().isoformat()}"
        more = as_markdown(plan_answer(self.plan))
        write_text(out.with_suffix(".plan.md"), f"{title}\n\n{lines}\n\n{more}".rstrip() + "\n")
        write_json(out.with_suffix(".plan.json"), self.to_json())


def new(
    base: str,
    language: str,
    out: Path | str | None = None,
    *,
    text: Path | str | None = None,
    budget: str | None = None,
    gpu: str | None = None,
    gpus: int | None = None,
) -> Draft:
    """A recipe that continues a base on a language, and what it takes and comes to.

    base: its id on the hub, its end, a run, or a folder. language: a tag or name such as `sw`.
    out: a file for the recipe; its plan goes next to it. text: a folder with folders or files named
    by language; None: public text of the hub. budget: `40B tokens`, `7 days`, `1e21 FLOPs`,
    `5000 US$` or `20 tokens per parameter`; None: 100M tokens, or as many as read a smaller text
    five times. gpu, gpus: what trains; time and money need it.
    """
    if "," in language:
        hint = "write the recipe for one; `tongues plan` takes several, and writes theirs"
        raise UserError("names one language to learn", where="--language", hint=hint)
    one, checkpoint = find_language(language, "--language"), read_base(base, "BASE")
    spent = read_budget(budget, "--budget") if budget is not None else Budget(_USUAL, "tokens")
    if out is not None:
        check_new_file(Path(out))
    own = read_own_text(Path(text), one, checkpoint) if text is not None else None
    files = own.own.files if own else None
    replays = bool(replay_language(checkpoint, (one.tag,), files))
    question = ask(
        gpu=gpu,
        gpus=gpus,
        languages=(one.tag,),
        budget=spent,
        targets=(own.target,) if own else (),
        replay=None if replays else "0",
    )
    question = measured(replace(question, bases=(checkpoint,)))
    made = make_plan(question, sample=sample_of(question))
    name = _free_name(recipe_name(made.decision.option, one.tag), Path(out)) if out else None
    recipe = recipe_of(made, own.own if own else None, name)
    lines = [*_lines(made, own), *made.sentences()]
    lines.append("Written before any training: `tongues report` shows it next to what came of it.")
    draft = Draft(recipe, tuple(lines), made.decision.option.loss, made)
    if out is not None:
        draft.write(Path(out))
    return draft


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
