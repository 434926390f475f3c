import json
import os
from pathlib import Path

from tests.command import run_command

SMALL = (
    *("text.synthetic.size=120 kB", "tokens.vocab_size=300", "tokens.held_out=3k tokens"),
    *("train.budget=8k tokens", "train.context=64 tokens"),
)


def test_the_demo_of_experts_makes_something_to_talk_to(tmp_path: Path) -> None:
    place = tmp_path / "demo"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    words = ["demo", "--experts", "--workspace", place, *SMALL]
    done = run_command(words, tmp_path, environment)
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last == f"to talk to them: tongues serve experts/languages-s1 --workspace {place}"
    ensemble = json.loads((place / "ensembles/experts/languages-s1/ensemble.json").read_text())
    assert [sorted(expert["languages"]) for expert in ensemble["experts"]] == [
        ["qaa"],
        ["qab"],
        ["qac"],
        ["qad"],
    ]


def test_the_demo_ends_with_its_advice_and_its_page(tmp_path: Path) -> None:
    one = ('study.shapes=["0.05M"]', 'study.targets=["qab"]', "study.replay=[0]", *SMALL)
    done = run_command(["demo", "--workspace", tmp_path, *one], tmp_path)
    assert done.returncode == 0, done.stderr
    *sentences, _, last = done.stdout.splitlines()
    assert any(line.startswith("- `qab` drifted from `qaa` by 0.2") for line in sentences)
    assert any(line.startswith("- `qab`: ") for line in sentences)
    assert last == f"the page: {tmp_path}/reports/demo/index.html"
