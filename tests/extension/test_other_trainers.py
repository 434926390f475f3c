import json
from pathlib import Path

from tests.engines.handed import Handed
from tests.extension.conftest import run_in


def test_a_run_goes_to_and_comes_from_a_trainer_of_another_package(
    handed: Handed,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    tongues = run_in(handed.workspace, environment)
    out = tmp_path / "out"
    tongues("export", str(handed.recipe), "-o", str(out), "--for", "shell")
    assert "STEPS=39" in (out / "settings.sh").read_text()
    refused = tongues("export", "small.yaml", "-o", "x", "--for", "shell", plain=True, fails=True)
    assert "there is no engine `shell`" in refused.stderr
    (tmp_path / "log.txt").write_text("0 qab 5.5\n1 5.25\n2 5.125\n2 qab 5.0\n")
    (tmp_path / "model").symlink_to(out / "base")
    words = ("--mixture", "qab=100%", "--held-out", str(out / "held_out"), "--name", "theirs")
    base = ("--base", str(out / "base"), "--base-language", "qaa", "--batch", "512 tokens")
    tongues("import", str(tmp_path), *words, *base)
    rows = (handed.workspace / "runs/theirs/evals.jsonl").read_text().splitlines()
    assert [json.loads(row)["loss"] for row in rows] == [5.5, 5.0]
