"""The verb fit."""

from pathlib import Path
from typing import Any

import click

from tongues.cli import options
from tongues.errors import UserError
from tongues.terminal import echo


@click.command()
@click.argument("tables", nargs=-1, required=True, type=options.PATH)
@click.option("--law", metavar="LAW", help="Law to fit; run directories: all by default.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=NAME",
    help="Column of a role that is called otherwise, such as loss=eval/loss. Roles: params, "
    "tokens, loss, flops, unique, replay, start, experts, run, strategy, lang. Repeatable.",
)
@click.option("--where", metavar="CONDITION", help="""Rows to use, as in "tokens > 1e9".""")
@click.option("--fix", multiple=True, metavar="NAME=VALUE", help="Hold a parameter at a value.")
@click.option(
    "--base",
    metavar="NAME|FILE",
    help="Law that this one takes parameters from, with their uncertainty.",
)
@click.option(
    "--compare", is_flag=True, help="Compare the laws of size and tokens on each strategy's rows."
)
@click.option(
    "--bootstrap",
    "draws",
    type=click.IntRange(0),
    default=1000,
    help="Bootstrap draws of the intervals.",
)
@click.option("-o", "--out", type=options.OUT_FILE, help="Write the law as JSON here.")
@options.figures
@options.as_json
def fit(
    tables: tuple[Path, ...],
    compare: bool,
    out: Path | None,
    figures: Path | None,
    as_json: bool,
    **keywords: Any,
) -> None:
    """Fit a scaling law to TABLES: CSV, JSONL, Parquet, or runs."""
    options.one_thread()
    import tongues
    from tongues.terminal import hint, print_json, print_table, say

    if compare and figures:
        raise UserError("a comparison is not drawn", where="--figures")
    answer = tongues.fit(tables, compare=compare, **keywords)
    if out:
        answer.write(out)
    if figures:
        from tongues.pages import write_figures
        from tongues.report.laws import law_figures

        write_figures(law_figures(answer.drawn), figures, say)
    if as_json:
        print_json(answer.to_json(draws=False))
        return
    if answer.title:
        echo(answer.title)
    for lines in answer.tables:
        print_table(lines)
    for sentence in answer.sentences:
        echo(sentence)
    for remark in answer.remarks:
        say(remark)
    hint(answer.next(tables[0], out))
