"""The verbs that use models: evaluate, generate, serve, export."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from tongues.cli import options
from tongues.errors import Stopped
from tongues.terminal import echo

_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red", "white", "bright_black")
_POSITIVE = click.FloatRange(min=0, min_open=True)
_CHAT = "Add what instruction tuning changed in the base: INSTRUCT − BASE."
_TEXT = "Prepared tokens or files to measure the loss on. Repeatable."
_TASKS = "Tasks, such as xcopa, or xcopa:sw,tr for some of its languages. Repeatable."
_DATA = "Folder with the items of the tasks, or the hub. Repeatable."


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@options.workspace
@click.option("--text", multiple=True, metavar="WHAT", help=_TEXT)
@click.option("--tasks", multiple=True, metavar="NAME", help=_TASKS)
@click.option("--data", multiple=True, metavar="FOLDER|hub", help=_DATA)
@click.option("--languages", metavar="A,B,…", help="Languages of texts and tasks (all).")
@click.option("--limit", type=options.COUNT, help="Items and documents per language.")
@click.option("--num-fewshot", type=click.IntRange(0), help="Examples before an item (0).")
@click.option("--fewshot-language", metavar="TAG", help="Language of the examples (the item's).")
@click.option("--window", type=options.COUNT, help="Tokens of context per window.")
@options.memory
@options.placement
@options.ranks
@options.launch
@click.option(
    "--compare", is_flag=True, help="Print differences and the model to take, as on the page."
)
@click.option("--name", help="Name of the result in evaluations/ (evaluation, or evaluation-2, …).")
@options.quiet
@options.as_json
def evaluate(models: tuple[str, ...], compare: bool, as_json: bool, **keywords: Any) -> None:
    """Score MODELs on texts and tasks, side by side.

    A MODEL is a run, an ensemble or a Hugging Face folder. The base of a run or ensemble is
    scored too, to measure forgetting. `NAME@tfidf:2` sets an ensemble's routing. Safe to
    interrupt; run it again to resume.
    """
    import tongues
    from tongues.steps import step_of_evaluation
    from tongues.terminal import hint, print_json, say
    from tongues.verbs.evaluate import evaluation_folder

    made = tongues.evaluate(models, page=not as_json, **keywords)
    if as_json:
        print_json(made.to_json())
        return
    from tongues.pages import as_text
    from tongues.report.evaluation.view import score_blocks

    echo(as_text(score_blocks(made, compare=compare)) + "\n")
    for line in made.left_out:
        say(line)
    page = evaluation_folder(keywords["workspace"], made.name) / "index.html"
    if page.exists():
        echo(page)
    hint(step_of_evaluation(made, keywords["workspace"]).command)


def _piped() -> tuple[str, ...]:
    """What standard input holds, as a prompt; none on a terminal and where it is empty."""
    text = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    return (text.removesuffix("\n"),) if text.strip() else ()


@click.command()
@click.argument("model")
@click.argument("prompts", nargs=-1, metavar="[PROMPT]...")
@options.workspace
@click.option(
    "--routing", metavar="WAY", help="Routing of an ensemble: filter:1 (default), tfidf:2, …."
)
@click.option("--language", metavar="TAG", help="Language of the text, for `--routing language`.")
@click.option("--max-tokens", type=options.COUNT, help="Tokens to generate, at most (64).")
@click.option("-n", type=options.COUNT, default=1, help="Completions of each prompt.")
@click.option(
    "--stop", multiple=True, metavar="TEXT", help="String that ends a completion. Repeatable."
)
@click.option("--temperature", type=click.FloatRange(0), default=0.8, help="0: no sampling.")
@click.option(
    "--top-k", type=options.COUNT, help="Sample from this number of most probable tokens."
)
@click.option(
    "--top-p",
    type=click.FloatRange(min=0, max=1, min_open=True),
    help="Nucleus sampling: smallest set of tokens with this probability.",
)
@click.option("--seed", type=int, default=0, help="Random seed of the sampling.")
@click.option("--experts", is_flag=True, help="Colour every token by its most active expert.")
@options.memory
@options.placement
@options.as_json
def generate(
    model: str, prompts: tuple[str, ...], experts: bool, as_json: bool, **keywords: Any
) -> None:
    """Continue each PROMPT with MODEL: an ensemble, a run or a folder.

    The folder is one of Hugging Face. Without a prompt it is what is piped in, or the text begins
    at its start.
    """
    import tongues
    from tongues.terminal import hint_command, print_json

    made = tongues.generate(model, prompts or _piped(), **keywords)
    if as_json:
        print_json(made.to_json())
        return
    colours = [_COLOURS[number % len(_COLOURS)] for number in range(len(made.experts))]
    for one in made.texts:
        echo(one.prompt, nl=False, bold=True)
        for words, number in one.stretches() if experts else [(one.text, -1)]:
            echo(words, nl=False, fg=colours[number] if number >= 0 else None)
        echo()
    if experts:
        active = (int(token.weights.argmax()) for one in made.texts for token in one.tokens)
        counts = Counter(active)
        for number, name in enumerate(made.experts):
            echo(f"{counts[number]:>6} tokens  {name}", fg=colours[number], err=True)
    hint_command("tongues", "serve", model)


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@options.workspace
@click.option("--host", default="127.0.0.1", help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8000, help="0: any that is free.")
@click.option("--key-file", type=options.PATH, help="File with the API key (or TONGUES_API_KEY).")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Host name that requests may use. Repeatable.",
)
@options.memory
@options.placement
@click.option(
    "--max-batch", type=options.COUNT, default=16, help="Completions generated at a time."
)
@click.option("--max-tokens", type=options.COUNT, default=1024, help="Longest completion.")
@click.option(
    "--timeout", type=_POSITIVE, default=120.0, help="Longest time of a request, in seconds."
)
@click.option("--example", is_flag=True, help="Serve a small ensemble that comes with tongues.")
@options.quiet
def serve(models: tuple[str, ...], **keywords: Any) -> None:
    """Serve MODELs over an OpenAI-compatible API, with a page to try.

    A MODEL is an ensemble (`NAME@tfidf:2` sets its routing), a run or a Hugging Face folder. The
    API is below /v1, the page at the address that is printed.
    """
    import tongues
    from tongues.terminal import say

    try:
        tongues.serve(models, ready=echo, **keywords)
    except Stopped as stop:
        say(str(stop))
        sys.exit(130)


@click.command()
@click.argument("model")
@click.option("-o", "--out", type=options.OUT, required=True, help="Folder to write.")
@options.workspace
@click.option("--step", type=click.IntRange(0), help="Step of the run's checkpoint or milestone.")
@click.option("--moe", is_flag=True, help="One model: the experts as a mixture of experts.")
@click.option("--dtype", type=options.DTYPES, help="Dtype of the stored weights (the base's).")
@click.option("--add-chat", type=options.FOLDER, metavar="INSTRUCT", help=_CHAT)
@click.option(
    "--chat-weight", type=_POSITIVE, help="Weight of that difference (chosen on held-out loss)."
)
@click.option(
    "--gguf", is_flag=True, help="Write a GGUF for llama.cpp too, and compare its token ids."
)
@options.quiet
@options.as_json
def export(model: str, out: Path, as_json: bool, **keywords: Any) -> None:
    """Write MODEL as Hugging Face folders, each with a model card.

    MODEL is a run or an ensemble. A card says how it was made, on what data, and what its newest
    evaluation found. The folder of an ensemble is complete: `tongues generate FOLDER` works
    wherever it is.
    """
    import tongues
    from tongues.terminal import hint_command, print_paths

    tongues.export(model, out, **keywords)
    print_paths([out], as_json=as_json)
    hint_command("tongues", "generate", out)
