"""Arguments and options that several verbs share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from tongues.recipe import Recipe

__all__ = ["COUNT", "FOLDER", "PATH", "one_thread", "training_verb"]
__all__ += [
    "as_json",
    "figures",
    "launch",
    "memory",
    "overrides",
    "overwrite",
    "processes",
    "ranks",
]
__all__ += ["recipe", "workspace"]

Command = TypeVar("Command", bound=Callable[..., object])

COUNT = click.IntRange(min=1)
PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)


class _LauncherOption(click.Option):
    """Names the launchers there are, those of other packages too, once help is asked for."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from tongues.launch import LAUNCHERS

        self.help = f"What starts the jobs: {', '.join(LAUNCHERS.names())}."
        return super().get_help_record(ctx)


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several arguments and options as one decorator, in the order given."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


overrides = click.argument("overrides", nargs=-1, metavar="[SECTION.KEY=VALUE]...")
workspace = click.option(
    "-w", "--workspace", type=FOLDER, default=Path(), help="Folder of tokens/ and runs/."
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
figures = click.option("--figures", type=FOLDER, help="For figures, each as SVG, PNG and data.")
launch = _together(
    click.option("--launcher", metavar="NAME", default="local", cls=_LauncherOption),
    click.option("--partition", metavar="NAME", help="Of a cluster."),
    click.option("--time", metavar="H:MM:SS", help="A cluster's limit of a job."),
)
processes = click.option("--processes", type=COUNT, help="Of each run, by torchrun.")
ranks = click.option("--ranks", type=COUNT, help="Processes that share the work.")


def one_thread() -> None:
    """Keep numpy on one thread: matrices this small only make a second one wait."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def training_verb(wanted: "Recipe") -> str:
    """What trains a recipe whose text is prepared."""
    return "study" if wanted.study else "experts train" if wanted.experts else "train"
