"""Experts trained, and merged to an ensemble in `ensembles/<recipe>/<label>-s<seed>/`."""

from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.core.files import file_hash
from tongues.core.launch import Launcher
from tongues.experts.ensemble.ensemble import assembled, expert_log_probs
from tongues.experts.ensemble.filter import count_tokens, token_logs
from tongues.experts.ensemble.lineage import (
    ENSEMBLE,
    ROUTER,
    TOKENIZER,
    Expert,
    Lineage,
    best_experts,
    describe_expert,
    other_tokenizer,
    read_lineage,
    router_file,
    verify,
    write_lineage,
)
from tongues.experts.ensemble.router import (
    Router,
    fit_router,
    fit_to_text,
    load_router,
    save_router,
)
from tongues.experts.heldout import documents_of, tuning_documents, unseen_documents
from tongues.experts.partition.topics import term_directions
from tongues.experts.plans import Round
from tongues.experts.words import WORDS
from tongues.models.folders import read_config
from tongues.recipe import Recipe
from tongues.runs.record import FAILURE, read_run, status_of
from tongues.text.tokens import Tokens, open_cluster, open_tokens
from tongues.train.base import find_base, model_folder
from tongues.train.study import State, run_all

_SAMPLED = 400  # documents that a centre is the mean of
_HELD_OUT = 4000  # tokens of a language's held-out text that the temperature is fitted on


def train_experts(
    recipe: Recipe,
    workspace: Path,
    rounds: Sequence[Round],
    *,
    launcher: Launcher,
    watch: Callable[[State], None] = lambda state: None,
    tell: Callable[[str], None] = lambda line: None,
    overwrite: bool = False,
) -> list[Path]:
    """Train the experts of every round, in any order and each for itself, and merge them.

    Returns the ensembles' folders. Where runs failed, those rounds that are complete are merged
    before a UserError. Safe to interrupt; call it again to resume.
    """
    assert recipe.experts
    require("sklearn", "experts")  # for the router, once the experts are trained
    runs = [run for made in rounds for run in made.runs]
    failure: UserError | None = None
    try:
        run_all(runs, workspace, launcher=launcher, watch=watch, tell=tell, overwrite=overwrite)
    except UserError as error:
        if error.code != "runs_failed":
            raise
        failure = error
    places = {run.name: workspace / "runs" / run.name for run in runs}
    finished = {  # a run of its name with other settings has failed
        name
        for name, place in places.items()
        if status_of(place) == "finished" and not (place / FAILURE).is_file()
    }
    folders = [
        merge(made, workspace, tell=tell, overwrite=overwrite)
        for made in rounds
        if all(run.name in finished for run in made.runs)
    ]
    if failure:
        for folder in folders:
            tell(WORDS["whole"].format(folder=folder))
        raise failure
    return folders


