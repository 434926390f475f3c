"""Which column plays which role."""

import pytest

from tests.golden import inputs
from tongues.core.errors import UserError
from tongues.runs.tables import ROLES, RunTable, observe
from tongues.runs.tables.roles import column_scale, find_columns

TABLE = RunTable(
    {"params": ["1e7"], "tokens": ["1e9"], "loss": ["3"], "strategy": ["scratch"]}, ["t.csv:2"]
)


def of_names(*names: str) -> RunTable:
    return RunTable({name: [1] for name in names}, ["t.csv:2"])


def test_columns_go_by_the_names_given_before_those_well_known() -> None:
    table = of_names("params", "N", "d", "n_tokens", "L", "LOSS")
    assert find_columns(table, {}) == {"N": "params", "D": "n_tokens", "loss": "L"}
    given = find_columns(table, {"N": "N", "loss": "LOSS"})
    assert given == {"N": "N", "D": "n_tokens", "loss": "LOSS"}
    loose = find_columns(of_names("Params", "d", "LOSS"), {})
    assert loose == {"N": "Params", "D": "d", "loss": "LOSS"}


def test_columns_of_wandbs_tables_are_found_by_the_end_of_their_names() -> None:
    table = of_names("Name", "model/num_parameters", "train/loss", "eval/loss", "eval/runtime")
    found = {"run": "Name", "N": "model/num_parameters", "loss": "eval/loss"}
    assert find_columns(table, {}) == found


@pytest.mark.parametrize("role", ROLES)
def test_every_well_known_name_is_found(role: str) -> None:
    for name in ROLES[role].names:
        assert find_columns(of_names(name, "other"), {}) == {role: name}


@pytest.mark.parametrize(
    ("column", "name", "scale"),
    inputs("columns-with-units"),
)
def test_a_column_may_name_its_unit(column: str, name: str, scale: int) -> None:
    assert column_scale(column) == (name, scale)


def test_columns_with_a_unit_are_found_after_those_without() -> None:
    assert find_columns(of_names("Params (M)", "tokens (B)", "loss"), {}) == {
        "N": "Params (M)",
        "D": "tokens (B)",
        "loss": "loss",
    }
    assert find_columns(of_names("params (M)", "params"), {}) == {"N": "params"}
    assert find_columns(of_names("loss (M)"), {}) == {}


def test_observations_tell_which_columns_were_read() -> None:
    columns = observe(TABLE, {}, ["N"]).columns
    assert columns == {"N": "params", "loss": "loss", "strategy": "strategy"}


def test_a_column_plays_one_role() -> None:
    with pytest.raises(UserError, match="named by --column params too") as refusal:
        observe(TABLE, {"N": "tokens", "D": "tokens"}, ["N", "D"])
    assert (refusal.value.where, refusal.value.code) == ("--column tokens", "column_twice")
    with pytest.raises(UserError, match="did you mean `tokens`") as refusal:
        observe(TABLE, {"D": "token"}, ["N", "D"])
    assert (refusal.value.where, refusal.value.code) == ("--column tokens", "unknown_column")
    with pytest.raises(UserError, match="missing_column"):
        observe(TABLE, {"N": "tokens"}, ["N", "D"])


def test_a_missing_column_is_told_with_its_option_and_the_columns_there_are() -> None:
    with pytest.raises(UserError) as refusal:
        observe(of_names("size", "loss"), {}, ["N", "D"])
    assert refusal.value.code == "missing_column"
    assert refusal.value.where == "--column params, --column tokens"
    assert "`--column params=COLUMN --column tokens=COLUMN`" in refusal.value.hint
    assert "`size`, `loss`" in refusal.value.hint


def test_a_column_of_texts_is_the_wrong_column() -> None:
    with pytest.raises(UserError, match="text_cells") as refusal:
        observe(TABLE, {"loss": "strategy"}, ["N", "D"])
    assert "name another column" in refusal.value.hint
    assert "--column loss=NAME" in refusal.value.hint
