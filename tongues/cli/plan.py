"""The verb plan."""

from pathlib import Path
from typing import Any

import click

from tongues.cli import options
from tongues.terminal import echo


@click.command()
@click.option(
    "--budget", metavar="AMOUNT", help="`72 hours`, `5000 US$`, `40B tokens`, `1e21 FLOPs`, …"
)
@click.option(
    "--base",
    "bases",
    multiple=True,
    metavar="BASE",
    help="A model to continue: a hub id, a folder, or llama=8B@15T; auto chooses. Repeatable.",
)
@click.option(
    "--language", multiple=True, metavar="LANG", help="Language to learn, such as sw. Repeatable."
)
@click.option(
    "--available-text",
    metavar="AMOUNT|PATH",
    help="Text of it: 3GB, `200M tokens`, a file or folder. Default: what the catalogue knows of.",
)
@click.option("--gpu", metavar="NAME", help="GPU type, such as h100.")
@click.option("--gpus", metavar="COUNT", help="Number of GPUs (1).")
@click.option(
    "--max-forgetting", metavar="SHARE", help="Tolerated rise of the base-language loss, as 1%."
)
@click.option("--replay", metavar="SHARE", help="Share of base-language text, as 20%.")
@click.option("--params", metavar="COUNT", help="Parameters of a model from scratch.")
@click.option("--base-loss", metavar="LOSS", help="Loss of the base on the text before training.")
@click.option("--mfu", metavar="SHARE", help="Share of the GPUs' peak speed that is reached (0.4).")
@click.option("--price", metavar="US$", help="Price of a GPU-hour.")
@click.option("--runs", metavar="FILE", help="CSV of own small runs: bytes, loss (bits per byte).")
@click.option(
    "--law",
    "laws",
    multiple=True,
    metavar="NAME|FILE",
    help="Published law, or file of `tongues fit -o`, in place of the language's. Repeatable.",
)
@click.option("--why", is_flag=True, help="Also what the answer rests on.")
@click.option("--write", type=options.OUT_FILE, help="Write the advice as a recipe.")
@click.option("-o", "--out", type=options.OUT, help="Write a page of the plan to this folder.")
@options.as_json
def plan(
    laws: tuple[str, ...],
    write: Path | None,
    out: Path | None,
    why: bool,
    as_json: bool,
    **keywords: Any,
) -> None:
    """Plan: base, tokenizer, tokens, replay, price, and what comes out."""
    options.one_thread()
    import tongues
    from tongues.steps import free_place
    from tongues.terminal import hint, hint_command, print_json, print_table, say

    made = tongues.plan(laws, write=write, **keywords)
    if out:
        from tongues.pages import write_page
        from tongues.report.plan import plan_page

        say(str(write_page(plan_page(made), out)))
    if as_json:
        print_json(made.to_json())
        return
    first, *others = made.sentences()
    echo(first)
    print_table(made.rows(), ("FLOPs", "parameters"))
    for sentence in [*others, *(made.reasons() if why else ())]:
        echo(sentence)
    if write:
        cluster = made.question.cluster
        machine = ("--gpu", cluster.gpu.name, "--gpus", cluster.count) if cluster else ()
        hint_command("tongues", "check", write, *machine)
        return
    if not why:
        hint("what it rests on: `--why`; a page: `-o FOLDER`")
    if made.writable:
        new_file = f"--write {free_place(Path('recipe.yaml'))}"
        options.hint_again("tongues plan", new_file, without=("out", "why"))
