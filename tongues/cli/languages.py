"""The verb on languages: what is known of one, or which there are."""

from pathlib import Path
from typing import Any

import click

from tongues.cli import options

__all__ = ["languages"]

_OPTIONAL = ("byte premium", "Bible", "family", "speakers", "tasks", "script")  # first to go


@click.command()
@click.argument("language", required=False)
@click.option("--family", default="", show_default=False, help="A group, such as bantu.")
@click.option("--script", default="", show_default=False, help="Such as Arab.")
@click.option("--country", default="", show_default=False, help="Such as TZ.")
@click.option("--task", default="", show_default=False, help="A benchmark in it, such as xcopa.")
@click.option("--min-text", metavar="SIZE", help="Text there is at least, such as 100MB.")
@click.option("--limit", type=options.COUNT, default=20, help="Rows of a list.")
@click.option("-o", "--out", type=options.OUT, help="Write a page of the language to this folder.")
@options.as_json
def languages(
    language: str | None, limit: int, out: Path | None, as_json: bool, **conditions: Any
) -> None:
    """Show what is known of LANGUAGE, or list languages, offline."""
    options.one_thread()
    import tongues
    from tongues.errors import UserError
    from tongues.languages import describe
    from tongues.terminal import hint, print_json, print_table, say

    if out and language is None:
        raise UserError("a page is of one language", where="--out", hint="name the language")
    answer = tongues.languages(language, **conditions)
    if isinstance(answer, tuple):
        if as_json:
            print_json({"languages": [of.to_json() for of in answer]})
            return
        print_table(describe.language_rows(answer[:limit]), optional=_OPTIONAL)
        if len(answer) > limit:
            hint(f"{len(answer) - limit:,} more: `--limit`, or `--json` for all")
        return
    if out:
        from tongues.pages import write_page

        say(str(write_page(describe.facts_page(answer), out)))
    if as_json:
        print_json(answer.to_json())
        return
    from tongues.pages import as_text

    click.echo(as_text(describe.facts_blocks(answer)))
    hint(f"tongues plan --language {answer.language.tag} --gpu h100 --hours 24")
