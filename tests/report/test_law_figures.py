from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tongues import laws
from tongues.core.pages import Figure
from tongues.laws import Law
from tongues.laws.forms import FORMS
from tongues.laws.rows import Rows, read_rows
from tongues.report.laws import law_figures

SIZES = np.array([4e7, 1e8, 2e8, 5e8, 1e9, 2e9])
SCRATCH = Law("chinchilla", {"E": 1.55, "A": 420.0, "B": 720.0, "alpha": 0.4, "beta": 0.3})
CPT = Law("cpt", SCRATCH.params | {"B": 860.0, "gamma": 0.02})
FORGETTING = Law(
    "forgetting", {"F": 3e5, "A": 0.3, "kappa": 0.2, "W": 0.05, "B": 3e7, "beta": 0.095}
)


def rows_of(law: Law, loss: np.ndarray, **variables: np.ndarray) -> Rows:
    return read_rows(FORMS.find(law.form), variables, loss, None, 0)


@pytest.fixture(scope="module")
def made() -> list[Law]:
    """Laws of both strategies, by size and by compute, fitted to noisy losses."""
    random = np.random.default_rng(3)
    N, ratio = (a.ravel() for a in np.meshgrid(SIZES, np.geomspace(5, 80, 5), indexing="ij"))
    D = N * ratio
    fitted: list[Law] = []
    for strategy, true in (("scratch", SCRATCH), ("cpt", CPT)):
        loss = true.loss(N, D) * np.exp(random.normal(0, 0.003, len(N)))
        base = fitted[0] if strategy == "cpt" else None
        by_size = laws.fit(true.form, loss, base=base, draws=60, N=N, D=D)
        by_compute = laws.fit("power-floor", loss, draws=60, C=6 * N * D)
        fitted += [replace(law, strategy=strategy) for law in (by_size, by_compute)]
    return fitted


@pytest.fixture(scope="module")
def drawn(made: list[Law]) -> dict[str, Figure]:
    return {figure.name: figure for figure in law_figures(made)}


def of_kind(figure: Figure, kind: str) -> list[dict[str, Any]]:
    return [row for row in figure.rows if row.get("kind") == kind]


def column(rows: list[dict[str, Any]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows])


def test_fitted_laws_of_both_strategies_have_every_figure(drawn: dict[str, Figure]):
    assert list(drawn) == ["equal-loss", "power-laws", "residuals"]
    for figure in drawn.values():
        assert figure.caption.endswith(".")
        assert all(panel.to_dict()["title"] for panel in figure.panels)


def test_lines_of_equal_loss_have_the_loss_they_claim(made: list[Law], drawn: dict[str, Figure]):
    by_name = {"scratch": made[0], "CPT": made[2]}
    for name, law in by_name.items():
        rows = [row for row in of_kind(drawn["equal-loss"], "contour") if row["series"] == name]
        N, C = column(rows, "size"), column(rows, "compute")
        assert len({row["loss"] for row in rows}) == 5
        assert law.loss(N, C / (6 * N)) == pytest.approx(column(rows, "loss"), rel=1e-9)


def test_the_frontier_and_its_band_are_those_of_the_allocation(
    made: list[Law], drawn: dict[str, Figure]
):
    best = laws.allocate(made[0])
    assert best
    shown = drawn["equal-loss"]
    for row in of_kind(shown, "frontier")[:80]:
        assert row["size"] == pytest.approx(best.sizes(row["compute"])[0])
    for row in of_kind(shown, "band")[:80]:
        sizes = best.draws["N_coef"] * row["compute"] ** best.draws["a"]
        low, high = np.percentile(sizes, (2.5, 97.5))
        assert (row["size"], row["size_high"]) == pytest.approx((low, high), rel=1e-6)


def test_no_run_lies_where_the_figure_calls_it_a_projection(drawn: dict[str, Figure]):
    shown = drawn["equal-loss"]
    runs = of_kind(shown, "run")
    assert len(runs) == 2 * 30
    made = shown.panels[0].to_dict()
    (start,) = (row["compute"] for row in made["datasets"][made["layer"][0]["data"]["name"]])
    assert start == pytest.approx(max(row["compute"] for row in runs), rel=1e-5)


