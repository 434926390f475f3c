"""The verb serve: models behind OpenAI's API, and a page to try them on."""

import os
import socket
import sys
from pathlib import Path

import click

from tongues.cli.options import memory_option, workspace_option
from tongues.errors import Stopped, UserError

__all__ = ["serve"]

_KEY = "TONGUES_API_KEY"


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
    help=f"Holds the key that requests must say; or it is in {_KEY}.",
)
@click.option(
    "--allow-host",
    "hosts",
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
def serve(
    models: tuple[str, ...],
    workspace: Path,
    host: str,
    port: int,
    key_file: Path | None,
    hosts: tuple[str, ...],
    memory: int | None,
    running: int,
    queued: int,
    most: int,
    seconds: float,
) -> None:
    """Serve each MODEL: an ensemble, a run, or a Hugging Face folder.

    `NAME@tfidf:2` sets an ensemble's routing. OpenAI's API lies below /v1, and a page to try the
    models on at the address that is printed.
    """
    from tongues.serve.app import App
    from tongues.serve.engine import Engine
    from tongues.serve.limits import Limits
    from tongues.serve.running import address, listen, run
    from tongues.serve.served import open_served
    from tongues.terminal import say

    twice = next((said for said in models if models.count(said) > 1), None)
    if twice:
        raise UserError(f"`{twice}` is named twice", hint="once is enough")
    key = _key(key_file)
    listening = listen(host, port, keyed=key is not None)
    share = memory and memory // len(models)
    opened = {said: open_served(said, workspace, memory=share) for said in models}
    limits = Limits(tokens=most, running=running, queued=queued, seconds=seconds)
    engine = Engine(opened, running=running, queued=queued)
    names = frozenset(name.lower() for name in (*hosts, host, socket.gethostname()))
    app = App(opened, engine, limits, key=key, hosts=names)
    engine.start()
    try:
        run(
            app,
            listening,
            ready=lambda: click.echo(address(listening)),
            waiting=lambda answers: say(f"{answers} to be finished; Ctrl+C again ends at once"),
        )
    except Stopped as stop:
        say(str(stop))
        sys.exit(130)
    finally:
        engine.close()


def _key(file: Path | None) -> str | None:
    """The key, of the file or the environment; None: none is asked for."""
    where, key = _KEY, os.environ.get(_KEY, "").strip()
    if file is not None:
        where = str(file)
        try:
            key = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot be read ({error})", where=where) from None
    elif not key:
        return None
    if not (key.isascii() and key.isprintable()) or not key or " " in key:
        hint = "such as `python -c 'import secrets; print(secrets.token_urlsafe())'` makes"
        raise UserError("holds no key: one line of letters and digits", where=where, hint=hint)
    return key
