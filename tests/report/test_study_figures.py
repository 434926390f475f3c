from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tongues.core.pages import Figure, as_text
from tongues.core.pages.axes import decades, domain, linear, ranks, series_name
from tongues.core.pages.theme import PALETTES, config
from tongues.laws.transfer import Curve
from tongues.report.laws import findings_law_section
from tongues.report.study_figures import dots_of_few, figures
from tongues.runs.record import run_rows
from tongues.train.study.findings import Findings, findings


@pytest.fixture(scope="module")
def drawn(made_findings: Findings) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(made_findings)}


@pytest.fixture(scope="module")
def long_drawn(long_findings: Findings) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(long_findings)}


def every(thing: Any, key: str) -> Iterator[Any]:
    """All values of a key, however deep."""
    if isinstance(thing, dict):
        if key in thing:
            yield thing[key]
        for value in thing.values():
            yield from every(value, key)
    elif isinstance(thing, list):
        for value in thing:
            yield from every(value, key)


def test_a_whole_study_has_every_figure(drawn: dict[str, Figure]):
    assert list(drawn) == [
        "loss-against-compute",
        "saved-through-training",
        "forgetting",
        "law-of-forgetting",
        "equal-loss",
        "residuals",
    ]
    for figure in drawn.values():
        assert figure.title
        assert figure.caption.endswith(".")
        assert figure.rows and figure.panels


def test_evaluations_of_a_run_with_few_aredots_of_few():
    many, few = ([{"run": str(n), "tokens": x, "loss": 1} for x in range(n)] for n in (4, 3))
    x, y = linear("tokens", "Tokens", low=0.0, high=9.0), linear("loss", "Loss", low=0.0, high=2.0)
    drawn = dots_of_few([*many, *few], x, y, ranks(["a"])).to_dict()
    assert {row["run"] for rows in drawn["datasets"].values() for row in rows} == {"3"}


def test_runs_scored_once_after_as_much_compute_have_no_curve(made_findings: Findings):
    (plain, *_) = made_findings.plain
    run = plain.runs[0]
    ended = {
        x: Curve(of.tokens[-1:], of.compute[-1:], of.loss[-1:]) for x, of in run.curves.items()
    }
    once = replace(plain, runs=(replace(run, curves=ended),), pairs=())
    few = replace(made_findings, outcomes=(once,))
    assert "loss-against-compute" not in {figure.name for figure in figures(few)}


def test_a_colour_means_one_thing_everywhere(drawn: dict[str, Figure]):
    names = ["scratch", "CPT", "base", "CPT + 20 % replay"]  # the third: of tiles of a base
    series = [series_name("scratch", 0), series_name("cpt", 0), "base", series_name("cpt", 0.2)]
    assert domain([0.0, 0.2]) == names == series
    by_size = {"saved-through-training", "residuals"}
    by_size |= {"law-of-forgetting"}  # by replay
    for name in drawn.keys() - by_size:
        for panel in drawn[name].panels:
            scales = [c["scale"] for c in every(panel.to_dict(), "color") if "scale" in c]
            assert scales
            assert all(scale == {"domain": names} for scale in scales)


def test_panels_have_a_title_and_axes_say_their_units(drawn: dict[str, Figure]):
    wanted = {"FLOPs", "tokens", "nats per token", "%", "Parameters"}
    for figure in drawn.values():
        for panel in figure.panels:
            spec = panel.to_dict()
            assert spec["title"] and spec["width"] == "container"
            axes = [axis for name in ("x", "y") for axis in every(spec, name)]
            titles = [title for axis in axes for title in every(axis, "title")]
            assert all(any(u.lower() in t.lower() for u in wanted) for t in titles if t), titles


def test_data_of_the_loss_figure_are_the_runs(drawn: dict[str, Figure], made_study: Path):
    rows = [row for row in drawn["loss-against-compute"].rows if "tokens" in row]
    measured = {
        (row["run"], row["tokens"]): row["loss"]
        for row in run_rows([made_study])
        if row["lang"] == row["target"] and row["tokens"] and not row["replay"]
        if row["strategy"] != "source"
    }
    assert {(row["run"], row["tokens"]): row["loss"] for row in rows} == measured


def test_residuals_are_as_small_as_the_noise(drawn: dict[str, Figure]):
    off = [abs(row["off"]) for row in drawn["residuals"].rows]
    assert max(off) < 1.0  # percent; the noise is 0.2
    assert len(off) == 2 * 2 * 8 * 5


def test_scratch_alone_draws_what_it_can(make_study: Callable[..., Path], tmp_path: Path):
    found = findings(run_rows([make_study(tmp_path, strategies=("scratch",), seeds=(1,))]))
    names = ["loss-against-compute", "equal-loss", "residuals"]
    assert [f.name for f in figures(found)] == names


