"""A recipe and its plan: a base, a language, its text and a budget."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, count
from pathlib import Path
from typing import Any

from tongues.check import FEW_STEPS
from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.files import check_writable, write_json, write_text
from tongues.languages import Language, find_language
from tongues.plan import NoOption, Plan, ReadyBase, find_ready, ready_recipe
from tongues.plan.ways import LeftOut
from tongues.quantities import Budget, show_count
from tongues.recipe import load_recipe
from tongues.runs import read_run
from tongues.train.base import find_run
from tongues.train.defaults import usual_batch
from tongues.verbs.own_text import USUAL_BUDGET, OwnText, plan_name, read_own_text
from tongues.verbs.plans import plan
from tongues.verbs.shared import read_as

_NAME = re.compile(r"^name: *(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Draft:
    """A recipe as YAML, and the plan of it.

    lines: what it takes and what comes of it, in sentences. forecast: bits per byte on held-out
    text of the language; None where published laws do not cover the budget.
    """

    recipe: str
    lines: tuple[str, ...]
    forecast: Estimate | None
    plan: Plan | None

    def to_json(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "date": date.today().isoformat(),
            "lines": list(self.lines),
            "bits_per_byte": self.forecast and self.forecast.to_json(),
            "plan": self.plan and self.plan.to_json(),
        }

    def write(self, out: Path) -> None:
        """Write the recipe, and next to it the plan to be read and as JSON."""
        from tongues.pages import as_markdown
        from tongues.report.plan import plan_answer

        write_text(out, self.recipe)
        more = as_markdown(plan_answer(self.plan)) if self.plan else ""
        lines = "\n".join(f"- {line}" for line in self.lines)
        title = f"# Plan of {out.name}, {date.today().isoformat()}"
        write_text(out.with_suffix(".plan.md"), f"{title}\n\n{lines}\n\n{more}".rstrip() + "\n")
        write_json(out.with_suffix(".plan.json"), self.to_json())


def new(
    base: str,
    language: str,
    out: Path | str | None = None,
    *,
    text: Path | str | None = None,
    budget: str | None = None,
) -> Draft:
    """A recipe that continues a base on a language, and what it takes and comes to.

    base: its id on the hub, its end, a run, or a folder. language: a tag or name such as `sw`.
    out: a file for the recipe; its plan goes next to it. text: a folder with folders or files named
    by language; None: public text of the hub. budget: tokens of its training; None: 100M, or as
    many as read a smaller text five times.
    """
    if "," in language:
        hint = (
            "write the recipe for one; then add the others to its `text.files` and `train.mixture`"
        )
        raise UserError("names one language to learn", where="--language", hint=hint)
    one, ready = find_language(language, "--language"), find_ready(base)
    if budget is not None:
        _read_budget(budget)  # before text is read
    if out is not None:
        check_new_file(Path(out))
    own = read_own_text(Path(text), one, ready) if text is not None else None
    replay = ready.replay(one.tag, own and own.files)
    if budget is None:
        budget = own.usual_budget if own else f"{show_count(USUAL_BUDGET)} tokens"
    tokens = _read_budget(budget)
    files, sizes, trial = (own.files, own.sizes, own.trial) if own else (None, None, None)
    name = _free_name(ready.recipe_name(one.tag), Path(out)) if out is not None else None
    recipe = ready_recipe(base, one.tag, budget, files, sizes, trial, name)
    shares = "".join(
        f", {share:.0%} of them `{lang}` of the base" for lang, share in replay.items()
    )
    steps = _steps(recipe, ready, tokens)
    lines = [
        f"{ready.short}, {show_count(ready.parameters)} parameters, on {one.name} (`{one.tag}`): "
        f"{show_count(tokens)} tokens{shares}, in {steps:,} step{'s' * (steps > 1)}; "
        f"{6.0 * ready.parameters * tokens:.2g} FLOPs by 6ND."
    ]
    if steps < FEW_STEPS:
        lines.append(f"Caution: fewer than {FEW_STEPS} steps teach little: give a larger budget.")
    if own:
        lines += own.lines(tokens)
    if one.tag in ready.languages:
        made, forecast = None, None
        lines.append(
            f"{ready.short} knows `{one.tag}` already, and projects that continued on a language "
            "their base knew gained little or lost: measure it on your text first, by "
            "`tongues evaluate`."
        )
    else:
        made, forecast, line = _forecast(one, ready, tokens, own, replayed=bool(replay))
        lines.append(line)
    lines.append("Written before any training: `tongues report` shows it next to what came of it.")
    draft = Draft(recipe, tuple(lines), forecast, made)
    if out is not None:
        draft.write(Path(out))
    return draft


def _forecast(
    language: Language, ready: ReadyBase, tokens: float, own: OwnText | None, *, replayed: bool
) -> tuple[Plan | None, Estimate | None, str]:
    """The plan of a run, the bits per byte that it forecasts, and a sentence of it."""
    why = ""
    try:
        made = plan(
            language=language.tag,
            bases=[plan_name(ready)],
            params=ready.parameters,
            tokens=tokens,
            available_text=f"{own.sizes[language.tag]} B" if own else None,
            bytes_per_token=own.trial.bytes_per_token if own and own.trial else None,
            replay=None if replayed else "0",
        )
        if option := next((option for option in made.options if option.base), None):
            nats = made.question.nats_per_bit or 1.0
            low, high = option.interval or (None, None)
            forecast = Estimate(option.loss / nats, low and low / nats, high and high / nats)
            far = f"; {option.farthest}" if option.projection else ""
            ends = f" [{forecast.low:.2f}, {forecast.high:.2f}]" if forecast.low else ""
            line = f"Forecast, by published laws at the level of {language.name}: "
            line += f"{forecast.value:.2f} bits per byte{ends} on held-out text{far}."
            return made, forecast, line
        why = _why_not_continued(made.left_out)
    except NoOption as error:
        why = _why_not_continued(error.left_out)
    except UserError as error:
        why = error.what
    return None, None, f"No forecast by published laws{f': {why}' if why else ''}."


def _free_name(name: str, out: Path) -> str:
    """The name, or with a number that no recipe next to `out` and no run here has."""
    files = out.parent.glob("*.yaml")
    texts = [file.read_text(encoding="utf-8", errors="ignore") for file in files]
    taken = {match[1] for text in texts for match in _NAME.finditer(text)}
    taken |= {folder.name for folder in Path("runs").glob("*")}
    numbered = (f"{name}-{number}" for number in count(2))
    return next(one for one in chain([name], numbered) if one not in taken)


def _why_not_continued(left_out: Sequence[LeftOut]) -> str:
    """Why no base can be continued; empty where nothing says so."""
    return next((one.reason for one in left_out if one.strategy == "cpt"), "")


def _read_budget(budget: str) -> float:
    """Tokens; a UserError for what is none."""
    amount: Budget = read_as(Budget, budget, "--budget")
    if amount.unit != "tokens":
        hint = "`tongues plan --write` makes a recipe for hours, FLOPs or money"
        raise UserError(f"`{budget}` is not in tokens", where="--budget", hint=hint)
    return amount.amount


def check_new_file(out: Path) -> None:
    """A UserError where a file is already, or none can be written."""
    if out.exists():
        raise UserError("is there already", where=str(out), hint="name another file")
    check_writable(out)


def _steps(recipe: str, ready: ReadyBase, tokens: float) -> int:
    from ruamel.yaml import YAML

    read = load_recipe(YAML(typ="safe").load(recipe))
    run = find_run(ready.base, Path())
    batch = usual_batch(read, ready.parameters, ready.context, read_run(run) if run else None)
    return max(1, math.ceil(tokens / batch))
