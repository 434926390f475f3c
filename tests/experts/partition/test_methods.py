from pathlib import Path

import pytest

from tests.golden import cases, golden
from tongues.errors import UserError
from tongues.experts.partition.methods import dense, from_file, one_each


def write(folder: Path, text: str, name: str = "parts.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_part_for_each_and_one_for_all() -> None:
    assert one_each(["no", "en"]).clusters == (("no",), ("en",))
    assert dense(["no", "en"]).clusters == (("no", "en"),)
    assert dense(["no", "en"]).shares == ({"no": 1.0, "en": 1.0},)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("parts.yaml", "[[no, nan], [en]]"),  # YAML 1.2: a word stays a word
        ("parts.yaml", "north: [no, nan]\nwest:\n- en\n"),
        ("parts.json", '[["no",\n\t"nan"], ["en"]]'),
        ("parts.json", '{"north": ["no", "nan"], "west": ["en"]}'),
    ],
)
def test_parts_from_a_file(tmp_path: Path, name: str, text: str) -> None:
    partition = from_file(write(tmp_path, text, name), ["en", "nan", "no"])
    assert partition.clusters == (("no", "nan"), ("en",))
    assert partition.by == "file"


@pytest.mark.parametrize("text", cases("refused-clusters"))
def test_what_is_wrong_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError) as refused:
        from_file(write(tmp_path, text), ["en", "de", "no"])
    golden(f"refused-clusters/{text}", str(refused.value).replace(str(tmp_path), "FOLDER"))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        from_file(tmp_path / "none.yaml", ["en"])
