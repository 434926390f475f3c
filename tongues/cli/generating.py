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
    default=64,
    show_default=True,
    help="Tokens to write, at most.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0),
    default=0.8,
    show_default=True,
    help="0: the likeliest.",
)
@click.option("--top-k", type=click.IntRange(min=1), help="Draw from the likeliest so many.")
@click.option("--top-p", type=click.FloatRange(min=0, max=1), help="Draw from those with so much.")
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
    experts: bool,
    memory: int | None,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Continue each PROMPT with MODEL: an ensemble, a run, or a Hugging Face folder.

    Without a prompt a text is written from its beginning.
    """
    import numpy as np

    from tongues.evaluate.subjects import open_named
    from tongues.experts.ensemble.generate import Sampling
    from tongues.experts.ensemble.generate import generate as write_on
    from tongues.experts.ensemble.routing import parse_routing
    from tongues.terminal import print_json
    from tongues.tokens import load_tokenizer

    _, _, ensemble = open_named(model, workspace, memory=memory)
    tokenizer = load_tokenizer(ensemble.tokenizer)
    texts = list(prompts) or [""]
    way = routing or ("uniform" if ensemble.k == 1 else "language" if language else "tfidf:1")
    most = sampling.pop("most")
    written = write_on(
        ensemble,
        [np.array(tokenizer.encode(text, add_special_tokens=False).ids, int) for text in texts],
        parse_routing(way),
        most=most,
        languages=[language] * len(texts) if language else None,
        sampling=Sampling(**sampling),
    )
    names = ensemble.lineage.names
    if as_json:
        rows = [
            {
                "prompt": text,
                "text": tokenizer.decode(one.tokens.tolist()),
                "tokens": one.tokens.tolist(),
                "nats": one.nats.tolist(),
                "weights": one.weights.tolist(),
                "ended": one.stopped,
            }
            for text, one in zip(texts, written, strict=True)
        ]
        print_json({"model": model, "routing": way, "experts": list(names), "texts": rows})
        return
    for text, one in zip(texts, written, strict=True):
        shown = _coloured(tokenizer, one) if experts else tokenizer.decode(one.tokens.tolist())
        click.echo(click.style(text, bold=True) + shown)
    if experts:
        for number, name in enumerate(names):
            count = sum(int((one.weights.argmax(axis=1) == number).sum()) for one in written)
            click.secho(f"{count:>6} tokens  {name}", fg=_colour(number), err=True)


def _coloured(tokenizer: Any, one: Any) -> str:
    """The text with each stretch in the colour of the expert that counted most for it.

    Characters that two tokens share are shown with the later one.
    """
    shown, done = [], 0
    for place, expert in enumerate(one.weights.argmax(axis=1).tolist(), start=1):
        so_far = tokenizer.decode(one.tokens[:place].tolist())
        if so_far.endswith("\ufffd") and place < len(one.tokens):
            continue
        shown.append(click.style(so_far[done:], fg=_colour(expert)))
        done = len(so_far)
    return "".join(shown)


def _colour(expert: int) -> str:
    return _COLOURS[expert % len(_COLOURS)]
