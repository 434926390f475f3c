"""The verb export: models as folders that others load, with their cards."""

from functools import partial
from pathlib import Path

import click

from tongues.cli.options import workspace_option
from tongues.errors import UserError

__all__ = ["export"]


@click.command()
@click.argument("model")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The folder.")
@workspace_option
@click.option("--step", type=click.IntRange(min=0), help="Of a run's checkpoint or milestone.")
@click.option("--average", is_flag=True, help="One model: the mean of an ensemble's experts.")
@click.option(
    "--weights", metavar="A,B,…", help="Of the experts in that mean, in order; equal if unsaid."
)
@click.option(
    "--law",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Laws for the card, from `tongues fit -o`.",
)
def export(
    model: str,
    out: Path,
    workspace: Path,
    step: int | None,
    average: bool,
    weights: str | None,
    law: Path | None,
) -> None:
    """Write MODEL, a run or an ensemble, as Hugging Face folders, each with a model card.

    A card says how the model was made, on what data, and what its newest evaluation found. An
    ensemble becomes a folder that stands by itself: `tongues generate FOLDER` works wherever it
    lies.
    """
    from tongues.laws.card import laws_section
    from tongues.laws.stored import read_laws_file
    from tongues.report.evaluation import newest_section
    from tongues.terminal import hint, say

    laws = laws_section(read_laws_file(law)) if law else ""
    kind, place = _found(model, workspace)
    shares = _weights(weights) if weights is not None else None
    if shares and not average:
        raise UserError("are those of a mean", where="--weights", hint="add `--average`")
    evaluated = partial(newest_section, workspace=workspace)
    if kind == "run":
        if average:
            what = "is one model: there is nothing to average"
            raise UserError(what, where=model, hint="name an ensemble, or leave out `--average`")
        from tongues.train.export import export_run

        told = evaluated(place)
        done = export_run(place, step, workspace, out, laws=laws, evaluated=told)
        say(f"step {done}")
        click.echo(out)
        return
    if step is not None:
        what = "is an ensemble, whose experts each have steps of their own"
        raise UserError(what, where=model, hint="export the run of one expert by `--step`")
    from tongues.experts.ensemble.export import export_average, export_ensemble

    if average:
        export_average(place, workspace, out, evaluated=evaluated, weights=shares, laws=laws)
        click.echo(out)
        return
    export_ensemble(place, workspace, out, evaluated=evaluated, laws=laws)
    click.echo(out)
    hint(f"tongues generate {out}")


def _found(model: str, workspace: Path) -> tuple[str, Path]:
    """An ensemble, or a run, which may still be on its way: its kind and place."""
    from tongues.evaluate.subjects import find_subject

    for place in (workspace / "runs" / model, Path(model)):
        if (place / "run.json").is_file() and not (place / "model").is_dir():
            return "run", _whole(place)  # there may be checkpoints
    kind, place = find_subject(model, workspace)
    if kind == "run":
        return kind, _whole(place)
    if kind == "folder":
        what = "is a Hugging Face folder already"
        raise UserError(
            what, where=model, hint="name a run or an ensemble; `tongues ls` shows them"
        )
    return kind, place


def _whole(run: Path) -> Path:
    from tongues.runs import read_record

    try:
        read_record(run)
    except (OSError, ValueError):
        hint = "copy it back from where it was made, or train the run again"
        raise UserError("is damaged", where=str(run / "run.json"), hint=hint) from None
    return run


def _weights(said: str) -> list[float]:
    try:
        return [float(weight) for weight in said.split(",")]
    except ValueError:
        what = f"`{said}` is no list of numbers"
        raise UserError(what, where="--weights", hint="such as `2,1`") from None
