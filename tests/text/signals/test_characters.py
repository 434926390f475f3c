import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import inputs
from tongues.text.signals.characters import character_signals, characters


@pytest.mark.parametrize(("text", "script"), inputs("scripts").items())
def test_the_script_of_most_letters_is_named(text: str, script: str) -> None:
    found = character_signals([text])
    assert found["script"][0] == script
    assert found["script_share"][0] == (1 if script != "Zyyy" else 0)


def test_shares_are_of_what_is_written() -> None:
    found = character_signals(["ab 1, cd", "  ", "12 34", "é\u0301 ü"])
    assert found["digits"].tolist() == pytest.approx([1 / 6, 0, 1, 0])
    assert found["symbols"].tolist() == pytest.approx([1 / 6, 0, 0, 0])
    assert found["characters"].tolist() == [8, 2, 5, 4]


def test_a_script_has_its_share_of_the_letters_beside_others() -> None:
    found = character_signals(["abcЖЖЖЖЖЖ 99", "漢字 ab"])
    assert found["script"].tolist() == ["Cyrl", "Hani"]
    assert found["script_share"].tolist() == pytest.approx([6 / 9, 1 / 2])


def test_a_word_of_kana_does_not_make_chinese_text_japanese() -> None:
    chinese = "起初神創造天地地是空虛混沌淵面黑暗神的靈運行在水面上神說要有光就有了光"
    assert character_signals([chinese + "の", chinese + "のひらがな"])["script"].tolist() == [
        "Hani",
        "Jpan",
    ]


def test_lines_said_before_are_measured_by_their_characters() -> None:
    found = character_signals(["one\ntwo\n\none\n \none", "one\ntwo", ""])
    assert found["repeated_lines"].tolist() == [0.5, 0, 0]


@given(st.lists(st.text(), max_size=6))
def test_a_text_measures_the_same_alone_and_among_others(texts: list[str]) -> None:
    together = character_signals(texts)
    for i, text in enumerate(texts):
        alone = character_signals([text])
        assert all(together[name][i] == alone[name][0] for name in together)


def test_no_texts_have_no_signals() -> None:
    assert all(len(values) == 0 for values in character_signals([]).values())


def test_the_table_agrees_with_python_on_what_python_knows() -> None:
    table = characters()
    kinds = dict(
        zip("LMNPSZ", ("letter", "mark", "digit", "symbol", "symbol", "space"), strict=True)
    )
    changed = 0
    for code in range(0x30000):
        category = unicodedata.category(chr(code))
        if category[0] in kinds:
            changed += table.kinds[table.classes[code]] != kinds[category[0]]
    assert changed < 45  # newer Unicode mends a few; 14 marks stand for spaces


def test_every_class_of_the_table_is_whole() -> None:
    table = characters()
    assert len(table.classes) == 0x110000
    assert np.unique(table.classes).tolist() == list(range(len(table.kinds)))
    assert all(len(script) == 4 for script in table.scripts)
