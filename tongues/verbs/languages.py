"""The verb on languages: what is known of one, or which there are."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from tongues.core.terminal import echo
from tongues.verbs.options import AS_JSON, one_thread
from tongues.verbs.settings import Verb, argument, command, function, option, settings

if TYPE_CHECKING:
    from tongues.languages import Language
    from tongues.languages.facts import LanguageFacts


_ROWS = 20  # of a list
_OPTIONAL = ("byte premium", "Bible", "family", "speakers", "tasks", "script")  # first to go


@settings
class Languages(Verb["LanguageFacts | tuple[Language, ...]"]):
    """Show what is known of LANGUAGE, or list languages, offline.

    LANGUAGE is a tag, code or name: `sw`, `swh_Latn`, `Swahili`. A list has the most text first.
    """

    work = "languages:languages"
    language: str | None = argument(required=False, default=None)
    _: KW_ONLY
    family: str = option("A group, such as bantu.", default="")
    script: str = option("Such as Arab.", default="")
    task: str = option("A benchmark in it, such as xcopa.", default="")
    min_text: int | str | None = option(
        "Text there is at least, such as 100MB.", metavar="SIZE", default=None
    )


@command(Languages, AS_JSON)
def _languages(asked: Languages, *, as_json: bool) -> None:
    one_thread()
    from tongues.core.terminal import hint, print_json, print_table
    from tongues.languages import describe

    answer = asked.run()
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
    from tongues.core.pages import as_text

    echo(as_text(describe.facts_blocks(answer)))
    hint(f"tongues plan --language {answer.language.tag} --gpu h100 --budget '24 hours'")


languages = function(Languages)
