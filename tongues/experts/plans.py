"""The runs of experts: what each is trained on, and what it branches from.

A recipe means a round for every partition, or for all added languages, and every random seed. All
experts of a round train together for `train.budget`, however many they are, which they share by
`experts.budget`; the dense model (one cluster) gets all of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from tongues.core.errors import Caution, UserError, nearest
from tongues.core.files import file_hash
from tongues.core.roles import Roles
from tongues.experts.base import with_own_base
from tongues.experts.budgets import share_budget
from tongues.experts.ensemble.lineage import (
    ENSEMBLE,
    Lineage,
    find_ensemble,
    other_tokenizer,
    read_lineage,
    verify,
)
from tongues.experts.partition.distances import nearest_donors
from tongues.experts.partition.methods import (
    clusters_of,
    dense,
    guess,
    language_distances,
    make_partition,
)
from tongues.experts.partition.partition import Partition
from tongues.experts.words import WORDS
from tongues.languages.donors import best_donor
from tongues.recipe import BaseChoice, ExpertBudget, Experts, MixtureRule, Recipe
from tongues.text.tokens import open_tokens
from tongues.train import Derived, RunPlan, derive
from tongues.train.base import base_languages, check_held, find_base
from tongues.train.mixture import text_of
from tongues.train.work import Work

# The experts that others branch from: of each run or Hugging Face folder, the share of
# every language's text that it learned.
Members = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Round:
    """An ensemble to be: its name, `<recipe>/<label>-s<seed>`, and the runs of its new experts.

    learned: of each run, the share of every language's text that it learns.
    """

    name: str
    partition: Partition
    runs: tuple[RunPlan, ...]
    learned: tuple[Mapping[str, float], ...]
    label: str  # of the partition, or `added`
    seed: int
    notes: tuple[str, ...] = ()  # on the base
    adapted: bool = False  # one model is trained further, and takes the place of what it was
    add_to: Path | None = None  # the ensemble whose experts the new ones branched from


def plan_rounds(work: Work, *, make: bool) -> list[Round]:
    """The ensembles that a recipe means, with the runs of their experts.

    make: whether partitions and donors that need tokens or models are found now, or replaced by
    placeholders.
    """
    recipe, workspace = work.recipe, work.workspace
    experts = _experts(recipe)
    amounts = {lang: tokens for lang, (tokens, _) in text_of(recipe, workspace).items()}
    ensembles = _ensembles(recipe, workspace, make=make) if experts.add_to else {}
    members: dict[int, Members] = {
        seed: {expert.run or expert.folder: expert.languages for expert in lineage.experts}
        for seed, (_, lineage) in ensembles.items()
    }
    recipe, known, notes = with_own_base(recipe, workspace, make=make)
    for parent, learned in chain(*(of_seed.items() for of_seed in members.values())):
        recorded = (workspace / "runs" / parent / "run.json").is_file()
        languages = [] if recorded else list(learned)  # what its base knew comes first
        choice = BaseChoice(model=parent, languages=languages)
        known[parent] = base_languages(choice, workspace)
    rounds = list[Round]()
    if experts.add:
        donors = _donors(recipe, ensembles[experts.seeds[0]][1])
        partition = dense(recipe.text.languages)
        rounds = [
            plan_added(recipe, partition, donors, members[seed], amounts, seed, known)
            for seed in experts.seeds
        ]
    for settings in experts.partitions:
        made = make_partition(recipe, settings, workspace) if make else guess(recipe, settings)
        folder = clusters_of(settings, made.fingerprint) if make else None
        rounds += [
            plan_partition(
                _with_batch(recipe, settings.batch_times),
                settings.label,
                made,
                amounts,
                seed,
                known,
                folder=folder,
                members=members.get(seed, {}),
            )
            for seed in experts.seeds
        ]
    folders = {seed: folder for seed, (folder, _) in ensembles.items()}
    return [replace(one, notes=notes, add_to=folders.get(one.seed)) for one in rounds]


def _with_batch(recipe: Recipe, times: int) -> Recipe:
    """The recipe with several times its batch."""
    if times == 1:
        return recipe
    if isinstance(recipe.train.batch, str):
        what, hint = "is a multiple of `train.batch`, which is a rule here", "give `batch` tokens"
        raise UserError(what, where="experts.partitions", hint=hint)
    train = recipe.train.model_copy(update={"batch": times * recipe.train.batch})
    return recipe.model_copy(update={"train": train})


def plan_partition(
    recipe: Recipe,
    label: str,
    partition: Partition,
    amounts: Mapping[str, float],
    seed: int,
    languages: Mapping[str, tuple[str, ...]],
    *,
    folder: str | None = None,
    members: Members | None = None,
) -> Round:
    """The experts of a partition.

    amounts: training tokens by language. languages: what each base knows. folder:
    of the clusters' tokens, where documents are split. members: of the ensemble that is added
    to: each cluster branches from the one that knows all of its languages.
    """
    news: list[_New] = []
    least = recipe.train.context + 1  # tokens; of less there is no window
    for number, shares in enumerate(partition.shares):
        own = {lang: share * amounts[lang] for lang, share in shares.items()}
        own = {lang: amount for lang, amount in own.items() if amount > least}
        if not own:
            named = ", ".join(partition.clusters[number])
            what = f"cluster {number} of {label} ({named}) has no language with a window of text"
            hint = "take fewer clusters, or more text"
            raise UserError(what, where="experts.partitions", hint=hint)
        learned = {lang: shares[lang] for lang in own}
        base = _holder(partition.clusters[number], members) if members else recipe.train.base_model
        cluster = folder and f"{folder}/{number}"
        news.append(_New(f"{label}-e{number}", own, learned, base, cluster))
    return _round(recipe, label, partition, news, seed, languages)


def plan_added(
    recipe: Recipe,
    partition: Partition,
    donors: Mapping[str, str],
    members: Members,
    amounts: Mapping[str, float],
    seed: int,
    languages: Mapping[str, tuple[str, ...]],
) -> Round:
    """The experts of added languages, each branched from its donor's and trained on both.

    donors: by added language. languages: what each base knows. With `shared_expert` one learns
    all of them and their donors.
    """
    shared = _experts(recipe).shared_expert
    groups = {lang: ((donor,), (lang,)) for lang, donor in donors.items()}
    if shared:
        if len({_holder((donor,), members) for donor in donors.values()}) > 1:
            what = "the donors' languages are of several experts; one new expert has one parent"
            hint = "leave it out, or add to a dense model"
            raise UserError(what, where="experts.shared_expert", hint=hint)
        groups = {"shared": (tuple(dict.fromkeys(donors.values())), tuple(donors))}
    news: list[_New] = []
    for name, (given, added) in groups.items():
        own = {lang: amounts[lang] for lang in (*given, *added)}
        news.append(_New(name, own, dict.fromkeys(own, 1.0), _holder(given[:1], members)))
    made = _round(recipe, "added", partition, news, seed, languages)
    return replace(made, adapted=shared and len(members) == 1)


def expert_runs(rounds: Sequence[Round], workspace: Path) -> list[tuple[RunPlan, Derived]]:
    """All runs of the rounds, with what they take. The recipe's text must be prepared."""
    runs = [run for made in rounds for run in made.runs]
    vocabularies = {
        name: open_tokens(workspace / "tokens" / name).vocabulary_size
        for name in {run.tokens for run in runs}
    }
    return [
        (run, derive(run, vocabularies[run.tokens], find_base(run.base, workspace, weights=False)))
        for run in runs
    ]


