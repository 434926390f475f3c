"""The verb that tells beforehand: plan."""

from pathlib import Path
from typing import Any

import click

from tongues.cli.options import figures_option, json_option, one_thread

__all__ = ["plan"]


@click.command()
@click.option(
    "--law",
    "laws",
    multiple=True,
    metavar="NAME|FILE",
    help="A published law, or a file of `tongues fit -o`. Repeatable.",
)
@click.option("--target", metavar="LANG", help="The language to learn, where a file has several.")
@click.option("--flops", metavar="FLOPS", help="Compute to spend, such as 1e21.")
@click.option("--hours", metavar="HOURS", help="Hours to spend on all GPUs.")
@click.option("--cost", metavar="US$", help="Money to spend.")
@click.option("--target-loss", metavar="LOSS", help="Loss to reach, nats per token.")
@click.option("--gpu", metavar="NAME", help="What trains, such as h100.")
@click.option("--gpus", metavar="COUNT", help="How many of them (1).")
@click.option("--mfu", metavar="SHARE", help="Share of their peak speed that is reached (0.4).")
@click.option("--price", metavar="US$", help="Of one GPU and hour.")
@click.option("--params", metavar="COUNT", help="Parameters, where settled, such as 1.4B.")
@click.option("--tokens", metavar="COUNT", help="Tokens, where settled, such as 30B.")
@click.option(
    "--base",
    "bases",
    multiple=True,
    metavar="NAME=PARAMS@TOKENS",
    help="A checkpoint to continue from, such as llama=8B@15T. Repeatable.",
)
@click.option("--available-tokens", metavar="COUNT", help="Different text there is, in tokens.")
@click.option("--replay", metavar="SHARES", help="Source text to mix in, such as 0,5%,20%.")
@click.option(
    "--keep", metavar="SHARE", help="Replay that keeps the base's own loss from rising more: 1%."
)
@click.option("--source-loss", metavar="LOSS", help="The base's loss on its own language.")
@click.option("--write", type=click.Path(path_type=Path), help="Write the advice as recipe.")
@click.option(
    "--for",
    "like",
    type=click.Path(path_type=Path),
    metavar="RECIPE",
    help="With --write: take name, text and tokens from this recipe.",
)
@figures_option
@json_option
def plan(
    laws: tuple[str, ...],
    write: Path | None,
    figures: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Tell how large a model to train, on how much, from which base, and at what price."""
    one_thread()
    import tongues
    from tongues.terminal import hint, print_json, print_table, say

    made = tongues.plan(laws, write=write, **asked)
    if figures:
        from tongues.report import plan_figures, write_figures

        write_figures(plan_figures(made), figures, say)
    if as_json:
        print_json(made.to_json())
        return
    print_table(made.rows())
    click.echo("")
    for sentence in made.sentences():
        click.echo(sentence)
    for caution in made.warnings:
        say(str(caution))
    if write:
        cluster = made.question.cluster
        where = f" --gpu {cluster.gpu.name} --gpus {cluster.count}" if cluster else ""
        hint(f"tongues check {write}{where}")
    elif made.recommendation.option.params:
        hint("add `--write recipe.yaml` for a recipe of this advice")
    else:
        hint("add a law by size, such as `--law zheng2024-scratch`, to learn how large a model")
