"""Where the command starts, and how it ends when something is wrong."""

import sys
import time

import click

from tongues import __version__
from tongues.cli.demo import demo
from tongues.cli.experts import experts
from tongues.cli.laws import fit, plan
from tongues.cli.models import evaluate, export, generate, serve
from tongues.cli.pages import ls, report
from tongues.cli.recipes import check, prepare, study, train
from tongues.errors import Stopped, UserError, nearest
from tongues.terminal import speaks

__all__ = ["main"]

_PATIENCE = 5.0  # seconds


class _Verbs(click.Group):
    """A group that names the nearest verb when one is mistyped."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise UserError(f"`{args[0]}` is no verb", hint=nearest(args[0], self.commands))
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, message="tongues %(version)s")
def command() -> None:
    """Bring language models to new languages, and know beforehand what it takes."""


for verb in (plan, check, prepare, train, study, experts, evaluate, generate):
    command.add_command(verb)
for verb in (serve, ls, export, fit, report, demo):
    command.add_command(verb)


def _in_our_words(error: click.ClickException) -> UserError:
    """A mistake in how the command is written, as any other is told."""
    what, hint = error.format_message().rstrip("."), ""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "tongues"
    if isinstance(error, click.NoSuchOption) and context:
        what = f"`{path}` has no option `{error.option_name}`"
        hint = nearest(error.option_name, _options(context.command))
        verbs = context.command.commands if isinstance(context.command, click.Group) else {}
        having = [name for name, verb in verbs.items() if error.option_name in _options(verb)]
        if having:
            verb = next((word for word in sys.argv if word in having), having[0])
            hint = f"it comes after the verb, as in `{path} {verb} {error.option_name} …`"
    elif context:
        hint = f"see `{path} --help`"
    return UserError(what, hint=hint)


def _options(command: click.Command) -> list[str]:
    return [name for option in command.params for name in option.opts if name.startswith("--")]


def main() -> None:
    """Run the command; a mistake is told in a few words (2), as is a failing disk (1)."""
    try:
        command(standalone_mode=False)
    except UserError as error:
        if not speaks():  # torchrun ends this process once the first has told an error of all
            time.sleep(_PATIENCE)
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"error: {_in_our_words(error)}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {where}{error.strerror or error}", err=True)
        click.echo("  No completed work was lost. Fix this and run it again.", err=True)
        sys.exit(1)
    except (Stopped, click.Abort, KeyboardInterrupt) as stop:
        click.echo(f"{str(stop) or 'stopped'}; run it again to resume", err=True)
        sys.exit(130)
