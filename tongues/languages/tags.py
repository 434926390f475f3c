"""Tags of languages as others write them, by the catalogue; apart, since langcodes loads slowly."""

from langcodes import standardize_tag, tag_is_valid

from tongues.core.errors import UserError
from tongues.languages.catalogue import find_language


def catalogue_tag(language: str) -> str:
    """The catalogue's tag, as recipes have it; of traditional Chinese, with its script."""
    known = tag_is_valid(language)
    standard = standardize_tag(language, macro=True) if known else language
    try:
        return standard if standard == "zh-Hant" else find_language(standard).tag
    except UserError:
        return standard
