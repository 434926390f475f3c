from pathlib import Path

import pytest

from tongues.errors import UserError
from tongues.train.base import find_base


@pytest.mark.parametrize(
    ("base", "hint"),
    [
        ("runs/none", "there is none to choose from"),
        ("runs/frist", "did you mean `first`?"),
        ("models/non", "did you mean `models/none`?"),
    ],
)
def test_a_path_that_is_not_there_is_not_taken_for_a_model_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models/none").mkdir(parents=True)
    if base == "runs/frist":
        Path("runs/first").mkdir(parents=True)
        Path("runs/first/run.json").write_text("{}")
    with pytest.raises(UserError, match="is neither a run") as caught:
        find_base(base, Path())
    assert caught.value.hint == f"there is no such run or folder; {hint}"
