import csv
import re
from pathlib import Path

import pytest

from tongues import laws
from tongues.errors import UserError
from tongues.pages import write_figures
from tongues.report.laws import law_figures


def test_each_figure_is_three_whole_files(tmp_path: Path):
    folder = tmp_path / "deep" / "figures"
    drawn = law_figures([laws.preset("hoffmann2022")], [None])
    told: list[str] = []
    written = write_figures(drawn, folder, told.append)
    assert written == [folder / f"{figure.name}.svg" for figure in drawn]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        f"{figure.name}.{kind}" for figure in drawn for kind in ("svg", "png", "csv")
    )
    for figure, path in zip(drawn, written, strict=True):
        assert path.read_text().endswith("</svg>")
        assert path.with_suffix(".png").read_bytes().endswith(b"IEND\xaeB`\x82")
        with path.with_suffix(".csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(figure.rows)
        assert float(rows[-1]["compute"]) == figure.rows[-1]["compute"]
    assert [line.split()[0] for line in told] == ["drawing"] * len(drawn)


def test_a_file_says_what_one_sees(tmp_path: Path):
    (path,) = write_figures(law_figures([laws.preset("hoffmann2022")], [None]), tmp_path)
    text = path.read_text()
    assert "The same loss from many sizes" in text
    assert "Along a thin line" in text


def test_one_figure_always_gives_the_same_bytes(tmp_path: Path):
    drawn = law_figures([laws.preset("hoffmann2022")], [None])
    (first,) = write_figures(drawn, tmp_path / "one")
    (second,) = write_figures(drawn, tmp_path / "other")
    assert first.read_bytes() == second.read_bytes()
    used = set(re.findall(r"url\(#(\w+)\)", first.read_text()))
    assert used
    assert used <= set(re.findall(r'id="(\w+)"', first.read_text()))


def test_other_files_in_the_folder_stay(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine")
    drawn = law_figures([laws.preset("hoffmann2022")], [None])
    write_figures(drawn, tmp_path)
    write_figures(drawn, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1 + 3 * len(drawn)


def test_a_file_is_no_folder(tmp_path: Path):
    place = tmp_path / "figures"
    place.write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        write_figures([], place)
    assert place.read_text() == "mine"
