"""Arguments and options that several verbs share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from tongues.recipe import Recipe

__all__ = [
    "Command",
    "figures_option",
    "json_option",
    "launch_options",
    "memory_option",
    "one_thread",
    "overrides_argument",
    "processes_option",
    "ranks_option",
    "rebuild_option",
    "recipe_argument",
    "training_verb",
    "workspace_option",
]

Command = TypeVar("Command", bound=Callable[..., object])

recipe_argument = click.argument("recipe", type=click.Path(path_type=Path))
overrides_argument = click.argument("overrides", nargs=-1, metavar="[SECTION.KEY=VALUE]...")
workspace_option = click.option(
    "--in",
    "workspace",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder for tokens/ and runs/; here by default.",
)
rebuild_option = click.option("--rebuild", is_flag=True, help="Replace what was made otherwise.")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object instead of text."
)
memory_option = click.option(
    "--memory",
    metavar="SIZE",
    help="For experts' weights, such as `2GB`: those used longest ago are let go of.",
)
figures_option = click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Draw figures there, each as SVG, PNG and data.",
)


class _LauncherOption(click.Option):
    """Names the launchers there are, those of other packages too, once help is asked for."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and what it is for."""
        from tongues.launch import LAUNCHERS

        self.help = f"What starts the jobs: {', '.join(LAUNCHERS.names())}."
        return super().get_help_record(ctx)


def launch_options(command: Command) -> Command:
    """What starts jobs, and how."""
    for option in (
        click.option("--time", metavar="H:MM:SS", help="A cluster's limit of a job."),
        click.option("--partition", metavar="NAME", help="Of a cluster."),
        click.option(
            "--launcher", metavar="NAME", default="local", show_default=True, cls=_LauncherOption
        ),
    ):
        command = option(command)
    return command


processes_option = click.option(
    "--processes", type=click.IntRange(min=1), help="Of each run, by torchrun."
)
ranks_option = click.option(
    "--ranks", type=click.IntRange(min=1), help="Processes that share the work."
)


def one_thread() -> None:
    """Keep numpy on one thread: matrices this small only make a second one wait."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def training_verb(recipe: "Recipe") -> str:
    """What trains a recipe whose text is prepared."""
    return "study" if recipe.study else "experts train" if recipe.experts else "train"
