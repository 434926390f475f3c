"""The verb plan."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.terminal import echo
from tongues.verbs.hints import hint_again
from tongues.verbs.options import AS_JSON, OUT, OUT_FILE, one_thread
from tongues.verbs.settings import command, function, option, settings

if TYPE_CHECKING:
    from tongues.laws import Law
    from tongues.laws.answer import FitAnswer
    from tongues.plan import Plan as Made

Number = float | str  # a number, or one as people write it, such as `1.4B` or `20%`


@settings
class Plan:
    """Which base to continue on a language, with which tokenizer, on how much, and at what price.

    Laws may be what `fit` returned; losses are then in nats per token, else in bits per byte.
    """

    laws: "FitAnswer | Law | Path | str | Sequence[Law | Path | str]" = option(
        "--law",
        default=(),
        many=True,
        metavar="NAME|FILE",
        about="Published law, or file of `tongues fit -o`, in place of the language's. Repeatable.",
    )
    _: KW_ONLY
    budget: str | None = option(
        default=None,
        metavar="AMOUNT",
        about="`72 hours`, `5000 US$`, `40B tokens`, `1e21 FLOPs`, …",
    )
    bases: Sequence[str] | Mapping[str, str] = option(
        "--base",
        default=(),
        many=True,
        metavar="BASE",
        about="A model to continue: a hub id, a folder, or llama=8B@15T; auto chooses. Repeatable.",
    )
    language: str | Sequence[str] | None = option(
        default=None, many=True, metavar="LANG", about="Language to learn, such as sw. Repeatable."
    )
    available_text: Path | str | None = option(
        default=None,
        metavar="AMOUNT|PATH",
        about="Text of it: 3GB, `200M tokens`, a file or folder. Default: what the catalogue knows "
        "of.",
    )
    gpu: str | None = option(default=None, metavar="NAME", about="GPU type, such as h100.")
    gpus: Number | None = option(default=None, metavar="COUNT", about="Number of GPUs (1).")
    max_forgetting: Number | None = option(
        default=None, metavar="SHARE", about="Tolerated rise of the base-language loss, as 1%."
    )
    replay: Number | None = option(
        default=None, metavar="SHARE", about="Share of base-language text, as 20%."
    )
    params: Number | None = option(
        default=None, metavar="COUNT", about="Parameters of a model from scratch."
    )
    base_loss: Number | None = option(
        default=None, metavar="LOSS", about="Loss of the base on the text before training."
    )
    mfu: Number | None = option(
        default=None, metavar="SHARE", about="Share of the GPUs' peak speed that is reached (0.4)."
    )
    price: Number | None = option(default=None, metavar="US$", about="Price of a GPU-hour.")
    runs: Path | str | None = option(
        default=None, metavar="FILE", about="CSV of own small runs: bytes, loss (bits per byte)."
    )
    write: Path | str | None = option(
        default=None, kind=OUT_FILE, about="Write the advice as a recipe."
    )

    def run(self) -> "Made":
        """Plan it."""
        from tongues.verbs.work.plans import plan

        return plan(self)


@command(
    Plan,
    click.option("--why", is_flag=True, help="Also what the answer rests on."),
    click.option("-o", "--out", type=OUT, help="Write a page of the plan to this folder."),
    AS_JSON,
)
def plan_command(asked: Plan, *, why: bool, out: Path | None, as_json: bool) -> None:
    """Plan: base, tokenizer, tokens, replay, price, and what comes out."""
    one_thread()
    from tongues.steps import free_place
    from tongues.terminal import hint, hint_command, print_json, print_table, say

    made = asked.run()
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
    if asked.write:
        cluster = made.question.cluster
        machine = ("--gpu", cluster.gpu.name, "--gpus", cluster.count) if cluster else ()
        hint_command("tongues", "check", asked.write, *machine)
        return
    if not why:
        hint("what it rests on: `--why`; a page: `-o FOLDER`")
    if made.writable:
        new_file = f"--write {free_place(Path('recipe.yaml'))}"
        hint_again("tongues plan", new_file, without=("out", "why"))


plan = function(Plan)
