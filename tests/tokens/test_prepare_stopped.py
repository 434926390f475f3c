"""Killed at any moment, or shared out otherwise: the same bytes in the end."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.golden import inputs
from tests.text.corpora import changed, contents, quiet, recipe_of, text, text_of, write_rows
from tongues.core.errors import UserError
from tongues.core.files import only_one
from tongues.recipe import Recipe, show_recipe
from tongues.text import gather
from tongues.text.tokens import prepare, prepare_tokens

# Lives of `prepare_tokens`, each killed at a random moment, then one that is let to its end.
KILLER: str = inputs("programs")["KILLER"]


def faulty_text(folder: Path) -> Recipe:
    """Two languages in files with faults and near copies, and a made one."""
    rows = [text(i, 60) for i in range(50)]
    rows += [changed(row, [30]) for row in rows[:20]]
    write_rows(
        folder / "a.jsonl", [{"text": row, "group": f"{i % 40}"} for i, row in enumerate(rows)]
    )
    (folder / "b.jsonl").write_bytes(b'\xff\n{"te\n' + (folder / "a.jsonl").read_bytes()[2000:])
    for number in range(5):
        paragraphs = [text(i, 40) for i in range(100 + 12 * number, 112 + 12 * number)]
        (folder / f"c{number}.txt").write_text("\n\n".join(paragraphs))
    paragraphs = {"paths": [f"{folder}/c*.txt"], "documents": "paragraphs"}
    files = {"de": [f"{folder}/a.jsonl", f"{folder}/b.jsonl"], "sw": paragraphs}
    made = {"size": "20 kB", "languages": {"qaa": {}}}
    return recipe_of(text_of(files, {"near": 0.7, "characters": 100}, synthetic=made))


@pytest.mark.long
def test_killed_at_random_moments_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    recipe = faulty_text(tmp_path)
    (tmp_path / "recipe.yaml").write_text(show_recipe(recipe))
    arguments = [str(tmp_path / "recipe.yaml"), str(tmp_path), "2"]
    arguments.append(f"text.files.de.paths=[{tmp_path}/a.jsonl]")
    done = subprocess.run(
        [sys.executable, "-c", KILLER, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 3
    alone = contents(tmp_path / "alone")
    assert any(name.startswith("corpus/a/de/a.jsonl") for name in alone)
    assert len([name for name in alone if name.startswith("tokens/a/")]) == 15
    assert not any("work" in name or ".part" in name for name in alone)
    for number in range(2):
        assert contents(tmp_path / f"killed{number}") == alone


@pytest.mark.long
def test_ranks_and_parts_of_any_number_make_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, told = faulty_text(tmp_path), list[str]()
    for ranks in (1, 2):
        prepare_tokens(recipe, tmp_path / str(ranks), told.append, ranks=ranks)
    for words in ("documents read", "tokens to train on"):
        assert sum(words in line for line in told) == 2 * 3  # languages, also from the ranks
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    monkeypatch.setattr(gather, "_PART_BYTES", 2000)
    small = prepare_tokens(recipe, tmp_path / "small", quiet, ranks=1)
    assert contents(small) == contents(tmp_path / "1/tokens/a")
    parts = [list((tmp_path / name).rglob("00001.parquet")) for name in ("1", "small")]
    assert len(parts[0]) == 0 < len(parts[1])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Recipe, Path]]:
    """Two recipes of one text, each with a workspace in which it was prepared."""
    folder = tmp_path_factory.mktemp("two")
    file = write_rows(folder / "a.jsonl", [text(i, 40 + i) for i in range(50)])
    recipes = [recipe_of(text_of({"de": str(file)}, {"characters": n})) for n in (1, 350)]
    for number, recipe in enumerate(recipes):
        prepare_tokens(recipe, folder / str(number), quiet, ranks=1)
    return [(recipe, folder / str(number)) for number, recipe in enumerate(recipes)]


@pytest.mark.parametrize("stage", list(prepare.STAGES))
@pytest.mark.parametrize("overwrite", [False, True])
def test_stopped_between_stages_another_recipe_is_as_from_scratch(
    made: list[tuple[Recipe, Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    overwrite: bool,
) -> None:
    (_, prepared), (second, _) = made
    if overwrite:
        shutil.copytree(prepared, tmp_path / "stopped")
    run_stage = prepare.run_stage

    def stopping(rank: prepare.Rank, tell: prepare.Say, name: str, *given: Any) -> None:
        run_stage(rank, tell, name, *given)
        if name == stage:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(prepare, "run_stage", stopping)
        with pytest.raises(KeyboardInterrupt):
            prepare_tokens(second, tmp_path / "stopped", quiet, overwrite=overwrite, ranks=1)
    third, alone = made[0 if stage != "finish" else 1]
    prepare_tokens(third, tmp_path / "stopped", quiet, overwrite=overwrite, ranks=1)
    assert contents(tmp_path / "stopped") == contents(alone)


def test_what_a_kill_at_the_very_end_left_is_cleared(
    made: list[tuple[Recipe, Path]], tmp_path: Path
) -> None:
    recipe = made[0][0]
    shutil.copytree(made[0][1], tmp_path, dirs_exist_ok=True)
    before = contents(tmp_path)
    for left in ("work", ".work.999999999.part"):
        (tmp_path / "corpus/a" / left).mkdir()
        (tmp_path / "corpus/a" / left / "x").write_text("x")
    told: list[str] = []
    prepare_tokens(recipe, tmp_path, told.append)
    assert "nothing to do" in told[0]
    assert contents(tmp_path) == before


def test_the_work_of_another_process_is_left_alone(
    made: list[tuple[Recipe, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = made[0][0]
    shutil.copytree(made[0][1], tmp_path, dirs_exist_ok=True)
    (tmp_path / "corpus/a/work").mkdir()
    monkeypatch.setattr("tongues.core.files._PATIENCE", 0.0)
    for overwrite in (False, True):
        with only_one(tmp_path / "corpus/a"), pytest.raises(UserError, match="another process"):
            prepare_tokens(recipe, tmp_path, quiet, overwrite=overwrite)
    assert (tmp_path / "corpus/a/work").exists()