def merge(
    made: Round, workspace: Path, *, tell: Callable[[str], None], overwrite: bool = False
) -> Path:
    """Put the finished experts of a round together; returns the ensemble's folder.

    The experts of the ensemble that they were branched from stay as they are; those that a
    further partition took the place of are left out. What was merged already is left as it is; an
    expert whose bytes have changed since is a UserError, unless `overwrite`.
    """
    folder, add_to = workspace / "ensembles" / made.name, made.add_to
    before = read_lineage(add_to) if add_to else None
    new = tuple(
        describe_expert(
            run.name,
            workspace / "runs" / run.name / "model",
            workspace,
            languages=learned,
            parent=run.base,
            run=run.name,
            tokens=read_run(workspace / "runs" / run.name).tokens,
        )
        for run, learned in zip(made.runs, made.learned, strict=True)
    )
    kept: tuple[Expert, ...] = ()
    if before and made.adapted:
        new = (replace(new[0], languages={**before.experts[0].languages, **new[0].languages}),)
    elif before:
        taken = {lang for cluster in made.partition.clusters for lang in cluster}
        added = taken - before.languages.keys()
        kept = tuple(e for e in before.experts if added or not taken.issuperset(e.languages))
    experts = (*kept, *new)
    tokenizer = file_hash(workspace / experts[0].folder / TOKENIZER)
    for expert in new:
        if file_hash(place := workspace / expert.folder / TOKENIZER) != tokenizer:
            raise other_tokenizer(f"expert `{expert.name}`", str(place), experts[0].folder)
    old = _kept_router(add_to, before, kept) if add_to and before and kept else None
    if (folder / ENSEMBLE).is_file() and _is_merged(folder, experts, workspace, overwrite):
        return folder
    tokens = open_tokens(workspace / "tokens" / made.runs[0].tokens)
    router = _fit(made, tokens, new, old, before.languages if before else ())
    languages, names = best_experts(new), {expert.name for expert in kept}
    base = before.base if before else str(made.runs[0].base)
    if before:  # those that were known stay where their expert does
        languages |= {lang: name for lang, name in before.languages.items() if name in names}
    lineage = Lineage(
        experts=experts,
        languages=languages,
        base=base,
        tokenizer_sha256=tokenizer,
        router=None,
        partition=made.partition.to_json(),
        rounds=(
            *(before.rounds if before else ()),
            *({"ensemble": made.name, "base": e.parent, "expert": e.name} for e in new),
        ),
    )
    if len(experts) > 1:
        lineage = replace(lineage, fallback=_fallback(base, new[0], workspace))
        tell(WORDS["fitting"].format(ensemble=made.name))
        unseen = unseen_documents(tokens, [lineage], workspace)
        documents: list[np.ndarray] = []
        for lang in tokens.languages:
            shard = tokens.shard(lang, "valid")
            numbers = tuning_documents(shard.bounds, _HELD_OUT, unseen[lang])
            documents += documents_of(shard.tokens, shard.bounds, numbers)
        ensemble = assembled(lineage, router, workspace)
        assert ensemble.router  # that knows whether the base is there
        router = fit_to_text(ensemble.router, documents, expert_log_probs(ensemble, documents))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ENSEMBLE).unlink(missing_ok=True)
    save_router(router, folder / ROUTER)
    write_lineage(replace(lineage, router=router_file(folder / ROUTER)), folder)
    return folder


def _fallback(base: str, expert: Expert, workspace: Path) -> Expert | None:
    """The base, for text that no expert learned; None where it is gone or has other tokens."""
    own = workspace / expert.folder
    with suppress(UserError):
        folder = model_folder(find_base(base, workspace) or Path())
        rows = {read_config(place).get("vocab_size") for place in (folder, own)}
        if len(rows) == 1 and file_hash(folder / TOKENIZER) == file_hash(own / TOKENIZER):
            run = base if (workspace / "runs" / base / "run.json").is_file() else None
            return describe_expert(
                base, folder, workspace, languages={}, parent=None, run=run, tokens=0
            )
    return None


def _is_merged(folder: Path, experts: Sequence[Expert], workspace: Path, overwrite: bool) -> bool:
    """Whether these very experts were merged already, and their router is whole.

    Experts that are not what they were then are refused, unless `overwrite`.
    """
    try:
        there = read_lineage(folder)
    except UserError:
        if overwrite:
            return False
        raise
    before = {expert.name: expert for expert in there.experts}
    for expert in () if overwrite else experts:
        if expert.name in before and before[expert.name].sha256 != expert.sha256:
            what = f"expert `{expert.name}` is not what it was when it joined"
            hint = "copy its model back, or train it again (remove its run) and add --overwrite"
            raise UserError(what, where=str(folder / ENSEMBLE), hint=hint)
    try:
        verify(there, folder, workspace)
    except UserError:
        return False
    return bool(there.router) and there.experts == tuple(experts)


