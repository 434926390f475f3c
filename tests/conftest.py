import gc
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.command import serve_all
from tests.golden import INPUTS
from tests.studies import (  # noqa: F401 - fixtures
    few_draws,
    long_findings,
    long_study,
    made_findings,
    made_study,
    make_study,
    saturated,
    truth,
)
from tongues.recipe import Recipe, load_recipe
from tongues.text.tokens import prepare_tokens
from tongues.train.work import open_work

if TYPE_CHECKING:
    from tests.engines.handed import Handed

RECIPE = (INPUTS / "small-recipe.yaml").read_text()

# Background jobs ignore it, and so would the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("busy", deadline=None)  # how long a case takes is the machine's business
settings.load_profile("busy")

MakeRecipe = Callable[..., Recipe]

# First, so that no core waits for them at the end.
LONGEST = ("test_docs_commands", "test_library")
LONGEST += ("test_study", "test_whole", "test_run", "test_prepare_stopped", "test_parts")
LONGEST += ("test_driver", "test_hub_recipes", "test_micro_batch", "test_replay")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # while modules are imported, which stay
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        serve_all()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and tests stay to the end: no collection need look at them
    gc.set_threshold(20_000)  # objects; what tests make is small
    gc.enable()


@pytest.fixture(scope="session")
def recipe_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe of two small synthetic languages and one short run."""
    path = tmp_path_factory.mktemp("recipe") / "small.yaml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="session")
def make_recipe(recipe_file: Path) -> MakeRecipe:
    """The small recipe with overrides."""
    return lambda *overrides: load_recipe(recipe_file, overrides)


@pytest.fixture(scope="session")
def tokens(recipe_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokens of the small recipe, made once."""
    workspace = tmp_path_factory.mktemp("prepared")
    return prepare_tokens(load_recipe(recipe_file), workspace, progress=lambda line: None)


def with_tokens(place: Path, tokens: Path) -> Path:
    """A place in which prepared tokens are, as a workspace has them."""
    (place / "tokens").mkdir()
    (place / "tokens" / tokens.name).symlink_to(tokens, target_is_directory=True)
    return place


@pytest.fixture
def workspace(tokens: Path, tmp_path: Path) -> Path:
    """A fresh workspace in which the small recipe's text is prepared."""
    return with_tokens(tmp_path, tokens)


@pytest.fixture(scope="session")
def trained_once(
    make_recipe: MakeRecipe, tokens: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The directory of the small recipe's run, trained once."""
    from tongues.train import run_of_recipe
    from tongues.train.run import train

    workspace = with_tokens(tmp_path_factory.mktemp("trained"), tokens)
    return train(replace(run_of_recipe(open_work(make_recipe())), name="small"), workspace)


@pytest.fixture(scope="session")
def project(recipe_file: Path, tokens: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the small recipe, its tokens and its finished run; tests copy it."""
    import tongues

    folder = tmp_path_factory.mktemp("project")
    shutil.copy(recipe_file, folder)
    shutil.copytree(tokens, folder / "tokens" / tokens.name)
    tongues.train(folder / recipe_file.name, workspace=folder, quiet=True)
    return folder


@pytest.fixture
def trained(trained_once: Path, workspace: Path) -> Path:
    """The directory of the small recipe's run, in the workspace of a test."""
    return shutil.copytree(trained_once, workspace / "runs" / "small")


@pytest.fixture(scope="session")
def handed(tokens: Path, tmp_path_factory: pytest.TempPathFactory) -> "Handed":
    """A recipe of a base with new tokens, and what of it is handed over to other trainers."""
    from tests.engines.handed import hand  # with torch

    return hand(tokens, with_tokens(tmp_path_factory.mktemp("handed"), tokens))
