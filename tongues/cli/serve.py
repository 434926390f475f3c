"""The verb serve: models behind OpenAI's API, and a page to try them on."""

import sys
from pathlib import Path
from typing import Any

import click

from tongues.cli.options import memory_option, workspace_option
from tongues.errors import Stopped

__all__ = ["serve"]


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@workspace_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    show_default=True,
    help="0: any that is free.",
)
@click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Holds the key that requests must say; or it is in TONGUES_API_KEY.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A name of this server that requests may use.",
)
@memory_option
@click.option(
    "--running",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Texts written at a time.",
)
@click.option(
    "--queued",
    type=click.IntRange(min=0),
    default=64,
    show_default=True,
    help="Texts that wait for their turn; more are refused.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=1024,
    show_default=True,
    help="Tokens of a text.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="That an answer may take.",
)
def serve(models: tuple[str, ...], **asked: Any) -> None:
    """Serve each MODEL: an ensemble, a run, or a Hugging Face folder.

    `NAME@tfidf:2` sets an ensemble's routing. OpenAI's API lies below /v1, and a page to try the
    models on at the address that is printed.
    """
    import tongues
    from tongues.terminal import say

    try:
        tongues.serve(models, ready=click.echo, **asked)
    except Stopped as stop:
        say(str(stop))
        sys.exit(130)
