"""From a prepared corpus to a folder with its page, its figures and its numbers."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from tongues.report.corpus.figures import corpus_figures
from tongues.report.corpus.page import corpus_page
from tongues.report.corpus.summary import read_summary
from tongues.report.corpus.words import about_languages
from tongues.report.folder import check_folder, write_folder
from tongues.report.tokenizer.figures import tokenizer_figures
from tongues.report.tokenizer.measured import SAMPLE, Measured, measure_tokenizers
from tongues.report.tokenizer.numbers import tokenizer_numbers
from tongues.report.tokenizer.page import tokenizer_section
from tongues.report.tokenizer.texts import documents_on
from tongues.report.tokenizer.words import spelling

__all__ = ["write_corpus_report"]


def write_corpus_report(
    place: Path,
    out: Path,
    title: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the page of the corpus at `place` to `out`; returns its `index.html`.

    An earlier report at `out` is replaced, any other filled folder refused. Where the tokens of
    the corpus lie in `tokens/` beside `corpus/`, the page says how their tokenizer does.
    """
    check_folder(out)
    progress("reading the corpus")
    summary = read_summary(place)
    figures = corpus_figures(summary)
    measured = _measured(place, progress)
    tried = tokenizer_figures(measured) if measured else []
    spelt = spelling(measured[0]) if measured else {}
    title = title or f"Corpus {place.resolve().name}"
    versions = {name: version(name) for name in ("tongues", "altair")}
    tokenizer = tokenizer_section(measured, tried) if measured else ""
    body = corpus_page(title, summary, figures, spelt, tokenizer, versions)
    numbers = {"title": title, "versions": versions, **summary}
    numbers |= {"sentences": about_languages(summary, spelt)}
    numbers |= {"tokenizers": [tokenizer_numbers(each) for each in measured]}
    return write_folder(out, title, body, [*figures, *tried], numbers, progress)


def _measured(place: Path, progress: Callable[[str], None]) -> list[Measured]:
    """The tokenizer that was made for the corpus, if it is there, tried on the corpus."""
    tokens = place.resolve().parents[1] / "tokens" / place.resolve().name
    if not (tokens / "tokens.json").is_file():
        return []
    return measure_tokenizers([tokens], documents_on(place, SAMPLE), progress)
