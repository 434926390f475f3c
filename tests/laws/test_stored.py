from pathlib import Path

import pytest

from tongues.errors import UserError
from tongues.laws.presets import read_laws_file


def test_what_is_no_file_of_a_law_is_told_in_words(tmp_path: Path):
    with pytest.raises(UserError, match="is a folder, and no file of a law") as caught:
        read_laws_file(tmp_path)
    assert "Errno" not in str(caught.value)
    with pytest.raises(UserError, match="there is no such file"):
        read_laws_file(tmp_path / "gone.json")
    (tmp_path / "text.json").write_text("a law")
    with pytest.raises(UserError, match="is not a JSON file"):
        read_laws_file(tmp_path / "text.json")
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(UserError, match="holds no law"):
        read_laws_file(tmp_path / "empty.json")
