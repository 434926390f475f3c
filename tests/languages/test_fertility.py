import math
from dataclasses import replace

import pytest

from tongues.languages import find_language
from tongues.languages.fertility import byte_premium, bytes_per_token


def test_measured_tokenizers_are_exact_and_others_have_an_interval() -> None:
    swahili = find_language("sw")
    llama, own, other = (bytes_per_token(swahili, name) for name in ("llama3", "own", "folder/x"))
    assert (llama.value, llama.low) == (2.64, None)
    assert (own.value, own.low) == (4.84, None)
    assert other.value == pytest.approx(0.55 * 4.84)
    assert other.low is not None
    assert other.low < other.value
    assert "assumed" in other.method


def test_what_was_not_measured_follows_from_the_bytes_of_its_content() -> None:
    for code, measured in (("af", 4.33), ("kk", 8.82), ("te", 12.51)):
        language = find_language(code)
        hidden = replace(language, tag="qaa")
        token = bytes_per_token(hidden)
        assert token.low is not None
        assert token.high is not None
        assert token.low < measured < token.high
        assert token.value == pytest.approx(measured, rel=0.25)


def test_a_premium_comes_from_relatives_in_the_same_script() -> None:
    galician = find_language("gl")
    hidden = replace(galician, code="qaa", byte_premium=None)
    premium = byte_premium(hidden)
    assert premium.low is not None
    assert premium.high is not None
    assert premium.low < (galician.byte_premium or 0) < premium.high  # 1.06
    assert byte_premium(galician).low is None
    zulu = find_language("zu")  # 1.16, where languages in Latin script have 1.4
    assert byte_premium(replace(zulu, code="qaa", byte_premium=None)).value < 1.25
    alone = byte_premium(replace(hidden, script="Qaaa"))
    assert math.isnan(alone.value)
    assert alone.reason
    assert math.isnan(bytes_per_token(replace(hidden, tag="qaa", script="Qaaa")).value)
