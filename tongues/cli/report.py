"""The verb report: a page."""

from pathlib import Path

import click

from tongues.errors import UserError

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
    from tongues.report.places import default_folder, kind_of
    from tongues.terminal import say

    kind = kind_of(places)
    out = out or default_folder(places, kind)
    if on and kind != "tokenizer":
        raise UserError("only tokenizers are tried on a text", where="--on")
    if kind == "corpus":
        from tongues.report.corpus import write_corpus_report

        page = write_corpus_report(places[0], out, title, say)
    elif kind == "tokenizer":
        from tongues.report.tokenizer import write_tokenizer_report

        page = write_tokenizer_report(places, out, on, title, say)
    else:
        from tongues.report import write_report

        page = write_report(places, out, title, say)
    click.echo(page)
