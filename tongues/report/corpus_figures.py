"""The figure of a corpus: the languages identified in it."""

from collections.abc import Mapping

from tongues.core.pages import blocks as b
from tongues.core.pages import percent, share
from tongues.core.pages.axes import Row, across, categories, colour
from tongues.core.pages.plots import heat
from tongues.text.signals import same_language
from tongues.text.summary import LanguageSummary

_COLUMNS, _WRITTEN = 24, 9  # of a matrix, at most, and up to which its shares are written
_SEEN = 0.0005  # shares below it are not drawn
_SHARE = "datum.share > 0.995 ? '100' : format(datum.share * 100, '.1f')"  # as percent


def languages_identified(languages: Mapping[str, LanguageSummary]) -> b.Figure | None:
    """What the documents and the text kept of each language were identified as."""
    documents = {
        lang: {x: share(n, sum(about["labels"].values())) for x, n in about["labels"].items()}
        for lang, about in languages.items()
    }
    if not any(documents.values()):
        return None
    inside = {lang: about["identified"] for lang, about in languages.items()}
    panels, rows = [], []
    for name, shares in (("documents read", documents), ("bytes kept", inside)):
        largest: dict[str, float] = {}
        for parts in shares.values():
            largest |= {x: max(largest.get(x, 0.0), part) for x, part in parts.items()}
        own = [lang for lang in languages if lang in largest]
        others = sorted((x for x in largest if x not in own), key=lambda x: (-largest[x], x))
        columns = [*own, *(x for x in others if largest[x] >= _SEEN)][:_COLUMNS]
        cells: list[Row] = [
            {"language": lang, "found": label, "share": part, "text": percent(part)}
            | {"kind": "own" if same_language(lang, label) else "other"}
            for lang, parts in shares.items()
            for label in columns
            if (part := parts.get(label, 0.0)) >= _SEEN
        ]
        written = len(columns) <= _WRITTEN
        title = f"Of the {name}, %" if written else f"Of the {name}"
        panels.append(
            heat(
                title,
                cells,
                across("found", columns, title="identified as"),
                categories("language", list(languages)),
                colour(["other", "own"], field="kind"),
                "share",
                {"type": "sqrt", "domain": [0, 1], "range": [0.1, 0.75]},
                tooltip=("language", "found", "text=share"),
                written=_SHARE if written else "",
            )
        )
        rows += [{"share of": name} | row for row in cells]
    caption = (
        "A row is a language of the corpus, a column what was identified: left by documents, right "
        f"by passages of the text kept. Rare labels and shares below {percent(2 * _SEEN)} are not "
        "drawn."
    )
    return b.Figure.of("identified", "Languages identified", caption, panels, rows)
