"""The suites of `benchmarks/faults.py` and `benchmarks/hostile.py`, in a small form."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tongues
from benchmarks import hostile
from tests.command import run_command
from tongues.core.errors import UserError
from tongues.core.files import whole_directory, write_json
from tongues.core.foreign.folder import check_foreign
from tongues.core.pages import write

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def suite(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "faults.py", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_killed_at_random_moments_commands_end_with_the_same_bytes() -> None:
    said = suite("kills", "6", "prepare", "train", "export")
    hits = re.search(r"^(\d+) kills in", said, re.MULTILINE)
    assert hits and int(hits[1]) >= 6 and "WRONG" not in said


@pytest.mark.long
def test_with_faults_commands_end_in_the_same_bytes_or_in_words() -> None:
    names = ("standard input closed", "32 GB of address space", "umask 077", "24 open files")
    said = suite("faults", *names, "a folder not in UTF-8")
    assert "commands with a fault" in said
    assert not any(word in said for word in ("TRACEBACK", "CODE", "OTHER BYTES", "NOT AGAIN"))


@settings(max_examples=60)
@given(st.sampled_from(sorted(hostile.KINDS)), st.integers(0, 10**9))
def test_a_file_made_to_do_harm_is_read_or_refused(kind: str, seed: int) -> None:
    end, seconds = hostile.attempt(kind, seed)
    assert end in ("read", "refused") and seconds < hostile.SLOW


def test_files_have_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with whole_directory(tmp_path / "made") as aside:
            (aside / "weights").touch(0o600)  # as safetensors does
    finally:
        os.umask(before)
    assert (tmp_path / "made/weights").stat().st_mode & 0o777 == 0o640


def test_a_path_that_is_not_utf8_is_written_down(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"path": os.fsdecode(b"x\xffy")})
    assert (tmp_path / "a.json").read_bytes().count(b"x\\udcffy") == 1


def test_a_stream_that_lacks_letters_gets_their_escapes(project: Path) -> None:
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "tongues", "next", str(project)]
    done = subprocess.run(command, env=latin, capture_output=True, check=False)
    assert done.returncode == 0 and b"\\u2192" in done.stderr


def test_an_export_is_made_again_and_a_folder_of_others_is_left(
    project: Path, tmp_path: Path
) -> None:
    words = ["export", "small", "-w", project, "-o", tmp_path / "out"]
    assert run_command(words).returncode == 0
    again = run_command(words)
    assert again.returncode == 2 and "`--overwrite` makes it again" in again.stderr
    (tmp_path / "out/thesis.txt").touch()
    assert run_command([*words, "--overwrite"]).returncode == 2
    (tmp_path / "out/thesis.txt").unlink()
    assert run_command([*words, "--overwrite"]).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    for words[-1] in (project, project / "runs/small/model", "."):
        refused = run_command([*words, "--overwrite"], tmp_path)
        assert refused.returncode == 2 and "Traceback" not in refused.stderr
    assert (project / "runs/small/model/config.json").is_file()


def test_a_page_is_written_where_no_figure_can_be_drawn(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "_DRAWING", {})
    monkeypatch.setattr(write, "_DRAW", "import os; os.abort()")  # as V8 ends its process
    page = tongues.report(project / "runs/small", out=tmp_path / "page", quiet=True)
    html = page.read_text(encoding="utf-8")
    assert "figures_not_drawn" in html and ".svg" not in html.partition("<script")[0]
    kinds = {path.suffix for path in (tmp_path / "page/figures").iterdir()}
    assert kinds == {".csv"}


def test_a_link_out_of_a_model_is_refused_and_one_in_the_cache_of_the_hub_is_not(
    tmp_path: Path,
) -> None:
    snapshot = tmp_path / "models--a--b/snapshots/1"
    snapshot.mkdir(parents=True)
    (tmp_path / "models--a--b/0af").write_text("{}")
    (snapshot / "config.json").symlink_to("../../0af")
    check_foreign(snapshot)
    (snapshot / "chat_template.jinja").symlink_to("/etc/passwd")
    with pytest.raises(UserError, match="is a link out of its folder"):
        check_foreign(snapshot)
