"""The ways to divide text, each one object, and the partitions that a recipe's divisions make.

Another package adds a way by the entry-point group `tongues.partitions`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import Field, TypeAdapter, field_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tongues.errors import UserError, nearest
from tongues.experts.partition.distances import family_distances, read_distances
from tongues.experts.partition.partition import (
    Distances,
    Partition,
    of_languages,
    read_partition,
    write_partition,
)
from tongues.experts.partition.tree import by_tree, check_k
from tongues.experts.partition.typology import typology_distances
from tongues.files import file_hash, fingerprint
from tongues.recipe import Division, Recipe
from tongues.registry import Registry
from tongues.tokens import Tokens, open_tokens
from tongues.train.base import base_fingerprint, find_base, model_folder

__all__ = [
    "PARTITIONS",
    "Method",
    "Parts",
    "Source",
    "clusters_of",
    "dense",
    "divide",
    "from_file",
    "guess",
    "language_distances",
    "one_each",
    "text_amounts",
]

_WINDOW = 256  # tokens of a window of which a gradient is taken, at most
D = TypeVar("D", bound=Division)
_Clusters = Annotated[list[list[str]], Field(min_length=1)]


class Parts(Division):
    """A division into a number of clusters."""

    k: Annotated[int, Field(ge=1, le=1000)]

    def variant(self) -> Sequence[str]:
        """The number of clusters."""
        return (str(self.k),)


@dataclass(frozen=True, slots=True)
class Source:
    """The text that is divided: a recipe's, in a workspace."""

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

    @property
    def base(self) -> Path | None:
        """The run or folder of the model that all experts branch from."""
        return find_base(self.recipe.train.base_model, self.workspace)


class Method(Generic[D]):
    """A way to divide text; a subclass for each.

    name: the recipe's `by`. summary: follows "The text of n languages in k clusters, ".
    section: what a division by it may say. needs_tokens: whether the text must be prepared.
    divides_documents: whether the documents of one language may go to several clusters.
    """

    name: str
    summary: str
    section: type[D]
    needs_tokens: ClassVar[bool] = False
    divides_documents: ClassVar[bool] = False

    def make(self, division: D, source: Source, folder: Path) -> Partition:
        """The partition; what else must be kept of it goes to `folder`."""
        raise NotImplementedError

    def made_from(self, division: D, source: Source) -> list[Any]:
        """Other inputs of the partition than its settings and the tokens, in JSON."""
        return []

    def write_clusters(self, source: Source, folder: Path, place: Path) -> None:
        """Write the tokens of each cluster, where documents are divided."""


class _Dense(Method[Division]):
    name, summary = "dense", "all in one"

    class _Nameless(Division):
        @field_validator("name")
        @classmethod
        def _no_other(cls, value: str | None) -> None:
            if value:
                raise ValueError("the dense model is found by its own name; it takes no other")

    section = _Nameless

    def make(self, division: Division, source: Source, folder: Path) -> Partition:
        return dense(source.languages)


class _Languages(Method[Division]):
    name, summary, section = "languages", "one for each", Division

    def make(self, division: Division, source: Source, folder: Path) -> Partition:
        return one_each(source.languages)


class _InFile(Division):
    file: str  # the languages of each cluster


class _File(Method[_InFile]):
    name, summary, section = "file", "as a file says", _InFile

    def make(self, division: _InFile, source: Source, folder: Path) -> Partition:
        return from_file(Path(division.file), source.languages)

    def made_from(self, division: _InFile, source: Source) -> list[Any]:
        return [file_hash(Path(division.file))]


class _ByTypology(Parts):
    distances: str | None = None  # a file of distances or features, not lang2vec's


class _Typology(Method[_ByTypology]):
    name, summary = "typology", "by typology, languages of like grammar together"
    section = _ByTypology

    def make(self, division: _ByTypology, source: Source, folder: Path) -> Partition:
        distances, notes = language_distances(source.recipe, division.distances)
        return by_tree(self.name, distances, division.k, notes=notes)

    def made_from(self, division: _ByTypology, source: Source) -> list[Any]:
        return [file_hash(Path(division.distances))] if division.distances else []


class _Kinship(Method[Parts]):
    name = "kinship"
    summary = "by gradient similarity, languages together that would change the base model alike"
    section = Parts
    needs_tokens = True

    def make(self, division: Parts, source: Source, folder: Path) -> Partition:
        from tongues.experts.partition.kinship import kinship_distances

        if source.base is None:
            what = "kinship is read off the model that all experts branch from"
            hint = "name it by `train.base`, or divide otherwise"
            raise UserError(what, where="experts.partitions", hint=hint)
        distances, notes = kinship_distances(
            model_folder(source.base),
            source.tokens,
            source.languages,
            context=min(_WINDOW, source.recipe.train.context),
            seed=source.recipe.train.seed,
        )
        return by_tree(self.name, distances, division.k, notes=notes)

    def made_from(self, division: Parts, source: Source) -> list[Any]:
        train, base = source.recipe.train, source.base
        return [train.seed, base and [base_fingerprint(base), min(_WINDOW, train.context)]]


