"""The verbs that use models: evaluate, generate, serve, export."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.errors import Stopped
from tongues.terminal import echo
from tongues.verbs.options import AS_JSON, COUNT, DTYPES, FOLDER, OUT, PATH
from tongues.verbs.settings import argument, command, function, option, settings
from tongues.verbs.shared import (
    Dtype,
    Launched,
    Placed,
    Quietly,
    Shared,
    in_workspace,
)

if TYPE_CHECKING:
    from tongues.evaluate.evaluation import Evaluation
    from tongues.experts.ensemble.generate import Generation

_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red", "white", "bright_black")
_POSITIVE = click.FloatRange(min=0, min_open=True)
_PORT = click.IntRange(0, 65_535)


@settings
class Evaluate(Placed, Shared, Launched, Quietly):
    """Score models on texts and tasks, side by side; every model is compared with the first.

    Models are runs, ensembles (`NAME@tfidf:2` by a routing), folders and hub ids
    (`org/name@revision`). The base of a run or ensemble is scored too, to measure forgetting.
    Writes `evaluations/NAME`. Safe to interrupt; call it again to resume.
    """

    models: str | Sequence[str] = argument(metavar="MODEL...", many=True)
    workspace: Path | str = in_workspace()
    _: KW_ONLY
    text: str | Path | Sequence[str | Path] = option(
        default=(),
        many=True,
        metavar="WHAT",
        about="Prepared tokens or files to measure the loss on. Repeatable.",
    )
    tasks: str | Sequence[str] = option(
        default=(),
        many=True,
        metavar="NAME",
        about="Tasks: xcopa, xcopa:sw,tr for some of its languages, or lm-eval:NAME. Repeatable.",
    )
    data: str | Path | Sequence[str | Path] = option(
        default=(),
        many=True,
        metavar="FOLDER|hub",
        about="Folder with the items of the tasks, or the hub. Repeatable.",
    )
    languages: str | Sequence[str] | None = option(
        default=None, metavar="A,B,…", about="Languages of texts and tasks (all)."
    )
    limit: int | None = option(default=None, kind=COUNT, about="Items and documents per language.")
    num_fewshot: int | None = option(
        default=None,
        kind=click.IntRange(0),
        about="Examples before an item (0, or the number of lm-eval's task).",
    )
    fewshot_language: str | None = option(
        default=None, metavar="TAG", about="Language of the examples (the item's)."
    )
    window: int | None = option(default=None, kind=COUNT, about="Tokens of context per window.")
    name: str | None = option(
        default=None, about="Name of the result in evaluations/ (evaluation, or evaluation-2, …)."
    )
    page: bool = True  # whether to write the page `reports/NAME-evaluation`

    def run(self) -> "Evaluation":
        """Score them."""
        from tongues.verbs.work.evaluate import evaluate

        return evaluate(self)


@command(
    Evaluate,
    click.option(
        "--compare", is_flag=True, help="Print differences and the model to take, as on the page."
    ),
    AS_JSON,
)
def evaluate_command(asked: Evaluate, *, compare: bool, as_json: bool) -> None:
    """Score MODELs on texts and tasks, side by side.

    A MODEL is a run, an ensemble or a Hugging Face folder. The base of a run or ensemble is
    scored too, to measure forgetting. `NAME@tfidf:2` sets an ensemble's routing. Safe to
    interrupt; run it again to resume.
    """
    from tongues.steps import step_of_evaluation
    from tongues.terminal import hint, print_json, say
    from tongues.verbs.work.evaluate import evaluation_folder

    workspace = Path(asked.workspace)
    made = replace(asked, page=not as_json).run()
    if as_json:
        print_json(made.to_json())
        return
    from tongues.pages import as_text
    from tongues.report.evaluation.view import score_blocks

    echo(as_text(score_blocks(made, compare=compare)) + "\n")
    for line in made.left_out:
        say(line)
    page = evaluation_folder(workspace, made.name) / "index.html"
    if page.exists():
        echo(page)
    hint(step_of_evaluation(made, workspace).command)


@settings
class Generate(Placed):
    """Continue each prompt with a model: an ensemble, a run, a Hugging Face folder or a hub id.

    Without a prompt a text is generated from its beginning.
    """

    model: str = argument()
    prompts: str | Sequence[str] = argument(
        default=(), many=True, required=False, metavar="[PROMPT]..."
    )
    workspace: Path | str = in_workspace()
    _: KW_ONLY
    routing: str | None = option(
        default=None,
        metavar="WAY",
        about="Routing of an ensemble: filter:1 (default), tfidf:2, ….",
    )
    language: str | None = option(
        default=None, metavar="TAG", about="Language of the text, for `--routing language`."
    )
    max_tokens: int | None = option(
        default=None, kind=COUNT, about="Tokens to generate, at most (64)."
    )
    n: int = option("-n", default=1, kind=COUNT, about="Completions of each prompt.")
    stop: Sequence[str] = option(
        default=(), many=True, metavar="TEXT", about="String that ends a completion. Repeatable."
    )
    temperature: float = option(default=0.8, kind=click.FloatRange(0), about="0: no sampling.")
    top_k: int | None = option(
        default=None, kind=COUNT, about="Sample from this number of most probable tokens."
    )
    top_p: float | None = option(
        default=None,
        kind=click.FloatRange(min=0, max=1, min_open=True),
        about="Nucleus sampling: smallest set of tokens with this probability.",
    )
    seed: int = option(default=0, kind=int, about="Random seed of the sampling.")

    def run(self) -> "Generation":
        """Continue them."""
        from tongues.verbs.work.models import generate

        return generate(self)


@command(
    Generate,
    click.option("--experts", is_flag=True, help="Colour every token by its most active expert."),
    AS_JSON,
)
def generate_command(asked: Generate, *, experts: bool, as_json: bool) -> None:
    """Continue each PROMPT with MODEL: an ensemble, a run or a folder.

    The folder is one of Hugging Face. Without a prompt it is what is piped in, or the text begins
    at its start.
    """
    from tongues.terminal import hint_command, print_json

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
class Serve(Placed, Quietly):
    """Serve models by OpenAI's API, and on a page to try them; returns when it is stopped.

    Models are ensembles (`NAME@tfidf:2` by a routing), runs, folders and hub ids.
    """

    models: str | Sequence[str] = argument(
        default=(), many=True, required=False, metavar="[MODEL]..."
    )
    workspace: Path | str = in_workspace()
    _: KW_ONLY
    host: str = option(default="127.0.0.1", about="Where to listen.")
    port: int = option(default=8000, kind=_PORT, about="0: any that is free.")
    key_file: Path | str | None = option(
        default=None, kind=PATH, about="File with the API key (or TONGUES_API_KEY)."
    )
    allow_host: Sequence[str] = option(
        default=(),
        many=True,
        metavar="NAME",
        about="Host name that requests may use. Repeatable.",
    )
    max_batch: int = option(default=16, kind=COUNT, about="Completions generated at a time.")
    max_tokens: int = option(default=1024, kind=COUNT, about="Longest completion.")
    timeout: float = option(
        default=120.0, kind=_POSITIVE, about="Longest time of a request, in seconds."
    )
    example: bool = option(default=False, about="Serve a small ensemble that comes with tongues.")
    ready: Callable[[str], None] | None = None  # gets the address; None: standard error does

    def run(self) -> None:
        """Serve them."""
        from tongues.verbs.work.models import serve

        serve(self)


@command(Serve)
def serve_command(asked: Serve) -> None:
    """Serve MODELs over an OpenAI-compatible API, with a page to try.

    A MODEL is an ensemble (`NAME@tfidf:2` sets its routing), a run or a Hugging Face folder. The
    API is below /v1, the page at the address that is printed.
    """
    from tongues.terminal import say

    try:
        replace(asked, ready=echo).run()
    except Stopped as stop:
        say(str(stop))
        sys.exit(130)


@settings
class Export(Quietly):
    """Write a run or an ensemble as Hugging Face folders, each with a model card; returns `out`."""

    model: str = argument()
    out: Path | str = option("-o", "--out", kind=OUT, about="Folder to write.")
    workspace: Path | str = in_workspace()
    _: KW_ONLY
    step: int | None = option(
        default=None,
        kind=click.IntRange(0),
        about="Step of the run's checkpoint or milestone (the newest).",
    )
    moe: bool = option(default=False, about="One model: the experts as a mixture of experts.")
    dtype: Dtype | None = option(
        default=None, kind=DTYPES, about="Dtype of the stored weights (the base's)."
    )
    add_chat: Path | str | None = option(
        default=None,
        kind=FOLDER,
        metavar="INSTRUCT",
        about="Add what instruction tuning changed in the base: INSTRUCT − BASE.",
    )
    chat_weight: float | None = option(
        default=None, kind=_POSITIVE, about="Weight of that difference (chosen on held-out loss)."
    )
    gguf: bool = option(
        default=False, about="Write a GGUF for llama.cpp too, and compare its token ids."
    )

    def run(self) -> Path:
        """Write it."""
        from tongues.verbs.work.models import export

        return export(self)


@command(Export, AS_JSON)
def export_command(asked: Export, *, as_json: bool) -> None:
    """Write MODEL as Hugging Face folders, each with a model card.

    MODEL is a run or an ensemble. A card says how it was made, on what data, and what its newest
    evaluation found. The folder of an ensemble is complete: `tongues generate FOLDER` works
    wherever it is.
    """
    from tongues.terminal import hint_command, print_paths

    out = asked.run()
    print_paths([out], as_json=as_json)
    hint_command("tongues", "generate", out)


evaluate = function(Evaluate)
generate = function(Generate)
serve = function(Serve)
export = function(Export)
