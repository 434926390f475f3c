import csv
import re
from pathlib import Path

import pytest

from tongues import laws
from tongues.errors import UserError
from tongues.pages import write_figures
from tongues.report.laws import law_figures


def test_each_figure_is_three_whole_files_of_always_the_same_bytes(tmp_path: Path):
    folder = tmp_path / "deep" / "figures"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    drawn = law_figures([laws.preset("hoffmann2022")], [None])
    told: list[str] = []
    written = write_figures(drawn, folder, told.append)
    assert written == [folder / f"{figure.name}.svg" for figure in drawn]
    names = [f"{figure.name}.{kind}" for figure in drawn for kind in ("svg", "png", "csv")]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, "notes.txt"])
    for figure, path in zip(drawn, written, strict=True):
        assert path.read_text().endswith("</svg>")
        assert path.with_suffix(".png").read_bytes().endswith(b"IEND\xaeB`\x82")
        with path.with_suffix(".csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(figure.rows)
        assert float(rows[-1]["compute"]) == figure.rows[-1]["compute"]
    assert [line.split()[0] for line in told] == ["drawing"] * len(drawn)
    first = written[0].read_text()
    assert "The same loss from many sizes" in first and "Along a thin line" in first
    used = set(re.findall(r"url\(#(\w+)\)", first))
    assert used and used <= set(re.findall(r'id="(\w+)"', first))
    before = {name: (folder / name).read_bytes() for name in names}
    write_figures(drawn, folder)
    assert {name: (folder / name).read_bytes() for name in names} == before


def test_a_file_is_no_folder(tmp_path: Path):
    place = tmp_path / "figures"
    place.write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        write_figures([], place)
    assert place.read_text() == "mine"
