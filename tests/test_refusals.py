"""What needs no model to be refused is refused at once: nothing slow is imported for it."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import RECIPE
from tests.golden import cases, golden
from tongues.experts.ensemble.lineage import Expert, Lineage, write_lineage

CODE = """
import contextlib, io, json, shlex, sys
from tongues.cli import main
slow = {"torch", "transformers", "scipy", "altair", "pyarrow", "sklearn"}
answers = {}
for line in json.loads(sys.argv[1]):
    sys.argv = ["tongues", *shlex.split(line)]
    told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(told[0]), contextlib.redirect_stderr(told[1]):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    answers[line] = code, *(one.getvalue() for one in told), sorted(slow & set(sys.modules))
print(json.dumps(answers))
"""


def test_a_refusal_is_told_in_words_and_imports_nothing_slow(project: Path, tmp_path: Path) -> None:
    (tmp_path / "made").symlink_to(project)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "wrong.yaml").write_text(RECIPE.replace("budget", "budgett"))
    (tmp_path / "large.yaml").write_text(RECIPE.replace("0.1M", "5534M"))
    (tmp_path / "without.yaml").write_text(RECIPE.replace("vocab_size: 400", "base: nowhere"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "ensembles/experts").mkdir(parents=True)
    a, b = (Expert(name, f"runs/{name}", {}, {}, None, None, 0) for name in "ab")
    lineage = Lineage((a, b), {"de": "a", "fr": "b"}, "base", "", None, {})
    write_lineage(lineage, tmp_path / "ensembles/experts")
    (tmp_path / "folder" / "config.json").write_text('{"model_type": "llama"}')
    words = [sys.executable, "-c", CODE, json.dumps(cases("refused-commands"))]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, text=True)
    assert not done.returncode, done.stderr
    for line, (code, printed, told, slow) in json.loads(done.stdout).items():
        told = re.sub(r"\d[\d.]* GB", "… GB", told.replace(str(tmp_path), "FOLDER"))
        golden(f"refused-commands/{line}", told)
        assert (code, printed) == (2, ""), line
        assert not slow, f"{line} imports {slow}"
