"""The verb generate: texts continued, in the terminal."""

from pathlib import Path
from typing import Any

import click

from tongues.cli.options import json_option, memory_option, workspace_option

__all__ = ["generate"]

_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red", "white", "bright_black")


@click.command()
@click.argument("model")
@click.argument("prompts", nargs=-1, metavar="[PROMPT]...")
@workspace_option
@click.option("--routing", metavar="WAY", help="Of an ensemble: tfidf:1 (the default), text, ….")
@click.option("--language", metavar="TAG", help="Of the text, for `--routing language`.")
@click.option(
    "--most",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="To write, at most; 64, or what the model's context leaves, if unsaid.",
)
@click.option("--times", type=click.IntRange(min=1), default=1, help="Texts behind each prompt.")
@click.option("--stop", multiple=True, metavar="TEXT", help="Ends a text; may be given again.")
@click.option(
    "--temperature",
    type=click.FloatRange(min=0),
    default=0.8,
    show_default=True,
    help="0: the likeliest.",
)
@click.option("--top-k", type=click.IntRange(min=1), help="Draw from the likeliest so many.")
@click.option(
    "--top-p",
    type=click.FloatRange(min=0, max=1, min_open=True),
    help="Draw from those with so much.",
)
@click.option("--presence", type=float, default=0.0, help="Penalty on tokens that were written.")
@click.option("--frequency", type=float, default=0.0, help="The same for each time.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--experts", is_flag=True, help="Colour every token by the expert that counted most.")
@memory_option
@json_option
def generate(
    model: str,
    prompts: tuple[str, ...],
    workspace: Path,
    routing: str | None,
    language: str | None,
    most: int | None,
    times: int,
    stop: tuple[str, ...],
    experts: bool,
    memory: int | None,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Continue each PROMPT with MODEL: an ensemble, a run, or a Hugging Face folder.

    Without a prompt a text is written from its beginning.
    """
    from tongues.experts.ensemble.routing import parse_routing
    from tongues.experts.ensemble.sampling import Sampling
    from tongues.serve.served import open_served
    from tongues.serve.writing import write
    from tongues.terminal import print_json

    served = open_served(model, workspace, memory=memory)
    way = served.routing
    if routing or (language and served.ensemble.k > 1):
        way = parse_routing(routing or "language")
    written = write(
        served,
        [text for text in prompts or ("",) for _ in range(times)],
        way,
        most=most,
        language=language,
        sampling=Sampling(**sampling),
        stop=stop,
    )
    if as_json:
        rows = [
            {
                "prompt": one.prompt,
                "text": one.text,
                "tokens": one.tokens,
                "nats": one.nats,
                "weights": [weights.tolist() for weights in one.weights],
                "ended": one.stopped,
            }
            for one in written
        ]
        names = list(served.experts)
        print_json({"model": model, "routing": str(way), "experts": names, "texts": rows})
        return
    for one in written:
        shown = one.text if not experts else _coloured(served, one)
        click.echo(click.style(one.prompt, bold=True) + shown)
    if experts:
        for number, name in enumerate(served.experts):
            count = sum(int(row.argmax()) == number for one in written for row in one.weights)
            click.secho(f"{count:>6} tokens  {name}", fg=_colour(number), err=True)


def _coloured(served: Any, one: Any) -> str:
    """The text with each stretch in the colour of the expert that counted most for it.

    Characters that two tokens share are shown with the later one.
    """
    from tongues.serve.wording import Wording

    wording, shown, left = Wording(), [], len(one.text)
    for token, weights in zip(one.tokens, one.weights, strict=True):
        text = wording.push(served.bytes_of(token)).text[:left]
        left -= len(text)
        shown.append(click.style(text, fg=_colour(int(weights.argmax()))))
    return "".join(shown) + one.text[len(one.text) - left :]


def _colour(expert: int) -> str:
    return _COLOURS[expert % len(_COLOURS)]
