"""The methods of partitions, each one object, and the partitions that a recipe names.

Another package adds a way by the entry-point group `tongues.partitions`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import Field, TypeAdapter, field_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tongues.core.errors import UserError, nearest
from tongues.core.files import file_hash, fingerprint
from tongues.core.registry import Registry
from tongues.experts.partition.distances import family_distances, typology_distances
from tongues.experts.partition.partition import (
    Distances,
    Partition,
    of_languages,
    read_partition,
    write_partition,
)
from tongues.experts.partition.tree import by_tree, check_k
from tongues.experts.words import WORDS
from tongues.recipe import PartitionSettings, Recipe
from tongues.text.tokens import Tokens, open_tokens

D = TypeVar("D", bound=PartitionSettings)
_Clusters = Annotated[list[list[str]], Field(min_length=1)]


class ClusterSettings(PartitionSettings):
    """The settings of a partition into k clusters."""

    k: Annotated[int, Field(ge=1, le=1000)]

    def variant(self) -> Sequence[str]:
        """The number of clusters."""
        return (str(self.k),)


@dataclass(frozen=True, slots=True)
class Source:
    """The text to partition: a recipe's, in a workspace."""

    recipe: Recipe
    workspace: Path

    @property
    def languages(self) -> tuple[str, ...]:
        """Of the recipe, in its order."""
        return self.recipe.text.languages

    @property
    def tokens(self) -> Tokens:
        """The prepared text; a UserError where there is none."""
        return open_tokens(self.workspace / "tokens" / self.recipe.name)


class Method(Generic[D]):
    """A method of partitions; a subclass for each.

    name: the recipe's `by`. summary: follows "The text of n languages in k clusters, ".
    section: its settings. needs_tokens: whether the text must be prepared.
    splits_documents: whether the documents of one language may go to several clusters.
    """

    name: str
    summary: str
    section: type[D]
    needs_tokens: ClassVar[bool] = False
    splits_documents: ClassVar[bool] = False

    def make(self, settings: D, source: Source, place: Path) -> Partition:
        """The partition; where documents are split, the tokens of each cluster go to `place`."""
        raise NotImplementedError

    def made_from(self, settings: D, source: Source) -> list[Any]:
        """Other inputs of the partition than its settings and the tokens, in JSON."""
        return []


class _Dense(Method[PartitionSettings]):
    name, summary = "dense", "all in one"

    class _Nameless(PartitionSettings):
        @field_validator("name")
        @classmethod
        def _no_other(cls, value: str | None) -> None:
            if value:
                raise ValueError("the dense model is found by its own name; it takes no other")

    section = _Nameless

    def make(self, settings: PartitionSettings, source: Source, place: Path) -> Partition:
        return dense(source.languages)


class _Languages(Method[PartitionSettings]):
    name, summary, section = "languages", "one for each", PartitionSettings

    def make(self, settings: PartitionSettings, source: Source, place: Path) -> Partition:
        return one_each(source.languages)


class _InFile(PartitionSettings):
    file: str  # the languages of each cluster


class _File(Method[_InFile]):
    name, summary, section = "file", "as a file says", _InFile

    def make(self, settings: _InFile, source: Source, place: Path) -> Partition:
        return from_file(Path(settings.file), source.languages)

    def made_from(self, settings: _InFile, source: Source) -> list[Any]:
        return [file_hash(Path(settings.file))]


class _Typology(Method[ClusterSettings]):
    name, summary = "typology", "by typology, languages of like grammar together"
    section = ClusterSettings

    def make(self, settings: ClusterSettings, source: Source, place: Path) -> Partition:
        distances, notes = language_distances(source.recipe)
        return by_tree(self.name, distances, settings.k, notes=notes)


class _Topics(Method[ClusterSettings]):
    name, summary = "topics", "by topics, documents of like words together"
    section = ClusterSettings
    needs_tokens = splits_documents = True

    def make(self, settings: ClusterSettings, source: Source, place: Path) -> Partition:
        from tongues.experts.partition import topics as by_topics

        tokens, seed = source.tokens, source.recipe.train.seed
        topics = by_topics.cluster_by_topics(tokens, settings.k, seed=seed)
        by_topics.write_clusters(tokens, topics, place)
        return by_topics.partition_by_topics(tokens, topics)

    def made_from(self, settings: ClusterSettings, source: Source) -> list[Any]:
        return [source.recipe.train.seed]


