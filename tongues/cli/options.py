"""Arguments and options that several verbs share."""

import os
from pathlib import Path

import click

__all__ = [
    "figures_option",
    "json_option",
    "one_thread",
    "overrides_argument",
    "rebuild_option",
    "recipe_argument",
    "workspace_option",
]

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
figures_option = click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Draw figures there, each as SVG, PNG and data.",
)


def one_thread() -> None:
    """Keep numpy on one thread: matrices this small only make a second one wait."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