def seed_cautions(rounds: Sequence[Round]) -> list[Caution]:
    """Whether several seeds branch from one and the same ensemble, and so differ too little."""
    cautions: list[Caution] = []
    for folder in dict.fromkeys(made.add_to for made in rounds):
        seeds = sorted({made.seed for made in rounds if made.add_to == folder})
        if folder and len(seeds) > 1:
            named = " and ".join(map(str, seeds))
            sentence = WORDS["one_parent"].format(seeds=named, folder=folder)
            cautions.append(Caution("one_parent", sentence))
    return cautions


def _experts(recipe: Recipe) -> Experts:
    assert recipe.experts
    return recipe.experts


@dataclass(frozen=True, slots=True)
class _New:
    name: str
    amounts: Mapping[str, float]  # of its languages' text
    learned: Mapping[str, float]
    base: str | None
    cluster: str | None = None


def _round(
    recipe: Recipe,
    label: str,
    partition: Partition,
    news: Sequence[_New],
    seed: int,
    languages: Mapping[str, tuple[str, ...]],
) -> Round:
    runs: list[RunPlan] = []
    experts, texts = _experts(recipe), [sum(new.amounts.values()) for new in news]
    shares = share_budget(experts.budget, recipe.train.budget, texts)
    for place, new in enumerate(news):
        assert new.base
        own, total = new.amounts, texts[place]
        budget = recipe.train.budget.shared(1 / shares[place] if shares else len(news))
        mixture = {x: own[x] / total for x in own}
        if experts.shares == "equal" or (experts.shares is None and experts.shared_expert):
            most = MixtureRule().max_epochs if budget.unit == "tokens" else "off"
            alike = share_budget(ExpertBudget(max_epochs=most), budget, [*own.values()])
            mixture = dict(zip(own, alike or [1.0 / len(own)] * len(own), strict=True))
        known = languages[new.base]
        # What a cluster learns is neither replayed nor held in it.
        kept = (recipe.train.replay, recipe.train.max_forgetting)
        replay, held = ({x: of[x] for x in of if x not in mixture} for of in kept)
        changes = {
            "mixture": mixture,
            "budget": budget,
            "seed": seed,
            "base": BaseChoice(model=new.base, languages=list(known)),
            "replay": replay,
            "max_forgetting": held,
        }
        settings = recipe.train.model_copy(update=changes)
        check_held(settings)
        runs.append(
            RunPlan(
                name=f"{recipe.name}/{new.name}-s{seed}",
                strategy="expert",
                roles=Roles(tuple(sorted(mixture, key=lambda x: -mixture[x])), known, replay),
                base=new.base,
                tokens=recipe.name,
                shape=None,
                tied_embeddings=recipe.model.tied_embeddings,
                new_embeddings=recipe.model.new_embeddings,
                settings=settings,
                cluster=new.cluster,
            )
        )
    name, learned = f"{recipe.name}/{label}-s{seed}", tuple(new.learned for new in news)
    return Round(name, partition, tuple(runs), learned, label, seed)


