"""The rounds of a recipe: every division, or every added language, for every seed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tongues.errors import Caution, UserError, nearest
from tongues.experts.ensemble.lineage import (
    ENSEMBLE,
    Lineage,
    find_ensemble,
    read_lineage,
    verify,
)
from tongues.experts.partition.distances import nearest_donors
from tongues.experts.partition.methods import (
    dense,
    divide,
    guess,
    language_distances,
    parts_of,
    text_amounts,
)
from tongues.experts.rounds import Member, Round, plan_added, plan_divided
from tongues.files import file_hash
from tongues.recipe import BaseChoice, Recipe
from tongues.tokens import open_tokens
from tongues.train import Derived, RunPlan, derive
from tongues.train.base import base_languages, find_base

__all__ = ["expert_runs", "members_of", "plan_rounds", "seed_cautions"]

_LOOKED = 4000  # held-out tokens of a new language by which its donor is found


def plan_rounds(
    recipe: Recipe, workspace: Path, sizes: Mapping[str, float], *, make: bool
) -> list[Round]:
    """The ensembles that a recipe means, with the runs of their experts.

    sizes: bytes of text by language, until its tokens are prepared. make: whether partitions and
    donors that need tokens or models are found now, or stood in for.
    """
    asked = recipe.experts
    assert asked
    amounts = text_amounts(recipe, sizes, workspace)
    grown = _grown(recipe, workspace, make=make) if asked.grow else {}
    members = {seed: members_of(lineage) for seed, (_, lineage) in grown.items()}
    known = _base_languages(recipe, [m for each in members.values() for m in each], workspace)
    rounds: list[Round] = []
    if asked.add:
        given = _donors(recipe, grown[asked.seeds[0]][1], workspace, make=make)
        rounds = [
            plan_added(
                recipe, dense(recipe.text.languages), given, members[seed], amounts, seed, known
            )
            for seed in asked.seeds
        ]
    for division in asked.divisions:
        partition = divide(recipe, division, workspace) if make else guess(recipe, division)
        parts = parts_of(division, partition) if make else None
        rounds += [
            plan_divided(
                recipe,
                division.label,
                partition,
                amounts,
                seed,
                known,
                parts=parts,
                members=members.get(seed, ()),
            )
            for seed in asked.seeds
        ]
    return [
        replace(made, grown=grown[made.seed][0]) if made.seed in grown else made for made in rounds
    ]


def _base_languages(
    recipe: Recipe, members: Sequence[Member], workspace: Path
) -> dict[str, tuple[str, ...]]:
    """What each model that experts branch from knows."""
    base = recipe.train.base
    known = {base.model: base_languages(base, workspace)} if base else {}
    for member in members:
        choice = BaseChoice(model=member.parent, languages=list(member.languages))
        record = workspace / "runs" / member.parent / "run.json"
        if record.is_file():  # what its base knew comes first
            choice = BaseChoice(model=member.parent)
        known[member.parent] = base_languages(choice, workspace)
    return known


def expert_runs(rounds: Sequence[Round], workspace: Path) -> list[tuple[RunPlan, Derived]]:
    """All runs of the rounds, with what they take. The recipe's text must be prepared."""
    vocabularies = {
        name: open_tokens(workspace / "tokens" / name).vocabulary_size
        for name in {run.tokens for made in rounds for run in made.runs}
    }
    return [
        (run, derive(run, vocabularies[run.tokens], find_base(run.base, workspace)))
        for made in rounds
        for run in made.runs
    ]


def seed_cautions(rounds: Sequence[Round]) -> list[Caution]:
    """Whether several seeds branch from one and the same ensemble, and so differ too little."""
    found: list[Caution] = []
    for folder in dict.fromkeys(made.grown for made in rounds):
        seeds = sorted({made.seed for made in rounds if made.grown == folder})
        if folder and len(seeds) > 1:
            told = " and ".join(map(str, seeds))
            what = f"seeds {told} all branch from {folder}, since it has no like of each seed"
            sentence = f"{what}; they differ less than whole repetitions would"
            found.append(Caution("one_parent", sentence))
    return found


