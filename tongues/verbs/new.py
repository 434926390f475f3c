"""A recipe and its plan: a base, a language, its text, a budget and a machine."""

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from tongues.check import FEW_STEPS
from tongues.cores import core_count
from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.files import check_writable, write_json, write_text
from tongues.hardware import USUAL_MFU, Cluster, find_gpu
from tongues.languages import find_language
from tongues.plan import NoOption, Plan, ReadyBase, find_ready, ready_recipe
from tongues.plan.ways import LeftOut
from tongues.quantities import Budget, show_count, show_seconds
from tongues.recipe import load_recipe
from tongues.runs import read_run
from tongues.train.base import find_run
from tongues.train.defaults import usual_batch
from tongues.train.schedule import scored_tokens
from tongues.verbs.own_text import USUAL_BUDGET, plan_name, read_own_text
from tongues.verbs.plans import plan
from tongues.verbs.shared import read_as

__all__ = ["Draft", "check_new_file", "new", "read_budget", "read_machine", "suggest_budget"]

_HERE = "here"
_MACHINE = re.compile(r"(?:([1-9]\d{0,5}) ?[x×]? ?)?([a-z][\w-]*)", re.IGNORECASE)
_NAME = re.compile(r"^name: *(\S+)", re.MULTILINE)
_SIDE, _TRIES = 256, 50  # of a matrix product that shows how fast a core is
# Of that speed on all cores, what training reaches: SmolLM2-135M on two cores, 0.5 while others
# were at work and 3.1 alone, in bfloat16.
_LIKELY = (0.5, 3.0)


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
    machine: str = _HERE,
) -> Draft:
    """A recipe that continues a base on a language, and what it takes and comes to.

    base: its id on the hub, its end, a run, or a folder. language: a tag or name such as `sw`.
    out: a file for the recipe; its plan goes next to it. text: a folder with folders or files named
    by language; None: public text of the hub. budget: of its training; None: `suggest_budget`.
    machine: `here`, or GPUs such as `h100` or `8 h100`.
    """
    if "," in language:
        hint = (
            "write the recipe for one; then add the others to its `text.files` and `train.mixture`"
        )
        raise UserError("names one language to learn", where="--language", hint=hint)
    one, ready = find_language(language, "--language"), find_ready(base)
    cluster = read_machine(machine)
    if budget is not None:
        read_budget(budget)  # before text is read
    if out is not None:
        check_new_file(Path(out))
    own = read_own_text(Path(text), one, ready) if text is not None else None
    replay = ready.replay(one.tag, own and own.files)
    if budget is None:
        budget = own.usual_budget if own else f"{show_count(USUAL_BUDGET)} tokens"
    amount = read_budget(budget)
    files, sizes, trial = (own.files, own.sizes, own.trial) if own else (None, None, None)
    name = _free_name(ready.recipe_name(one.tag), Path(out)) if out is not None else None
    recipe = ready_recipe(base, one.tag, budget, files, sizes, trial, name)
    flops = 6.0 * ready.parameters  # a token
    speed = cluster.flops(1 / 3600) / flops if cluster else _LIKELY[0] * _flops_here() / flops
    tokens = amount.tokens(ready.parameters, flops, speed)
    shares = "".join(
        f", {share:.0%} of them `{lang}` of the base" for lang, share in replay.items()
    )
    steps, scored = _steps_and_scored(recipe, ready, tokens)
    lines = [
        f"{ready.short}, {show_count(ready.parameters)} parameters, on {one.name} (`{one.tag}`): "
        f"{show_count(tokens)} tokens{shares}, in {steps:,} step{'s' * (steps > 1)}; "
        f"{flops * tokens:.2g} FLOPs by 6ND."
    ]
    if one.tag in ready.languages:
        lines.append(
            f"{ready.short} knows `{one.tag}` already, and projects that continued on a language "
            "their base knew gained little or lost: measure it on your text first, by "
            "`tongues evaluate`."
        )
    if steps < FEW_STEPS:
        lines.append(f"Caution: fewer than {FEW_STEPS} steps teach little: give a larger budget.")
    if own:
        lines += own.lines(tokens)
    lines.append(_cost_line(flops * tokens, flops / 3 * scored, cluster))
    made, forecast, why = None, None, ""
    try:
        made = plan(
            language=one.tag,
            bases=[plan_name(ready)],
            params=ready.parameters,
            tokens=tokens,
            available_text=f"{own.sizes[one.tag]} B" if own else None,
            bytes_per_token=trial and trial.bytes_per_token,
            gpu=cluster.gpu.name if cluster else None,
            gpus=cluster.count if cluster else None,
            replay=None if replay else "0",
        )
    except NoOption as error:
        why = _why_not_continued(error.left_out)
    except UserError as error:
        why = error.what
    option = next((option for option in made.options if option.base), None) if made else None
    if made and option:
        nats = made.question.nats_per_bit or 1.0
        low, high = option.interval or (None, None)
        forecast = Estimate(option.loss / nats, low and low / nats, high and high / nats)
        far = f"; {option.farthest}" if option.projection else ""
        ends = f" [{forecast.low:.2f}, {forecast.high:.2f}]" if forecast.low else ""
        lines.append(
            f"Forecast, by published laws at the level of {one.name}: {forecast.value:.2f} bits "
            f"per byte{ends} on held-out text{far}."
        )
    else:
        why = why or _why_not_continued(made.left_out if made else ())
        lines.append(
            f"No forecast by published laws{f': {why}' if why else ''}. For one of your own, train "
            "four shorter runs and `tongues fit RUNS --law one-base`."
        )
        made = None
    lines.append("Written before any training: `tongues report` shows it next to what came of it.")
    draft = Draft(recipe, tuple(lines), forecast, made)
    if out is not None:
        draft.write(Path(out))
    return draft


