"""From finished experts to an ensemble: `ensembles/<recipe>/<division>-s<seed>/`."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.experts.ensemble.ensemble import Ensemble, assembled
from tongues.experts.ensemble.lineage import (
    ENSEMBLE,
    ROUTER,
    Expert,
    Lineage,
    best_experts,
    describe_expert,
    read_lineage,
    router_file,
    verify,
    write_lineage,
)
from tongues.experts.ensemble.router import (
    Power,
    Router,
    fit_router,
    fit_temperature,
    load_router,
    save_router,
)
from tongues.experts.ensemble.score import expert_log_probs
from tongues.experts.heldout import documents_of, tuning_documents, unseen_documents
from tongues.experts.partition.topics import term_directions
from tongues.experts.rounds import Round
from tongues.files import file_hash
from tongues.runs import read_run
from tongues.tokens import Tokens, open_part, open_tokens
from tongues.train import RunPlan

__all__ = ["merge", "with_new_pieces"]

_SAMPLED = 400  # documents that a centre is the mean of
_HELD_OUT = 4000  # tokens of a language's held-out text that the temperature is fitted on


def merge(
    made: Round,
    workspace: Path,
    *,
    tell: Callable[[str], None],
    rebuild: bool = False,
    power: Power | None = None,
) -> Path:
    """Put the finished experts of a round together; returns the ensemble's folder.

    The experts of the ensemble that they were branched from stay as they are; those that a
    further division took the place of are left out. What was merged already is left as it is; an
    expert whose bytes have changed since is a UserError, unless `rebuild`. power: of the distance
    in the router; None: as in the ensemble that grows, else 2.
    """
    folder, grown = workspace / "ensembles" / made.name, made.grown
    before = read_lineage(grown) if grown else None
    new = tuple(_described(made, number, workspace) for number in range(len(made.runs)))
    kept = _kept(before, made) if before else ()
    if before and made.adapted:
        new = (replace(new[0], languages={**before.experts[0].languages, **new[0].languages}),)
    experts = (*kept, *new)
    if not rebuild:
        _unchanged(folder, experts)
    old = _old_router(grown, before, kept) if grown and before and kept else None
    power = power or (old.power if old else 2)
    if _is_there(folder, experts, power, workspace):
        return folder
    tokens = open_tokens(workspace / "tokens" / made.runs[0].tokens)
    router = _router(made, tokens, new, old, before.languages if before else ())
    router = replace(router, power=power)
    first = Path(workspace, new[0].folder) / "tokenizer.json"
    lineage = Lineage(
        experts=experts,
        languages=_languages(before, kept, new),
        seed=before.seed if before else str(made.runs[0].base),
        tokenizer_sha256=before.tokenizer_sha256 if before else file_hash(first),
        router=None,
        partition=made.partition.to_json(),
        rounds=(
            *(before.rounds if before else ()),
            *({"made": made.name, "from": e.parent, "expert": e.name} for e in new),
        ),
    )
    if len(experts) > 1:
        tell(f"{made.name}: fitting the router's temperature on held-out text")
        unseen = unseen_documents(tokens, [lineage], workspace)
        router = _tempered(assembled(lineage, router, workspace), tokens, router, unseen)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ENSEMBLE).unlink(missing_ok=True)
    save_router(router, folder / ROUTER)
    write_lineage(replace(lineage, router=router_file(folder / ROUTER)), folder)
    return folder


def _languages(
    before: Lineage | None, kept: Sequence[Expert], new: Sequence[Expert]
) -> dict[str, str]:
    """The best expert of each language: those that were known stay where their expert does."""
    found = best_experts(new)
    names = {expert.name for expert in kept}
    old = before.languages.items() if before else ()
    return {**found, **{lang: name for lang, name in old if name in names}}


def _unchanged(folder: Path, experts: Sequence[Expert]) -> None:
    """Refuse experts that are not what they were when they were merged here before."""
    if not (folder / ENSEMBLE).is_file():
        return
    before = {expert.name: expert for expert in read_lineage(folder).experts}
    for expert in experts:
        if expert.name in before and before[expert.name].sha256 != expert.sha256:
            what = f"expert `{expert.name}` is not what it was when it joined"
            hint = "copy its model back, or train it again (remove its run) and add --rebuild"
            raise UserError(what, where=str(folder / ENSEMBLE), hint=hint)


def _described(made: Round, number: int, workspace: Path) -> Expert:
    run = made.runs[number]
    directory = workspace / "runs" / run.name
    return describe_expert(
        run.name,
        directory / "model",
        workspace,
        languages=made.learned[number],
        parent=run.base,
        run=run.name,
        tokens=read_run(directory).tokens,
    )


def _kept(before: Lineage, made: Round) -> tuple[Expert, ...]:
    """The experts of the ensemble that grows which stay in it."""
    if made.adapted:
        return ()
    taken = {lang for cluster in made.partition.clusters for lang in cluster}
    added = taken - before.languages.keys()
    if added:
        return before.experts
    return tuple(e for e in before.experts if not taken.issuperset(e.languages))


def _is_there(folder: Path, experts: Sequence[Expert], power: Power, workspace: Path) -> bool:
    """Whether these very experts were merged already, and their router is whole."""
    if not (folder / ENSEMBLE).is_file():
        return False
    try:
        there = read_lineage(folder)
        verify(there, folder, workspace)
        if there.router is None or load_router(folder / there.router.file).power != power:
            return False
    except UserError:
        return False
    return list(there.experts) == list(experts)


def _old_router(grown: Path, before: Lineage, kept: Sequence[Expert]) -> Router:
    """Of the experts that stay."""
    if before.router is None:
        what, hint = "the ensemble that grows has no router", "make it again"
        raise UserError(what, where=str(grown), hint=hint)
    router = load_router(grown / before.router.file)
    places = [before.names.index(expert.name) for expert in kept]
    prior, of_kept = router.prior[places], np.isin(router.owners, places)
    return replace(
        router,
        centres=router.centres[of_kept],
        owners=np.searchsorted(places, router.owners[of_kept]),
        prior=prior / prior.sum(),
        languages=tuple(np.array(router.languages)[of_kept].tolist()) if router.languages else (),
    )


def _router(
    made: Round,
    tokens: Tokens,
    experts: Sequence[Expert],
    old: Router | None,
    known: Container[str],
) -> Router:
    """Centres by samples of what each expert learned; those of experts that stay are kept.

    known: languages of the ensemble that grows. A new expert beside it stands for its new ones.
    """
    learned = [list(expert.languages) for expert in experts]
    if old is None:
        weights, directions = term_directions(tokens, seed=made.seed)
        samples, names = _samples(made, tokens, learned)
        sizes = [_size(run, tokens, e) for run, e in zip(made.runs, experts, strict=True)]
        return fit_router(weights, directions, samples, sizes, names)
    new = [[lang for lang in langs if lang not in known] or langs for langs in learned]
    samples, names = _samples(made, tokens, new)
    old = with_new_pieces(old, list(chain(*samples)))
    fitted = fit_router(np.ones(len(old.vectors)), old.vectors, samples)
    share = 1.0 / (old.k + fitted.k)
    prior = np.concatenate([old.prior * (1 - share * fitted.k), np.full(fitted.k, share)])
    return replace(
        old,
        centres=np.concatenate([old.centres, fitted.centres]),
        owners=np.concatenate([old.owners, old.k + fitted.owners]),
        prior=prior,
        languages=(*old.languages, *names) if old.languages else (),
    )


def with_new_pieces(router: Router, samples: Sequence[Sequence[np.ndarray]]) -> Router:
    """The same with a direction for pieces that it knew nothing of, such as those of a new script.

    samples: documents of each new centre, which get a dimension each; what was known
    before keeps its distances.
    """
    silent = ~router.vectors.any(axis=1)
    columns = np.zeros((len(router.vectors), len(samples)), dtype=np.float32)
    for place, documents in enumerate(samples):
        found = np.zeros(len(router.vectors))
        for document in documents:
            found[np.unique(document)] += 1
        counted = np.log((len(documents) + 1) / (found + 1)) + 1
        columns[:, place] = np.where(silent & (found > 0), counted, 0)
    centres = np.pad(router.centres, ((0, 0), (0, len(samples))))
    return replace(router, vectors=np.hstack([router.vectors, columns]), centres=centres)


def _samples(
    made: Round, tokens: Tokens, languages: Sequence[Sequence[str]]
) -> tuple[list[list[list[np.ndarray]]], list[str]]:
    """Documents of what each expert learned: of each language, or of a topic in all of them.

    The mean over several languages would lie nearer to a relative of one than to that one. Beside
    them, the language of each sample in turn, "" for a topic.
    """
    samples, names = [], []
    for run, langs in zip(made.runs, languages, strict=True):
        groups = [list(langs)] if run.part else [[lang] for lang in langs]
        samples.append([_sample(run, tokens, group, made.seed) for group in groups])
        names += [group[0] if len(group) == 1 else "" for group in groups]
    return samples, names


def _sample(run: RunPlan, tokens: Tokens, languages: Sequence[str], seed: int) -> list[np.ndarray]:
    """Documents of what an expert learned, of each language as its share of the text."""
    held = open_part(tokens, run.part) if run.part else tokens
    counts = {lang: held.counts[lang]["train"]["documents"] for lang in languages}
    total = sum(counts.values())
    random = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    for lang, count in counts.items():
        wanted = min(count, -(-_SAMPLED * count // max(total, 1)))
        shard = held.shard(lang, "train")
        numbers = np.sort(random.choice(count, wanted, replace=False))
        found += documents_of(shard.tokens, shard.bounds, numbers)
    return found


def _size(run: RunPlan, tokens: Tokens, expert: Expert) -> float:
    """Training tokens of what an expert learned."""
    held = open_part(tokens, run.part) if run.part else tokens
    return float(sum(held.counts[lang]["train"]["tokens"] for lang in expert.languages))


def _tempered(
    ensemble: Ensemble, tokens: Tokens, router: Router, unseen: Mapping[str, np.ndarray]
) -> Router:
    """The router at the temperature that suits held-out text of all languages."""
    documents: list[np.ndarray] = []
    for lang in tokens.languages:
        shard = tokens.shard(lang, "valid")
        numbers = tuning_documents(shard.bounds, _HELD_OUT, unseen[lang])
        documents += documents_of(shard.tokens, shard.bounds, numbers)
    return fit_temperature(router, documents, expert_log_probs(ensemble, documents))
