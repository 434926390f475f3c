"""What is known of any language before anything is trained: a catalogue that needs no network.

`Language` says what each field is; `sources.csv` where it comes from and under which licence.
"""

from tongues.languages import catalogue, language
from tongues.languages.catalogue import *  # noqa: F403
from tongues.languages.language import *  # noqa: F403

__all__ = []
__all__ += catalogue.__all__
__all__ += language.__all__
