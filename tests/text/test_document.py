import sys
import time
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tongues.text.document import normalised

MARKS = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.combining(chr(code))]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_normalised_text_is_composed_and_stays(text: str) -> None:
    done = normalised(text)
    assert unicodedata.is_normalized("NFC", done)
    assert "\r" not in done
    assert done == normalised(done) == normalised(unicodedata.normalize("NFD", text))


@given(st.text(st.sampled_from([*MARKS, "\u0f73", "e", "é", "ệ", "각", "ᆨ"]), max_size=80))
def test_long_runs_of_marks_are_composed_as_unicode_says(text: str) -> None:
    long = text + "a" + text * 3 + "".join(MARKS[::7]) + text
    assert normalised(long) == unicodedata.normalize("NFC", long)


def test_any_marks_are_put_in_order_in_linear_time() -> None:
    long = "é" + "\u0301\u0316" * 200_000  # minutes, by `unicodedata`
    start = time.process_time()
    done = normalised(long)
    assert time.process_time() - start < 5
    assert done == "é" + "\u0316" * 200_000 + "\u0301" * 200_000
    assert normalised(done) == done


def test_no_mark_lies_beyond_the_planes_that_are_searched() -> None:
    assert MARKS[-1] < chr(0x20000)
