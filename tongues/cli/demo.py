"""The verb demo: what this project does, on made languages, in minutes."""

from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.cli.options import overrides_argument, rebuild_option

if TYPE_CHECKING:
    from tongues.recipe import Recipe

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


def _laws(workspace: Path, overrides: tuple[str, ...], rebuild: bool) -> None:
    import tongues
    from tongues.files import read_json
    from tongues.text import describe_made

    recipe = _recipe("tongues.study", "demo.yaml", overrides)
    tongues.prepare(recipe, workspace=workspace, rebuild=rebuild)
    runs = tongues.study(recipe, workspace=workspace, rebuild=rebuild)
    page = tongues.report(runs, workspace / "reports" / recipe.name)
    related = describe_made(recipe.text.made) if recipe.text.made else []
    click.echo("")
    for sentence in [*related, *read_json(page.with_name("report.json"))["sentences"]]:
        click.echo(f"- {sentence}")
    click.echo(f"\nthe page: {page}")


def _experts(workspace: Path, overrides: tuple[str, ...], rebuild: bool) -> None:
    import tongues
    from tongues.text import describe_made
    from tongues.tokens import load_tokenizer, open_tokens

    base = _recipe("tongues.experts", "demo/seed.yaml", overrides)
    folder = tongues.prepare(base, workspace=workspace, rebuild=rebuild)
    tongues.train(base, workspace=workspace, rebuild=rebuild)
    recipe = _recipe("tongues.experts", "demo/experts.yaml", overrides)
    (ensemble,) = tongues.experts.train(recipe, workspace=workspace, rebuild=rebuild)
    click.echo("")
    for sentence in describe_made(base.text.made) if base.text.made else []:
        click.echo(f"- {sentence}")
    tokens, tokenizer = open_tokens(folder), load_tokenizer(folder)
    for language in tokens.languages:
        begun = tokenizer.decode(tokens.shard(language, "valid").tokens[:_BEGUN].tolist())
        click.echo(f"- a text in `{language}` begins, for instance: {begun}")
    name = ensemble.relative_to(workspace / "ensembles")
    where = "" if workspace == Path() else f" --in {workspace}"
    click.echo(f"\nto talk to them: tongues serve {name}{where}")


def _recipe(package: str, name: str, overrides: tuple[str, ...]) -> "Recipe":
    from tongues.recipe import load_recipe

    with as_file(files(package).joinpath(name)) as path:
        return load_recipe(path, overrides)
