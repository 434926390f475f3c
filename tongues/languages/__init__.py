"""What is known of any language before anything is trained: a catalogue that needs no network.

`Language` says what each field is; `sources.csv` where it comes from and under which licence.
"""

from tongues.languages.catalogue import expected_scripts, find_language, language_name, languages
from tongues.languages.forecast import LossForecast, OwnRun, forecast_language
from tongues.languages.language import AvailableText, Language
from tongues.languages.ngrams import NGrams, measure_ngrams

__all__ = ["AvailableText", "Language", "LossForecast", "NGrams", "OwnRun", "expected_scripts"]
__all__ += ["find_language", "forecast_language", "language_name", "languages", "measure_ngrams"]
