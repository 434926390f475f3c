"""Recipes that extend others: what is merged, and where mistakes are reported."""

import json
from pathlib import Path

import pytest

from tests.conftest import RECIPE
from tests.golden import cases, golden
from tongues.core.errors import UserError
from tongues.recipe import load_recipe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.yaml").write_text(RECIPE)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_keys_of_its_own_replace_whole_values_and_the_rest_is_inherited(folder: Path) -> None:
    own = "extends: base.yaml\ntrain: {mixture: {qab: 100%}, batch: 256 tokens, warmup: null}\n"
    base, recipe = load_recipe(folder / "base.yaml"), load_recipe(write(folder / "own.yaml", own))
    assert recipe.train.mixture == {"qab": 1.0}  # not qaa too
    assert recipe.train.batch == 256
    assert "warmup" not in recipe.train.model_fields_set
    assert recipe.extends is None
    assert (recipe.name, recipe.text, recipe.tokens) == (base.name, base.text, base.tokens)
    assert recipe.train.context == base.train.context


def test_it_is_the_recipe_that_is_written_out(folder: Path) -> None:
    written = RECIPE.replace("seed: 1", "seed: 2").replace("3.0e-3", "1.0e-3")
    languages = "{qaa: {}, qab: {parent: qaa, divergence: 0.2}}"
    text = f"{{synthetic: {{seed: 2, size: 300 kB, languages: {languages}}}}}"
    own = f"extends: base.yaml\ntext: {text}\ntrain:\n  learning_rate: 1.0e-3\n"
    whole = load_recipe(write(folder / "whole.yaml", written))
    assert load_recipe(write(folder / "own.yaml", own)) == whole


def test_a_chain_is_followed_from_each_files_own_folder_and_overrides_come_last(
    folder: Path,
) -> None:
    write(folder / "deep/middle.yaml", "extends: ../base.yaml\nmodel: {shape: 0.2M}\n")
    path = write(folder / "own.yaml", "extends: deep/middle.yaml\ntrain: {seed: 3}\n")
    recipe = load_recipe(path, ["train.batch=128 tokens"])
    assert (recipe.model.shape, recipe.train.seed, recipe.train.batch) == ("0.2M", 3, 128)


def test_a_section_can_be_removed(folder: Path) -> None:
    study = f"{RECIPE}study: {{shapes: [0.1M], budgets: [1k tokens], strategies: [scratch]}}\n"
    write(folder / "study.yaml", study)
    path = write(folder / "own.yaml", "extends: study.yaml\nstudy: null\n")
    assert load_recipe(path).study is None


@pytest.mark.parametrize("files", cases("refused-extensions"))
def test_mistakes_name_their_file_and_line(folder: Path, files: str) -> None:
    for name, text in json.loads(files).items():
        write(folder / f"{name}.yaml", text)
    with pytest.raises(UserError) as caught:
        load_recipe(folder / "own.yaml")
    golden(f"refused-extensions/{files}", str(caught.value).replace(str(folder), "FOLDER"))


def test_a_near_name_is_suggested_and_an_override_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"did you mean `base.yaml`"):
        load_recipe(write(folder / "own.yaml", "extends: bse.yaml\n"))
    with pytest.raises(UserError, match="not an override"):
        load_recipe(folder / "base.yaml", ["extends=base.yaml"])
    with pytest.raises(UserError, match="did you mean `extends`"):
        load_recipe(write(folder / "own.yaml", f"{RECIPE}\ninherits: base.yaml\n"))
