"""The verb new: a recipe and its plan, from options or from answers on a terminal."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from tongues.cli import options
from tongues.errors import UserError
from tongues.terminal import echo


@click.command()
@click.argument("base", required=False)
@click.option("--language", multiple=True, metavar="TAG", help="To learn, such as sw.")
@click.option("--text", type=options.PATH, help="Folder with its text, such as sw/ and en/ (hub).")
@click.option(
    "--budget", help="`40B tokens`, `7 days`, `5000 US$`, … (100M tokens, or 5 times a short text)."
)
@click.option("--gpu", metavar="NAME", help="GPU type, such as h100; days and money need it.")
@click.option("--gpus", type=options.COUNT, help="Number of GPUs (1).")
@click.option(
    "-o", "--out", type=options.OUT_FILE, help="Write it to this file, its plan next to it."
)
@options.as_json
def new(
    base: str | None,
    language: tuple[str, ...],
    text: Path | None,
    budget: str | None,
    gpu: str | None,
    gpus: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write a recipe that continues BASE, and its plan; or list bases.

    On a terminal it asks for what is not given. BASE is a name of the list, a run or a folder.
    """
    options.one_thread()
    import tongues
    from tongues.plan import known_bases, read_base
    from tongues.steps import free_place
    from tongues.terminal import hint_command, print_json, print_table, say

    asks, tag = not as_json and on_terminal(), next(iter(language), None)
    if len(language) > 1:
        hint = "`tongues plan` takes several, and writes their recipe"
        raise UserError("names one language", where="--language", hint=hint)
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
    draft = tongues.new(base, tag, out, text=text, budget=budget, gpu=gpu, gpus=gpus)
    if as_json:
        path = str(out) if out else None
        print_json({"recipe": draft.recipe, "path": path} | draft.to_json())
        return
    echo(draft.recipe if out is None else out)
    for line in draft.lines:
        say(line)
    if out:
        machine = ("--gpu", gpu, "--gpus", gpus or 1) if gpu else ()
        hint_command("tongues", "check", out, *machine)


def _asked(base: str, text: Path | None, out: Path | None) -> tuple[str, Path | None, Path]:
    """Language, text and file of a recipe, as they are answered."""
    from tongues.languages import find_language
    from tongues.plan import read_base
    from tongues.verbs.new import check_new_file
    from tongues.verbs.own_text import read_own_text

    checkpoint = read_base(base)
    if out:
        check_new_file(out)
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
