import json
from pathlib import Path

import numpy as np
import pytest

from tests.golden import cases, golden
from tongues.errors import UserError
from tongues.experts.partition.distances import (
    cosine_distances,
    named,
    nearest_donors,
    read_distances,
)

MATRIX = "x,a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n"


def write(folder: Path, text: str, name: str = "d.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_cosine_by_hand() -> None:
    features = np.array([[1, 1, 0, np.nan], [1, np.nan, 1, 1], [np.nan] * 4])
    distances, notes = cosine_distances("abc", features)
    # the one feature both know and have, over the norms of what each one knows
    assert distances["a"]["b"] == pytest.approx(1 - 1 / np.sqrt(2 * 3))
    assert distances["a"]["c"] == distances["c"]["b"] == 1
    assert distances["b"]["b"] == 0
    assert notes == ("no feature is known of `c`: placed at distance 1 from every language",)


def test_languages_of_which_never_the_same_is_known() -> None:
    features = np.array([[1, 1, np.nan, np.nan], [np.nan, np.nan, 1, 1.0]])
    _, notes = cosine_distances("ab", features)
    assert notes == ("no feature is known of both `a` and `b`: placed at distance 1",)


def test_names_and_halves_are_kept() -> None:
    distances = named(["no", "nan"], np.array([[0, 0.25], [0.75, 0]]))
    assert distances == {"no": {"no": 0, "nan": 0.5}, "nan": {"no": 0.5, "nan": 0}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.csv", MATRIX),
        ("d.csv", "x,a,b,c\na,,,\nb,1,,\nc,2,3,\n"),  # one half
        ("d.tsv", MATRIX.replace(",", "\t")),
    ],
)
def test_a_matrix_in_any_form(tmp_path: Path, name: str, text: str) -> None:
    distances = read_distances(write(tmp_path, text, name), ["c", "a", "b"])
    assert list(distances) == ["c", "a", "b"]
    assert (distances["a"]["b"], distances["a"]["c"], distances["b"]["c"]) == (1, 2, 3)
    assert distances["c"]["b"] == 3


def test_only_the_languages_wanted(tmp_path: Path) -> None:
    assert read_distances(write(tmp_path, MATRIX), ["a", "c"]) == {
        "a": {"a": 0, "c": 2},
        "c": {"a": 2, "c": 0},
    }


@pytest.mark.parametrize("text", cases("refused-distances"))
def test_what_is_wrong_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError) as refused:
        read_distances(write(tmp_path, json.loads(text)), ["a", "b", "c"])
    golden(f"refused-distances/{text}", str(refused.value).replace(str(tmp_path), "FOLDER"))


def test_a_language_without_a_row(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no row for `A`") as refused:
        read_distances(write(tmp_path, MATRIX), ["A", "b"])
    assert refused.value.hint == "did you mean `a`?"


@pytest.mark.parametrize("name", ["none.csv", "d.xlsx"])
def test_other_files(tmp_path: Path, name: str) -> None:
    write(tmp_path, "", "d.xlsx")
    with pytest.raises(UserError, match="cannot be read"):
        read_distances(tmp_path / name, ["a"])


def test_donors_are_the_nearest_known() -> None:
    places = {"a": 0, "b": 5, "c": 1, "d": 8}
    distances = {x: {y: float(abs(places[x] - places[y])) for y in places} for x in places}
    assert nearest_donors(distances, ["a", "b"], ["c", "d"]) == {"c": "a", "d": "b"}
    with pytest.raises(UserError, match="no language to be a donor"):
        nearest_donors(distances, [], ["a"])
