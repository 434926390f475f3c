"""What the command line adds: kinds of values, options of output, and the list of verbs."""

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import click

from tongues.core.errors import UserError, nearest

COUNT = click.IntRange(min=1)
DTYPES = click.Choice(["bf16", "fp16", "fp32"])
PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)


class _Out(click.Path):
    """A place for what is made, refused before the work where nothing can be written there."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        from tongues.core.files import check_writable

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


class LauncherOption(click.Option):
    """Names the launchers there are, those of other packages too, once help is asked for."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its help."""
        from tongues.core.launch import LAUNCHERS

        own = (f"{one.name}:{','.join(f'{key}=…' for key in one.takes)}" for one in LAUNCHERS)
        self.help = f"What starts the jobs: {'; '.join(name.rstrip(':') for name in own)}."
        return super().get_help_record(ctx)


AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
FIGURES = click.option(
    "--figures", type=_OUT_FOLDER, help="Folder for the figures, each as SVG, PNG and data."
)


def one_thread() -> None:
    """Keep numpy on one thread: matrices this small only make a second one wait."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
