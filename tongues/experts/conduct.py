"""All the experts that a recipe means, trained and put together."""

from collections.abc import Callable, Sequence
from pathlib import Path

from tongues.errors import UserError
from tongues.experts.merge import merge
from tongues.experts.rounds import Round
from tongues.launch import Launcher
from tongues.recipe import Recipe
from tongues.runs import FAILURE, status_of
from tongues.study import State, run_all

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
    folders = [
        merge(made, workspace, tell=tell, rebuild=rebuild, power=recipe.experts.power)
        for made in rounds
        if all(_is_finished(workspace / "runs" / run.name) for run in made.runs)
    ]
    if failure:
        for folder in folders:
            tell(f"{folder} is whole all the same")
        raise failure
    return folders


def _is_finished(directory: Path) -> bool:
    """Whether a run is there as it is meant; one of its name that was made otherwise failed."""
    return status_of(directory) == "finished" and not (directory / FAILURE).is_file()
