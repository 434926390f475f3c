"""An evaluation in several processes: each rank scores some units for `evaluate` to find."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from tongues.errors import UserError
from tongues.evaluate.conduct import Suite, evaluate
from tongues.experts.ensemble.model import place_of
from tongues.files import fingerprint, remove_directory
from tongues.launch import Launcher, run_ranks
from tongues.ranks import Rank, Tell

__all__ = ["score_apart", "score_share"]

_MEMORY = 3 * 2**30  # bytes of a rank besides the models' weights


def score_apart(
    models: Sequence[str],
    suite: Suite,
    workspace: Path,
    folder: Path,
    *,
    ranks: int,
    launcher: Launcher,
    memory: int | None = None,
    tell: Tell = lambda line: None,
) -> None:
    """Score all units in so many processes, and keep each result in `folder` for `evaluate`.

    Interrupted, the same call resumes. memory: as of `evaluate`, of each rank.
    """
    threads = launcher.threads(ranks)
    weights = {place_of(name, workspace)[0] for name in models}
    sizes = (file.stat().st_size for place in weights for file in place.rglob("*.safetensors"))
    units = [str(unit.path(folder)) for name in models for unit in suite.units(name)]
    run_ranks(
        score_share,
        (list(models), suite, workspace, folder, memory, threads),
        ranks,
        tell,
        launcher=launcher,
        name=folder.name,
        folder=folder / "ranks",
        fingerprint=fingerprint([units, ranks]),
        threads=threads,
        memory=_MEMORY + sum(sizes),
        gpus=1,
    )
    remove_directory(folder / "ranks")


def score_share(
    rank: Rank,
    tell: Tell,
    models: list[str],
    suite: Suite,
    workspace: Path,
    folder: Path,
    memory: int | None,
    threads: int,
) -> None:
    """Score a rank's share of what can be scored apart, and keep it.

    That is a text in a language by one ensemble with all its routings, and a task in a language by
    all models, since which items are asked depends on all of them.
    """
    import torch

    torch.set_num_threads(threads)
    alike = [list(some) for _, some in groupby(models, lambda name: place_of(name, workspace)[0])]
    parts = [
        (some, replace(suite, texts={name: {lang: documents}}, exams={}))
        for some in alike
        for name, by in suite.texts.items()
        for lang, documents in by.items()
    ]
    parts += [
        (models, replace(suite, texts={}, exams={name: {lang: exam}}))
        for name, by in suite.exams.items()
        for lang, exam in by.items()
    ]
    for names, part in rank.share(parts):
        try:
            evaluate(names, part, workspace, folder, memory=memory)
        except UserError as error:  # whether it matters is seen where all of it is put together
            tell(str(error))
