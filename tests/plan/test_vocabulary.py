"""Keep or extend a tokenizer: by what it saves and how often new tokens are read."""

import pytest

from tongues.plan import BaseCheckpoint, Target, known_bases
from tongues.plan.vocabulary import choose_vocabulary, worth_adding

LLAMA = known_bases()["meta-llama/Llama-3.1-8B"]
QWEN = known_bases()["Qwen/Qwen3-14B-Base"]


def test_a_language_that_falls_back_to_bytes_gets_new_tokens() -> None:
    found = choose_vocabulary(Target("ka"), LLAMA, 10e9)
    assert found.reason == "saves" and found.new_tokens >= 4_000
    assert found.before.value < 2 < found.after.value and found.saved > 0.5
    assert found.rows == 2 * 4096 * found.new_tokens


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_a_language_that_it_suits_keeps_it(language: str) -> None:
    found = choose_vocabulary(Target(language), LLAMA, 100e9)
    assert (found.new_tokens, found.reason, found.saved) == (0, "suits", 0.0)


def test_a_short_run_keeps_it() -> None:
    found = choose_vocabulary(Target("ka"), LLAMA, 20e6)
    assert (found.new_tokens, found.reason) == (0, "too_short")
    chosen = [choose_vocabulary(Target("uk"), QWEN, tokens).new_tokens for tokens in (5e8, 1e9)]
    assert chosen == [0, 8_000]  # 50,000 training tokens for each: 5e8 are enough for none
    assert choose_vocabulary(Target("sw"), QWEN, 1e11, most=8_000).new_tokens == 0


def test_updates_of_low_rank_without_embeddings_learn_no_new_rows() -> None:
    assert choose_vocabulary(Target("ka"), LLAMA, 10e9, learns=False).new_tokens == 0


def test_what_was_measured_on_the_users_text_counts() -> None:
    target = Target("ka", per_token={LLAMA.name: 10.0})
    found = choose_vocabulary(target, LLAMA, 10e9)
    assert found.before.value == 10.0 and found.new_tokens == 0


def test_nothing_is_said_of_an_unknown_tokenizer_or_language() -> None:
    assert choose_vocabulary(Target("ka"), BaseCheckpoint("x", 1e9), 1e10).reason == "assumed"
    assert choose_vocabulary(Target(""), LLAMA, 1e10).reason == "unknown"


def test_new_tokens_save_nearly_half_and_are_read_often_enough() -> None:
    curve = {0: 2.0, 500: 3.0, 1000: 3.7, 2000: 3.8, 4000: 4.2}  # saved: 33, 46, 47, 52 %
    assert worth_adding(curve) == 4000
    assert worth_adding(curve, 4000 * 50_000) == 1000  # half as many are read with new tokens
    assert worth_adding({0: 2.0, 4000: 3.0}) == worth_adding({0: 2.0}) == worth_adding({}) == 0
