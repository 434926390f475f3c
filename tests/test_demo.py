import json
import os
from pathlib import Path

from tests.command import run_command

SMALL = (
    *("text.made.size=120 kB", "tokens.vocabulary=300", "tokens.held_out=3k tokens"),
    *("train.budget=8k tokens", "train.context=64 tokens"),
)


def test_the_demo_of_experts_makes_something_to_talk_to(tmp_path: Path) -> None:
    place = tmp_path / "demo"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    words = ["demo", "--experts", "--in", place, *SMALL]
    done = run_command(words, tmp_path, environment)
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last == f"to talk to them: tongues serve experts/languages-s1 --in {place}"
    ensemble = json.loads((place / "ensembles/experts/languages-s1/ensemble.json").read_text())
    assert [sorted(expert["languages"]) for expert in ensemble["experts"]] == [
        ["qaa"],
        ["qab"],
        ["qac"],
        ["qad"],
    ]
