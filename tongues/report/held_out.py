"""What the held-out text of prepared tokens consists of, as tables."""

from collections.abc import Mapping

from tongues.pages import blocks as b
from tongues.pages import percent_cell
from tongues.quantities import show_bytes
from tongues.tokens.store import Manifest

__all__ = ["held_out_blocks"]

_SOURCES = 12  # of a language, the largest, next to their part of the held-out text
_ABOUT_HELD_OUT = (
    "Groups of documents are held out by the hash of their name, so the held-out text resembles "
    "the corpus and stays the same when text is added. Left out: documents of either side that "
    "contain much of a document of the other."
)


def held_out_blocks(manifest: Manifest) -> list[b.Block]:
    """What the held-out text of each language consists of, next to its training text."""
    rows, sources = list[Mapping[str, b.Entry]](), list[Mapping[str, b.Entry]]()
    for lang, split in manifest["splits"].items():
        valid, overlap = manifest["languages"][lang]["valid"], split["overlap"]
        quarters = (split["lengths"][side] for side in ("valid", "train"))
        shown = [f"{', '.join(map(show_bytes, each))}" for each in quarters]
        rows.append(
            {"language": lang, "independent groups": split["groups"]}
            | {
                "documents": valid["documents"],
                "size": b.Cell(show_bytes(valid["bytes"]), valid["bytes"]),
            }
            | {"quartiles of length": shown[0], "in training text": shown[1]}
            | {
                "left out": overlap["documents"],
                "size left out": b.Cell(show_bytes(overlap["bytes"]), overlap["bytes"]),
            }
        )
        totals = {
            side: sum(each[side] for each in split["sources"].values()) for side in split["lengths"]
        }
        largest = sorted(split["sources"].items(), key=lambda each: -sum(each[1].values()))
        sources += [
            {"language": lang, "source": title}
            | {"of the held-out text": percent_cell(sizes["valid"], totals["valid"])}
            | {"of the training text": percent_cell(sizes["train"], totals["train"])}
            for title, sizes in largest[:_SOURCES]
        ]
    table = b.Table.of(sources)
    folded = b.Details("by source", [table], count=str(len(sources)))
    below = table if len(sources) <= _SOURCES else folded
    return [_ABOUT_HELD_OUT, b.Table.of(rows), below]
