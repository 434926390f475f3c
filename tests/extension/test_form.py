"""A law form of another package does all that a built-in one does, by the real command."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.extension.conftest import Tongues, run_in
from tests.laws.made import CHINCHILLA, rows_of

NAMES = {"E": "L0", "A": "a", "B": "b", "alpha": "x", "beta": "y"}
FORMS = ("two-powers", "chinchilla")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of runs."""
    folder = tmp_path_factory.mktemp("form")
    rows = rows_of(CHINCHILLA)
    lines = zip(*(rows[name].tolist() for name in ("N", "D", "loss")), strict=True)
    table = "params,tokens,loss\n" + "".join(f"{N!r},{D!r},{loss!r}\n" for N, D, loss in lines)
    (folder / "runs.csv").write_text(table)
    return folder


@pytest.fixture(scope="module")
def tongues(folder: Path, environment: dict[str, str]) -> Tongues:
    """Tongues the real command there, once the same law is fitted in both forms."""
    run = run_in(folder, environment)
    for law in FORMS:
        figures = ("--figures", "figures") if law == "two-powers" else ()
        run("fit", "runs.csv", "--law", law, "--bootstrap", "50", "-o", f"{law}.json", *figures)
    return run


@pytest.mark.usefixtures("tongues")
def test_it_is_fitted_allocated_and_drawn(folder: Path) -> None:
    laws: list[dict[str, Any]] = [
        json.loads((folder / f"{name}.json").read_text()) for name in FORMS
    ]
    law, known = laws
    assert law["params"] == {NAMES[name]: value for name, value in known["params"].items()}
    assert law["interval"].keys() == set(NAMES.values())
    for name in ("N_coef", "a", "D_coef", "b"):
        assert law["allocation"][name] == known["allocation"][name]
    drawn = {path.stem for path in (folder / "figures").glob("*.csv")}
    assert {"equal-loss", "residuals"} <= drawn


def test_it_is_compared(tongues: Tongues) -> None:
    done = tongues("fit", "runs.csv", "--compare", "--bootstrap", "30", "--json")
    entries = {entry["law"]: entry for entry in json.loads(done.stdout)["compare"]}
    assert set(entries) == {"two-powers", "chinchilla", "extended"}
    assert entries["two-powers"]["error"] == pytest.approx(entries["chinchilla"]["error"], rel=1e-6)


def test_a_plan_is_made_by_it(tongues: Tongues) -> None:
    words = ("plan", "--budget", "1e20 FLOPs", "--json", "--law")
    ours, known = (
        json.loads(tongues(*words, f"{name}.json").stdout)["options"][0] for name in FORMS
    )
    for name in ("params", "tokens"):
        assert ours[name] == pytest.approx(known[name], rel=0.01)
    assert ours["loss"]["value"] == pytest.approx(known["loss"]["value"], rel=0.01)


def test_what_is_wrong_is_said_as_of_a_built_in_one(tongues: Tongues) -> None:
    unknown = tongues("fit", "runs.csv", "--law", "two-powrs", fails=True).stderr
    assert "did you mean `two-powers`?" in unknown
    assert "two-powers: two powers above a floor, from another package" in unknown
    assert "chinchilla: training from scratch" in unknown
    low = tongues("fit", "runs.csv", "--law", "two-powers", "--fix", "L0=99", fails=True)
    assert "L0 cannot be 99: 48 rows have a loss at or below it" in low.stderr
    words = ("plan", "--law", "two-powers.json", "--budget", "1e20 FLOPs")
    assert "there is no law form `two-powers`" in tongues(*words, fails=True, plain=True).stderr
