from pathlib import Path

from tongues.models.smollm2 import CARD
from tongues.train.metadata import languages_of, licence_of


def test_its_card_says_licence_and_language(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(CARD)
    assert (licence_of(str(tmp_path)).licence, languages_of(tmp_path)) == ("apache-2.0", ("en",))
