"""Languages that an identifier confuses, and those that one it does not know is not taken for."""

from collections.abc import Collection
from functools import cache, lru_cache

from langcodes import Language, standardize_tag
from langcodes.data_dicts import MACROLANGUAGES

from tongues.core.errors import UserError
from tongues.languages import find_language
from tongues.languages.donors import confusable_languages

UNKNOWN = "und"  # a text with too few letters

# Text of the second is often identified as the first, and the reverse: Northern and Southern
# Sotho (58 of 60 sentences), Greek in polytonic spelling (17 of 17 novels), Biblical Hebrew.
_CONFUSED = {"st": "nso", "grc": "el", "hbo": "he"}
# Languages of most web text. Text in languages that py3langid does not know is not taken for them:
# 1 of 2,460 documents of 20 such languages was.
_LARGE = ("de", "en", "es", "fr", "it", "pt", "ru")
_KIN = 0.55  # of the shared groups in the family tree, from which text may be taken for the other


def same_language(tag: str, label: str) -> bool:
    """Whether text labelled `label` counts as text in `tag`.

    Scripts and regions are ignored. Languages of one ISO 639-3 macrolanguage are the same (`no` nb
    nn; `zh` yue; `ms` id; hr bs sr), and pairs that identifiers confuse: good text of a small
    language must not be dropped as text of a large, similar one.
    """
    return _family(tag) == _family(label)


def own_label(tag: str, labels: Collection[str]) -> str:
    """Of labels, the one of the language of `tag`, not of a relative; empty where none is."""
    language = Language.get(standardize_tag(tag, macro=True)).language or UNKNOWN
    return next((x for x in (language, MACROLANGUAGES.get(language, "")) if x in labels), "")


@cache
def large_others(tag: str) -> frozenset[str]:
    """Large languages that text in `tag` is not taken for: all but its relatives.

    None of a language whose relatives are not known.
    """
    try:
        language = find_language(tag)
    except UserError:
        return frozenset()
    return frozenset(x for x in _LARGE if language.kinship(find_language(x)) < _KIN)


@cache
def taken_for(tag: str) -> frozenset[str]:
    """The close relatives that passages of a text in `tag` may be identified as."""
    try:
        return frozenset(each.tag for each in confusable_languages(find_language(tag)))
    except UserError:
        return frozenset()


def counts_as(tag: str, label: str, known: bool) -> bool:
    """Whether text labelled `label` may be in `tag`; known: whether the identifier knows `tag`."""
    return same_language(tag, label) if known else label not in large_others(tag)


@lru_cache(maxsize=4096)
def _family(tag: str) -> str:
    language = Language.get(standardize_tag(tag, macro=True)).language or UNKNOWN
    language = MACROLANGUAGES.get(language, language)
    return _CONFUSED.get(language, language)
