"""The verbs that use models: evaluate, generate, serve, export."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.core.errors import Stopped
from tongues.core.terminal import echo
from tongues.verbs.options import AS_JSON, COUNT, DTYPES, FOLDER, OUT
from tongues.verbs.settings import Verb, argument, command, function, option, settings
from tongues.verbs.shared import Dtype, Launched, Overwriting, Placed, Quietly, Shared, in_workspace

if TYPE_CHECKING:
    from tongues.evaluate.evaluation import Evaluation
    from tongues.experts.ensemble.generate import Generation


_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red", "white", "bright_black")
_POSITIVE = click.FloatRange(min=0, min_open=True)
_PORT = click.IntRange(0, 65_535)


@settings
class Evaluate(Placed, Shared, Launched, Quietly, Verb["Evaluation"]):
    """Score MODELs on texts and tasks, side by side.

    A MODEL is a run, an ensemble, a Hugging Face folder or a hub id. The base of a run or ensemble
    is scored too, to measure forgetting. `NAME@tfidf:2` sets an ensemble's routing. Every model is
    compared with the first. Safe to interrupt; run it again to resume.
    """

    work = "evaluate:evaluate"
    models: str | Sequence[str] = argument(metavar="MODEL...", many=True)
    workspace: Path | str = in_workspace()
    _: KW_ONLY
    text: str | Path | Sequence[str | Path] = option(metavar="WHAT", many=True, default=())
    tasks: str | Sequence[str] = option(metavar="NAME", many=True, default=())
    data: str | Path | None = option(metavar="FOLDER|hub", default=None)
    languages: str | Sequence[str] | None = option(metavar="A,B,…", default=None)
    limit: int | None = option(click.IntRange(0), default=None)
    num_fewshot: int | None = option(click.IntRange(0), default=None)
    fewshot_language: str | None = option(metavar="TAG", default=None)
    window: int | None = option(COUNT, default=None)
    name: str | None = option(default=None)
    page: bool = True  # whether to write the page `reports/NAME-evaluation`


@command(
    Evaluate,
    click.option(
        "--compare", is_flag=True, help="Print differences and the model to take, as on the page."
    ),
    AS_JSON,
)
def _evaluate(asked: Evaluate, *, compare: bool, as_json: bool) -> None:
    from tongues.core.terminal import hint, print_json, say
    from tongues.plan.steps import step_of_evaluation
    from tongues.verbs.shared import evaluation_folder

    workspace = Path(asked.workspace)
    made = replace(asked, page=not as_json).run()
    if as_json:
        print_json(made.to_json())
        return
    from tongues.core.pages import as_text
    from tongues.report.evaluation.view import score_blocks

    echo(as_text(score_blocks(made, compare=compare)) + "\n")
    for line in made.left_out:
        say(line)
    page = evaluation_folder(workspace, made.name) / "index.html"
    if page.exists():
        echo(page)
    hint(step_of_evaluation(made, workspace).line)


@settings
class Generate(Placed, Verb["Generation"]):
    """Continue each PROMPT with MODEL: an ensemble, a run or a folder.

    The folder is one of Hugging Face. Without a prompt the text begins at its start; the command
    takes what is piped in.
    """

    work = "models:generate"
    model: str = argument()
    prompts: str | Sequence[str] = argument(
        metavar="[PROMPT]...", many=True, required=False, default=()
    )
    workspace: Path | str = in_workspace()
    _: KW_ONLY
    routing: str | None = option(metavar="WAY", default=None)
    language: str | None = option(metavar="TAG", default=None)
    max_tokens: int | None = option(COUNT, default=None)
    n: int = option(COUNT, names=("-n",), default=1)
    stop: Sequence[str] = option(metavar="TEXT", many=True, default=())
    temperature: float = option(click.FloatRange(0), default=0.8)
    top_k: int | None = option(COUNT, default=None)
    top_p: float | None = option(click.FloatRange(min=0, max=1, min_open=True), default=None)
    seed: int = option(int, default=0)


@command(
    Generate,
    click.option("--experts", is_flag=True, help="Colour every token by its most active expert."),
    AS_JSON,
)
def _generate(asked: Generate, *, experts: bool, as_json: bool) -> None:
    from tongues.core.terminal import hint_command, print_json

    made = replace(asked, prompts=asked.prompts or _piped()).run()
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
    hint_command("tongues", "serve", asked.model)


def _piped() -> tuple[str, ...]:
    """What standard input holds, as a prompt; none on a terminal and where it is empty."""
    text = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    return (text.removesuffix("\n"),) if text.strip() else ()


@settings
class Serve(Placed, Quietly, Verb[None]):
    """Serve MODELs over an OpenAI-compatible API, with a page to try.

    A MODEL is an ensemble (`NAME@tfidf:2` sets its routing), a run, a Hugging Face folder or a hub
    id. The API is below /v1, the page at the address that is printed.
    """

    work = "models:serve"
    models: str | Sequence[str] = argument(
        metavar="[MODEL]...", many=True, required=False, default=()
    )
    workspace: Path | str = in_workspace()
    _: KW_ONLY
    host: str = option(default="127.0.0.1")
    port: int = option(_PORT, default=8000)
    allow_host: Sequence[str] = option(metavar="NAME", many=True, default=())
    allow_origin: Sequence[str] = option(metavar="ORIGIN", many=True, default=())
    max_batch: int = option(COUNT, default=16)
    max_tokens: int = option(COUNT, default=1024)
    timeout: float = option(_POSITIVE, default=120.0)
    example: bool = option(default=False)
    ready: Callable[[str], None] | None = None  # gets the address; None: standard error does


@command(Serve)
def _serve(asked: Serve) -> None:
    from tongues.core.terminal import say

    try:
        replace(asked, ready=echo).run()
    except Stopped as stop:
        say(str(stop))
        sys.exit(130)


@settings
class Export(Overwriting, Quietly, Verb[Path]):
    """Write MODEL as Hugging Face folders, each with a model card.

    MODEL is a run, an ensemble, or a recipe: of that its base, with a row for each token, or all
    that another trainer needs. A card says how it was made, on what data, and what its newest
    evaluation found. The folder of an ensemble is complete: `tongues generate FOLDER` works
    wherever it is.
    """

    work = "models:export"
    model: str = argument()
    out: Path | str = option(OUT, names=("-o", "--out"))
    workspace: Path | str = in_workspace()
    _: KW_ONLY
    step: int | None = option(click.IntRange(0), default=None)
    moe: bool = option(default=False)
    dtype: Dtype | None = option(DTYPES, default=None)
    add_chat: Path | str | None = option(FOLDER, metavar="INSTRUCT", default=None)
    chat_weight: float | None = option(_POSITIVE, default=None)
    engine: str | None = option(names=("--for",), metavar="ENGINE", default=None)
    gguf: bool = option(default=False)


@command(Export, AS_JSON)
def _export(asked: Export, *, as_json: bool) -> None:
    from tongues.core.terminal import hint_command, print_paths

    out = asked.run()
    print_paths([out], as_json=as_json)
    if asked.engine is None:
        hint_command("tongues", "generate", out)


evaluate = function(Evaluate)
generate = function(Generate)
serve = function(Serve)
export = function(Export)
