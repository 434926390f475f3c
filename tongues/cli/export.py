"""The verb export: models as folders that others load, with their cards."""

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
    import tongues
    from tongues.terminal import hint

    shares = None if weights is None else _weights(weights)
    tongues.export(model, out, workspace, step=step, average=average, weights=shares, law=law)
    click.echo(out)
    if (out / "ensemble.json").is_file():
        hint(f"tongues generate {out}")


def _weights(said: str) -> list[float]:
    try:
        return [float(weight) for weight in said.split(",")]
    except ValueError:
        what = f"`{said}` is no list of numbers"
        raise UserError(what, where="--weights", hint="such as `2,1`") from None
