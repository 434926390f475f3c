"""The verbs plan, and new: a recipe and its plan."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.core.terminal import echo
from tongues.verbs.hints import hint_again
from tongues.verbs.options import AS_JSON, COUNT, OUT, OUT_FILE, PATH, one_thread
from tongues.verbs.settings import Verb, argument, command, function, option, settings
from tongues.verbs.shared import listed

if TYPE_CHECKING:
    from tongues.laws import Law
    from tongues.laws.answer import FitAnswer
    from tongues.plan import plan as made
    from tongues.verbs.actions.results import Draft


Number = float | str  # a number, or one as people write it, such as `1.4B` or `20%`


@settings
class Plan(Verb["made.Plan"]):
    """Plan: base, tokenizer, tokens, replay, price, and what comes out.

    Laws may be what `fit` returned; losses are then in nats per token, else in bits per byte.
    """

    work = "plans:make"
    laws: "FitAnswer | Law | Path | str | Sequence[Law | Path | str]" = option(
        names=("--law",), metavar="NAME|FILE", many=True, default=()
    )
    _: KW_ONLY
    budget: Number | None = option(metavar="AMOUNT", default=None)
    bases: str | Sequence[str] | Mapping[str, str] = option(
        names=("--base",), metavar="BASE", many=True, default=()
    )
    language: str | Sequence[str] | None = option(metavar="LANG", many=True, default=None)
    available_text: Path | str | None = option(metavar="AMOUNT|PATH", default=None)
    gpu: str | None = option(metavar="NAME", default=None)
    gpus: Number | None = option(metavar="COUNT", default=None)
    max_forgetting: Number | None = option(metavar="SHARE", default=None)
    replay: Number | None = option(metavar="SHARE", default=None)
    params: Number | None = option(metavar="COUNT", default=None)
    base_loss: Number | None = option(metavar="LOSS", default=None)
    mfu: Number | None = option(metavar="SHARE", default=None)
    price: Number | None = option(metavar="US$", default=None)
    runs: Path | str | None = option(metavar="FILE", default=None)
    write: Path | str | None = option(OUT_FILE, default=None)


@command(
    Plan,
    click.option("--why", is_flag=True, help="Also what the answer rests on."),
    click.option("-o", "--out", type=OUT, help="Write a page of the plan to this folder."),
    AS_JSON,
)
def _plan(asked: Plan, *, why: bool, out: Path | None, as_json: bool) -> None:
    one_thread()
    from tongues.core.terminal import hint, hint_command, print_json, print_table, say
    from tongues.plan.steps import free_place

    made = asked.run()
    if out:
        from tongues.core.pages import write_page
        from tongues.report.plan import plan_page

        say(str(write_page(plan_page(made), out)))
    if as_json:
        print_json(made.to_json())
        return
    first, *others = made.sentences()
    echo(first)
    print_table(made.rows(), ("FLOPs", "parameters"))
    for sentence in [*others, *(made.reasons() if why else ())]:
        echo(sentence)
    if asked.write:
        cluster = made.question.cluster
        machine = ("--gpu", cluster.gpu.name, "--gpus", cluster.count) if cluster else ()
        hint_command("tongues", "check", asked.write, *machine)
        return
    if not why:
        hint("what it rests on: `--why`; a page: `-o FOLDER`")
    if made.writable and made.question.languages:
        new_file = f"--write {free_place(Path('recipe.yaml'))}"
        hint_again("tongues plan", new_file, without=("out", "why"))


@settings
class New(Verb["Draft"]):
    """Write a recipe that continues BASE, and its plan; or list bases.

    BASE is a name of the list, a run or a folder; `--from` takes that of another trainer's recipe.
    """

    work = "plans:draft"
    base: str | None = argument(required=False, default=None)
    language: str | Sequence[str] = option(metavar="TAG", many=True, default=())
    out: Path | str | None = option(OUT_FILE, names=("-o", "--out"), default=None)
    _: KW_ONLY
    text: Path | str | None = option(PATH, default=None)
    budget: str | None = option(default=None)
    other: Path | str | None = option(PATH, names=("--from",), default=None)
    gpu: str | None = option(metavar="NAME", default=None)
    gpus: int | None = option(COUNT, default=None)


@command(New, AS_JSON)
def _new(asked: New, *, as_json: bool) -> None:
    one_thread()
    from tongues.core.terminal import hint_command, print_json, print_table, say
    from tongues.plan import known_bases
    from tongues.plan.steps import free_place

    tags = listed(asked.language)
    base: str | None = asked.base  # may be left out on the command line
    if base is None and asked.other is None:
        rows = [one.row() for one in known_bases().values()]
        if as_json:
            print_json({"bases": rows})
            return
        print_table(rows, optional=("first token", "vocabulary", "languages"))
        words = ["--language", *(tags[:1] or ["sw"])]
        words += ["--text", str(asked.text)] if asked.text else []
        out = asked.out or free_place(Path("recipe.yaml"))
        hint_command("tongues", "new", "SmolLM2-135M", *words, "-o", out)
        return
    draft, out = asked.run(), asked.out
    if as_json:
        path = str(out) if out else None
        print_json({"recipe": draft.recipe, "path": path} | draft.to_json())
        return
    echo(draft.recipe if out is None else out)
    for line in draft.lines:
        say(line)
    if out:
        machine = ("--gpu", asked.gpu, "--gpus", asked.gpus or 1) if asked.gpu else ()
        hint_command("tongues", "check", out, *machine)


plan = function(Plan)
new = function(New)
