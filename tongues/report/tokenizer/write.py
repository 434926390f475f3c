"""From tokenizers, and text to try them on, to a folder with their page."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tongues.report.folder import check_folder, write_folder
from tongues.report.tokenizer.figures import tokenizer_figures
from tongues.report.tokenizer.measured import SAMPLE, measure_tokenizers
from tongues.report.tokenizer.numbers import tokenizer_numbers
from tongues.report.tokenizer.page import tokenizer_page
from tongues.report.tokenizer.texts import documents_on

__all__ = ["write_tokenizer_report"]


def write_tokenizer_report(
    places: Sequence[Path],
    out: Path,
    on: Path | None = None,
    title: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the page of tokenizers side by side to `out`; returns its `index.html`.

    An earlier report at `out` is replaced, any other filled folder refused. `places` are
    folders or files that Hugging Face tokenizers were saved to, or tokens that `tongues prepare`
    made. They are tried on the text of a recipe or a corpus, `on`, or else of the corpus that
    lies beside the first one's tokens; without any, only their pieces are shown.
    """
    check_folder(out)
    on = on or _corpus_beside(places[0])
    if on:
        progress(f"reading text of {on}")
    measured = measure_tokenizers(places, documents_on(on, SAMPLE) if on else {}, progress)
    figures = tokenizer_figures(measured)
    many = "s" * (len(measured) > 1)
    title = title or f"Tokenizer{many} {' and '.join(each.name for each in measured)}"
    versions = {name: version(name) for name in ("tongues", "tokenizers", "altair")}
    numbers: dict[str, Any] = {"title": title, "versions": versions}
    numbers |= {"tokenizers": [tokenizer_numbers(each) for each in measured]}
    body = tokenizer_page(title, measured, figures, versions)
    return write_folder(out, title, body, figures, numbers, progress)


def _corpus_beside(place: Path) -> Path | None:
    """The corpus that tokens in `tokens/NAME` were made from, if it is still there."""
    corpus = place.resolve().parents[1] / "corpus" / place.resolve().name
    made = (place / "tokens.json").is_file() and (corpus / "corpus.json").is_file()
    return corpus if made else None