PARTITIONS: Registry[Method[Any]] = Registry("partition", "tongues.partitions")
for _method in (_Typology(), _Topics(), _Languages(), _File(), _Dense()):
    PARTITIONS.add(_method)


def one_each(languages: Sequence[str]) -> Partition:
    """A cluster for every language: monolingual experts."""
    return of_languages("languages", [(lang,) for lang in languages])


def dense(languages: Sequence[str]) -> Partition:
    """All languages in one cluster: the dense model that experts are compared with."""
    return of_languages("dense", [tuple(languages)])


def from_file(path: Path, languages: Sequence[str]) -> Partition:
    """The clusters that a YAML (or JSON) file lists: `[[en, es], [de, el]]`, or a mapping by name.

    Every one of the languages must be in exactly one cluster, and no other.
    """
    where = str(path)
    try:
        data: Any = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, YAMLError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"cannot be read ({reason})", where=where) from None
    rows = list(data.values()) if isinstance(data, dict) else data
    try:
        clusters = TypeAdapter(_Clusters).validate_python(rows)
    except ValueError:
        hint = "write `[[en, es], [de, el]]`, or a mapping from names to such lists"
        raise UserError("is not a list of clusters", where=where, hint=hint) from None
    places: dict[str, int] = {}
    for number, cluster in enumerate(clusters, 1):
        if not cluster:
            raise UserError(f"cluster {number} is empty", where=where)
        for lang in cluster:
            if lang in places:
                what = f"`{lang}` is in clusters {places[lang]} and {number}"
                raise UserError(what, where=where, hint="leave it in one")
            if lang not in languages:
                hint = nearest(lang, languages)
                raise UserError(f"there is no language `{lang}`", where=where, hint=hint)
            places[lang] = number
    if left := [lang for lang in languages if lang not in places]:
        raise UserError(f"`{left[0]}` is in no cluster", where=where, hint="add it to one")
    return of_languages("file", clusters)


def make_partition(recipe: Recipe, settings: PartitionSettings, workspace: Path) -> Partition:
    """The partition of these settings, made once and kept; the recipe's tokens must be prepared.

    One that was made of other tokens or otherwise is a UserError. Where the tokens of clusters are
    gone, both are made again.
    """
    source, method = Source(recipe, workspace), PARTITIONS.find(settings.by)
    folder = workspace / "partitions" / recipe.name / settings.label
    plain, tokens = settings.model_dump(mode="json", exclude={"name", "batch"}), source.tokens
    made_from = fingerprint([plain, tokens.fingerprint, method.made_from(settings, source)])
    clusters = clusters_of(settings, made_from)
    place = tokens.path / "clusters" / (clusters or "")
    if (folder / "partition.json").is_file():
        partition = read_partition(folder)
        if partition.fingerprint != made_from:
            what = "a partition of this name was made from other tokens or settings"
            raise UserError(what, where=str(folder), hint="remove its folder to make it again")
        if not clusters or (place / "counts.json").is_file():
            return partition
    partition = replace(method.make(settings, source, place), fingerprint=made_from)
    write_partition(folder, partition)
    return partition


def guess(recipe: Recipe, settings: PartitionSettings) -> Partition:
    """A placeholder of as many clusters, before there are tokens: each a share of every language.

    Partitions that follow from the recipe alone are the real ones.
    """
    method, languages = PARTITIONS.find(settings.by), recipe.text.languages
    if not method.needs_tokens:
        return method.make(settings, Source(recipe, Path()), Path())
    k = settings.k if isinstance(settings, ClusterSettings) else 1
    if not method.splits_documents:
        check_k(k, languages)
    share = dict.fromkeys(languages, 1.0 / k)
    return Partition(settings.by, (languages,) * k, (share,) * k)


def clusters_of(settings: PartitionSettings, made_from: str) -> str | None:
    """The folder of the clusters' own tokens, where documents are split; None of languages.

    made_from: the partition's fingerprint.
    """
    splits = PARTITIONS.find(settings.by).splits_documents
    return f"{settings.label}-{made_from[:8]}" if splits else None


def language_distances(recipe: Recipe) -> tuple[Distances, tuple[str, ...]]:
    """Between the recipe's languages: by their family if they are synthetic, else by lang2vec."""
    languages = recipe.text.languages
    made = recipe.text.synthetic
    if made and set(languages) <= made.languages.keys():
        return family_distances(made.languages), (WORDS["synthetic"],)
    return typology_distances(languages)
