"""The verb fit: laws of runs and tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tongues.cli.options import Command, figures_option, json_option, one_thread
from tongues.errors import UserError

__all__ = ["fit"]


def _column(name: str, what: str) -> Callable[[Command], Command]:
    return click.option(f"--{name}", metavar="COLUMN", help=f"Column of the {what}.")


@click.command()
@click.argument("tables", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--law", metavar="LAW", help="Which law; for run directories, all by default.")
@_column("params", "parameters (params, N)")
@_column("tokens", "training tokens (tokens, D)")
@_column("loss", "losses, nats per token (loss)")
@_column("flops", "training FLOPs (flops, C); 6 N D without it")
@_column("unique", "unique tokens there were (unique_tokens)")
@_column("replay", "replay shares, 0 to 1 (replay)")
@_column("start", "source losses before the first step (start_loss)")
@_column("run", "runs, which are resampled whole (run)")
@_column("strategy", "strategies, scratch and cpt (strategy)")
@_column("lang", "languages (lang)")
@click.option("--where", metavar="CONDITION", help="""Which rows, as in "tokens > 1e9".""")
@click.option("--drop-highest", default=0, metavar="K", help="Leave out the K highest losses.")
@click.option("--delta", default=1e-3, show_default=True, help="Huber threshold, in log loss.")
@click.option("--fix", multiple=True, metavar="NAME=VALUE", help="Hold a parameter at a value.")
@click.option("--tie", multiple=True, metavar="NAME=NAME", help="Hold two parameters equal.")
@click.option("--base", metavar="NAME|FILE", help="The law underneath, such as of scratch runs.")
@click.option("--compare", is_flag=True, help="Every law on every strategy's rows.")
@click.option("--draws", default=1000, show_default=True, help="Bootstrap draws of the intervals.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the law as JSON here.")
@figures_option
@json_option
def fit(
    tables: tuple[Path, ...],
    compare: bool,
    out: Path | None,
    figures: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Fit a scaling law to TABLES: CSV, JSONL, Parquet, or directories of runs."""
    one_thread()
    import tongues
    from tongues.terminal import hint, print_json, print_table, say

    if compare and figures:
        raise UserError("a comparison is not drawn", where="--figures")
    answer = tongues.fit(tables, compare=compare, **asked)
    if out:
        answer.write(out)
    if figures:
        from tongues.report import law_figures, write_figures

        write_figures(law_figures(*answer.drawn), figures, say)
    if as_json:
        print_json(answer.to_json(draws=False))
        return
    if answer.title:
        click.echo(answer.title)
    for lines in answer.tables:
        print_table(lines)
    for sentence in answer.sentences:
        click.echo(sentence)
    for remark in answer.remarks:
        say(remark)
    hint(answer.next(tables[0], out))
