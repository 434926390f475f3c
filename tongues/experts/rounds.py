"""The runs of experts: what each is trained on, and what it branches from.

All experts of a division train for the same number of tokens, and together for `train.budget`,
however many they are; the dense model (one part) gets all of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongues.errors import UserError, nearest
from tongues.experts.partition.partition import Partition
from tongues.quantities import Budget
from tongues.recipe import BaseChoice, Recipe
from tongues.roles import Roles
from tongues.train import RunPlan

__all__ = ["Member", "Round", "plan_added", "plan_divided"]


@dataclass(frozen=True, slots=True)
class Member:
    """An expert that others branch from: where its model is, and whose languages it is.

    parent: a run of the store or a Hugging Face folder.
    """

    name: str
    parent: str
    languages: Mapping[str, float]  # share of each one's text that it learned


@dataclass(frozen=True, slots=True)
class Round:
    """An ensemble to be: its name, `<recipe>/<division>-s<seed>`, and the runs of its new experts.

    learned: of each run, the share of every language's text that it learns.
    """

    name: str
    partition: Partition
    runs: tuple[RunPlan, ...]
    learned: tuple[Mapping[str, float], ...]
    label: str  # of the division, or `grown`
    seed: int
    adapted: bool = False  # one model is trained further, and takes the place of what it was
    grown: Path | None = None  # the ensemble whose experts the new ones branched from


def plan_divided(
    recipe: Recipe,
    label: str,
    partition: Partition,
    amounts: Mapping[str, float],
    seed: int,
    languages: Mapping[str, tuple[str, ...]],
    *,
    parts: str | None = None,
    members: Sequence[Member] = (),
) -> Round:
    """The experts of a partition.

    amounts: of text by language, in any unit. languages: what each base knows. parts: the
    folder of the parts' tokens, where they are told by documents. members: of the ensemble that
    grows: each part branches from the one that knows all of its languages.
    """
    runs: list[RunPlan] = []
    learned: list[Mapping[str, float]] = []
    least = recipe.train.context + 1  # tokens; of less there is no window
    for number, shares in enumerate(partition.shares):
        own = {lang: share * amounts[lang] for lang, share in shares.items()}
        own = {lang: amount for lang, amount in own.items() if amount > least}
        if not own:
            what = f"part {number} of {label} has no language with a window of text"
            raise UserError(what, where="experts.divisions", hint="take fewer parts, or more text")
        learned.append({lang: shares[lang] for lang in own})
        runs.append(
            _expert(
                recipe,
                f"{recipe.name}/{label}-e{number}-s{seed}",
                _mixture(recipe, own),
                recipe.train.budget.shared(partition.k),
                seed,
                languages,
                base=_holder(partition.clusters[number], members) if members else None,
                part=f"{parts}/{number}" if parts else None,
            )
        )
    name = f"{recipe.name}/{label}-s{seed}"
    return Round(name, partition, tuple(runs), tuple(learned), label, seed)


def plan_added(
    recipe: Recipe,
    partition: Partition,
    donors: Mapping[str, str],
    members: Sequence[Member],
    amounts: Mapping[str, float],
    seed: int,
    languages: Mapping[str, tuple[str, ...]],
) -> Round:
    """The experts of added languages, each branched from its donor's and trained on both.

    donors: by added language. languages: what each base knows. With `together` one expert
    learns all of them and their donors.
    """
    assert recipe.experts
    if recipe.experts.together:
        holders = {_holder((donor,), members) for donor in donors.values()}
        if len(holders) > 1:
            what = "the donors' languages lie with several experts; one new expert has one parent"
            hint = "leave it out, or grow a dense model"
            raise UserError(what, where="experts.together", hint=hint)
        groups = [(tuple(donors), tuple(dict.fromkeys(donors.values())), "together")]
    else:
        groups = [((lang,), (donor,), lang) for lang, donor in donors.items()]
    runs: list[RunPlan] = []
    learned: list[Mapping[str, float]] = []
    for added, given, called in groups:
        own = {lang: amounts[lang] for lang in (*given, *added)}
        runs.append(
            _expert(
                recipe,
                f"{recipe.name}/{called}-s{seed}",
                _mixture(recipe, own),
                recipe.train.budget.shared(len(groups)),
                seed,
                languages,
                base=_holder(given[:1], members),
            )
        )
        learned.append(dict.fromkeys(own, 1.0))
    name = f"{recipe.name}/grown-s{seed}"
    adapted = recipe.experts.together and len(members) == 1
    return Round(name, partition, tuple(runs), tuple(learned), "grown", seed, adapted)


def _mixture(recipe: Recipe, own: Mapping[str, float]) -> dict[str, float]:
    """The shares of a part's languages among its tokens."""
    assert recipe.experts
    if recipe.experts.shares == "equal":
        return dict.fromkeys(own, 1.0 / len(own))
    total = sum(own.values())
    return {lang: amount / total for lang, amount in own.items()}


def _holder(languages: Sequence[str], members: Sequence[Member]) -> str:
    """The expert that knows all of these languages; the one that knows most of their text."""
    knowing = [m for m in members if all(m.languages.get(lang) for lang in languages)]
    if not knowing:
        known = sorted({lang for member in members for lang in member.languages})
        strange = next((lang for lang in languages if lang not in known), None)
        if strange:
            what = f"no expert of the ensemble knows `{strange}`"
            raise UserError(what, where="experts.grow", hint=nearest(strange, known))
        what = f"no expert of the ensemble knows all of {', '.join(languages)}"
        hint = "a further division must lie within the one before: take more parts of the same tree"
        raise UserError(what, where="experts.divisions", hint=hint)
    return max(knowing, key=lambda m: sum(m.languages[lang] for lang in languages)).parent


def _expert(
    recipe: Recipe,
    name: str,
    mixture: dict[str, float],
    budget: Budget,
    seed: int,
    languages: Mapping[str, tuple[str, ...]],
    *,
    base: str | None = None,
    part: str | None = None,
) -> RunPlan:
    base = base or recipe.train.base_model
    assert base
    known = languages[base]
    choice = BaseChoice(model=base, languages=list(known))
    changes = {"mixture": mixture, "budget": budget, "seed": seed, "base": choice}
    return RunPlan(
        name=name,
        strategy="expert",
        roles=Roles(tuple(sorted(mixture, key=lambda lang: -mixture[lang])), known),
        base=base,
        tokens=recipe.name,
        shape=None,
        tied_embeddings=recipe.model.tied_embeddings,
        new_embeddings=recipe.model.new_embeddings,
        settings=recipe.train.model_copy(update=changes),
        part=part,
    )
