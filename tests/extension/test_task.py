"""A task of another package: scored by the real command, on the page and in the card."""

import json
from pathlib import Path

from tests.command import Done, run_command
from tests.experts.ensemble.making import make_expert, make_tokenizer

WORDS = ("ban", "mal", "art", "end", "here", "that", "go", "on", "said", "word", "is", "of")


def test_it_is_scored_and_reported(tmp_path: Path, environment: dict[str, str]) -> None:
    tokenizer = make_tokenizer(tmp_path / "tokens")
    for number in range(2):
        make_expert(tmp_path / f"models/e{number}", tokenizer, seed=number)
    items = [
        {"said": word, "other": other, "label": 0}
        for word, other in zip(WORDS, WORDS[::-1], strict=True)
    ]
    (tmp_path / "items/echo").mkdir(parents=True)
    (tmp_path / "items/echo/qaa.jsonl").write_text("\n".join(map(json.dumps, items)))

    def tongues(*words: str) -> Done:
        return run_command(words, tmp_path, environment)

    models = ("models/e0", "models/e1")
    done = tongues("evaluate", *models, "--tasks", "echo", "--data", "items")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "Accuracy in echo. In %; choices compared by mean log-probability of a token, no demonstr"
    )
    about = "`echo` in `qaa`: 12 items, differences from about 40.4 points can be detected"
    assert about in done.stderr
    scores = json.loads((tmp_path / "evaluations/evaluation/scores.json").read_text())
    assert scores["tasks"]["echo"]["accuracies"]["models/e0"]["qaa"]["items"] == len(WORDS)
    assert "echo" in (tmp_path / done.stdout.splitlines()[-1]).read_text()
    wrong = tongues("evaluate", "models/e0", "--tasks", "ecko")
    assert "did you mean `echo`?" in wrong.stderr
