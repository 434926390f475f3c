from pathlib import Path

from tests.extension.conftest import Tongues
from tests.extension.test_signal import RECIPE, about
from tests.text.corpora import text


def film(seed: int) -> str:
    """Subtitles of one text."""
    said = text(seed, 60).split()
    parts = (" ".join(said[n : n + 6]) for n in range(0, len(said), 6))
    rows = (f"{n}\n00:{n:02}:01,000 --> 00:{n:02}:09,000\n{x}\n" for n, x in enumerate(parts, 1))
    return "\n".join(rows)


def test_files_of_a_type_of_another_package_are_read(tongues: Tongues, workspace: Path) -> None:
    (workspace / "films").mkdir()
    for seed in range(40):
        (workspace / f"films/{seed:02}.srt").write_text(film(seed))
    (workspace / "letters.yaml").write_text(RECIPE.replace("rows.jsonl", "films"))
    refused = tongues("prepare", "letters.yaml", plain=True, fails=True)
    assert "`films` holds no text file" in refused.stderr and ".srt" not in refused.stderr
    tongues("prepare", "letters.yaml")
    (kept, *_) = about(workspace)["samples"]["kept"]
    assert "-->" not in kept["text"] and "\n" in kept["text"]
    assert about(workspace)["kept"]["documents"] == 40
    assert "nothing to do" in tongues("prepare", "letters.yaml").stderr
    (workspace / "films/a.doc").write_text("x")
    (workspace / "letters.yaml").write_text(RECIPE.replace("rows.jsonl", "films/a.doc"))
    assert ".parquet, .srt" in tongues("check", "letters.yaml", fails=True).stderr
