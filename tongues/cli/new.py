"""The verb new: a recipe and its plan, from options or from answers on a terminal."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from tongues.cli import options
from tongues.errors import UserError

__all__ = ["new"]


@click.command()
@click.argument("base", required=False)
@click.option("--language", metavar="TAG", help="To learn, such as sw.")
@click.option("--text", type=options.PATH, help="Folder with its text, such as sw/ and en/ (hub).")
@click.option("--budget", help="Of the training (100M tokens, or 5 times a smaller text).")
@click.option("--machine", default="here", help="What trains: here, or GPUs such as `8 h100`.")
@click.option(
    "-o", "--out", type=options.OUT_FILE, help="Write it to this file, its plan next to it."
)
@options.as_json
def new(
    base: str | None,
    language: str | None,
    text: Path | None,
    budget: str | None,
    machine: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write a recipe that continues BASE, and its plan; or list bases.

    On a terminal it asks for what is not given. BASE is a name of the list, a run or a folder.
    """
    options.one_thread()
    import tongues
    from tongues.plan import find_ready, ready_bases
    from tongues.steps import free_place
    from tongues.terminal import hint_command, print_json, print_table, say

    asks = not as_json and on_terminal()
    if base is None:
        rows = [ready.row() for ready in ready_bases().values()]
        if as_json:
            print_json({"bases": rows})
            return
        print_table(rows, optional=("first token", "vocabulary", "languages"))
        if not asks:
            words = ["--language", language or "sw"]
            for flag, value in (("--text", text), ("--budget", budget)):
                words += [flag, str(value)] if value else []
            words += ["--machine", machine] if machine != "here" else []
            out = out or free_place(Path("recipe.yaml"))
            hint_command("tongues", "new", "SmolLM2-135M", *words, "-o", out)
            return
        base = _ask("base: a name above, a run or a folder", "SmolLM2-135M", find_ready)
    if language is None and asks:
        from tongues.languages import find_language
        from tongues.verbs import new as verb

        find_ready(base)
        if out:
            verb.check_new_file(out)
        learned = language = _ask("language to learn, such as sw", None, find_language)
        suggested = partial(_suggested, base, learned)
        place = _ask("folder of its text; empty: public text of the hub", "", suggested)
        text = Path(place) if place else None
        budget = _ask("budget", budget or suggested(place), verb.read_budget)
        machine = _ask("machine: here, or GPUs such as h100 or 8 h100", machine, verb.read_machine)
        if not out:
            answer = _ask("write it to", f"{language}.yaml", lambda x: verb.check_new_file(Path(x)))
            out = Path(answer)
    elif language is None:
        raise UserError("which language?", where="--language", hint="a tag such as `sw`")
    draft = tongues.new(base, language, out, text=text, budget=budget, machine=machine)
    if as_json:
        path = str(out) if out else None
        print_json({"recipe": draft.recipe, "path": path} | draft.to_json())
        return
    click.echo(draft.recipe if out is None else out)
    for line in draft.lines:
        say(line)
    if out:
        hint_command("tongues", "check", out)


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
            click.echo(f"  {where.removeprefix(': ')}{error.what}{hint}", err=True)


def _suggested(base: str, language: str, place: str) -> str:
    """A budget that suits the text of a folder, which must be there and in the language."""
    from tongues.verbs.new import suggest_budget

    if place and not Path(place).is_dir():
        raise UserError(f"`{place}` is not a folder", hint=f"this is `{Path.cwd()}`")
    return suggest_budget(base, language, place or None)
