"""Pages and figures of runs, laws, plans, corpora, tokenizers, evaluations and experts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tongues.core.errors import UserError

__all__ = ["Kind", "default_folder", "kind_of"]

Kind = Literal["runs", "corpus", "tokenizer"]


def kind_of(places: Sequence[Path]) -> Kind:
    """Whether these are runs, one corpus or tokenizers; several kinds are refused."""
    kinds: list[Kind] = []
    for place in places:
        corpus = (place / "corpus.json").is_file()
        file = place.is_file() or (place / "tokenizer.json").is_file()
        kinds.append("corpus" if corpus else "tokenizer" if file else "runs")
        if kinds[-1] != kinds[0]:
            what = f"is of another kind ({kinds[-1]}) than {places[0]} ({kinds[0]})"
            raise UserError(what, where=str(place), hint="report each kind by itself")
    if kinds[0] == "corpus" and len(places) > 1:
        hint = "report each by itself, into a folder of its own"
        raise UserError("a page shows one corpus", where=str(places[1]), hint=hint)
    return kinds[0]


def default_folder(places: Sequence[Path], kind: Kind) -> Path:
    """`reports/NAME` for runs; a corpus and a tokenizer of that name have their own."""
    place = places[0].resolve()
    name = place.parent.name if place.name == "tokenizer.json" else place.stem
    several = "-and-".join(each.resolve().name for each in places[:2])  # or it were that of one
    return Path("reports") / (several if kind == "runs" else f"{name}-{kind}")
