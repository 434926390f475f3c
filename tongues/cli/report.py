"""The verb report: a page."""

from pathlib import Path

import click

__all__ = ["report"]


@click.command()
@click.argument("places", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Folder of the page.")
@click.option("--title", default="", help="Title of the page.")
@click.option(
    "--on",
    type=click.Path(path_type=Path, exists=True),
    metavar="RECIPE|CORPUS",
    help="Text to try tokenizers on.",
)
def report(places: tuple[Path, ...], out: Path | None, title: str, on: Path | None) -> None:
    """Write one page about PLACES: runs, a corpus, or tokenizers side by side.

    Each figure of the page lies beside it as SVG, PNG and data.
    """
    import tongues

    click.echo(tongues.report(places, out, title=title, on=on))
