"""How every figure looks: colours, quiet axes, for light pages, dark pages and files."""

from typing import Any

from tongues.core.beside import read_beside

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


PALETTES: dict[str, dict[str, Any]] = read_beside(__file__, "palettes.toml")


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
