"""The command: one thin function a verb; a room is imported only when its verb is called."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tongues import __version__
from tongues.errors import Stopped, UserError, nearest

__all__ = ["main"]


class _Verbs(click.Group):
    """A group that names the nearest verb when one is mistyped."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise UserError(f"`{args[0]}` is no verb", hint=nearest(args[0], self.commands))
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="tongues %(version)s")
def command() -> None:
    """Bring language models to new languages, and know beforehand what it takes."""


_recipe = click.argument("recipe", type=click.Path(path_type=Path))
_overrides = click.argument("overrides", nargs=-1, metavar="[SECTION.KEY=VALUE]...")
_workspace = click.option(
    "--in",
    "workspace",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder for tokens/ and runs/; here by default.",
)
_rebuild = click.option("--rebuild", is_flag=True, help="Replace what was made otherwise.")
_json = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")


@command.command()
@_recipe
@_overrides
@_workspace
@_json
def check(recipe: Path, overrides: tuple[str, ...], workspace: Path, as_json: bool) -> None:
    """Print the resolved RECIPE and what it takes, before anything runs."""
    from tongues.check import check_recipe, derived_as_json, derived_table
    from tongues.quantities import show_bytes
    from tongues.recipe import load_recipe, show_recipe
    from tongues.terminal import hint, print_json, print_table

    loaded = load_recipe(recipe, overrides)
    checked = check_recipe(loaded, workspace)
    if as_json:
        print_json({"recipe": loaded.model_dump(mode="json")} | derived_as_json(checked))
        return
    click.echo(show_recipe(loaded))
    print_table(derived_table(checked))
    notes = {plan.shape.name: plan.shape.note for plan, _ in checked.runs if plan.shape.note}
    for name, note in notes.items():
        click.echo(f"shape {name}: {note}")
    click.echo(f"\nmemory, about: {show_bytes(checked.memory)}, {checked.at_once} at a time")
    click.echo(f"disk, about: {show_bytes(checked.disk)}")
    hint(f"tongues prepare {recipe}")


@command.command()
@_recipe
@_overrides
@_workspace
@_rebuild
def prepare(recipe: Path, overrides: tuple[str, ...], workspace: Path, rebuild: bool) -> None:
    """Turn the text of RECIPE into token shards."""
    from tongues.check import check_recipe
    from tongues.recipe import load_recipe
    from tongues.terminal import hint, say
    from tongues.tokens import prepare_tokens

    loaded = load_recipe(recipe, overrides)
    check_recipe(loaded, workspace)
    click.echo(prepare_tokens(loaded, workspace, say, rebuild=rebuild))
    hint(f"tongues {'study' if loaded.study else 'train'} {recipe}")


@command.command()
@_recipe
@_overrides
@_workspace
@_rebuild
def train(recipe: Path, overrides: tuple[str, ...], workspace: Path, rebuild: bool) -> None:
    """Train the one run of RECIPE; interrupted, the same command goes on."""
    from tongues.check import check_recipe
    from tongues.recipe import load_recipe
    from tongues.terminal import hint, progress_line, say
    from tongues.tokens import check_tokens

    loaded = load_recipe(recipe, overrides)
    if loaded.study:
        raise UserError("is a study of many runs", where=str(recipe), hint="use `tongues study`")
    ((plan, _),) = check_recipe(loaded, workspace).runs
    check_tokens(loaded, workspace)
    from tongues.train.run import train as train_run

    with progress_line(plan.name) as show:
        watch = _run_watcher(show)
        directory = train_run(plan, workspace, watch=watch, tell=say, rebuild=rebuild)
    click.echo(directory)
    hint(f"tongues report {directory}")


@command.command()
@_recipe
@_overrides
@_workspace
@_rebuild
def study(recipe: Path, overrides: tuple[str, ...], workspace: Path, rebuild: bool) -> None:
    """Train all runs of RECIPE on this machine; interrupted, the same command goes on."""
    from tongues.recipe import load_recipe
    from tongues.terminal import hint

    loaded = load_recipe(recipe, overrides)
    directory = _study(loaded, workspace, rebuild)
    click.echo(directory)
    hint(f"tongues report {directory}")


