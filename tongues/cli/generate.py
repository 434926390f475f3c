"""The verb generate: texts continued, in the terminal."""

from typing import TYPE_CHECKING, Any

import click

from tongues.cli.options import json_option, memory_option, workspace_option

if TYPE_CHECKING:
    from tongues.experts.ensemble.generate import Continuation

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
    model: str, prompts: tuple[str, ...], experts: bool, as_json: bool, **asked: Any
) -> None:
    """Continue each PROMPT with MODEL: an ensemble, a run, or a Hugging Face folder.

    Without a prompt a text is written from its beginning.
    """
    import tongues
    from tongues.terminal import print_json

    made = tongues.generate(model, prompts, **asked)
    if as_json:
        print_json(made.to_json())
        return
    for one in made.texts:
        shown = one.text if not experts else _coloured(one)
        click.echo(click.style(one.prompt, bold=True) + shown)
    if experts:
        for number, name in enumerate(made.experts):
            count = sum(
                int(token.weights.argmax()) == number for one in made.texts for token in one.tokens
            )
            click.secho(f"{count:>6} tokens  {name}", fg=_colour(number), err=True)


def _coloured(one: "Continuation") -> str:
    """The text with each stretch in the colour of the expert that counted most for it."""
    return "".join(
        click.style(text, fg=_colour(expert)) if expert >= 0 else text
        for text, expert in one.stretches()
    )


def _colour(expert: int) -> str:
    return _COLOURS[expert % len(_COLOURS)]
