"""What is known of languages before anything is trained."""

from typing import overload

from tongues.core.errors import UserError
from tongues.languages.catalogue import find_language
from tongues.languages.facts import LanguageFacts, language_facts, select_languages
from tongues.languages.language import Language
from tongues.verbs.shared import memory_bytes


@overload
def languages(language: str) -> LanguageFacts: ...
@overload
def languages(
    language: None = None,
    *,
    family: str = "",
    script: str = "",
    task: str = "",
    min_text: int | str | None = None,
) -> tuple[Language, ...]: ...
def languages(
    language: str | None = None,
    *,
    family: str = "",
    script: str = "",
    task: str = "",
    min_text: int | str | None = None,
) -> LanguageFacts | tuple[Language, ...]:
    """What is known of a language, or the languages that fit, the most text first.

    language: its tag, code or name: `sw`, `swh_Latn`, `Swahili`.
    family: a group of any depth, or a word of its name, such as `bantu`. script: such as `Arab`.
    task: a benchmark there is in it, such as `xcopa`. min_text: in bytes, or as `100MB`.
    """
    least = memory_bytes(min_text, "--min-text")
    if language is None:
        family, script, task = (word.strip() for word in (family, script, task))
        return select_languages(family=family, script=script, task=task, min_text=least or 0)
    if family or script or task or least is not None:
        raise UserError("conditions are for a list", hint="give a language, or conditions")
    return language_facts(find_language(language))
