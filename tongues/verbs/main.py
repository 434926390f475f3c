"""Where the command starts, and how it ends when something is wrong."""

import io
import os
import shlex
import sys
import time
from pathlib import Path
from shutil import disk_usage

import click

from tongues import __version__
from tongues.core.beside import read_beside
from tongues.core.errors import Stopped, UserError, nearest
from tongues.core.extras import required_by
from tongues.core.files import DISK_FULL, path_text
from tongues.core.magnitudes import show_bytes
from tongues.core.removed import OPTIONS
from tongues.core.terminal import echo, is_first_rank
from tongues.verbs import demo, guide, laws, models, pages, plan, recipes
from tongues.verbs.experts import experts_group
from tongues.verbs.options import SECTIONS, Verbs
from tongues.verbs.settings import COMMANDS

# What declares them.
VERBS = (demo, guide, laws, models, pages, plan, recipes)

_PATIENCE = 5.0  # seconds


# The verbs in the order of work; an example of each, and the recipe keys that it reads.
_EXAMPLES: dict[str, list[str]] = read_beside(__file__, "examples.toml")
_ORDER: dict[str, list[str]] = read_beside(__file__, "order.toml")


@click.group(
    cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(__version__, message="tongues %(version)s")
def command() -> None:
    """Bring language models to new languages, and know beforehand what it takes."""


for title, group in _ORDER.items():
    for verb in group:
        command.add_command(COMMANDS[verb])
        SECTIONS[verb] = title
for verb in (*command.commands.values(), *experts_group.commands.values()):
    key = "experts train" if verb is experts_group.commands["train"] else verb.name or ""
    if key in _EXAMPLES:
        example, reads = _EXAMPLES[key]
        sections = f"\nRecipe sections it reads: {reads}" if reads else ""
        verb.epilog = f"\b\nExample: {example}{sections}"


def _in_our_words(error: click.ClickException) -> UserError:
    what, hint = error.format_message().rstrip("."), ""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "tongues"
    if isinstance(error, click.NoSuchOption) and context:
        what = f"`{path}` has no option `{error.option_name}`"
        if instead := OPTIONS.get(f"{_verb(context)} {error.option_name}"):
            return UserError(f"`{error.option_name}` is gone: {instead}", where=path)
        hint = nearest(error.option_name, _options(context.command))
        verbs = context.command.commands if isinstance(context.command, click.Group) else {}
        having = [name for name, verb in verbs.items() if error.option_name in _options(verb)]
        if having:
            verb = next((word for word in sys.argv if word in having), having[0])
            hint = f"it comes after the verb, as in `{path} {verb} {error.option_name} …`"
    elif context:
        hint = f"see `{path} --help`"
    return UserError(what, hint=hint)


def _verb(context: click.Context) -> str:
    """The words of a verb, such as `experts train`, however the program was called."""
    names = list[str]()
    while context.parent:
        names.insert(0, context.info_name or "")
        context = context.parent
    return " ".join(names)


def _options(command: click.Command) -> list[str]:
    return [name for option in command.params for name in option.opts if name.startswith("--")]


def _open_streams() -> None:
    """Open on nothing what the caller closed; escape letters that a stream does not have."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not what a test or a notebook puts there
            stream.reconfigure(errors="backslashreplace")


def _disk_of(path: str | None) -> str:
    """The disk of a path, or of the folder one is in, and what is free on it."""
    place = Path(path or ".").absolute()
    while not place.is_mount():
        place = place.parent
    room = disk_usage(place)
    return f"the disk at {place} has {show_bytes(room.free)} free of {show_bytes(room.total)}"


def main() -> None:
    """Run the command; an error is one short message and an exit code."""
    _open_streams()
    try:
        command(standalone_mode=False)
    except UserError as error:
        if not is_first_rank():  # torchrun ends this process once the first has printed the error
            time.sleep(_PATIENCE)
        echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        missing = required_by(error)
        if missing is None:
            raise
        echo(f"error: {missing}", err=True)
        sys.exit(missing.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        echo(f"error: {_in_our_words(error)}", err=True)
        sys.exit(error.exit_code)
    except UnicodeEncodeError as error:
        echo(f"error: {path_text(error.object)}: has bytes that are not UTF-8", err=True)
        echo("  Libraries that are used here take none: rename it.", err=True)
        sys.exit(2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        full = f"; {_disk_of(error.filename)}" if error.errno in DISK_FULL else ""
        echo(f"error: {where}{error.strerror or error}{full}", err=True)
        echo("  No completed work was lost. Fix this and run it again.", err=True)
        sys.exit(1)
    except (Stopped, click.Abort, KeyboardInterrupt) as stop:
        again = shlex.join(["tongues", *sys.argv[1:]])
        echo(f"{str(stop) or 'stopped'}; run it again to resume: {again}", err=True)
        sys.exit(130)
