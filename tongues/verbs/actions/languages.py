"""What is known of languages before anything is trained."""

from tongues.core.errors import UserError
from tongues.languages.catalogue import find_language
from tongues.languages.facts import LanguageFacts, language_facts, select_languages
from tongues.languages.language import Language
from tongues.verbs.languages import Languages
from tongues.verbs.shared import memory_bytes


def languages(asked: Languages) -> LanguageFacts | tuple[Language, ...]:
    """What is known of a language, or the languages that fit, the most text first."""
    least = memory_bytes(asked.min_text, "--min-text")
    family, script, task = (word.strip() for word in (asked.family, asked.script, asked.task))
    if asked.language is None:
        return select_languages(family=family, script=script, task=task, min_text=least or 0)
    if family or script or task or least is not None:
        raise UserError("conditions are for a list", hint="give a language, or conditions")
    return language_facts(find_language(asked.language))