def test_residuals_are_measured_beside_law(made: list[Law], drawn: dict[str, Figure]):
    rows = [row for row in drawn["residuals"].rows if row["series"] == "CPT"]
    law = made[2]
    measured = law.rows
    assert measured
    wanted = 100 * (measured.loss / law.loss(**measured.variables) - 1)
    assert column(rows, "off") == pytest.approx(wanted)


def test_power_laws_are_drawn_over_their_envelope(made: list[Law], drawn: dict[str, Figure]):
    shown = drawn["power-laws"]
    law = made[1]
    assert law.rows and law.holdout
    mine = [row for row in shown.rows if row["series"] == "scratch"]
    line = [row for row in mine if row["kind"] == "law"]
    assert column(line, "loss") == pytest.approx(law.loss(C=column(line, "compute")))
    band = [row for row in mine if row["kind"] == "band"]
    low, high = law.loss_interval(C=column(band, "compute"))
    assert column(band, "loss") == pytest.approx(low)
    assert column(band, "loss_high") == pytest.approx(high)
    lowest = [row for row in mine if row["kind"] in ("envelope", "held out")]
    C = law.rows.variables["C"]
    assert sorted(column(lowest, "loss")) == sorted(law.rows.loss)
    assert sum(row["kind"] == "held out" for row in mine) == (law.holdout.above < C).sum()
    assert max(row["compute"] for row in line) == pytest.approx(10 * C.max())


def test_laws_from_a_file_are_drawn_with_their_rows(made: list[Law]):
    stored = [Law.from_json(law.to_json()) for law in made]
    figures = {figure.name: figure for figure in law_figures(stored)}
    assert list(figures) == ["equal-loss", "power-laws", "residuals"]
    assert "Shaded" in figures["equal-loss"].caption
    assert of_kind(figures["equal-loss"], "run")


def test_laws_from_print_are_drawn_without_intervals():
    (figure,) = law_figures([SCRATCH, CPT])
    assert figure.name == "equal-loss" and "may be projection" in figure.caption
    assert not of_kind(figure, "band")


def test_a_law_without_a_best_size_has_lines_and_no_frontier():
    bent = Law("extended", CPT.params | {"gamma": 0.45})
    assert laws.allocate(bent) is None
    (figure,) = law_figures([bent])
    assert of_kind(figure, "contour")
    assert not of_kind(figure, "frontier")


def test_two_laws_of_one_strategy_are_told_apart():
    other = Law("extended", CPT.params, strategy="scratch")
    figure = law_figures([replace(SCRATCH, strategy="scratch"), other])[0]
    names = {row["series"] for row in figure.rows if "series" in row}
    assert names == {"scratch, chinchilla", "scratch, extended"}


def test_the_law_of_forgetting_has_a_line_for_each_share():
    D, r, S = (
        a.ravel()
        for a in np.meshgrid(np.geomspace(1e4, 1e7, 8), [0.0, 0.05, 0.3], [2.8, 3.1], indexing="ij")
    )
    loss = FORGETTING.loss(D=D, r=r, S=S)
    (figure,) = law_figures([replace(FORGETTING, rows=rows_of(FORGETTING, loss, D=D, r=r, S=S))])
    assert figure.name == "law-of-forgetting"
    assert len(figure.panels) == 2
    line = of_kind(figure, "law")
    at = {"D": column(line, "tokens"), "r": column(line, "replay"), "S": column(line, "start")}
    assert column(line, "loss") == pytest.approx(FORGETTING.loss(**at))
    assert len(of_kind(figure, "measured")) == len(loss)
    assert len({(row["start"], row["replay"]) for row in line}) == 6


def test_no_figure_for_what_is_not_there():
    assert law_figures([]) == law_figures([FORGETTING]) == []
