"""The verb plan."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.core.terminal import echo
from tongues.verbs.hints import hint_again
from tongues.verbs.options import AS_JSON, OUT, OUT_FILE, one_thread
from tongues.verbs.settings import Verb, command, function, option, settings

if TYPE_CHECKING:
    from tongues.laws import Law
    from tongues.laws.answer import FitAnswer
    from tongues.plan import plan as made


Number = float | str  # a number, or one as people write it, such as `1.4B` or `20%`


@settings
class Plan(Verb["made.Plan"]):
    """Plan: base, tokenizer, tokens, replay, price, and what comes out.

    Laws may be what `fit` returned; losses are then in nats per token, else in bits per byte.
    """

    work = "plans:make"
    laws: "FitAnswer | Law | Path | str | Sequence[Law | Path | str]" = option(
        "Published law, or file of `tongues fit -o`, in place of the language's. Repeatable.",
        names=("--law",),
        metavar="NAME|FILE",
        many=True,
        default=(),
    )
    _: KW_ONLY
    budget: Number | None = option(
        "`72 hours`, `5000 US$`, `40B tokens`, `1e21 FLOPs`, …", metavar="AMOUNT", default=None
    )
    bases: str | Sequence[str] | Mapping[str, str] = option(
        "A model to continue: a hub id, a folder, or llama=8B@15T; auto chooses. Repeatable.",
        names=("--base",),
        metavar="BASE",
        many=True,
        default=(),
    )
    language: str | Sequence[str] | None = option(
        "Language to learn, such as sw. Repeatable.", metavar="LANG", many=True, default=None
    )
    available_text: Path | str | None = option(
        "Text of it: 3GB, `200M tokens`, a file or folder. Default: what the catalogue knows of.",
        metavar="AMOUNT|PATH",
        default=None,
    )
    gpu: str | None = option("GPU type, such as h100.", metavar="NAME", default=None)
    gpus: Number | None = option("Number of GPUs (1).", metavar="COUNT", default=None)
    max_forgetting: Number | None = option(
        "Tolerated rise of the base-language loss, as 1%.", metavar="SHARE", default=None
    )
    replay: Number | None = option(
        "Share of base-language text, as 20%.", metavar="SHARE", default=None
    )
    params: Number | None = option(
        "Parameters of a model from scratch.", metavar="COUNT", default=None
    )
    base_loss: Number | None = option(
        "Loss of the base on the text before training.", metavar="LOSS", default=None
    )
    mfu: Number | None = option(
        "Share of the GPUs' peak speed that is reached (0.4).", metavar="SHARE", default=None
    )
    price: Number | None = option("Price of a GPU-hour.", metavar="US$", default=None)
    runs: Path | str | None = option(
        "CSV of own small runs: bytes, loss (bits per byte).", metavar="FILE", default=None
    )
    write: Path | str | None = option("Write the advice as a recipe.", OUT_FILE, default=None)


@command(
    Plan,
    click.option("--why", is_flag=True, help="Also what the answer rests on."),
    click.option("-o", "--out", type=OUT, help="Write a page of the plan to this folder."),
    AS_JSON,
)
def _plan(asked: Plan, *, why: bool, out: Path | None, as_json: bool) -> None:
    one_thread()
    from tongues.core.terminal import hint, hint_command, print_json, print_table, say
    from tongues.plan.steps import free_place

    made = asked.run()
    if out:
        from tongues.core.pages import write_page
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
