import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.command import Done, run_command
from tests.conftest import RECIPE

ROOT = Path(__file__).parents[2]
PACKAGE = Path(__file__).parent / "package"  # with its entry points, as if it were installed

Tongues = Callable[..., Done]


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """Of a process that has tongues and the package that extends it."""
    paths = os.pathsep.join(map(str, (PACKAGE, ROOT)))
    return os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}


def run_in(folder: Path, environment: Mapping[str, str]) -> Tongues:
    """Runs the real command there and gives what it printed.

    `fails=True` expects a user error, `plain=True` leaves the other package out.
    """

    def run(*words: str, fails: bool = False, plain: bool = False) -> Done:
        without = {"PYTHONPATH": str(ROOT)} if plain else {}
        done = run_command(words, folder, {**environment, **without})
        assert "Traceback" not in done.stderr
        assert done.returncode == (2 if fails else 0), done.stderr
        return done

    return run


@pytest.fixture
def tongues(workspace: Path, environment: dict[str, str]) -> Tongues:
    """The real command in a workspace with the small recipe, its text prepared."""
    (workspace / "small.yaml").write_text(RECIPE)
    return run_in(workspace, environment)
