"""The verb fit: laws of runs and tables."""

from pathlib import Path
from typing import Any

import click

from tongues.cli.options import figures_option, json_option, one_thread
from tongues.errors import UserError

__all__ = ["fit"]

_NAMED = {"N": "params", "D": "tokens", "loss": "loss", "C": "flops", "U": "unique"}
_NAMED |= {"r": "replay", "S": "start", "run": "run", "strategy": "strategy", "lang": "lang"}


def _column(role: str, what: str) -> Any:
    flag = f"--{_NAMED[role]}"
    return click.option(flag, f"column_{role}", metavar="COLUMN", help=f"Column of the {what}.")


@click.command()
@click.argument("tables", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--law", metavar="LAW", help="Which law; for run directories, all by default.")
@_column("N", "parameters (params, N)")
@_column("D", "training tokens (tokens, D)")
@_column("loss", "losses, nats per token (loss)")
@_column("C", "training FLOPs (flops, C); 6 N D without it")
@_column("U", "unique tokens there were (unique_tokens)")
@_column("r", "replay shares, 0 to 1 (replay)")
@_column("S", "source losses before the first step (start_loss)")
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
    law: str | None,
    where: str | None,
    compare: bool,
    out: Path | None,
    figures: Path | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Fit a scaling law to TABLES: CSV, JSONL, Parquet, or directories of runs."""
    one_thread()
    from tongues.laws.ask import fit_places
    from tongues.terminal import hint, print_json, print_table, say

    if compare and figures:
        raise UserError("a comparison is not drawn", where="--figures")
    roles = {role: how.pop(f"column_{role}") for role in _NAMED}
    answer = fit_places(tables, law, roles, where, compare=compare, **how)
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
