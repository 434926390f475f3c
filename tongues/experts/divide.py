"""From a recipe's divisions to the partitions in `partitions/<recipe>/<division>/`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tongues.errors import UserError
from tongues.experts.partition.distances import read_distances
from tongues.experts.partition.family import family_distances
from tongues.experts.partition.languages import by_language, dense, from_file
from tongues.experts.partition.partition import (
    Distances,
    Partition,
    read_partition,
    write_partition,
)
from tongues.experts.partition.tree import by_tree, check_k
from tongues.experts.partition.typology import typology_distances
from tongues.files import file_hash, fingerprint
from tongues.recipe import Division, Recipe
from tongues.tokens import open_tokens
from tongues.train.base import base_fingerprint, find_base, model_folder

__all__ = ["divide", "guess", "language_distances", "parts_of", "text_amounts"]

_KINSHIP_CONTEXT = 256  # tokens of a window at most


def divide(recipe: Recipe, division: Division, workspace: Path) -> Partition:
    """The partition of a division, made once and kept; the recipe's tokens must be prepared.

    One that was made of other tokens or otherwise is a UserError.
    """
    folder = workspace / "partitions" / recipe.name / division.label
    made_from = _made_from(recipe, division, workspace)
    if (folder / "partition.json").is_file():
        there = read_partition(folder)
        if there.fingerprint != made_from:
            what = "a partition of this name was made of other tokens, or otherwise"
            raise UserError(what, where=str(folder), hint="remove its folder; it is made anew")
        if division.by == "topics":
            _parts_again(recipe, division, there, workspace, folder)
        return there
    partition = _with_fingerprint(_divide(recipe, division, workspace, folder), made_from)
    write_partition(folder, partition)
    return partition


def guess(recipe: Recipe, division: Division) -> Partition:
    """A stand-in of as many parts, before there are tokens: each has its share of every language.

    Divisions that follow from the recipe alone are the real ones.
    """
    languages = recipe.text.languages
    if division.by in ("topics", "kinship"):
        assert division.k is not None
        if division.by == "kinship":
            check_k(division.k, languages)
        share = dict.fromkeys(languages, 1.0 / division.k)
        return Partition(division.by, (languages,) * division.k, (share,) * division.k)
    return _of_languages(recipe, division)


def parts_of(recipe: Recipe, division: Division, partition: Partition) -> str | None:
    """The folder of the parts' own tokens, where documents were divided; None of languages."""
    if division.by != "topics":
        return None
    return f"{division.label}-{partition.fingerprint[:8]}"


def language_distances(recipe: Recipe, division: Division) -> tuple[Distances, tuple[str, ...]]:
    """Between the recipe's languages: of the file that is named, of made ones, or by lang2vec."""
    languages = recipe.text.languages
    if division.distances:
        return read_distances(Path(division.distances), languages)
    made = recipe.text.made
    if made and set(languages) <= made.languages.keys():
        return family_distances(made.languages), ("made languages, by how far they drifted",)
    return typology_distances(languages, division.preset)


def _divide(recipe: Recipe, division: Division, workspace: Path, folder: Path) -> Partition:
    assert recipe.experts
    assert division.k is not None or division.by not in ("kinship", "topics")
    tokens = open_tokens(workspace / "tokens" / recipe.name)
    match division.by:
        case "kinship":
            from tongues.experts.partition.kinship import by_kinship

            start = recipe.train.base_model
            if start is None:
                what = "kinship is read off the model that all experts branch from"
                hint = "name it by `train.base`, or divide otherwise"
                raise UserError(what, where="experts.divisions", hint=hint)
            parent = find_base(start, workspace)
            assert parent
            assert division.k
            return by_kinship(
                model_folder(parent),
                tokens,
                recipe.text.languages,
                division.k,
                context=min(_KINSHIP_CONTEXT, recipe.train.context),
                seed=recipe.train.seed,
            )
        case "topics":
            from tongues.experts.partition.parts import write_parts
            from tongues.experts.partition.topics import partition_by_topics, save_topics

            assert division.k
            partition, topics = partition_by_topics(
                tokens,
                division.k,
                terms=division.terms,
                balance=division.balance,
                seed=recipe.train.seed,
            )
            made = _with_fingerprint(partition, _made_from(recipe, division, workspace))
            parts = parts_of(recipe, division, made)
            write_parts(tokens, topics, tokens.path / "parts" / str(parts))
            save_topics(topics, folder / "topics.safetensors")
            return made
        case _:
            return _of_languages(recipe, division)


def _of_languages(recipe: Recipe, division: Division) -> Partition:
    """Divisions that need no tokens."""
    languages = recipe.text.languages
    match division.by:
        case "dense":
            return dense(languages)
        case "languages":
            return by_language(languages)
        case "file":
            return from_file(Path(division.file or ""), languages)
        case _:
            assert division.k
            distances, notes = language_distances(recipe, division)
            return by_tree("typology", distances, division.k, notes=notes)


def _made_from(recipe: Recipe, division: Division, workspace: Path) -> str:
    """Changes when what decides the partition does."""
    tokens = open_tokens(workspace / "tokens" / recipe.name).fingerprint
    seed = recipe.train.seed if division.by in ("kinship", "topics") else None
    files = [file_hash(Path(name)) for name in (division.file, division.distances) if name]
    start: list[object] = []
    if division.by == "kinship" and recipe.train.base_model:
        parent = find_base(recipe.train.base_model, workspace)
        start = [base_fingerprint(parent), min(_KINSHIP_CONTEXT, recipe.train.context)]
    asked = division.model_dump(mode="json", exclude={"name"})
    return fingerprint([asked, tokens, seed, files, start])


def _parts_again(
    recipe: Recipe, division: Division, partition: Partition, workspace: Path, folder: Path
) -> None:
    """Divide the tokens once more where their parts are gone."""
    tokens = open_tokens(workspace / "tokens" / recipe.name)
    place = tokens.path / "parts" / str(parts_of(recipe, division, partition))
    if (place / "counts.json").is_file():
        return
    from tongues.experts.partition.parts import write_parts
    from tongues.experts.partition.topics import load_topics

    write_parts(tokens, load_topics(folder / "topics.safetensors"), place)


def _with_fingerprint(partition: Partition, made_from: str) -> Partition:
    return replace(partition, fingerprint=made_from)


def text_amounts(recipe: Recipe, sizes: Mapping[str, float], workspace: Path) -> dict[str, float]:
    """Training tokens by language, or bytes of text before they are prepared."""
    folder = workspace / "tokens" / recipe.name
    if not (folder / "tokens.json").is_file():
        return {lang: float(sizes[lang] or 1) for lang in recipe.text.languages}
    counts = open_tokens(folder).counts
    return {lang: float(splits["train"]["tokens"]) for lang, splits in counts.items()}