def _kept_router(folder: Path, before: Lineage, kept: Sequence[Expert]) -> Router:
    assert before.router  # as verified
    router = load_router(folder / before.router.file)
    places = [before.names.index(expert.name) for expert in kept]
    prior, of_kept = router.prior[places], np.isin(router.owners, places)
    return replace(
        router,
        centres=router.centres[of_kept],
        owners=np.searchsorted(places, router.owners[of_kept]),
        logs=router.logs[:, of_kept],
        prior=prior / prior.sum(),
        languages=tuple(np.array(router.languages)[of_kept].tolist()) if router.languages else (),
    )


def _fit(
    made: Round,
    tokens: Tokens,
    experts: Sequence[Expert],
    old: Router | None,
    known: Container[str],
) -> Router:
    """Centres by samples of what each expert learned; those of experts that stay are kept.

    known: languages of the ensemble that is added to. A new expert next to it is of its new ones.
    A sample is of one language, or of a topic in all: the mean over several languages would be
    nearer to a relative of one than to that one.
    """
    samples: list[list[list[np.ndarray]]] = []
    names: list[str] = []  # the language of each sample in turn, "" for a topic
    sizes: list[float] = []  # training tokens of what each expert learned
    for run, expert in zip(made.runs, experts, strict=True):
        held = open_cluster(tokens, run.cluster) if run.cluster else tokens
        sizes.append(float(sum(held.counts[lang]["train"]["tokens"] for lang in expert.languages)))
        langs = list(expert.languages)
        if old is not None:
            langs = [lang for lang in langs if lang not in known] or langs
        groups = [langs] if run.cluster else [[lang] for lang in langs]
        samples.append([training_sample(held, group, made.seed) for group in groups])
        names += [group[0] if len(group) == 1 else "" for group in groups]
    if old is None:
        weights, directions = term_directions(tokens, seed=made.seed)
        return fit_router(weights, directions, samples, sizes, names)
    old = with_new_tokens(old, list(chain(*samples)))
    fitted = fit_router(np.ones(len(old.vectors)), old.vectors, samples)
    counts = count_tokens([*chain(*samples)], len(old.vectors))
    logs = token_logs(counts, old.common, old.logs)
    share = 1.0 / (old.k + fitted.k)
    prior = np.concatenate([old.prior * (1 - share * fitted.k), np.full(fitted.k, share)])
    return replace(
        old,
        centres=np.concatenate([old.centres, fitted.centres]),
        owners=np.concatenate([old.owners, old.k + fitted.owners]),
        prior=prior,
        logs=np.concatenate([old.logs, logs], axis=1),
        languages=(*old.languages, *names) if old.languages else (),
    )


def with_new_tokens(router: Router, samples: Sequence[Sequence[np.ndarray]]) -> Router:
    """The same with a direction for tokens that it knew nothing of, such as those of a new script.

    samples: documents of each new centre, which get a dimension each; what was known
    before keeps its distances.
    """
    silent = ~router.vectors.any(axis=1)
    columns = np.zeros((len(router.vectors), len(samples)), dtype=np.float32)
    for place, documents in enumerate(samples):
        counts = np.zeros(len(router.vectors))
        for document in documents:
            counts[np.unique(document)] += 1
        weights = np.log((len(documents) + 1) / (counts + 1)) + 1
        columns[:, place] = np.where(silent & (counts > 0), weights, 0)
    centres = np.pad(router.centres, ((0, 0), (0, len(samples))))
    return replace(router, vectors=np.hstack([router.vectors, columns]), centres=centres)


def training_sample(held: Tokens, languages: Sequence[str], seed: int) -> list[np.ndarray]:
    """Some training documents, of each language by its share of them."""
    counts = {lang: held.counts[lang]["train"]["documents"] for lang in languages}
    total = sum(counts.values())
    random = np.random.default_rng(seed)
    documents: list[np.ndarray] = []
    for lang, count in counts.items():
        wanted = min(count, -(-_SAMPLED * count // max(total, 1)))
        shard = held.shard(lang, "train")
        numbers = np.sort(random.choice(count, wanted, replace=False))
        documents += documents_of(shard.tokens, shard.bounds, numbers)
    return documents
