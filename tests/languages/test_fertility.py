import math
from dataclasses import replace
from statistics import fmean

import pytest

from tests.golden import inputs
from tongues.languages import find_language
from tongues.languages.catalogue import packaged_rows
from tongues.languages.fertility import (
    TOKENIZERS,
    byte_premium,
    bytes_per_token,
    extended_bytes_per_token,
    extended_value,
    forecast_log,
    measured_logs,
)
from tongues.languages.language import Language

# Bytes per token of Llama 3 on the news of NTREX, which neither the table nor its rules saw.
NTREX = {"ka": 1.48, "my": 1.46, "kn": 1.56, "te": 1.57, "hy": 1.15, "lo": 1.58, "si": 1.49}
NTREX |= {"gu": 1.59, "ml": 1.72, "km": 1.79, "ta": 2.02, "pa": 1.61, "bn": 2.22}


def hidden(tag: str) -> Language:
    """A language as if nothing of it had been measured."""
    return replace(find_language(tag), tag="qaa", code="qaa", byte_premium=None)


@pytest.mark.parametrize("tag", NTREX)
def test_scripts_that_a_tokenizer_spells_in_bytes_are_measured(tag: str) -> None:
    token = bytes_per_token(find_language(tag), "llama3")
    assert token.value == pytest.approx(NTREX[tag], rel=0.08)
    assert token.low is not None
    assert token.high is not None
    assert token.low < NTREX[tag] < token.high


def test_a_vocabulary_of_its_own_is_exact_and_any_other_tokenizer_as_wide_as_they_differ() -> None:
    swahili = find_language("sw")
    own, other = bytes_per_token(swahili), bytes_per_token(swahili, "folder/x")
    assert own.value == pytest.approx(4.84)
    assert own.low is None
    assert "measured" in own.method
    assert "assumed" in other.method
    every = [bytes_per_token(swahili, name).value for name in TOKENIZERS if name != "own"]
    assert min(every) < other.value < max(every)
    assert other.low is not None
    assert other.high is not None
    assert other.low < min(every)
    assert other.high > max(every)


def test_the_table_has_many_languages_by_each_tokenizer() -> None:
    rows = packaged_rows("bytes_per_token.csv")
    for name in TOKENIZERS:
        assert sum(bool(row[name]) for row in rows) > 300
    assert all(find_language(row["language"]).tag == row["language"] for row in rows)


@pytest.mark.parametrize("tokenizer", ["own", "llama3", "gemma3"])
def test_left_out_languages_are_inside_of_their_interval(tokenizer: str) -> None:
    logs = measured_logs(tokenizer)
    inside: list[bool] = []
    for tag in [*logs][::4]:
        log, spread, _ = forecast_log(find_language(tag), logs)
        inside.append(abs(logs[tag] - log) < 1.96 * spread)
    assert 0.90 <= fmean(inside) <= 0.99


def test_what_was_not_measured_is_like_its_relatives() -> None:
    zulu = bytes_per_token(hidden("zu"), "llama3")
    assert zulu.value == pytest.approx(
        bytes_per_token(find_language("xh"), "llama3").value, rel=0.1
    )
    assert "assumed" in zulu.method
    assert "Latn" in zulu.method
    kannada = replace(hidden("kn"), family=())
    assert bytes_per_token(kannada, "llama3").value == pytest.approx(1.55, rel=0.1)


def test_a_script_without_a_measurement_has_a_wide_interval() -> None:
    alone = replace(hidden("sw"), script="Qaaa")
    for name in TOKENIZERS:
        token = bytes_per_token(alone, name)
        assert token.low is not None
        assert token.high is not None
        assert token.value >= 1
        assert "amount of text" in token.method
    assert bytes_per_token(alone, "llama3").value < 2
    assert bytes_per_token(replace(alone, script=""), "llama3").value < 2
    premium = byte_premium(alone)
    assert not math.isnan(premium.value)
    assert premium.low is not None
    assert premium.high is not None
    assert premium.high / premium.low > 2


def test_a_premium_comes_from_relatives_in_the_same_script() -> None:
    galician = find_language("gl")
    premium = byte_premium(hidden("gl"))
    assert premium.low is not None
    assert premium.high is not None
    assert premium.low < (galician.byte_premium or 0) < premium.high  # 1.06
    assert byte_premium(galician).low is None
    # Zulu has 1.16, where languages in Latin script have 1.4.
    assert byte_premium(hidden("zu")).value < 1.25


def test_new_tokens_bring_a_tokenizer_near_to_a_vocabulary_of_its_own() -> None:
    georgian = find_language("ka")
    counts = (0, 1_000, 4_000, 16_000, 50_000, 500_000)
    values = [extended_bytes_per_token(georgian, "llama3", n).value for n in counts]
    assert values[0] == pytest.approx(bytes_per_token(georgian, "llama3").value)
    assert values == sorted(values)
    assert values[1] > 3 * values[0]
    assert values[-1] == pytest.approx(bytes_per_token(georgian).value)
    wide = extended_bytes_per_token(georgian, "llama3", 4_000)
    assert wide.low is not None
    assert wide.high is not None
    assert wide.low < wide.value < wide.high
    assert "12.2 by a vocabulary of its own" in wide.method


def test_words_that_end_at_vowel_signs_bound_an_extension() -> None:
    telugu = find_language("te")  # 12.5 by a vocabulary of its own
    short = extended_bytes_per_token(telugu, "llama3", 32_000)
    assert short.value < 6
    assert "by the tokenizer's words" in short.method
    assert extended_bytes_per_token(telugu, "gemma3", 32_000).value > 10


def test_what_a_tokenizer_has_already_is_never_lost() -> None:
    english = find_language("en")
    now = bytes_per_token(english, "llama3")
    assert extended_bytes_per_token(english, "llama3", 10_000).value == pytest.approx(now.value)


@pytest.mark.parametrize(
    ("old", "own", "new_tokens", "reached"),
    inputs("rows")["test_the_rule_of_extensions_holds_on_others"],
)
def test_the_rule_of_extensions_holds_on_others(
    old: float, own: float, new_tokens: int, reached: float
) -> None:
    assert extended_value(old, own, new_tokens) == pytest.approx(reached, rel=0.15)
