"""What a user types becomes a question, or an error that says what to write."""

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
    "one amount for two": {"tokens": "1B", "available_text": "3GB", "languages": ["sw", "yo"]},
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
    assert counted.unique(None) == 200e6
    file = tmp_path / "text.txt"
    file.write_text("habari ya leo " * 10_000)
    of_file = ask(tokens="1B", languages=["sw"], available_text=str(file)).targets[0]
    assert of_file.text == file.stat().st_size and of_file.place == str(file)
    assert math.isinf(ask(tokens="1B").targets[0].text)


def test_several_languages_have_texts_of_their_own(tmp_path: Path) -> None:
    for tag, size in (("sw", 30_000), ("yo", 90_000)):
        (tmp_path / tag).mkdir()
        (tmp_path / tag / "a.txt").write_text("a" * size)
    question = ask(tokens="1B", languages=["sw", "yo"], available_text=str(tmp_path))
    assert [target.text for target in question.targets] == [30_000, 90_000]
    assert question.languages == ("sw", "yo")


def test_bytes_become_tokens_by_the_bases_tokenizer() -> None:
    question = ask(
        tokens="1B", languages=["ka"], available_text="3GB", bases=["meta-llama/Llama-3.1-8B"]
    )
    assert question.unique(question.bases[0]) == pytest.approx(2.0e9, rel=0.15)  # measured
