from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tongues.experts.ensemble.request import TextBuilder, TextPiece, Token

PLAIN, GIVEN = Token(1, -1.0, np.ones(1)), Token(1, -1.0, np.ones(1), given=True)
LETTERS = st.text("abé़😀", max_size=24)
RAW = [b"a", *(bytes([byte]) for byte in "é€😀".encode()), b"\xe0", b"\xff", "ж😀".encode()]
STOPS = st.lists(st.text("abé😀", min_size=1, max_size=4), max_size=3)


def offsets_of(part: TextPiece) -> tuple[int | None, ...]:
    return tuple(token.offset for token in part.tokens)


def told(pieces: Sequence[bytes], stops: Sequence[str] = ()) -> tuple[list[str], list[int | None]]:
    """The parts of a text as they are told, and the places of its tokens."""
    builder, parts, offsets = TextBuilder(stops), [], []
    for piece in pieces:
        words = builder.push(piece, PLAIN)
        parts.append(words.text)
        offsets += offsets_of(words)
    words = builder.finish()
    return [*parts, words.text], [*offsets, *offsets_of(words)]


def cut(text: str, stops: Sequence[str]) -> str:
    """The text before the stop string that is whole first, letter by letter."""
    for end in range(len(text) + 1):
        whole = [stop for stop in stops if text[:end].endswith(stop)]
        if whole:
            return text[: end - max(map(len, whole))]
    return text


def character_places(whole: bytes) -> list[int]:
    """For each byte, the character of the text that it is part of."""
    places, begin, character = [], 0, 0
    while begin < len(whole):
        try:
            size = len(whole[begin:].decode()[0].encode())
        except UnicodeDecodeError as error:
            first = whole[begin : begin + error.start].decode()
            size = len(first[0].encode()) if first else error.end
        places += [character] * size
        begin, character = begin + size, character + 1
    return places


@st.composite
def parted(draw: st.DrawFn, whole: bytes) -> list[bytes]:
    """Bytes in tokens, of which some are empty."""
    marks = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    return [whole[a:b] for a, b in zip([0, *marks], [*marks, len(whole)], strict=True)]


@given(st.data(), LETTERS, STOPS)
def test_the_same_text_however_it_falls_into_tokens(
    data: st.DataObject, text: str, stops: list[str]
) -> None:
    pieces = data.draw(parted(text.encode()))
    parts, offsets = told(pieces, stops)
    assert "".join(parts) == cut(text, stops)
    begins = [len(b"".join(pieces[:n]).decode(errors="ignore")) for n in range(len(pieces))]
    assert offsets == begins[: len(offsets)]


@given(st.data(), st.lists(st.sampled_from(RAW), max_size=16).map(b"".join))
def test_bytes_that_are_no_text_become_what_python_makes_of_them(
    data: st.DataObject, whole: bytes
) -> None:
    pieces = data.draw(parted(whole))
    parts, offsets = told(pieces)
    assert "".join(parts) == whole.decode(errors="replace")
    assert len(offsets) == len(pieces)
    places, begin = character_places(whole), 0
    for piece, offset in zip(pieces, offsets, strict=True):
        assert not piece or offset == places[begin]
        begin += len(piece)


@given(st.data(), LETTERS, STOPS)
def test_nothing_told_is_taken_back(data: st.DataObject, text: str, stops: list[str]) -> None:
    """What was told is the text's beginning, whatever comes after."""
    pieces = data.draw(parted(text.encode()))
    builder, so_far = TextBuilder(stops), ""
    for place, piece in enumerate(pieces):
        so_far += builder.push(piece, PLAIN).text
        for after in ("", "a", "ab"):
            seen = b"".join(pieces[: place + 1]).decode(errors="ignore") + after
            assert cut(seen, stops).startswith(so_far)


def test_a_character_of_several_tokens_comes_whole_and_with_the_last_of_them() -> None:
    builder = TextBuilder()
    assert offsets_of(builder.push(b"a\xe2\x82", PLAIN)) == ()
    words = builder.push(b"\xac", PLAIN)
    assert (words.text, offsets_of(words)) == ("€", (0, 1))


def test_what_may_begin_a_stop_string_is_held_back_until_it_is_none() -> None:
    builder = TextBuilder(["\n\nEnd"])
    assert builder.push(b"one\n", PLAIN).text == "one"
    assert builder.push(b"\nEn", PLAIN).text == ""
    assert builder.push(b"ter", PLAIN).text == "\n\nEnter"
    assert builder.push(b"\n\nEndless", PLAIN).text == "" and builder.stopped
    assert builder.push(b"more", PLAIN).text == builder.finish().text == ""


def test_tokens_behind_a_stop_string_are_not_told() -> None:
    builder = TextBuilder(["."])
    assert offsets_of(builder.push(b"a", PLAIN)) == (0,)
    assert offsets_of(builder.push(b"b. ", PLAIN)) == (1,)  # begins before it
    assert offsets_of(TextBuilder(["."]).push(b".", PLAIN)) == ()


def test_a_prompt_is_not_stopped() -> None:
    builder = TextBuilder(["ab"])
    assert builder.push(b"ab", GIVEN).text == "ab"
    assert builder.push(b"ab", PLAIN).text == ""
    assert builder.stopped


def test_tokens_without_text_are_told_where_they_stand() -> None:
    builder = TextBuilder(["xy"])
    assert offsets_of(builder.push(b"", PLAIN)) == (0,)
    assert offsets_of(builder.push(b"x", PLAIN)) == ()
    assert offsets_of(builder.push(b"", PLAIN)) == ()
    assert offsets_of(builder.finish()) == (0, 1)
