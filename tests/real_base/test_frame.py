"""The held-out loss of a real base is transformers', with and without the first token of a text."""

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from benchmarks.real_base import START, frame


@pytest.mark.slow
def test_the_loss_of_the_base_is_that_of_transformers(place: Path) -> None:
    for quantity, pair in frame(place).items():
        assert pair.value == pytest.approx(pair.other, abs=1e-5), quantity
    tokenizer = AutoTokenizer.from_pretrained(place / "runs/frame/model")
    assert tokenizer("a")["input_ids"][0] == tokenizer.convert_tokens_to_ids(START)
