"""Arguments and options that several verbs share."""

import os
import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from tongues.errors import UserError, nearest

if TYPE_CHECKING:
    from tongues.recipe import TextRecipe


Command = TypeVar("Command", bound=Callable[..., object])

COUNT = click.IntRange(min=1)
DTYPES = click.Choice(["bf16", "fp16", "fp32"])
PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)


class _Out(click.Path):
    """A place for what is made, refused before the work where nothing can be written there."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        from tongues.files import check_writable

        path: Any = super().convert(value, param, ctx)
        check_writable(path if self.file_okay else path / "file")
        return path


OUT = _Out(path_type=Path)
OUT_FILE = _Out(path_type=Path, dir_okay=False)
_OUT_FOLDER = _Out(path_type=Path, file_okay=False)


SECTIONS: dict[str, str] = {}  # of the help, by verb


class Verbs(click.Group):
    """Names the nearest verb when one is mistyped; lists verbs by section, a whole line each."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb; a UserError where there is none of this name."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise UserError(f"`{args[0]}` is not a verb", hint=nearest(args[0], self.commands))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs in the order they were added."""
        width, lines = max(map(len, self.commands)), defaultdict[str, list[str]](list)
        for name, verb in self.commands.items():
            title = SECTIONS.get(name, "Verbs") if ctx.parent is None else "Verbs"
            lines[title].append(f"{name:{width}}  {verb.get_short_help_str(limit=100)}")
        for title, section in lines.items():
            with formatter.section(title):
                formatter.write_text("\b\n" + "\n".join(section))


class _LauncherOption(click.Option):
    """Names the launchers there are, those of other packages too, once help is asked for."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from tongues.launch import LAUNCHERS

        own = (f"{one.name}:{','.join(f'{key}=…' for key in one.takes)}" for one in LAUNCHERS)
        self.help = f"What starts the jobs: {'; '.join(name.rstrip(':') for name in own)}."
        return super().get_help_record(ctx)


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_OVERRIDES = click.argument("overrides", nargs=-1, metavar="[SECTION.KEY=VALUE]...")


def overrides(command: Command) -> Command:
    """Takes overrides of a recipe, and says of a mistake in their values that it is in them."""

    @wraps(command)
    def named(*arguments: Any, overrides: tuple[str, ...], **keywords: Any) -> object:
        try:
            return command(*arguments, overrides=overrides, **keywords)
        except UserError as error:
            keys = [override.partition("=")[0] for override in overrides]
            at, inside = f"{error.where}.", "." in error.where
            if any(at.startswith(f"{x}.") or (inside and x.startswith(at)) for x in keys):
                error.where = f"override {error.where}"
            raise

    return cast("Command", _OVERRIDES(named))


workspace = click.option(
    "-w", "--workspace", type=FOLDER, default=Path(), help="Folder of all inputs and outputs."
)
recipe = _together(click.argument("recipe", type=PATH), overrides, workspace)
overwrite = click.option(
    "--overwrite", is_flag=True, help="Overwrite output made with other settings."
)
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
memory = click.option(
    "--max-memory",
    metavar="SIZE",
    help="Cap on expert weights in memory; the least recently used are unloaded.",
)
placement = _together(
    click.option("--device", metavar="NAME", help="cpu, cuda or cuda:1; default: GPUs if any."),
    click.option(
        "--dtype", type=DTYPES, help="Precision of weights; default: bf16 on GPUs, else fp32."
    ),
)
quiet = click.option("-q", "--quiet", is_flag=True, help="No progress, notes or hints.")
figures = click.option(
    "--figures", type=_OUT_FOLDER, help="Folder for the figures, each as SVG, PNG and data."
)
launch = click.option("--launcher", metavar="NAME", default="local", cls=_LauncherOption)
processes = click.option("--processes", type=COUNT, help="Processes per run, started by torchrun.")
ranks = click.option("--ranks", type=COUNT, help="Processes that share the work.")


def one_thread() -> None:
    """Keep numpy on one thread: matrices this small only make a second one wait."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def hint_again(verb: str, *more: str, without: Collection[str] = ()) -> None:
    """Print the command that runs now with more words; verb: as it is typed.

    without: names of options that are left out.
    """
    from tongues.terminal import hint

    context = click.get_current_context()
    words = [verb]
    for parameter in context.command.params:
        name = parameter.name or ""
        value = context.params.get(name)
        values = map(str, value if isinstance(value, tuple) else [value])
        if isinstance(parameter, click.Argument):
            words += map(shlex.quote, values)
        elif name in without or context.get_parameter_source(name) != ParameterSource.COMMANDLINE:
            continue
        elif value is True:
            words.append(parameter.opts[-1])
        else:
            words += [f"{parameter.opts[-1]} {shlex.quote(one)}" for one in values]
    hint(" ".join([*words, *more]))


def hint_next(workspace: Path) -> None:
    """Print that `next` says what to do in a workspace."""
    from tongues.terminal import hint

    hint(shlex.join(["tongues", "next", *([] if workspace == Path() else [str(workspace)])]))


def hint_recipe(recipe: "TextRecipe", words: Sequence[Path | str], workspace: Path) -> None:
    """Print the next step of a recipe; words: its file and overrides."""
    from tongues.steps import step_of_recipe
    from tongues.terminal import hint

    hint(step_of_recipe(recipe, words, workspace).command)


def hint_runs(folder: Path, workspace: Path) -> None:
    """Print the next step of a run or of a study's folder."""
    from tongues.steps import step_of_runs
    from tongues.terminal import hint

    hint(step_of_runs(folder, workspace).command)
