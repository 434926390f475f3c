"""The figure of replay: what continued runs score, by their share of replay."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from tongues.report.charts import Figure, colour, data, panel
from tongues.report.evaluation.found import Found, labels
from tongues.roles import Roles, list_languages

__all__ = ["replay_figure"]

Row = dict[str, Any]


def replay_figure(found: Found) -> Figure | None:
    """Scores relative to the first model against the share of replay, a line per language."""
    groups = _groups(found)
    if not groups:
        return None
    first = found["models"][0]["name"]
    said = labels(found)[first]
    panels, rows = [], []
    for (target, shape), replays in groups.items():
        of_group = f", {target} {shape}" if len(groups) > 1 else ""
        for task, scores in found["tasks"].items():
            own = list(_relative(scores, replays, first))
            if len({row["replay"] for row in own}) > 1:
                panels.append(_panel(found, own, f"{task}{of_group}", f"score beside {said}", 1.0))
                rows += [{"on": task, **row} for row in own]
        for text, scores in found["texts"].items():
            own = list(_above(scores, replays, first))
            if len({row["replay"] for row in own}) > 1:
                unit = f"bits per byte above {said}"
                panels.append(_panel(found, own, f"{text}{of_group}", unit, 0.0))
                rows += [{"on": text, **row} for row in own]
    if not panels:
        return None
    on = {row["on"] for row in rows}
    score = (
        " The score beside it is (accuracy − chance) / (its accuracy − chance), so that 1 is as "
        "good; it is left out where that model cannot be told from chance."
    )
    loss = " Of texts it is shown how much higher the loss is."
    caption = (
        "Models that continued another, by the share of replay in their training, beside "
        f"`{said}`.{score if on & set(found['tasks']) else ''}"
        f"{loss if on & set(found['texts']) else ''} Bars are 95 % intervals."
    )
    return Figure("replay", "By share of replay", caption, tuple(panels), tuple(rows))


def _groups(found: Found) -> dict[tuple[str, str], dict[str, float]]:
    """Continued runs that differ in their replay: the shares by name, by target and shape."""
    groups: dict[tuple[str, str], dict[str, float]] = {}
    for about in found["models"]:
        made = about["trained"]
        if made and made["strategy"] == "cpt":
            roles = Roles.from_json(made["roles"])
            group = groups.setdefault((list_languages(roles.targets), made["shape"]), {})
            group[about["name"]] = roles.replay_share
    return {key: of for key, of in groups.items() if len(set(of.values())) > 1}


def _relative(scores: Mapping[str, Any], replays: Mapping[str, float], first: str) -> Iterator[Row]:
    beside = {one["model"]: one["relative_of"] for one in scores["compared"]}
    lacking: set[str] = set()
    for by in beside.values():
        lacking |= {language for language, of in by.items() if of["low"] is None}
    for model, replay in replays.items():
        for language in next(iter(scores["accuracies"].values())):
            if language in lacking:
                continue
            if model == first:
                yield _row(model, replay, language, {"value": 1.0})
            elif model in beside:  # not so a seed that nobody named
                yield _row(model, replay, language, beside[model][language])


def _above(scores: Mapping[str, Any], replays: Mapping[str, float], first: str) -> Iterator[Row]:
    beside = {one["model"]: one["languages"] for one in scores["compared"]}
    for model, replay in replays.items():
        for language in next(iter(scores["losses"].values())):
            if model == first:
                yield _row(model, replay, language, {"value": 0.0})
            elif model in beside:
                of = beside[model][language]
                yield _row(model, replay, language, {**of, "value": of["mean"]})


def _row(model: str, replay: float, language: str, of: Mapping[str, Any]) -> Row:
    ends = {"low": of.get("low"), "high": of.get("high")}
    percent = f"{100 * replay:.3g} %"
    return {
        "model": model,
        "series": language,
        "replay": replay,
        "share": percent,
        "value": of["value"],
        **ends,
    }


def _panel(found: Found, rows: list[Row], title: str, unit: str, level: float) -> alt.LayerChart:
    """Shares of replay side by side, a line per language."""
    languages: dict[str, None] = {}
    for scores in (*found["texts"].values(), *found["tasks"].values()):
        by_model = scores["losses"] if "losses" in scores else scores["accuracies"]
        languages |= dict.fromkeys(next(iter(by_model.values())))
    shares = sorted({(row["replay"], row["share"]) for row in rows})
    axis = alt.Axis(labelAngle=0, grid=False)
    x = alt.X("share:O", title="replay", sort=[share for _, share in shares], axis=axis)
    y = alt.Y(
        "value:Q", title=unit, scale=alt.Scale(zero=False, padding=10), axis=alt.Axis(tickCount=5)
    )
    tips = [
        alt.Tooltip("model:N"),
        alt.Tooltip("series:N", title="language"),
        *(alt.Tooltip(f"{end}:Q", format=".4~g") for end in ("value", "low", "high")),
    ]
    tint = colour(list(languages), (row["series"] for row in rows), "circle")
    base = alt.Chart(data(rows)).encode(x=x, color=tint, tooltip=tips)
    line = alt.Chart(data([{"value": level}])).encode(y=y)
    return panel(
        title,
        line.mark_rule(strokeDash=[4, 4], style="quiet"),
        base.mark_line(strokeWidth=1.5, opacity=0.7).encode(y=alt.Y("mean(value):Q", title=unit)),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_circle(size=60, opacity=1).encode(y=y),
    )
