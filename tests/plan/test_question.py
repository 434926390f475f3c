"""What a user types becomes a question, or an error that says what to write."""

import json
import math
from pathlib import Path

import pytest

import tongues
from tests.golden import golden, inputs
from tongues.core.errors import UserError
from tongues.plan import Question, Target, read_base
from tongues.plan.budget import Budget
from tongues.verbs.actions.plans import with_amounts, with_files

TEXT = {
    "sw": "watu wote wamezaliwa huru hadhi na haki zao ni sawa ",
    "yo": "gbogbo ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba ",
}


def test_every_mistake_says_what_to_write() -> None:
    lines = []
    for name, words in inputs("refused-questions").items():
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