def test_one_run_is_enough_to_draw(make_study: Callable[..., Path], tmp_path: Path):
    few = {"strategies": ("scratch",), "shapes": ("0.1M",), "seeds": (1,), "targets": ("near",)}
    found = findings(run_rows([make_study(tmp_path, **few)]))
    assert [f.name for f in figures(found)] == ["loss-against-compute"]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (3e10, 2e13, [1e11, 1e12, 1e13]),
        (2e4, 9e5, [2e4, 5e4, 1e5, 2e5, 5e5]),
        (2.4, 6.1, [3, 4, 5, 6]),
    ],
)
def test_log_ticks_are_round(low: float, high: float, ticks: list[float]):
    assert decades(low, high) == pytest.approx(ticks)


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", PALETTES)
def test_colours_stand_out_from_the_paper(palette: str):
    colours = PALETTES[palette]
    paper = _luminance(colours["paper"])
    for name, least in (("ink", 7.0), ("quiet", 4.5)):
        assert _contrast(_luminance(colours[name]), paper) >= least
    assert all(_contrast(_luminance(c), paper) >= 3.0 for c in colours["series"])
    assert config(palette)["background"] == "transparent"


def _contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_a_law_that_is_not_pinned_down_draws_no_contours(
    make_study: Callable[..., Path], tmp_path: Path
):
    few = {"noise": 0.05, "shapes": ("0.1M", "0.2M"), "targets": ("near",)}
    found = findings(run_rows([make_study(tmp_path, **few)]))
    loose = {fitted.target for fitted in found.laws if fitted.laws["scratch"].loose}
    assert loose
    contours = [figure for figure in figures(found) if figure.name == "equal-loss"]
    assert not loose & {row["target"] for figure in contours for row in figure.rows}
    law_section = findings_law_section(found)
    assert law_section and as_text([law_section]).count("not pinned") >= len(loose)


def test_data_transferred_is_what_cpt_did_without(drawn: dict[str, Figure]):
    figure = drawn["saved-through-training"]
    assert len(figure.panels) == 2 * 2 and figure.columns == 2
    drawn_rows = figure.panels[0].to_dict()["datasets"].values()
    ranked = {row["shape"]: row["rank"] for of in drawn_rows for row in of if "rank" in row}
    assert ranked == {shape: place for place, shape in enumerate(sorted(ranked))}  # by size
    for row in figure.rows:
        assert row["tokens_transferred"] == pytest.approx(row["tokens"] - row["tokens_cpt"])


def test_many_sizes_keep_their_colours_apart():
    sizes = [f"{i}M" for i in range(1, 9)]
    tint: Any = ranks(sizes).to_dict()
    assert tint["scale"]["domain"] == [0, 7]
    assert tint["legend"]["labelExpr"].startswith('["1M", "2M"')


def test_only_runs_from_the_usual_base_are_drawn_by_compute(
    long_findings: Findings, long_drawn: dict[str, Figure]
):
    figure = long_drawn["loss-against-compute"]
    assert "final losses" in figure.caption
    assert not any("-from-" in row["run"] for row in figure.rows)
    assert any("-from-" in run.name for run in long_findings.runs)


def test_forgetting_shows_one_size_with_every_share(drawn: dict[str, Figure]):
    figure = drawn["forgetting"]
    assert {row["shape"] for row in figure.rows} == {"0.6M"}
    assert {row["series"] for row in figure.rows} == {"CPT", "CPT + 20 % replay"}
    assert [panel.to_dict()["title"] for panel in figure.panels[:2]] == [
        "Loss on home, learning near",
        "Loss on near",
    ]


def test_forgetting_shows_the_length_that_its_caption_names(
    long_findings: Findings, long_drawn: dict[str, Figure]
):
    figure = long_drawn["forgetting"]
    names = {row["run"] for row in figure.rows}
    lengths = {run.tokens for run in long_findings.usual if run.name in names}
    (length,) = lengths
    longest = max(run.tokens for run in long_findings.usual if run.strategy == "cpt")
    assert length == longest == pytest.approx(4e6, rel=1e-3)
    assert ", on 4M tokens" in figure.caption


def test_a_target_of_replayed_runs_alone_has_no_empty_panel(long_findings: Findings):
    outcomes = long_findings.outcomes
    kept = tuple(run for run in outcomes if run.target != "near" or run.replay)
    assert len(kept) < len(outcomes)
    drawn = figures(replace(long_findings, outcomes=kept))
    figure = next(each for each in drawn if each.name == "loss-against-compute")
    assert [each.title for each in figure.panels] == ["far"]
