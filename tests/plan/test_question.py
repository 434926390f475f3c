"""What a user types becomes a question, or an error that says what to write."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import tongues
from tests.golden import golden
from tongues.core.errors import UserError
from tongues.plan import Question, Target, read_base
from tongues.plan.budget import Budget
from tongues.verbs.actions.plans import with_amounts, with_files

REFUSED: dict[str, dict[str, Any]] = {
    "no budget": {},
    "a budget without its unit": {"budget": "40B"},
    "hours without a GPU": {"budget": "3 hours"},
    "GPUs without a type": {"budget": "1e21 FLOPs", "gpus": "8"},
    "half a GPU": {"budget": "1e21 FLOPs", "gpu": "h100", "gpus": "1.5"},
    "an unknown GPU": {"budget": "1e21 FLOPs", "gpu": "rtx409"},
    "not a number": {"budget": "1e21 FLOPs", "params": "much"},
    "a letter in another case": {"budget": "1e21 FLOPs", "params": "1,300m"},
    "too few FLOPs": {"budget": "10 FLOPs"},
    "hours without an end": {"budget": "1e30 hours", "gpu": "h100"},
    "tokens without an end": {"budget": "9e30 tokens"},
    "a share above one": {"budget": "1e21 FLOPs", "max_forgetting": "200%"},
    "one base twice": {"budget": "1B tokens", "bases": ["a=1B", "a=2B"]},
    "an unknown base": {"budget": "1B tokens", "bases": ["meta-llama/Llama-3.1-9B"]},
    "too little text": {"budget": "1B tokens", "available_text": "9 tokens"},
    "bytes of no language": {"budget": "1B tokens", "available_text": "3GB", "bases": ["a=1B"]},
    "no amount of text": {"budget": "1B tokens", "available_text": "lots", "language": "sw"},
    "a folder that is missing": {
        "budget": "1B tokens",
        "available_text": "texts/sw",
        "language": "sw",
    },
    "a slip in the budget, and text": {
        "budget": "1B",
        "available_text": Path(__file__).parent,
        "language": "sw",
    },
    "a loss before of two bases": {
        "budget": "1B tokens",
        "bases": ["a=1B", "b=2B"],
        "base_loss": "1",
    },
    "nothing but replay": {"budget": "1B tokens", "replay": "100%"},
    "nothing as text": {"budget": "1B tokens", "language": "sw", "available_text": ""},
    "nothing as base": {"budget": "1B tokens", "bases": [""]},
    "no size of a base": {"budget": "1B tokens", "bases": ["a=1e30"]},
    "a size beside a base": {"budget": "1B tokens", "bases": ["a=1B"], "params": "2B"},
    "one amount for two": {
        "budget": "1B tokens",
        "available_text": "3GB",
        "language": ["sw", "yo"],
    },
}


TEXT = {
    "sw": "watu wote wamezaliwa huru hadhi na haki zao ni sawa ",
    "yo": "gbogbo ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba ",
}


def test_every_mistake_says_what_to_write() -> None:
    lines = []
    for name, words in REFUSED.items():
        with pytest.raises(UserError) as caught:
            tongues.plan(**words)
        error = caught.value
        lines.append(f"{name}: [{error.where}] {error.what} / {error.hint}")
    golden("plan/refused questions", "\n".join(lines))


def text_of(language: str, available: Path | str | None = None) -> Target:
    asked = Question(Budget(1e9, "tokens"))
    if isinstance(available, Path):
        asked = with_files(asked, (language,), available, "--available-text")
    else:
        asked = with_amounts(asked, (language,), available)
    return asked.targets[0]


def test_text_is_of_the_catalogue_a_size_tokens_or_a_file(tmp_path: Path) -> None:
    known = text_of("sw")
    assert known.text > 1e9 and not known.files
    assert text_of("sw", "3GB").text == 3e9
    assert text_of("sw", "200M tokens").unique(None) == pytest.approx(200e6)
    file = tmp_path / "text.txt"
    file.write_text("habari ya leo ni njema sana kwa watu wote wa dunia " * 3_000)
    of_file = text_of("sw", file)
    assert of_file.text == file.stat().st_size and of_file.files == (str(file),)
    (nobody,) = with_amounts(Question(Budget(1e9, "tokens")), (), None).targets
    assert math.isinf(nobody.text) and not nobody.language


def test_several_languages_have_texts_of_their_own(tmp_path: Path) -> None:
    for tag, size in (("sw", 30_000), ("yo", 90_000)):
        (tmp_path / tag).mkdir()
        (tmp_path / tag / "a.txt").write_text((TEXT[tag] * size)[:size])
    asked = Question(Budget(1e9, "tokens"))
    targets = with_files(asked, ("sw", "yo"), tmp_path, "--available-text").targets
    sizes = [target.text for target in targets]
    assert sizes == pytest.approx([30_000, 120_000], rel=0.05)  # in bytes; Yoruba has accents
    assert [target.language for target in targets] == ["sw", "yo"]


def test_bytes_become_tokens_by_the_bases_tokenizer() -> None:
    base = read_base("meta-llama/Llama-3.1-8B")
    assert text_of("ka", "3GB").unique(base) == pytest.approx(2.0e9, rel=0.15)  # measured


def test_packed_rows_of_text_are_read_and_not_counted_by_their_bytes(tmp_path: Path) -> None:
    rows = [TEXT["sw"] * 40 + str(number) for number in range(60)]
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"text": x, "id": "x" * 999}) + "\n" for x in rows)
    )
    target = text_of("sw", tmp_path / "a.jsonl")
    assert target.text == sum(len(row.encode()) for row in rows) and target.sample
    with pytest.raises(UserError, match="was identified as"):
        text_of("ru", tmp_path / "a.jsonl")
