"""The verb demo: what this project does, on made languages, in minutes."""

from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import click

from tongues.cli.options import overrides_argument, rebuild_option

__all__ = ["demo"]

_BEGUN = 12  # tokens


@click.command()
@click.option(
    "--in",
    "workspace",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Folder for all that the demo makes.",
)
@click.option("--experts", is_flag=True, help="Language experts, to be served, instead of laws.")
@overrides_argument
@rebuild_option
def demo(workspace: Path, experts: bool, overrides: tuple[str, ...], rebuild: bool) -> None:
    """Run it all on small made languages: from text to a page of laws, in minutes."""
    if experts:
        _experts(workspace, overrides, rebuild)
    else:
        _laws(workspace, overrides, rebuild)


def _laws(workspace: Path, overrides: Sequence[str], rebuild: bool) -> None:
    from tongues.cli.study import run_study
    from tongues.files import read_json
    from tongues.report import write_report
    from tongues.terminal import say
    from tongues.text import describe_made
    from tongues.tokens import prepare_tokens

    loaded = _recipe("tongues.study", "demo.yaml", overrides)
    prepare_tokens(loaded, workspace, say, rebuild=rebuild)
    runs = run_study(loaded, workspace, rebuild)
    page = write_report([runs], workspace / "reports" / loaded.name, progress=say)
    related = describe_made(loaded.text.made) if loaded.text.made else []
    click.echo("")
    for sentence in [*related, *read_json(page.with_name("report.json"))["sentences"]]:
        click.echo(f"- {sentence}")
    click.echo(f"\nthe page: {page}")


def _experts(workspace: Path, overrides: Sequence[str], rebuild: bool) -> None:
    from tongues.check import check_recipe
    from tongues.cli.experts import run_experts
    from tongues.cli.train import run_training
    from tongues.terminal import say
    from tongues.text import describe_made
    from tongues.tokens import load_tokenizer, open_tokens, prepare_tokens

    seed = _recipe("tongues.experts", "demo/seed.yaml", overrides)
    prepare_tokens(seed, workspace, say, rebuild=rebuild)
    ((plan, _),) = check_recipe(seed, workspace).runs
    run_training(plan, workspace, rebuild)
    recipe = _recipe("tongues.experts", "demo/experts.yaml", overrides)
    (ensemble,) = run_experts(recipe, workspace, rebuild)
    click.echo("")
    for sentence in describe_made(seed.text.made) if seed.text.made else []:
        click.echo(f"- {sentence}")
    tokens = open_tokens(workspace / "tokens" / seed.name)
    tokenizer = load_tokenizer(workspace / "tokens" / seed.name)
    for language in tokens.languages:
        begun = tokenizer.decode(tokens.shard(language, "valid").tokens[:_BEGUN].tolist())
        click.echo(f"- a text in `{language}` begins, for instance: {begun}")
    name = ensemble.relative_to(workspace / "ensembles")
    where = "" if workspace == Path() else f" --in {workspace}"
    click.echo(f"\nto talk to them: tongues serve {name}{where}")


def _recipe(package: str, name: str, overrides: Sequence[str]) -> Any:
    from tongues.recipe import load_recipe

    with as_file(files(package).joinpath(name)) as path:
        return load_recipe(path, overrides)
