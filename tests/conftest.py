from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from tongues.cores import wait_politely
from tongues.recipe import Recipe, load_recipe
from tongues.tokens import prepare_tokens

RECIPE = """
name: small
text:
  synthetic:
    seed: 1
    size: 300 kB
    languages:
      qaa: {}
      qab: {parent: qaa, divergence: 0.2}
tokens: {vocab_size: 400, held_out: 2000 tokens}
model: {shape: 0.1M}
train:
  mixture: {qaa: 100%}
  budget: 20k tokens
  batch: 512 tokens
  context: 64 tokens
  learning_rate: 3.0e-3
  warmup: 5%
  num_evals: 4
  threads: 1
"""

wait_politely()  # before a test imports torch: several processes of tests share the cores
settings.register_profile("busy", deadline=None)  # how long a case takes is the machine's business
settings.load_profile("busy")

MakeRecipe = Callable[..., Recipe]

LONGEST = ("test_docs.py", "test_ray.py")  # first, so that no core waits for them at the end


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="session")
def recipe_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe of two small synthetic languages and one short run."""
    path = tmp_path_factory.mktemp("recipe") / "small.yaml"
    path.write_text(RECIPE)
    return path


@pytest.fixture
def make_recipe(recipe_file: Path) -> MakeRecipe:
    """The small recipe with overrides."""
    return lambda *overrides: load_recipe(recipe_file, overrides)


@pytest.fixture(scope="session")
def tokens(recipe_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokens of the small recipe, made once."""
    workspace = tmp_path_factory.mktemp("prepared")
    return prepare_tokens(load_recipe(recipe_file), workspace, progress=lambda line: None)


@pytest.fixture
def workspace(tokens: Path, tmp_path: Path) -> Path:
    """A fresh workspace in which the small recipe's text is prepared."""
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens" / tokens.name).symlink_to(tokens, target_is_directory=True)
    return tmp_path
