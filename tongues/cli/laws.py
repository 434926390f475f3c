"""The verbs of scaling laws: fit, plan."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tongues.cli import options
from tongues.errors import UserError
from tongues.hardware import LARGER_MACHINE

if TYPE_CHECKING:
    from tongues.plan import Plan

__all__ = ["fit", "plan"]

_COLUMNS = {
    "params": "parameters (params, N)",
    "tokens": "training tokens (tokens, D)",
    "loss": "losses, nats per token (loss)",
    "flops": "training FLOPs (flops, C); 6 N D without it",
    "unique": "unique training tokens (unique_tokens)",
    "replay": "replay shares, 0 to 1 (replay)",
    "start": "losses on the base language before the first step (start_loss)",
    "share": "shares of the language in the text, 0 to 1 (share)",
    "experts": "numbers of experts that share the tokens (experts)",
    "run": "runs: the bootstrap draws whole runs (run)",
    "strategy": "strategies, scratch and cpt (strategy)",
    "lang": "languages (lang)",
}

_LAW = "Published law, such as hoffmann2022-full, or file of `tongues fit -o`. Repeatable."


def _columns(command: click.Command) -> click.Command:
    command.params[2:2] = [
        click.Option([f"--{name}"], metavar="COLUMN", help=f"Column of the {what}.")
        for name, what in _COLUMNS.items()
    ]
    return command


@_columns
@click.command()
@click.argument("tables", nargs=-1, required=True, type=options.PATH)
@click.option("--law", metavar="LAW", help="Law to fit; run directories: all by default.")
@click.option("--where", metavar="CONDITION", help="""Rows to use, as in "tokens > 1e9".""")
@click.option("--drop-highest", default=0, metavar="K", help="Leave out the K highest losses.")
@click.option("--delta", default=1e-3, help="Huber threshold, in log loss.")
@click.option("--fix", multiple=True, metavar="NAME=VALUE", help="Hold a parameter at a value.")
@click.option("--tie", multiple=True, metavar="NAME=NAME", help="Hold two parameters equal.")
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
@click.option(
    "--narrow-at", metavar="FLOPS", help="Suggest runs that narrow the forecast at this compute."
)
@click.option("-o", "--out", type=options.OUT_FILE, help="Write the law as JSON here.")
@options.figures
@options.as_json
def fit(
    tables: tuple[Path, ...],
    compare: bool,
    narrow_at: str | None,
    out: Path | None,
    figures: Path | None,
    as_json: bool,
    **keywords: Any,
) -> None:
    """Fit a scaling law to TABLES: CSV, JSONL, Parquet, or runs."""
    options.one_thread()
    import tongues
    from tongues.plan.amounts import read_count
    from tongues.terminal import hint, print_json, print_table, say

    narrowed = read_count(narrow_at, "--narrow-at") if narrow_at else None
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
        click.echo(answer.title)
    for lines in answer.tables:
        print_table(lines)
    for sentence in answer.sentences:
        click.echo(sentence)
    if narrowed is not None:
        from tongues.laws.predict.design import next_runs

        for law in answer.laws:
            print_table([run.row() for run in next_runs(law, narrowed)])
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
@click.option("--prices", metavar="FILE", help="CSV of GPUs: gpu, price, date.")
@click.option("--grid", metavar="G/KWH", help="CO₂ of the electricity, grams per kWh (445).")
@click.option("--params", metavar="COUNT", help="Fix the parameters, such as 1.4B.")
@click.option("--tokens", metavar="COUNT", help="Fix the training tokens, such as 30B.")
@click.option("--ratio", metavar="NUMBER", help="Fix the tokens per parameter.")
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
@click.option("--bytes-per-token", metavar="NUMBER", help="Bytes per token of that text, if known.")
@click.option("--replay", metavar="SHARES", help="Replay shares to compare, such as 0,5%,20%.")
@click.option(
    "--max-forgetting",
    metavar="SHARE",
    help="Largest tolerated rise of the base-language loss (2%).",
)
@click.option(
    "--source-loss", metavar="LOSS", help="Loss of the base on its own language, nats per token."
)
@click.option(
    "--base-loss",
    metavar="LOSS",
    help="Loss of the base on the target before training, in the unit of --target-loss.",
)
@click.option("--write", type=options.OUT_FILE, help="Write the recommended option as a recipe.")
@click.option("--for", "like", type=options.PATH, help="Recipe whose text the written recipe uses.")
@click.option("--verbose", is_flag=True, help="Show every caveat.")
@click.option("-o", "--out", type=options.OUT, help="Write a page of the plan to this folder.")
@options.as_json
def plan(
    laws: tuple[str, ...],
    write: Path | None,
    verbose: bool,
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
    click.echo("")
    for sentence in made.sentences():
        click.echo(sentence)
    shown = made.warnings if verbose else made.caveats
    for caution in shown:
        say(f"caveat: {caution}")
    if write:
        cluster = made.question.cluster
        gpus = (cluster.gpu.name, cluster.count) if cluster else ()
        if not cluster and any(caution.code == "larger_machine" for caution in made.warnings):
            gpus = LARGER_MACHINE
        machine = ("--gpu", gpus[0], "--gpus", gpus[1]) if gpus else ()
        hint_command("tongues", "check", write, *machine)
        return
    if more := len(made.warnings) - len(shown):
        hint(f"{'1 more caveat' if more == 1 else f'{more} more caveats'}: `--verbose`")
    if made.writable:
        new_file = f"--write {free_place(Path('recipe.yaml'))}"
        options.hint_again("tongues plan", new_file, without=("verbose", "out"))
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
