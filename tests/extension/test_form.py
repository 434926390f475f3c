"""A law form of another package does all that a built-in one does, by the real command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command import Done, run_command
from tests.laws.made import CHINCHILLA, rows_of
from tongues.laws.predict import STACKED

ROOT = Path(__file__).parents[2]
PACKAGE = Path(__file__).parent / "package"  # with its entry points, as if it were installed
NAMES = {"E": "L0", "A": "a", "B": "b", "alpha": "x", "beta": "y"}


def run(folder: Path, *words: str, plain: bool = False) -> "subprocess.CompletedProcess[str]":
    """A process that has the other package, unless it is `plain`."""
    paths = map(str, (ROOT,) if plain else (PACKAGE, ROOT))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def tongues(folder: Path, *words: str, plain: bool = False) -> Done:
    paths = map(str, (ROOT,) if plain else (PACKAGE, ROOT))
    done = run_command(words, folder, os.environ | {"PYTHONPATH": os.pathsep.join(paths)})
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of runs, and the same law fitted in both forms."""
    folder = tmp_path_factory.mktemp("form")
    rows = rows_of(CHINCHILLA)
    lines = zip(*(rows[name].tolist() for name in ("N", "D", "loss")), strict=True)
    table = "params,tokens,loss\n" + "".join(f"{N!r},{D!r},{loss!r}\n" for N, D, loss in lines)
    (folder / "runs.csv").write_text(table)
    for law in ("two-powers", "chinchilla"):
        figures = ("--figures", "figures") if law == "two-powers" else ()
        draws = ("--bootstrap", "50", "-o", f"{law}.json")
        done = tongues(folder, "fit", "runs.csv", "--law", law, *draws, *figures)
        assert done.returncode == 0, done.stderr
    return folder


def law_of(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text())


def test_it_is_fitted_and_allocated(folder: Path) -> None:
    law, known = law_of(folder, "two-powers"), law_of(folder, "chinchilla")
    assert law["params"] == {NAMES[name]: value for name, value in known["params"].items()}
    assert law["interval"].keys() == set(NAMES.values())
    for name in ("N_coef", "a", "D_coef", "b"):
        assert law["allocation"][name] == known["allocation"][name]


def test_it_is_inverted_and_has_a_frontier(folder: Path) -> None:
    code = (
        "import json, sys\n"
        "from tongues import laws\n"
        "(law,) = laws.read_laws_file(sys.argv[1])\n"
        "print(json.dumps([*map(float, (laws.tokens_for(law, 1e9, 2.5), laws.compute_of(law, 2.5),"
        " laws.params_for(law, 2e10, 2.5), laws.frontier(law).loss(C=1e20)))]))\n"
    )
    answers = [
        json.loads(run(folder, "-c", code, f"{name}.json").stdout)
        for name in ("two-powers", "chinchilla")
    ]
    assert answers[0] == answers[1]
    assert all(0 < number < 1e30 for number in answers[0])


def test_it_is_compared(folder: Path) -> None:
    done = tongues(folder, "fit", "runs.csv", "--compare", "--bootstrap", "30", "--json")
    entries = {entry["law"]: entry for entry in json.loads(done.stdout)["compare"]}
    assert set(entries) == {"two-powers", *STACKED}
    assert entries["two-powers"]["error"] == pytest.approx(entries["chinchilla"]["error"], rel=1e-6)


def test_it_is_drawn(folder: Path) -> None:
    drawn = {path.stem for path in (folder / "figures").glob("*.csv")}
    assert {"equal-loss", "residuals"} <= drawn


def test_a_plan_is_made_by_it(folder: Path) -> None:
    words = ("plan", "--flops", "1e20", "--json", "--law")
    plans = [tongues(folder, *words, f"{name}.json") for name in ("two-powers", "chinchilla")]
    options = [json.loads(done.stdout)["options"] for done in plans]
    for name in ("params", "tokens", "loss"):
        assert options[0][0][name] == pytest.approx(options[1][0][name], rel=0.01)


def test_an_unknown_law_is_answered_with_all_there_are(folder: Path) -> None:
    done = tongues(folder, "fit", "runs.csv", "--law", "two-powrs")
    assert done.returncode == 2
    assert "did you mean `two-powers`?" in done.stderr
    assert "two-powers: two powers above a floor, from another package" in done.stderr
    assert "chinchilla: training from scratch" in done.stderr


def test_its_floor_is_known_as_one(folder: Path) -> None:
    done = tongues(folder, "fit", "runs.csv", "--law", "two-powers", "--fix", "L0=99")
    assert done.returncode == 2
    assert "L0 cannot be 99: 48 rows have a loss at or below it" in done.stderr


def test_without_the_package_its_law_is_unknown(folder: Path) -> None:
    done = tongues(folder, "plan", "--law", "two-powers.json", "--flops", "1e20", plain=True)
    assert done.returncode == 2
    assert "there is no law form `two-powers`" in done.stderr
