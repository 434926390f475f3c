"""What a user types becomes a question, or an error that says what to write."""

import json
import math
from pathlib import Path

import pytest

from tests.golden import golden
from tongues.errors import UserError
from tongues.plan import ask

REFUSED = {
    "no budget": {},
    "two budgets": {"flops": "1e21", "hours": "3", "gpu": "h100"},
    "hours without a GPU": {"hours": "3"},
    "GPUs without a type": {"flops": "1e21", "gpus": "8"},
    "half a GPU": {"flops": "1e21", "gpu": "h100", "gpus": "1.5"},
    "an unknown GPU": {"flops": "1e21", "gpu": "rtx409"},
    "not a count": {"flops": "much"},
    "too few FLOPs": {"flops": "10"},
    "hours without an end": {"hours": "1e30", "gpu": "h100"},
    "tokens without an end": {"tokens": "9e30"},
    "a share above one": {"flops": "1e21", "max_forgetting": "200%"},
    "one base twice": {"tokens": "1B", "bases": ["a=1B", "a=2B"]},
    "an unknown base": {"tokens": "1B", "bases": ["meta-llama/Llama-3.1-9B"]},
    "too little text": {"tokens": "1B", "available_text": "9 tokens"},
    "bytes of no language": {"tokens": "1B", "available_text": "3GB", "bases": ["a=1B"]},
    "no amount of text": {"tokens": "1B", "available_text": "lots", "languages": ["sw"]},
    "a loss before of two bases": {"tokens": "1B", "bases": ["a=1B", "b=2B"], "base_loss": "1"},
    "a loss and tokens": {"tokens": "1B", "target_loss": "0.8", "languages": ["sw"]},
    "nothing as text": {"tokens": "1B", "languages": ["sw"], "available_text": ""},
    "nothing as base": {"tokens": "1B", "bases": [""]},
    "no size of a base": {"tokens": "1B", "bases": ["a=1e30"]},
    "a size beside a base": {"tokens": "1B", "bases": ["a=1B"], "params": "2B"},
    "one amount for two": {"tokens": "1B", "available_text": "3GB", "languages": ["sw", "yo"]},
}


TEXT = {
    "sw": "watu wote wamezaliwa huru hadhi na haki zao ni sawa ",
    "yo": "gbogbo ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba ",
}


def test_every_mistake_says_what_to_write() -> None:
    lines = []
    for name, words in REFUSED.items():
        with pytest.raises(UserError) as caught:
            ask(**words)
        error = caught.value
        lines.append(f"{name}: [{error.where}] {error.what} / {error.hint}")
    golden("plan/refused questions", "\n".join(lines))


def test_text_is_of_the_catalogue_a_size_tokens_or_a_file(tmp_path: Path) -> None:
    known = ask(tokens="1B", languages=["sw"]).targets[0]
    assert known.text > 1e9 and not known.place
    assert ask(tokens="1B", languages=["sw"], available_text="3GB").targets[0].text == 3e9
    counted = ask(tokens="1B", languages=["sw"], available_text="200M tokens")
    assert counted.unique(None) == pytest.approx(200e6)
    file = tmp_path / "text.txt"
    file.write_text("habari ya leo ni njema sana kwa watu wote wa dunia " * 3_000)
    of_file = ask(tokens="1B", languages=["sw"], available_text=str(file)).targets[0]
    assert of_file.text == file.stat().st_size and of_file.place == str(file)
    assert math.isinf(ask(tokens="1B").targets[0].text)


def test_several_languages_have_texts_of_their_own(tmp_path: Path) -> None:
    for tag, size in (("sw", 30_000), ("yo", 90_000)):
        (tmp_path / tag).mkdir()
        (tmp_path / tag / "a.txt").write_text((TEXT[tag] * size)[:size])
    question = ask(tokens="1B", languages=["sw", "yo"], available_text=str(tmp_path))
    sizes = [target.text for target in question.targets]
    assert sizes == pytest.approx([30_000, 120_000], rel=0.05)  # in bytes; Yoruba has accents
    assert question.languages == ("sw", "yo")


def test_bytes_become_tokens_by_the_bases_tokenizer() -> None:
    question = ask(
        tokens="1B", languages=["ka"], available_text="3GB", bases=["meta-llama/Llama-3.1-8B"]
    )
    assert question.unique(question.bases[0]) == pytest.approx(2.0e9, rel=0.15)  # measured


def test_packed_rows_of_text_are_read_and_not_counted_by_their_bytes(tmp_path: Path) -> None:
    rows = [TEXT["sw"] * 40 + str(number) for number in range(60)]
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"text": x, "id": "x" * 999}) + "\n" for x in rows)
    )
    target = ask(tokens="1B", languages=["sw"], available_text=str(tmp_path / "a.jsonl")).targets[0]
    assert target.text == sum(len(row.encode()) for row in rows) and target.sample
    with pytest.raises(UserError, match="was identified as"):
        ask(tokens="1B", languages=["ru"], available_text=str(tmp_path / "a.jsonl"))
