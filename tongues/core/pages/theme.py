"""How every figure looks: colours, quiet axes, for light pages, dark pages and files."""

from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def _palette(ink: str, quiet: str, line: str, paper: str, loss: str, more: str) -> dict[str, Any]:
    """more: the colours of series, a bar, the colours of sizes, pale to dark."""
    series, sizes = (colours.split() for colours in more.split("|"))
    plain = {"ink": ink, "quiet": quiet, "line": line, "paper": paper, "loss": loss}
    return plain | {"series": series, "sizes": sizes}


# distinct to people of every colour vision, and in grey; a series keeps its place in every figure
PALETTES: dict[str, dict[str, Any]] = {
    "light": _palette(
        *("#1c2430", "#5d6876", "#e3e7ec", "#ffffff", "#c0392b"),
        "#c2510c #1f6fb5 #0f8a6c #8e5bb5 #b58a00 #b83c6f #4f6d7a #6b7a1e #7a4a2b"
        "|#9cc7ea #5ea3d8 #2a78bb #0b4a85 #062f57",
    ),
    "dark": _palette(
        *("#e8ecf1", "#9aa6b4", "#2a323d", "#12161c", "#ff8a7a"),
        "#f08a4b #5fb0f0 #3cc9a0 #c195e6 #e3bd45 #f07fab #9db7c2 #b5c75a #c9a287"
        "|#2f5f8c #3f86c2 #66aee6 #a3d0f5 #d9ecfb",
    ),
}


def config(palette: str, *, paper: bool = False) -> dict[str, Any]:
    """The Vega-Lite configuration of a palette; `paper` gives files a background of their own."""
    colour = PALETTES[palette]
    ink, quiet, line, sheet = (colour[name] for name in ("ink", "quiet", "line", "paper"))
    titles = {"titleColor": quiet, "titleFontSize": 12.5, "titleFontWeight": "normal"}
    titles |= {"titlePadding": 8}
    strong = {"fontSize": 12.5, "fontWeight": 600}
    axis = {"labelColor": quiet, "labelFontSize": 12, "gridColor": line, "domainColor": line}
    axis |= {"tickColor": line, "tickSize": 4, "labelPadding": 4, "labelOverlap": "greedy"}
    legend = {"orient": "top", "title": None, "labelColor": ink, "labelFontSize": 12.5}
    legend |= {"symbolStrokeWidth": 3, "symbolSize": 200, "symbolOpacity": 1, "offset": 6}
    legend |= {"columnPadding": 14, "padding": 0}
    legend |= {"layout": {"top": {"direction": "vertical"}}}  # a narrow page has room for one
    title = {"anchor": "start", "frame": "group", "color": ink, "fontSize": 14, "fontWeight": 600}
    title |= {"offset": 10, "subtitleColor": quiet, "subtitleFontSize": 12.5}
    title |= {"subtitleLineHeight": 17, "subtitlePadding": 7}
    sizes = colour["sizes"]
    return {
        "background": sheet if paper else "transparent",
        "font": "Arial, Helvetica, sans-serif" if paper else FONT,
        "padding": 16 if paper else 2,
        "view": {"stroke": None},
        "axis": axis | titles,
        "legend": legend | titles,
        "title": title,
        "range": {"category": colour["series"], "ordinal": sizes, "ramp": sizes},
        "text": {"color": ink, "fontSize": 12},
        "rule": {"color": quiet},
        "point": {"filled": True},
        "style": {
            "ink": {"fill": ink} | strong,
            "halo": {"fill": sheet, "stroke": sheet, "strokeWidth": 4, "strokeJoin": "round"}
            | strong,
            "quiet": {"color": quiet},
            "note": {"color": quiet} | strong,
            "beyond": {"color": line, "opacity": 0.65},
            "loss": {"color": colour["loss"], "opacity": 0.14},
            "step": {"color": ink},
        },
        "concat": {"spacing": 34},
    }