def _grown(recipe: Recipe, workspace: Path, *, make: bool) -> dict[int, tuple[Path, Lineage]]:
    """The ensemble that grows, by seed: of several seeds each its own where there is one.

    The one that is named serves the others.
    """
    assert recipe.experts
    seeds = recipe.experts.seeds
    named = find_ensemble(recipe.experts.grow or "", workspace)
    folders = dict.fromkeys(seeds, named)
    stem, _, number = named.name.rpartition("-s")
    if len(seeds) > 1 and number.isdecimal():
        own = {seed: named.with_name(f"{stem}-s{seed}") for seed in seeds}
        folders |= {seed: folder for seed, folder in own.items() if (folder / ENSEMBLE).is_file()}
    opened = {folder: _whole(recipe, folder, workspace, make) for folder in set(folders.values())}
    return {seed: (folder, opened[folder]) for seed, folder in folders.items()}


def _whole(recipe: Recipe, folder: Path, workspace: Path, make: bool) -> Lineage:
    """An ensemble that may grow: whole, and of the recipe's tokenizer."""
    if folder.resolve().parent == (workspace / "ensembles" / recipe.name).resolve():
        what = "what grows would be written over: it is of this recipe's own name"
        raise UserError(what, where="experts.grow", hint="give this recipe another `name`")
    lineage = read_lineage(folder)
    if make:
        verify(lineage, folder, workspace)
        tokens = open_tokens(workspace / "tokens" / recipe.name)
        if file_hash(tokens.tokenizer_path) != lineage.tokenizer_sha256:
            what = "the text was encoded with another tokenizer than the ensemble's"
            hint = "name its `tokenizer.json` by `tokens.base`, without `extend`, and prepare anew"
            raise UserError(what, where="tokens.base", hint=hint)
    return lineage


def members_of(grown: Lineage) -> list[Member]:
    """The experts of an ensemble as what others may branch from."""
    return [
        Member(expert.name, expert.run or expert.folder, expert.languages)
        for expert in grown.experts
    ]


def _donors(recipe: Recipe, grown: Lineage, workspace: Path, *, make: bool) -> dict[str, str]:
    """The donor of every added language: as named, by typology, or by the experts' loss on it."""
    asked = recipe.experts
    assert asked
    texts = recipe.text.languages
    known = [lang for lang in texts if lang in grown.languages and lang not in asked.add]
    found: dict[str, str] = {}
    for lang, way in asked.add.items():
        where = f"experts.add.{lang}"
        if lang not in texts:
            what = f"language `{lang}` has no text"
            raise UserError(what, where=where, hint=nearest(lang, texts))
        if lang in grown.languages:
            what = f"`{lang}` is known to the ensemble"
            raise UserError(what, where=where, hint="leave it out, or divide further")
        if not known:
            what = "no language of the ensemble has text here to be a donor"
            raise UserError(what, where=where, hint="give the donors' text by `text` too")
        if way == "typology":
            distances, _ = language_distances(recipe)
            found |= nearest_donors(distances, known, [lang])
        elif way == "loss":
            found[lang] = _by_loss(recipe, lang, known, workspace) if make else known[0]
        elif way in known:
            found[lang] = way
        else:
            what = f"`{way}` is no language of the ensemble that has text here"
            hint = f"name one of {', '.join(known)}, or `typology`, or `loss`"
            raise UserError(what, where=where, hint=nearest(way, known) or hint)
    return found


def _by_loss(recipe: Recipe, lang: str, known: Sequence[str], workspace: Path) -> str:
    """The language, with most text here, of the expert that foretells the new one best."""
    from tongues.experts.ensemble.ensemble import open_ensemble
    from tongues.experts.ensemble.score import expert_log_probs
    from tongues.experts.heldout import documents_of, tuning_documents

    assert recipe.experts
    assert recipe.experts.grow
    ensemble = open_ensemble(find_ensemble(recipe.experts.grow, workspace), workspace)
    tokens = open_tokens(workspace / "tokens" / recipe.name)
    shard = tokens.shard(lang, "valid")
    documents = documents_of(shard.tokens, shard.bounds, tuning_documents(shard.bounds, _LOOKED))
    likely = np.concatenate(expert_log_probs(ensemble, documents)).mean(axis=0)
    for place in np.argsort(-likely):
        learned = ensemble.lineage.experts[place].languages
        candidates = [other for other in known if learned.get(other)]
        if candidates:
            return max(candidates, key=lambda other: tokens.counts[other]["train"]["tokens"])
    raise UserError("no expert knows a language that has text here", where=f"experts.add.{lang}")
