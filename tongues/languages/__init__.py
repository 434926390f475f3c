"""What is known of any language before anything is trained: a catalogue that needs no network.

`Language` says what each field is; `sources.csv` where it comes from and under which licence.
"""

from tongues.languages import language, ngrams, prior
from tongues.languages.catalogue import expected_scripts, find_language, languages
from tongues.languages.language import *  # noqa: F403
from tongues.languages.ngrams import *  # noqa: F403
from tongues.languages.prior import *  # noqa: F403

__all__ = ["expected_scripts", "find_language", "languages"]
__all__ += language.__all__
__all__ += ngrams.__all__
__all__ += prior.__all__