def suggest_budget(base: str, language: str, text: Path | str | None) -> str:
    """100M tokens, or as many as read a smaller text five times; arguments as of `new`."""
    one, ready = find_language(language, "--language"), find_ready(base)
    if text is None:
        return f"{show_count(USUAL_BUDGET)} tokens"
    return read_own_text(Path(text), one, ready).usual_budget


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


def read_budget(budget: str) -> Any:
    """A `Budget`; a UserError for what is none."""
    return read_as(Budget, budget, "--budget")


def check_new_file(out: Path) -> None:
    """A UserError where a file is already, or none can be written."""
    if out.exists():
        raise UserError("is there already", where=str(out), hint="name another file")
    check_writable(out)


def read_machine(machine: str) -> Cluster | None:
    """GPUs by name, such as `8 h100`; None for `here`, and a UserError for what is neither."""
    if machine.strip().lower() == _HERE:
        return None
    match = _MACHINE.fullmatch(machine.strip())
    if not match:
        hint = "`here`, or GPUs such as `h100` or `8 h100`"
        raise UserError(f"`{machine}` is not a machine", where="--machine", hint=hint)
    try:
        gpu = find_gpu(match[2])
    except UserError as error:
        raise UserError(error.what, where="--machine", hint=error.hint) from None
    return Cluster(gpu, int(match[1] or 1), USUAL_MFU, gpu.price)


def _steps_and_scored(recipe: str, ready: ReadyBase, tokens: float) -> tuple[int, int]:
    """The steps of a run, and the held-out tokens that its evaluations read."""
    from ruamel.yaml import YAML

    read = load_recipe(YAML(typ="safe").load(recipe))
    run = find_run(ready.base, Path())
    batch = usual_batch(read, ready.parameters, ready.context, read_run(run) if run else None)
    steps = max(1, math.ceil(tokens / batch))
    languages = len(read.text.languages)
    return steps, scored_tokens(read.train, read.tokens.held_out, languages, steps)


def _cost_line(flops: float, scoring: float, cluster: Cluster | None) -> str:
    """What training takes; on this machine with its evaluations, which take `scoring` FLOPs."""
    if cluster is None:
        speed = _flops_here()
        ends = [show_seconds((flops + scoring) / speed / s) for s in reversed(_LIKELY)]
        return (
            f"On this machine roughly {ends[0]} to {ends[1]} with its evaluations, if nothing else "
            "runs; the run measures its own speed."
        )
    hours, share = cluster.hours(flops), f"{cluster.mfu:.0%} of the peak"
    return (
        f"On {cluster.machine.name}: {show_seconds(hours * 3600)} at {share}, "
        f"US$ {cluster.cost(hours):.2f} ({cluster.gpu.priced}), {cluster.energy(hours):.3g} kWh."
    )


@cache
def _flops_here() -> float:
    """Operations a second of matrix products in float32, the best of some, on all cores."""
    matrix, best = np.ones((_SIDE, _SIDE), np.float32), 0.0
    for _ in range(_TRIES):
        began = time.perf_counter()
        np.dot(matrix, matrix)
        best = max(best, 2 * _SIDE**3 / (time.perf_counter() - began))
    return best * core_count()
