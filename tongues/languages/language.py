"""A language in one script, and what is known of it."""

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class AvailableText:
    """Text of a language that a public corpus offers.

    bible, wikipedia: shares of it, 0 to 1; None where the source does not give them.
    """

    source: str
    bytes: int  # of UTF-8
    words: int | None = None
    documents: int | None = None
    bible: float | None = None
    wikipedia: float | None = None


@dataclass(frozen=True, slots=True)
class Language:
    """A language in one script. None, an empty text or an empty tuple: not known.

    tag: BCP 47, as recipes have it: `sw`; with the script where it is not the usual one: `hi-Latn`.
    code: ISO 639-3, of the individual language: `swh`. other_codes: those that mean it too: `swa`.
    script: ISO 15924; Han is always `Hani`.
    name: in English. names: others, its own among them.
    family: Glottolog's groups from the widest to the narrowest; an isolate has none.
    macroarea, countries (ISO 3166): of Glottolog.
    speakers: CLDR's count: all speakers in its tables of countries, first and second language.
    byte_premium: UTF-8 bytes for the content of one byte of English.
    texts: public corpora, the largest first; what FineWeb-2 removed comes last. They overlap: most
    are of the same crawls.
    identified_by: models of language identification that have it as a label.
    tasks: benchmarks in it that lm-eval can run, by the names of this package where it has them.
    """

    tag: str
    code: str
    script: str
    name: str
    other_codes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    family: tuple[str, ...] = ()
    macroarea: str = ""
    countries: tuple[str, ...] = ()
    speakers: int | None = None
    byte_premium: float | None = None
    texts: tuple[AvailableText, ...] = ()
    identified_by: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    @property
    def counted_text(self) -> AvailableText | None:
        """The text of FineWeb-2, or of FineWeb: forecasts rest on it, since it has all languages.

        Where its filters kept none, what they removed.
        """
        counted = [text for text in self.texts if text.source.startswith("FineWeb")]
        return min(counted, key=lambda text: text.source, default=None)

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of the text that counts; 0 where FineWeb-2 has none."""
        return self.counted_text.bytes if self.counted_text else 0

    @property
    def bible(self) -> float | None:
        """Share of the Bible in that text, 0 to 1."""
        return self.counted_text.bible if self.counted_text else None

    def kinship(self, other: "Language") -> float:
        """Shared groups of the two families, over the geometric mean of their numbers; 0 to 1."""
        if self.code == other.code:
            return 1.0
        shared = 0
        for mine, theirs in zip(self.family, other.family, strict=False):
            if mine != theirs:
                break
            shared += 1
        return shared / math.sqrt((len(self.family) + 1) * (len(other.family) + 1))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)
