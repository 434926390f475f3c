"""Units of an evaluation on disk."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tongues.evaluate.conduct import Unit, keep_unit, read_unit
from tongues.evaluate.tasks import ItemFault
from tongues.evaluate.tasks.score import Answers

UNIT = Unit("study/fr-cpt", "xcopa", "fr", 8, 2)
ANSWERS = Answers((), (ItemFault("here", "line 1", "not JSON", "{"),))


def test_what_is_kept_is_read_again_and_only_as_it_was_made(tmp_path: Path) -> None:
    keep_unit(tmp_path, UNIT, "one", ANSWERS)
    assert read_unit(tmp_path, UNIT, "one") == ANSWERS
    assert read_unit(tmp_path, UNIT, "other") is None


def test_a_damaged_unit_is_done_again(tmp_path: Path) -> None:
    keep_unit(tmp_path, UNIT, "one", ANSWERS)
    UNIT.path(tmp_path).write_text('{"fingerprint": "on')
    assert read_unit(tmp_path, UNIT, "one") is None


@given(st.text(min_size=1), st.text(min_size=1))
def test_names_are_files_of_their_own_inside_the_folder(one: str, other: str) -> None:
    folder = Path("/evaluation")
    first, second = (Unit(name, "text", "fr").path(folder) for name in (one, other))
    assert first.is_relative_to(folder / "units")
    assert ".." not in first.parts
    assert len(first.relative_to(folder).parts) == 4
    assert (first == second) == (one == other)
