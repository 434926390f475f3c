"""The examples run as they are."""

import subprocess
import sys
from pathlib import Path

from tests.plan.test_own_text import WORDS, save_base, write_texts
from tests.tokens.bases import gpt

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_speedrun_goes_from_text_and_a_base_to_a_verdict(tmp_path: Path) -> None:
    write_texts(tmp_path / "text", "en", "sw")
    save_base(gpt([WORDS["en"], WORDS["sw"]] * 9, 400), tmp_path / "base")
    words = [sys.executable, str(EXAMPLES / "speedrun.py"), "base", "sw", "text", "20k tokens"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    learned = next(line for line in done.stdout.splitlines() if line.startswith("sw: -0."))
    assert learned.endswith("bits per byte against the base, significant")
    assert "\nen: " in done.stdout and "\nthe page: reports/base-sw/index.html\n" in done.stdout
