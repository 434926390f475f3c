"""Which files paths, directories and globs stand for, and what a user is told otherwise."""

from pathlib import Path

import pytest

from tests.golden import cases, golden
from tongues.core.errors import UserError
from tongues.text.reading import find_files


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fill(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("x")


def test_globs_are_sorted_relative_and_name_a_file_once() -> None:
    fill("b.txt", "a.txt", "sub/c.txt", "odd[1].txt")
    found = find_files(["b.txt", "?.txt", "**/c.txt", "odd[1].txt"], "text.files.de")
    assert [str(path) for path in found] == ["b.txt", "a.txt", "sub/c.txt", "odd[1].txt"]


def test_a_directory_is_all_text_below_it_sorted() -> None:
    kinds = ["a.txt", "b.jsonl", "c.parquet", "d.txt.gz", "e.jsonl.gz", "f.txt.zst", "g.jsonl.zst"]
    fill(*(f"x/{name}" for name in kinds), "x/z/0.txt", "x/notes.pdf", "x/.git/h.txt", "x/.i.txt")
    Path("x/loop").symlink_to("..")
    Path("x/gone.txt").symlink_to("nowhere")
    assert [str(path) for path in find_files(["x"], "where")] == [
        *(f"x/{name}" for name in kinds),
        "x/z/0.txt",
    ]


def test_a_glob_may_meet_directories() -> None:
    fill("x/de/a.txt", "x/de-at/b.txt", "x/notes/c.pdf")
    assert [path.name for path in find_files(["x/*"], "where")] == ["a.txt", "b.txt"]


@pytest.mark.parametrize("pattern", cases("refused-paths"))
def test_wrong_paths_are_explained(pattern: str) -> None:
    fill("german.txt", "notes.pdf", "folder/notes.pdf", "texts/tr/a.txt")
    with pytest.raises(UserError) as error:
        find_files([pattern], "text.files.de")
    golden(f"refused-paths/{pattern}", str(error.value).replace(str(Path.cwd()), "FOLDER"))


def test_no_path_at_all_is_an_error() -> None:
    with pytest.raises(UserError, match="no file is named"):
        find_files([], "text.files.de")


def test_a_directory_that_cannot_be_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    fill("x/a.txt")
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(UserError, match=r"cannot be read \(Permission denied\)"):
        find_files(["x"], "where")