@command.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the laws as JSON here.")
@click.option("--draws", default=1000, show_default=True, help="Bootstrap draws of the intervals.")
@_json
def fit(runs: tuple[Path, ...], out: Path | None, draws: int, as_json: bool) -> None:
    """Fit the laws of training from scratch and of continued training to RUNS."""
    from tongues.files import write_json
    from tongues.laws.observed import gather
    from tongues.laws.shown import law_rows, laws_as_json, remarks
    from tongues.laws.targets import fit_targets
    from tongues.runs import table
    from tongues.terminal import hint, print_json, print_table, say

    fitted = fit_targets(gather(table(runs)), draws=draws)
    if not fitted:
        raise UserError("there is no finished run to fit", where=str(runs[0]))
    if out:
        write_json(out, laws_as_json(fitted, draws=True))
    if as_json:
        print_json(laws_as_json(fitted, draws=False))
        return
    print_table(law_rows(fitted))
    for remark in remarks(fitted):
        say(remark)
    hint(f"tongues report {runs[0]}")


@command.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Folder of the page.")
@click.option("--title", default="", help="Title of the page.")
def report(runs: tuple[Path, ...], out: Path | None, title: str) -> None:
    """Write one page with the figures of RUNS, and each figure as SVG, PNG and data."""
    from tongues.report import write_report
    from tongues.terminal import say

    out = out or Path("reports") / runs[0].resolve().name
    click.echo(write_report(runs, out, title=title, progress=say))


@command.command()
@click.option(
    "--in",
    "workspace",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Folder for all that the demo makes.",
)
@_overrides
@_rebuild
def demo(workspace: Path, overrides: tuple[str, ...], rebuild: bool) -> None:
    """Run it all on three small made languages: from text to a page of laws, in minutes."""
    from importlib.resources import as_file, files

    from tongues.files import read_json
    from tongues.recipe import load_recipe
    from tongues.report import write_report
    from tongues.terminal import say
    from tongues.text import describe_made
    from tongues.tokens import prepare_tokens

    with as_file(files("tongues.study") / "demo.yaml") as path:
        loaded = load_recipe(path, overrides)
    prepare_tokens(loaded, workspace, say, rebuild=rebuild)
    runs = _study(loaded, workspace, rebuild)
    page = write_report([runs], workspace / "reports" / loaded.name, progress=say)
    related = describe_made(loaded.text.made) if loaded.text.made else []
    click.echo("")
    for sentence in [*related, *read_json(page.with_name("report.json"))["sentences"]]:
        click.echo(f"- {sentence}")
    click.echo(f"\nthe page: {page}")


def _study(recipe: Any, workspace: Path, rebuild: bool) -> Path:
    """Train the runs of a study with a live line; returns their folder."""
    from tongues.check import check_recipe
    from tongues.study import run_all
    from tongues.terminal import progress_line
    from tongues.tokens import check_tokens

    if recipe.study is None:
        raise UserError(
            "there is no `study` section", where=recipe.name, hint="see `tongues train`"
        )
    plans = [plan for plan, _ in check_recipe(recipe, workspace).runs]
    check_tokens(recipe, workspace)
    with progress_line(f"{recipe.name}: {len(plans)} runs") as show:
        run_all(
            plans,
            workspace,
            workers=recipe.study.workers,
            watch=lambda state: show(
                state.share,
                f"{state.finished} finished; now {', '.join(map(_last, state.running))}",
            ),
            rebuild=rebuild,
        )
    return workspace / "runs" / recipe.name


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _run_watcher(show: Callable[[float, str], None]) -> Callable[[Any], None]:
    """A live line from a run's progress."""

    def watch(progress: Any) -> None:
        held_out = " ".join(f"{lang} {loss:.3f}" for lang, loss in progress.losses.items())
        words = f"step {progress.step}/{progress.steps}  loss {progress.loss:.3f}"
        words += f"  held out: {held_out}  {progress.tokens_per_second:,.0f} tokens/s"
        show(progress.step / progress.steps, f"{words}  {progress.seconds_left:.0f} s left")

    return watch


def main() -> None:
    """Run the command; a mistake is told in a few words (2), as is a failing disk (1)."""
    try:
        command(standalone_mode=False)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {where}{error.strerror or error}", err=True)
        click.echo("  nothing whole was lost; mend it, and the same command goes on", err=True)
        sys.exit(1)
    except (Stopped, click.Abort, KeyboardInterrupt) as stop:
        click.echo(f"{stop or 'stopped'}; the same command goes on", err=True)
        sys.exit(130)
