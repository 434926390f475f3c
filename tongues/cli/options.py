"""Arguments and options that several verbs share."""

import os
from pathlib import Path
from typing import Any

import click

from tongues.errors import UserError

__all__ = [
    "figures_option",
    "json_option",
    "memory_option",
    "one_thread",
    "overrides_argument",
    "rebuild_option",
    "recipe_argument",
    "training_verb",
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


def _bytes(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    from pydantic import TypeAdapter, ValidationError

    from tongues.quantities import Bytes

    try:
        return TypeAdapter(Bytes).validate_python(value)
    except ValidationError as error:
        told = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(told, where="--memory") from None


memory_option = click.option(
    "--memory",
    metavar="SIZE",
    callback=_bytes,
    help="For experts' weights, such as `2GB`: those used longest ago are let go of.",
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


def training_verb(recipe: Any) -> str:
    """What trains a recipe whose text is prepared."""
    return "study" if recipe.study else "experts train" if recipe.experts else "train"
