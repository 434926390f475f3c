"""All the experts that a recipe means, trained and put together."""

from collections.abc import Callable, Sequence
from pathlib import Path

from tongues.errors import UserError
from tongues.experts.ensemble.lineage import find_ensemble
from tongues.experts.merge import merge
from tongues.experts.rounds import Round
from tongues.recipe import Recipe
from tongues.runs import status_of
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

    Returns the ensembles' folders. Where runs failed, those divisions that are whole are merged
    before a UserError tells. Stopped or killed, the same call goes on.
    """
    assert recipe.experts
    runs = [run for made in rounds for run in made.runs]
    failure: UserError | None = None
    try:
        run_all(
            runs,
            workspace,
            launcher=launcher,
            watch=watch,
            tell=tell,
            rebuild=rebuild,
            whole=True,
        )
    except UserError as error:
        if error.code != "runs_failed":
            raise
        failure = error
    grow = recipe.experts.grow
    grown = find_ensemble(grow, workspace) if grow else None
    folders = [
        merge(made, workspace, grown=grown, tell=tell, rebuild=rebuild)
        for made in rounds
        if all(status_of(workspace / "runs" / run.name) == "finished" for run in made.runs)
    ]
    if failure:
        raise failure
    return folders
