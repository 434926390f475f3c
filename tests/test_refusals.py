"""What needs no model to be refused is refused at once: nothing slow is imported for it."""

import json
import subprocess
import sys
from pathlib import Path

from tongues.experts.ensemble.lineage import Expert, Lineage, write_lineage

RECIPE = """
name: small
text: {synthetic: {seed: 1, size: 300 kB, languages: {qaa: {}}}}
tokens: {vocab_size: 400, held_out: 2000 tokens}
model: {shape: 0.1M}
train: {mixture: {qaa: 100%}, budget: 20k tokens}
"""
REFUSED = {  # command lines, and words of the error
    "nonsense": "is not a verb",
    "demo --nonsense": "has no option",
    "check none.yaml": "no such recipe",
    "check wrong.yaml": "unknown key",
    "prepare wrong.yaml": "unknown key",
    "train wrong.yaml": "unknown key",
    "train recipe.yaml": "no prepared tokens",
    "train made/small.yaml train.seed=2 --workspace made": "seed was 1, now 2",
    "check large.yaml": "of memory; this machine has",
    "check without.yaml": "no such tokenizer",
    "check recipe.yaml --workspace /sys": "nothing can be written in this folder",
    "prepare recipe.yaml --workspace /proc": "nothing can be written in this folder",
    "fit nowhere.csv -o /sys/law.json": "nothing can be written in this folder",
    "report runs -o /proc/page": "nothing can be written in this folder",
    "languages xxqq": "no language `xxqq`",
    "plan --language xxqq --flops 1e18": "no language `xxqq`",
    "study recipe.yaml": "no `study` or `pilot` section",
    "experts train recipe.yaml": "partitions: [{by: languages}]",
    "experts measure wrong.yaml": "unknown key",
    "experts partition wrong.yaml": "unknown key",
    "experts show nothing": "no ensemble",
    "evaluate nothing": "nothing to evaluate on",
    "evaluate nothing --text nowhere": "no ensemble, run or model folder",
    "evaluate folder --text nowhere": "no prepared tokens, no file and no folder",
    "evaluate folder --tasks nothing": "is not a task",
    "evaluate folder --tasks xcopa": "a task needs its items",
    "generate nothing words": "no ensemble, run or model folder",
    "generate folder words --max-memory much": "--max-memory",
    "generate folder words --routing tfidf": "chooses among experts, and this is one model",
    "generate folder words --routing nonsense": "there is no routing",
    "generate folder words --language sw": "`folder` is one model, and has no experts to choose",
    "generate experts words --language xx": "no expert learned `xx`",
    "serve nothing": "no ensemble, run or model folder",
    "serve folder folder": "named twice",
    "export nothing -o out": "no ensemble, run or model folder",
    "export folder -o out": "is a Hugging Face folder already",
    "fit nothing": "no such file",
    "ls nothing": "is not a directory of runs",
    "report nothing": "is not a directory of runs",
    "plan --flops wrong": "is not a count",
}
CODE = """
import contextlib, io, json, sys
from tongues.cli import main
slow = {"torch", "transformers", "scipy", "altair", "pyarrow", "sklearn"}
answers = {}
for line in json.loads(sys.argv[1]):
    sys.argv = ["tongues", *line.split()]
    with contextlib.redirect_stderr(io.StringIO()) as error:
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    answers[line] = code, error.getvalue(), sorted(slow & set(sys.modules))
print(json.dumps(answers))
"""


def test_a_refusal_imports_nothing_slow(project: Path, tmp_path: Path) -> None:
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
    words = [sys.executable, "-c", CODE, json.dumps(list(REFUSED))]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, text=True)
    assert not done.returncode, done.stderr
    for line, (code, error, slow) in json.loads(done.stdout).items():
        assert REFUSED[line] in error, line
        assert code, line
        assert not slow, f"{line} imports {slow}"
