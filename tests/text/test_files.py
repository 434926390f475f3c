"""Documents from files: what is read, and what a user is told when it cannot be."""

import gzip
import json
from pathlib import Path

import pytest

from tongues.errors import UserError
from tongues.files import fingerprint
from tongues.text.files import find_files, read_files


def read(paths: list[Path]) -> list[tuple[str, str, str]]:
    return [(d.id, d.text, d.group) for d in read_files(paths, "de")]


def write_lines(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def test_a_text_file_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffGrüße\r\nan alle\n".encode())
    assert read([path]) == [(str(path), "Grüße\nan alle\n", str(path))]


def test_a_line_of_json_is_a_document(tmp_path: Path) -> None:
    rows = [{"text": "eins"}, {"text": "zwei", "id": 7}, {"text": "drei", "id": "c", "group": "g"}]
    path = write_lines(tmp_path / "a.jsonl", *rows)
    path.write_text(path.read_text() + "\n")
    first = f"{path}:1"
    assert read([path]) == [
        (first, "eins", fingerprint("eins")),
        ("7", "zwei", fingerprint("zwei")),
        ("c", "drei", "g"),
    ]


@pytest.mark.parametrize(("name", "content"), [("a.txt", "eins"), ("a.jsonl", '{"text": "eins"}')])
def test_compressed_files_read_like_plain_ones(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(content.encode()))
    assert [text for _, text, _ in read([path])] == ["eins"]


def test_globs_are_sorted_relative_and_name_a_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.txt", "sub/c.txt", "odd[1].txt"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("x")
    found = find_files(["b.txt", "?.txt", "**/c.txt", "odd[1].txt"], "text.files.de")
    assert [str(path) for path in found] == ["b.txt", "a.txt", "sub/c.txt", "odd[1].txt"]


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("german.text", ["there is no file `german.text`", "did you mean `german.txt`"]),
        ("germn*.txt", ["no file matches `germn*.txt`", "did you mean `german.txt`"]),
        ("nowhere/*.txt", ["no file matches", "there is no directory `nowhere`"]),
        ("notes.md", ["no kind of text file", ".jsonl.gz"]),
        ("folder", ["is a directory", "folder/*.txt"]),
        ("empty.txt", ["`empty.txt` is empty"]),
    ],
)
def test_wrong_paths_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, says: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("empty.txt").touch()
    for name in ("german.txt", "notes.md"):
        Path(name).write_text("x")
    with pytest.raises(UserError) as error:
        find_files([pattern], "text.files.de")
    assert all(part in str(error.value) for part in ["text.files.de", *says])


def test_no_path_at_all_is_an_error() -> None:
    with pytest.raises(UserError, match="no file is given"):
        find_files([], "text.files.de")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"text": "zw', "is not JSON"),
        (b'["zwei"]', "is not a JSON object"),
        (b'{"body": "zwei"}', "has no `text`"),
        (b'{"text": " "}', "`text` is empty"),
        (b'{"text": 2}', "`text` is empty or no string"),
        (b'{"text": "\\ud800"}', "half a character"),
        (b'{"text": "zwei", "id": [1]}', "`id` is no string"),
        (b'{"text": "\xfcber"}', "is not UTF-8 (byte 0xfc)"),
    ],
)
def test_broken_lines_are_named(tmp_path: Path, line: bytes, says: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "eins"}\n' + line + b"\n")
    with pytest.raises(UserError) as error:
        read([path])
    assert f"{path}:2" in str(error.value)
    assert says in str(error.value)
    assert error.value.hint


def test_broken_files_are_named(tmp_path: Path) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes("eins\nzwei\nfünf\n".encode("latin1"))
    blank = tmp_path / "blank.jsonl"
    blank.write_text("\n\n")
    space = tmp_path / "space.txt"
    space.write_text(" \n")
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(gzip.compress(b"eins zwei drei" * 100)[:-12])
    expected = {
        latin: "latin.txt:3",
        blank: "no document",
        space: "is empty",
        cut: "cannot be read",
    }
    for path, says in expected.items():
        with pytest.raises(UserError, match=says):
            read([path])
