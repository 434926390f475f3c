from typing import Any

import pytest

from tongues.core.pages.axes import Axis, categories, colour, linear, logs, ranks, shade, tips
from tongues.core.pages.plots import (
    Marks,
    alt,
    bars,
    beyond,
    dots,
    heat,
    intervals,
    line,
    panel,
    rule,
)

ROWS: list[dict[str, Any]] = [
    {"language": "sw", "series": "a", "value": 1.0, "low": 0.5, "high": 2.0},
    {"language": "he", "series": "b", "value": 3.0, "low": None, "high": None},
]
X = linear("value", "loss", (0.0, 4.0), room=0.25)
Y = categories("language", ["sw", "he"])


def data(figure: alt.LayerChart, layer: int) -> list[dict[str, Any]]:
    """The rows of a layer; those that all layers share stand above them."""
    spec: Any = figure.to_dict()
    found = spec["layer"][layer].get("data", spec.get("data"))
    return found["values"] if "values" in found else spec["datasets"][found["name"]]


def ends(axis: Axis) -> tuple[float, float]:
    assert axis.scale is not None
    low, high = axis.scale.to_dict()["domain"]
    return low, high


def encoding(chart: alt.Chart) -> dict[str, Any]:
    return chart.to_dict()["encoding"]


def test_axes_hold_their_values_with_room() -> None:
    assert ends(X) == (-1.0, 5.0)
    assert ends(linear("x", "", (0.0, 4.0), room=0.5, low=-9.0)) == (-9.0, 6.0)
    assert ends(linear("value", "", ROWS, room=0.5)) == (0.0, 4.0)  # of rows its field
    assert ends(linear("x", "", (2.0, 2.0), room=0.1)) == pytest.approx((1.99, 2.01))
    assert linear("x", None).scale is not None
    low, high = ends(logs("x", "tokens", (1e6, 1e8), margin=0.5))
    assert (low, high) == pytest.approx((1e5, 1e9))
    drawn = encoding(dots(ROWS, X, Y))
    assert drawn["y"]["sort"] == ["sw", "he"]
    assert drawn["x"]["scale"] == {"domain": [-1.0, 5.0], "nice": False}


def test_tooltips_are_written_short() -> None:
    run, tokens, compute = (tip.to_dict() for tip in tips("run", "t:.3s", "c:.2e=FLOPs"))
    assert run == {"field": "run", "type": "nominal"}
    assert tokens == {"field": "t", "format": ".3s", "type": "quantitative"}
    assert compute == {"field": "c", "format": ".2e", "title": "FLOPs", "type": "quantitative"}


def test_a_colour_keeps_its_place_and_its_legend_names_what_is_shown() -> None:
    drawn: Any = colour(["a", "b", "c"], ["c", "a"]).to_dict()
    assert drawn["scale"] == {"domain": ["a", "b", "c"]}
    assert drawn["legend"]["values"] == ["a", "c"]
    unnamed: Any = colour(["a"]).to_dict()
    assert unnamed["legend"] is None
    few: Any = shade("size", "Parameters", [1e6, 2e6]).to_dict()
    assert few["legend"]["values"] == [1e6, 2e6]
    alone: Any = ranks(["1M"]).to_dict()
    assert alone["scale"]["domain"] == [-1, 0]  # one alone is dark


def test_only_what_has_an_interval_gets_a_bar() -> None:
    tint = colour(["a", "b"])
    marks = Marks(75, 2.5)
    figure = intervals("Loss", ROWS, X, Y, tint, height=50, marks=marks, side_by_side=["a", "b"])
    ends, points = figure.to_dict()["layer"]
    assert [row["language"] for row in data(figure, 0)] == ["sw"]
    assert ends["mark"]["type"] == "rule"
    assert len(data(figure, 1)) == 2
    assert points["encoding"]["yOffset"]["sort"] == ["a", "b"]
    bare = intervals("Loss", ROWS[1:], X, Y, tint, height=50, marks=marks).to_dict()
    assert len(bare["layer"]) == 1


def test_layers_that_are_nothing_are_left_out() -> None:
    figure = panel("A", rule(X, at=None), rule(y=X, at=2.0), *beyond(X, None))
    assert len(figure.to_dict()["layer"]) == 1
    assert data(figure, 0) == [{"value": 2.0}]
    shading, *written = beyond(X, 3.0)
    assert encoding(shading)["x2"] == {"value": "width"}
    assert len(written) == 2


def test_lines_go_along_a_field_and_through_means() -> None:
    drawn = encoding(line(ROWS, X, X.of("low"), by="series", mean=True, order="value"))
    assert drawn["y"]["aggregate"] == "mean"
    assert drawn["detail"]["field"] == "series"
    assert drawn["order"]["field"] == "value"


def test_bars_and_matrices_say_what_they_show() -> None:
    tint = colour(["a", "b"])
    bar = bars("B", ROWS, X, Y, tint, tooltip=("value:.1%",), order="value", row=9).to_dict()
    assert bar["layer"][0]["encoding"]["tooltip"][0]["format"] == ".1%"
    cells = {"row": 9, "tooltip": ("value",)}
    plain = heat("H", ROWS, Y, Y, tint, "value", {"domain": [0, 1]}, **cells).to_dict()
    assert len(plain["layer"]) == 1
    written = heat("H", ROWS, Y, Y, tint, "value", {}, written="datum.value", **cells).to_dict()
    assert written["height"] == bar["height"] == 2 * 9 + 20
    assert written["layer"][1]["mark"]["type"] == "text"