def _holder(languages: Sequence[str], members: Members) -> str:
    """The expert that knows all of these languages; the one that knows most of their text."""
    texts = {
        parent: sum(learned[lang] for lang in languages)
        for parent, learned in members.items()
        if all(learned.get(lang) for lang in languages)
    }
    if texts:
        return max(texts, key=texts.__getitem__)
    known = sorted({lang for learned in members.values() for lang in learned})
    strange = next((lang for lang in languages if lang not in known), None)
    if strange:
        what = f"no expert of the ensemble knows `{strange}`"
        raise UserError(what, where="experts.add_to", hint=nearest(strange, known))
    what = f"no expert of the ensemble knows all of {', '.join(languages)}"
    hint = "a further partition must be within the one before: take more clusters of the same tree"
    raise UserError(what, where="experts.partitions", hint=hint)


def _ensembles(recipe: Recipe, workspace: Path, *, make: bool) -> dict[int, tuple[Path, Lineage]]:
    """The ensemble that is added to, by seed: of several seeds each its own where there is one.

    The one that is named serves the others.
    """
    seeds, named = _experts(recipe).seeds, find_ensemble(_experts(recipe).add_to or "", workspace)
    folders = dict.fromkeys(seeds, named)
    stem, _, number = named.name.rpartition("-s")
    if len(seeds) > 1 and number.isdecimal():
        own = {seed: named.with_name(f"{stem}-s{seed}") for seed in seeds}
        folders |= {seed: folder for seed, folder in own.items() if (folder / ENSEMBLE).is_file()}
    lineages: dict[Path, Lineage] = {}
    for folder in set(folders.values()):
        if folder.resolve().parent == (workspace / "ensembles" / recipe.name).resolve():
            what = "the ensemble to add to would be overwritten: this recipe has its name"
            raise UserError(what, where="experts.add_to", hint="give this recipe another `name`")
        lineages[folder] = read_lineage(folder)
        changed = bool(recipe.tokens.extend or recipe.tokens.trim)
        if make:
            verify(lineages[folder], folder, workspace)
            own = open_tokens(workspace / "tokens" / recipe.name).tokenizer_path
            changed = file_hash(own) != lineages[folder].tokenizer_sha256
        if changed:
            place = lineages[folder].experts[0].folder
            raise other_tokenizer(f"the text of `{recipe.name}`", "tokens", place)
    return {seed: (folder, lineages[folder]) for seed, folder in folders.items()}


def _donors(recipe: Recipe, ensemble: Lineage) -> dict[str, str]:
    added, texts = _experts(recipe).add, recipe.text.languages
    known = [lang for lang in texts if lang in ensemble.languages and lang not in added]
    donors: dict[str, str] = {}
    for lang, way in added.items():
        where = f"experts.add.{lang}"
        if lang not in texts:
            what = f"language `{lang}` has no text"
            raise UserError(what, where=where, hint=nearest(lang, texts))
        if lang in ensemble.languages:
            what = f"`{lang}` is known to the ensemble"
            raise UserError(what, where=where, hint="leave it out, or give `partitions`")
        if not known:
            what = "no language of the ensemble has text here to be a donor"
            raise UserError(what, where=where, hint="give the donors' text by `text` too")
        if way == "transfer":
            made = recipe.text.synthetic
            if made and set(texts) <= made.languages.keys():
                donors |= nearest_donors(language_distances(recipe)[0], known, [lang])
            else:
                donors[lang] = best_donor(lang, known, where)
        elif way in known:
            donors[lang] = way
        else:
            what = f"`{way}` is not a language of the ensemble with text here"
            hint = f"name one of {', '.join(known)}, or `transfer`"
            raise UserError(what, where=where, hint=nearest(way, known) or hint)
    return donors