class _Topics(Method[Parts]):
    name, summary = "topics", "by topics, documents of like words together"
    section = Parts
    needs_tokens = divides_documents = True

    def make(self, division: Parts, source: Source, folder: Path) -> Partition:
        from tongues.experts.partition import topics as by_topics

        seed = source.recipe.train.seed
        topics = by_topics.cluster_by_topics(source.tokens, division.k, seed=seed)
        by_topics.save_topics(topics, folder / "topics.safetensors")
        return by_topics.partition_by_topics(source.tokens, topics)

    def made_from(self, division: Parts, source: Source) -> list[Any]:
        return [source.recipe.train.seed]

    def write_clusters(self, source: Source, folder: Path, place: Path) -> None:
        from tongues.experts.partition.topics import load_topics, write_clusters

        write_clusters(source.tokens, load_topics(folder / "topics.safetensors"), place)


PARTITIONS: Registry[Method[Any]] = Registry("partition", "tongues.partitions")
for _method in (_Typology(), _Kinship(), _Topics(), _Languages(), _File(), _Dense()):
    PARTITIONS.add(_method)


def one_each(languages: Sequence[str]) -> Partition:
    """A cluster for every language: monolingual experts."""
    return of_languages("languages", [(lang,) for lang in languages])


def dense(languages: Sequence[str]) -> Partition:
    """All languages in one cluster: the dense model that experts are compared with."""
    return of_languages("dense", [tuple(languages)])


def from_file(path: Path, languages: Sequence[str]) -> Partition:
    """The clusters that a JSON or YAML file lists: `[[en, es], [de, el]]`, or a mapping by name.

    Every one of the languages must be in exactly one cluster, and no other.
    """
    where = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        as_json = path.suffix.lower() == ".json"
        data: Any = json.loads(text) if as_json else YAML(typ="safe", pure=True).load(text)
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


def divide(recipe: Recipe, division: Division, workspace: Path) -> Partition:
    """The partition of a division, made once and kept; the recipe's tokens must be prepared.

    One that was made of other tokens or otherwise is a UserError.
    """
    source, method = Source(recipe, workspace), PARTITIONS.find(division.by)
    folder = workspace / "partitions" / recipe.name / division.label
    settings = division.model_dump(mode="json", exclude={"name"})
    tokens = source.tokens
    made_from = fingerprint([settings, tokens.fingerprint, method.made_from(division, source)])
    if (folder / "partition.json").is_file():
        partition = read_partition(folder)
        if partition.fingerprint != made_from:
            what = "a partition of this name was made from other tokens or settings"
            raise UserError(what, where=str(folder), hint="remove its folder to make it again")
    else:
        partition = replace(method.make(division, source, folder), fingerprint=made_from)
        write_partition(folder, partition)
    place = tokens.path / "clusters" / (clusters_of(division, partition) or "")
    if method.divides_documents and not (place / "counts.json").is_file():
        method.write_clusters(source, folder, place)
    return partition


def guess(recipe: Recipe, division: Division) -> Partition:
    """A placeholder of as many clusters, before there are tokens: each a share of every language.

    Divisions that follow from the recipe alone are the real ones.
    """
    method, languages = PARTITIONS.find(division.by), recipe.text.languages
    if not method.needs_tokens:
        return method.make(division, Source(recipe, Path()), Path())
    k = division.k if isinstance(division, Parts) else 1
    if not method.divides_documents:
        check_k(k, languages)
    share = dict.fromkeys(languages, 1.0 / k)
    return Partition(division.by, (languages,) * k, (share,) * k)


def clusters_of(division: Division, partition: Partition) -> str | None:
    """The folder of the clusters' own tokens, where documents were divided; None of languages."""
    if not PARTITIONS.find(division.by).divides_documents:
        return None
    return f"{division.label}-{partition.fingerprint[:8]}"


def language_distances(
    recipe: Recipe, file: str | None = None
) -> tuple[Distances, tuple[str, ...]]:
    """Between the recipe's languages: from a file, of synthetic languages, or by lang2vec."""
    languages = recipe.text.languages
    if file:
        return read_distances(Path(file), languages)
    made = recipe.text.synthetic
    if made and set(languages) <= made.languages.keys():
        return family_distances(made.languages), ("synthetic languages, by how far they drifted",)
    return typology_distances(languages)


def text_amounts(recipe: Recipe, sizes: Mapping[str, float], workspace: Path) -> dict[str, float]:
    """Training tokens by language, or bytes of text before they are prepared."""
    folder = workspace / "tokens" / recipe.name
    if not (folder / "tokens.json").is_file():
        return {lang: float(sizes[lang] or 1) for lang in recipe.text.languages}
    counts = open_tokens(folder).counts
    return {lang: float(splits["train"]["tokens"]) for lang, splits in counts.items()}
