"""All the experts that a recipe means, trained and put together."""

from collections.abc import Callable, Sequence
from pathlib import Path

from tongues.experts.ensemble.lineage import find_ensemble
from tongues.experts.merge import merge
from tongues.experts.rounds import Round
from tongues.recipe import Recipe
from tongues.study import State, run_all
from tongues.study.launchers import Launcher

__all__ = ["train_experts"]


def train_experts(
    recipe: Recipe,
    workspace: Path,
    rounds: Sequence[Round],
    *,
    launcher: Launcher,
    watch: Callable[[State], None] = lambda state: None,
    tell: Callable[[str], None] = lambda line: None,
    rebuild: bool = False,
) -> list[Path]:
    """Train the experts of every round, in any order and each for itself, and merge them.

    Returns the ensembles' folders. Stopped or killed, the same call goes on.
    """
    assert recipe.experts
    runs = [run for made in rounds for run in made.runs]
    run_all(
        runs,
        workspace,
        launcher=launcher,
        watch=watch,
        tell=tell,
        rebuild=rebuild,
        whole=True,
    )
    grow = recipe.experts.grow
    grown = find_ensemble(grow, workspace) if grow else None
    return [merge(made, workspace, grown=grown, tell=tell) for made in rounds]
