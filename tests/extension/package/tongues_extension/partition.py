"""A partition with a setting of its own."""

from collections.abc import Sequence
from pathlib import Path

from tongues.experts.partition import ClusterSettings, Method, Source
from tongues.experts.partition.partition import Partition, of_languages


class ByAlphabet(ClusterSettings):
    """The languages of each cluster, in the order of their tags."""

    backwards: bool = False

    def variant(self) -> Sequence[str]:
        """The number of clusters, and the direction."""
        return (str(self.k), *(["backwards"] if self.backwards else []))


class Alphabet(Method[ByAlphabet]):
    """Languages whose tags follow each other."""

    name, summary = "alphabet", "by alphabet, languages with like tags together"
    section = ByAlphabet

    def make(self, settings: ByAlphabet, source: Source, place: Path) -> Partition:
        """As many languages in each cluster as go into it."""
        languages = sorted(source.languages, reverse=settings.backwards)
        size = -(-len(languages) // settings.k)
        clusters = [languages[start : start + size] for start in range(0, len(languages), size)]
        return of_languages(self.name, clusters, notes=("tags tell nothing about languages",))


ALPHABET = Alphabet()
