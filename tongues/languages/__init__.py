"""What is known of any language before anything is trained: a catalogue that needs no network.

`Language` says what each field is; `sources.csv` where it comes from and under which licence.
"""

from tongues.languages import language
from tongues.languages.catalogue import find_language, languages
from tongues.languages.language import *  # noqa: F403

__all__ = ["find_language", "languages"]
__all__ += language.__all__
