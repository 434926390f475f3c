"""The one reader of run records: what is no record of ours is refused by name."""

from pathlib import Path

import pytest

from tests.records import BASE, make_run
from tongues.errors import UserError
from tongues.files import write_json
from tongues.runs import read_run, run_rows, write_run
from tongues.states import state_of


def test_a_record_survives_being_written_down(tmp_path: Path) -> None:
    run = make_run(base=BASE, targets=("tr", "he"), replay={"qaa": 0.2})
    write_run(tmp_path, run)
    assert read_run(tmp_path) == run


@pytest.mark.parametrize(
    ("record", "code", "says"),
    [
        ({"learning_rate": 0.1}, "foreign_record", "not a record of a tongues run"),
        ([1, 2], "foreign_record", "not a record of a tongues run"),
        ({"run": "x", "source": "en", "target": "tr", "parent": None}, "old_record", "before"),
    ],
)
def test_a_foreign_or_old_record_is_named_by_every_reader(
    tmp_path: Path, record: object, code: str, says: str
) -> None:
    write_json(tmp_path / "run.json", record)
    for read in (read_run, lambda place: run_rows([place])):
        with pytest.raises(UserError, match=says) as caught:
            read(tmp_path)
        assert caught.value.code == code
        assert caught.value.where == str(tmp_path / "run.json")
        assert caught.value.hint
    assert state_of(tmp_path).state == "damaged"


def test_a_damaged_record_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UserError, match="is damaged") as caught:
        read_run(tmp_path)
    assert caught.value.code == "damaged_record"
