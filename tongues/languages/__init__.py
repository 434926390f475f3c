"""What is known of any language before anything is trained: a catalogue that needs no network.

`Language` says what each field is; `sources.csv` where it comes from and under which licence.
"""

from tongues.languages import forecast, language, ngrams
from tongues.languages.catalogue import expected_scripts, find_language, languages
from tongues.languages.forecast import *  # noqa: F403
from tongues.languages.language import *  # noqa: F403
from tongues.languages.ngrams import *  # noqa: F403
from tongues.languages.prior import LossPrior, read_prior

__all__ = ["LossPrior", "expected_scripts", "find_language", "languages", "read_prior"]
__all__ += language.__all__
__all__ += ngrams.__all__
__all__ += forecast.__all__
