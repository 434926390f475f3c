"""The verb new: a recipe and its plan, from options or from answers on a terminal."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.errors import UserError
from tongues.terminal import echo
from tongues.verbs.options import AS_JSON, COUNT, OUT_FILE, PATH, one_thread
from tongues.verbs.settings import Verb, argument, command, function, option, settings
from tongues.verbs.shared import listed

if TYPE_CHECKING:
    from tongues.verbs.work.new import Draft


@settings
class New(Verb["Draft"]):
    """A recipe that continues a base on a language, and what it takes and comes to.

    The base is its id on the hub, its end, a run, or a folder; the language a tag or a name. The
    budget is 100M tokens where it is left out, or as many as read a smaller text five times.
    """

    work = "new:draft"
    base: str = argument(required=False)
    language: str | Sequence[str] = option("To learn, such as sw.", metavar="TAG", many=True)
    out: Path | str | None = option(
        "Write it to this file, its plan next to it.", OUT_FILE, names=("-o", "--out"), default=None
    )
    _: KW_ONLY
    text: Path | str | None = option(
        "Folder with its text, such as sw/ and en/ (hub).", PATH, default=None
    )
    budget: str | None = option(
        "`40B tokens`, `7 days`, `5000 US$`, … (100M tokens, or 5 times a short text).",
        default=None,
    )
    gpu: str | None = option(
        "GPU type, such as h100; days and money need it.", metavar="NAME", default=None
    )
    gpus: int | None = option("Number of GPUs (1).", COUNT, default=None)


@command(New, AS_JSON)
def new_command(asked: New, *, as_json: bool) -> None:
    """Write a recipe that continues BASE, and its plan; or list bases.

    On a terminal it asks for what is not given. BASE is a name of the list, a run or a folder.
    """
    one_thread()
    from tongues.plan import known_bases, read_base
    from tongues.steps import free_place
    from tongues.terminal import hint_command, print_json, print_table, say

    base: str | None = asked.base  # may be left out on the command line
    text, out = asked.text, asked.out
    tags = listed(asked.language)
    asks, tag = not as_json and on_terminal(), next(iter(tags), None)
    if base is None:
        rows = [one.row() for one in known_bases().values()]
        if as_json:
            print_json({"bases": rows})
            return
        print_table(rows, optional=("first token", "vocabulary", "languages"))
        if not asks:
            out = out or free_place(Path("recipe.yaml"))
            words = ["--language", tag or "sw", *(["--text", text] if text else [])]
            hint_command("tongues", "new", "SmolLM2-135M", *words, "-o", out)
            return
        base = _ask("base: a name above, a run or a folder", "SmolLM2-135M", read_base)
    if tag is None:
        if not asks:
            raise UserError("which language?", where="--language", hint="a tag such as `sw`")
        tag, text, out = _asked(base, text, out)
        tags = [tag]
    draft = replace(asked, base=base, language=tags, text=text, out=out).run()
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


def _asked(
    base: str, text: Path | str | None, out: Path | str | None
) -> tuple[str, Path | str | None, Path | str]:
    """Language, text and file of a recipe, as they are answered."""
    from tongues.languages import find_language
    from tongues.plan import read_base
    from tongues.verbs.work.new import check_new_file
    from tongues.verbs.work.own_text import read_own_text

    checkpoint = read_base(base)
    if out:
        check_new_file(Path(out))
    language = _ask("language to learn, such as sw", None, find_language)

    def check(place: str) -> None:
        if place and not Path(place).is_dir():
            raise UserError(f"`{place}` is not a folder", hint=f"this is `{Path.cwd()}`")
        if place:
            read_own_text(Path(place), find_language(language), checkpoint)

    if text is None:
        place = _ask("folder of its text; empty: public text of the hub", "", check)
        text = Path(place) if place else None
    if out is None:
        name = _ask("write it to", f"{language}.yaml", lambda x: check_new_file(Path(x)))
        out = Path(name)
    return language, text, out


def on_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(question: str, default: str | None, check: Callable[[str], object] = str) -> str:
    """An answer that passes its check."""
    while True:
        answer = str(click.prompt(question, default=default, show_default=bool(default), err=True))
        try:
            check(answer)
            return answer
        except UserError as error:
            where = "" if error.where.startswith("-") else f"{error.where}: "
            hint = f"; {error.hint}" if error.hint else ""
            echo(f"  {where.removeprefix(': ')}{error.what}{hint}", err=True)


new = function(New)
