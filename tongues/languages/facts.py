"""All that is known of one language before anything is trained, and which languages there are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tongues.core.errors import UserError, nearest
from tongues.core.estimate import Estimate
from tongues.core.jsonable import to_plain
from tongues.languages.catalogue import field_sources, languages
from tongues.languages.donors import Donor, confusable_languages, rank_donors
from tongues.languages.fertility import TOKENIZERS, byte_premium, bytes_per_token
from tongues.languages.forecast import LossForecast, forecast_language
from tongues.languages.language import Language

_DONORS = 8  # that are shown; chosen
_AMOUNTS = (1e7, 1e8, 1e9)  # bytes of text of a forecast; the largest of the published runs is 1 GB


@dataclass(frozen=True, slots=True)
class LanguageFacts:
    """What is known of a language.

    scripts: the same language in others, where it is written in several. confusable: languages that
    identification may take for it. byte_premium and bytes_per_token (by tokenizer): forecasts where
    they have an interval. forecasts: of the loss, by bytes of unique text.
    """

    language: Language
    scripts: tuple[Language, ...]
    confusable: tuple[Language, ...]
    byte_premium: Estimate
    bytes_per_token: Mapping[str, Estimate]
    donors: tuple[Donor, ...]
    forecasts: Mapping[float, LossForecast]

    @property
    def unknown(self) -> tuple[str, ...]:
        """What no source here has, in a sentence each."""
        of = self.language
        missing = {
            "family: Glottolog has it in none": not of.family,
            "script: no source here has it": not of.script,
            "speakers: CLDR does not count them": of.speakers is None,
            "byte premium: not measured": of.byte_premium is None,
            "text: FineWeb-2 has none": not of.text_bytes,
            "identification: no model here is known to have it": not of.identified_by,
            "tasks: lm-eval has none": not of.tasks,
        }
        return tuple(sentence for sentence, absent in missing.items() if absent)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        forecasts = [{"text_bytes": size} | of.to_json() for size, of in self.forecasts.items()]
        donors = [to_plain(donor) | {"language": donor.language.tag} for donor in self.donors]
        return self.language.to_json() | {
            "scripts": [other.tag for other in self.scripts],
            "confusable": [other.tag for other in self.confusable],
            "byte_premium": self.byte_premium.to_json(),
            "bytes_per_token": to_plain(self.bytes_per_token),
            "donors": donors,
            "forecasts": forecasts,
            "unknown": list(self.unknown),
            "sources": field_sources(),
        }


def language_facts(language: Language, donors: int = _DONORS) -> LanguageFacts:
    """All that is known of a language, with its best donors."""
    scripts = (other for other in languages(language.code) if other.script != language.script)
    return LanguageFacts(
        language,
        tuple(scripts),
        confusable_languages(language),
        byte_premium(language),
        {name: bytes_per_token(language, name) for name in TOKENIZERS},
        rank_donors(language, count=donors),
        {amount: forecast_language(language, amount) for amount in _AMOUNTS},
    )


def select_languages(
    *,
    family: str = "",
    script: str = "",
    task: str = "",
    min_text: float = 0,
) -> tuple[Language, ...]:
    """Languages that fit all of it, the most text first.

    family: a group of any depth, or a word of its name, such as `bantu`. script: ISO 15924.
    task: a benchmark. min_text: bytes.
    """
    every = languages()
    chosen = [of for of in every if of.text_bytes >= min_text]
    conditions: dict[str, tuple[str, Callable[[Language], Sequence[str]]]] = {
        "--family": (family, lambda of: of.family),
        "--script": (script, lambda of: [of.script]),
        "--task": (task, lambda of: of.tasks),
    }
    for where, (wanted, values) in conditions.items():
        if not wanted:
            continue
        names = {value for of in every for value in values(of) if value}
        key = wanted.casefold()
        words = {name for name in names if where == "--family" and key in name.casefold().split()}
        fits = words | {name for name in names if key == name.casefold()}
        if not fits:
            hint = nearest(wanted, sorted(names))
            raise UserError(f"no language has `{wanted}`", where=where, hint=hint)
        chosen = [of for of in chosen if fits.intersection(values(of))]
    return tuple(sorted(chosen, key=lambda of: (-of.text_bytes, of.tag)))
