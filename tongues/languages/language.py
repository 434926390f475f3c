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
    macroarea, latitude, longitude (degrees), countries (ISO 3166): of Glottolog.
    speakers: people, first and second language, as CLDR counts them.
    byte_premium: UTF-8 bytes for the content of one byte of English.
    texts: public corpora; the first is the one that counts, others need work before use.
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
    latitude: float | None = None
    longitude: float | None = None
    countries: tuple[str, ...] = ()
    speakers: int | None = None
    byte_premium: float | None = None
    texts: tuple[AvailableText, ...] = ()
    identified_by: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of the text that counts; 0 where no corpus is known to have any."""
        return self.texts[0].bytes if self.texts else 0

    @property
    def bible(self) -> float | None:
        """Share of the Bible in that text, 0 to 1."""
        return self.texts[0].bible if self.texts else None

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
