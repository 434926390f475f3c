"""The verb on languages: what is known of one, or which there are."""

from typing import Any

import click

from tongues.cli import options
from tongues.terminal import echo

_ROWS = 20  # of a list
_OPTIONAL = ("byte premium", "Bible", "family", "speakers", "tasks", "script")  # first to go


@click.command()
@click.argument("language", required=False)
@click.option("--family", default="", show_default=False, help="A group, such as bantu.")
@click.option("--script", default="", show_default=False, help="Such as Arab.")
@click.option("--task", default="", show_default=False, help="A benchmark in it, such as xcopa.")
@click.option("--min-text", metavar="SIZE", help="Text there is at least, such as 100MB.")
@options.as_json
def languages(language: str | None, as_json: bool, **conditions: Any) -> None:
    """Show what is known of LANGUAGE, or list languages, offline."""
    options.one_thread()
    import tongues
    from tongues.languages import describe
    from tongues.terminal import hint, print_json, print_table

    answer = tongues.languages(language, **conditions)
    if isinstance(answer, tuple):
        if as_json:
            print_json({"languages": [of.to_json() for of in answer]})
            return
        print_table(describe.language_rows(answer[:_ROWS]), optional=_OPTIONAL)
        if len(answer) > _ROWS:
            hint(f"{len(answer) - _ROWS:,} more: `--json` has all")
        return
    if as_json:
        print_json(answer.to_json())
        return
    from tongues.pages import as_text

    echo(as_text(describe.facts_blocks(answer)))
    hint(f"tongues plan --language {answer.language.tag} --gpu h100 --budget '24 hours'")
