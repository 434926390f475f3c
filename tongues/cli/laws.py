"""The verbs of scaling laws: fit, plan."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tongues.cli import options
from tongues.errors import UserError
from tongues.hardware import LARGER_MACHINE
from tongues.terminal import echo

if TYPE_CHECKING:
    from tongues.plan import Plan


_LAW = "Published law, such as hoffmann2022-full, or file of `tongues fit -o`. Repeatable."


@click.command()
@click.argument("tables", nargs=-1, required=True, type=options.PATH)
@click.option("--law", metavar="LAW", help="Law to fit; run directories: all by default.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=NAME",
    help="Column of a role that is called otherwise, such as loss=eval/loss. Roles: params, "
    "tokens, loss, flops, unique, replay, start, share, experts, run, strategy, lang. Repeatable.",
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

        write_figures(law_figures(*answer.drawn), figures, say)
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


@click.command()
@click.option("--law", "laws", multiple=True, metavar="NAME|FILE", help=_LAW)
@click.option("--target", metavar="LANG", help="Target language, if the law file has several.")
@click.option("--flops", metavar="FLOPS", help="Compute to spend, such as 1e21, or 1e20,1e21.")
@click.option("--hours", metavar="HOURS", help="Hours to spend on all GPUs.")
@click.option("--cost", metavar="US$", help="Money to spend.")
@click.option(
    "--target-loss",
    metavar="LOSS",
    help="Loss to reach, nats per token (--language: bits per byte).",
)
@click.option("--gpu", metavar="NAME", help="GPU type: h100, or h100,a100, or all.")
@click.option("--gpus", metavar="COUNT", help="Number of GPUs (1).")
@click.option(
    "--mfu", metavar="SHARE", help="Share of the GPUs' peak FLOPS that training reaches (0.4)."
)
@click.option("--price", metavar="US$", help="Price of a GPU-hour.")
@click.option("--params", metavar="COUNT", help="Fix the parameters, such as 1.4B.")
@click.option("--tokens", metavar="COUNT", help="Fix the training tokens, such as 30B.")
@click.option(
    "--base",
    "bases",
    multiple=True,
    metavar="BASE",
    help="A model to continue from: a hub id, a folder, or llama=8B@15T. Repeatable.",
)
@click.option("--available-tokens", metavar="COUNT", help="Unique tokens available.")
@click.option(
    "--available-text", metavar="SIZE|PATH", help="Text available, as a size (3GB), file or folder."
)
@click.option(
    "--language",
    metavar="LANG",
    help="Language to learn, such as sw; sets the prior and the text available.",
)
@click.option(
    "--runs", metavar="FILE", help="CSV of own runs: bytes, loss (bits per byte), params."
)
@click.option("--replay", metavar="SHARES", help="Replay shares to compare, such as 0,5%,20%.")
@click.option(
    "--max-forgetting",
    metavar="SHARE",
    help="Largest tolerated rise of the base-language loss (2%).",
)
@click.option(
    "--base-loss",
    metavar="LOSS",
    help="Loss of the base on the target before training, in the unit of --target-loss.",
)
@click.option("--write", type=options.OUT_FILE, help="Write the recommended option as a recipe.")
@click.option("--for", "like", type=options.PATH, help="Recipe whose text the written recipe uses.")
@click.option("-o", "--out", type=options.OUT, help="Write a page of the plan to this folder.")
@options.as_json
def plan(
    laws: tuple[str, ...],
    write: Path | None,
    out: Path | None,
    as_json: bool,
    **keywords: Any,
) -> None:
    """Plan a model: its size, tokens, base, compute and cost."""
    options.one_thread()
    import tongues
    from tongues.plan.several import budget_rows, plan_each
    from tongues.steps import free_place
    from tongues.terminal import hint, hint_command, print_json, print_table, say

    if several := plan_each(partial(tongues.plan, laws), keywords):
        if write or out:
            what = "--write and --out are of one plan"
            raise UserError(what, hint="give one budget")
        if as_json:
            plans = [str(a) if isinstance(a, UserError) else a.to_json() for _, a in several]
            print_json({"plans": plans})
        else:
            print_table(budget_rows(several))
        return
    made = tongues.plan(laws, write=write, **keywords)
    if out:
        from tongues.pages import write_page
        from tongues.report.plan import plan_page

        say(str(write_page(plan_page(made), out)))
    if as_json:
        print_json(made.to_json())
        return
    spare = ("projection", "kg CO₂", "compute saved", "FLOPs", "memory/GPU", "memory")
    print_table(made.rows(), spare)
    echo("")
    for sentence in made.sentences():
        echo(sentence)
    for caution in made.caveats:
        say(f"caveat: {caution}")
    if write:
        cluster = made.question.cluster
        gpus = (cluster.gpu.name, cluster.count) if cluster else ()
        if not cluster and any(caution.code == "larger_machine" for caution in made.warnings):
            gpus = LARGER_MACHINE
        machine = ("--gpu", gpus[0], "--gpus", gpus[1]) if gpus else ()
        hint_command("tongues", "check", write, *machine)
        return
    if more := len(made.warnings) - len(made.caveats):
        hint(f"{'1 more caveat' if more == 1 else f'{more} more caveats'}: `-o FOLDER`")
    if made.writable:
        new_file = f"--write {free_place(Path('recipe.yaml'))}"
        options.hint_again("tongues plan", new_file, without=("out",))
    elif made.question.language and not made.recommendation.decided:
        hint_command("tongues", "new", *_new(made))


def _new(made: "Plan") -> list[str]:
    """The arguments by which `new` continues a plan's first base, or lists bases to choose from."""
    from tongues.plan import find_ready
    from tongues.quantities import show_count

    language = made.question.language
    words = ["--language", language]
    option = next((option for option in made.options if option.base), None)
    if option is None or option.tokens is None:
        return words
    try:
        find_ready(option.base)
    except UserError:
        return words
    budget = f"{show_count(option.tokens)} tokens"
    return [option.base, *words, "--budget", budget, "--out", f"{language}.yaml"]
