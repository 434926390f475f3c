"""The tutorial of a real base prints what it says."""

import os
from pathlib import Path

import pytest

from tests.printed import DOCS, answered, commands, without_numbers
from tongues.models.smollm2 import make_smollm2

ROOT = Path(__file__).parents[1]
TEXT = ROOT / "../shared/data/text"
SOURCES = {"sw": ("bible", "freecodecamp", "ms_beginners"), "en": ("bible", "mdn")}


@pytest.mark.slow
@pytest.mark.skipif(not TEXT.is_dir(), reason="the shared texts are not here")
def test_the_commands_of_the_tutorial_print_what_it_says(tmp_path: Path) -> None:
    base = make_smollm2(ROOT / "build/smollm2")
    places = {"models/smollm2": base, "benchmarks": ROOT / "benchmarks", "tasks": TEXT / "../eval"}
    for lang, sources in SOURCES.items():
        for source in sources:
            places[f"text/{lang}/{source}.jsonl.gz"] = TEXT / source / f"{lang}.jsonl.gz"
    for name, place in places.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(place.resolve())
    (tmp_path / "smollm2.yaml").write_text((DOCS / "examples/smollm2.yaml").read_text())
    printed = 0
    for command, expected, varies in commands("../tutorials/base"):
        if "--gguf" in command and "LLAMA_CPP" not in os.environ:
            continue
        lines = answered(command, tmp_path)
        if varies:  # numbers differ between processors
            assert without_numbers(lines[-1:]) == without_numbers(expected[-1:]), command
            continue
        left = iter(lines)
        for line in expected:
            assert line == "…" or line in left, (command, line)
            printed += 1
    assert printed > 20
