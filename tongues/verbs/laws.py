"""The verb fit."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.core.errors import UserError
from tongues.core.terminal import echo
from tongues.verbs.options import AS_JSON, FIGURES, OUT_FILE, PATH, one_thread
from tongues.verbs.settings import Verb, argument, command, function, option, settings
from tongues.verbs.shared import pairs, paths

if TYPE_CHECKING:
    from tongues.laws.answer import FitAnswer


@settings
class Fit(Verb["FitAnswer"]):
    """Fit a scaling law to TABLES: CSV, JSONL, Parquet, or runs."""

    tables: Path | str | Sequence[Path | str] = argument(PATH, many=True)
    law: str | None = option(metavar="LAW", default=None)
    _: KW_ONLY
    columns: Sequence[str] | Mapping[str, str] = option(
        names=("--column",), metavar="ROLE=NAME", many=True, default=()
    )
    where: str | None = option(metavar="CONDITION", default=None)
    fix: Sequence[str] | Mapping[str, float] = option(metavar="NAME=VALUE", many=True, default=())
    base: Path | str | None = option(metavar="NAME|FILE", default=None)
    compare: bool = option(default=False)
    draws: int = option(click.IntRange(0), names=("--bootstrap",), default=1000)

    def run(self) -> "FitAnswer":
        """Fit them."""
        from tongues.laws.ask import fit_places

        answer = fit_places(
            paths(self.tables),
            self.law,
            pairs(self.columns),
            self.where,
            compare=self.compare,
            base=None if self.base is None else str(self.base),
            fix=pairs(self.fix),
            draws=self.draws,
        )
        return replace(answer, places=tuple(map(str, paths(self.tables))))


@command(
    Fit,
    click.option("-o", "--out", type=OUT_FILE, help="Write the law as JSON here."),
    FIGURES,
    AS_JSON,
)
def _fit(asked: Fit, *, out: Path | None, figures: Path | None, as_json: bool) -> None:
    one_thread()
    from tongues.core.terminal import hint, print_json, print_table, say

    if asked.compare and figures:
        raise UserError("a comparison is not drawn", where="--figures")
    answer = asked.run()
    if out:
        answer.write(out)
    if figures:
        from tongues.core.pages import write_figures
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
    hint(answer.next(paths(asked.tables)[0], out))


fit = function(Fit)
