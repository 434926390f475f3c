"""How every figure looks: colours, quiet axes, for light pages, dark pages and files."""

from typing import Any

__all__ = ["FONT", "PALETTES", "config"]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

# distinct to people of every colour vision, and in grey; a series keeps its place in every figure
PALETTES: dict[str, dict[str, Any]] = {
    "light": {
        "ink": "#1c2430",
        "quiet": "#5d6876",
        "line": "#e3e7ec",
        "paper": "#ffffff",
        "loss": "#c0392b",
        "series": [
            "#c2510c",
            "#1f6fb5",
            "#0f8a6c",
            "#8e5bb5",
            "#b58a00",
            "#b83c6f",
            "#4f6d7a",
            "#6b7a1e",
            "#7a4a2b",
        ],
        "sizes": ["#9cc7ea", "#5ea3d8", "#2a78bb", "#0b4a85", "#062f57"],
    },
    "dark": {
        "ink": "#e8ecf1",
        "quiet": "#9aa6b4",
        "line": "#2a323d",
        "paper": "#12161c",
        "loss": "#ff8a7a",
        "series": [
            "#f08a4b",
            "#5fb0f0",
            "#3cc9a0",
            "#c195e6",
            "#e3bd45",
            "#f07fab",
            "#9db7c2",
            "#b5c75a",
            "#c9a287",
        ],
        "sizes": ["#2f5f8c", "#3f86c2", "#66aee6", "#a3d0f5", "#d9ecfb"],
    },
}


def config(palette: str, *, paper: bool = False) -> dict[str, Any]:
    """The Vega-Lite configuration of a palette; `paper` gives files a background of their own."""
    colour = PALETTES[palette]
    text = {"font": FONT if not paper else "Arial, Helvetica, sans-serif"}
    return {
        "background": colour["paper"] if paper else "transparent",
        "font": text["font"],
        "padding": 16 if paper else 2,
        "view": {"stroke": None},
        "axis": {
            "labelColor": colour["quiet"],
            "titleColor": colour["quiet"],
            "labelFontSize": 12,
            "titleFontSize": 12.5,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "gridColor": colour["line"],
            "domainColor": colour["line"],
            "tickColor": colour["line"],
            "tickSize": 4,
            "labelPadding": 4,
            "labelOverlap": "greedy",
        },
        "legend": {
            "orient": "top",
            "title": None,
            "labelColor": colour["ink"],
            "labelFontSize": 12.5,
            "titleColor": colour["quiet"],
            "titleFontSize": 12.5,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "symbolStrokeWidth": 3,
            "symbolSize": 200,
            "symbolOpacity": 1,
            "offset": 6,
            "columnPadding": 14,
            "padding": 0,
        },
        "title": {
            "anchor": "start",
            "frame": "group",
            "color": colour["ink"],
            "fontSize": 14,
            "fontWeight": 600,
            "offset": 10,
            "subtitleColor": colour["quiet"],
            "subtitleFontSize": 12.5,
            "subtitleLineHeight": 17,
            "subtitlePadding": 7,
        },
        "range": {
            "category": colour["series"],
            "ordinal": colour["sizes"],
            "ramp": colour["sizes"],
        },
        "text": {"color": colour["ink"], "fontSize": 12},
        "rule": {"color": colour["quiet"]},
        "point": {"filled": True},
        "style": {
            "ink": {"fill": colour["ink"], "fontSize": 12.5, "fontWeight": 600},
            "halo": {
                "fill": colour["paper"],
                "stroke": colour["paper"],
                "strokeWidth": 4,
                "strokeJoin": "round",
                "fontSize": 12.5,
                "fontWeight": 600,
            },
            "quiet": {"color": colour["quiet"]},
            "note": {"color": colour["quiet"], "fontSize": 12.5, "fontWeight": 600},
            "beyond": {"color": colour["line"], "opacity": 0.65},
            "loss": {"color": colour["loss"], "opacity": 0.14},
            "within": {"color": colour["paper"], "fill": colour["paper"], "strokeWidth": 0},
            "step": {"color": colour["ink"]},
        },
        "concat": {"spacing": 34},
    }
