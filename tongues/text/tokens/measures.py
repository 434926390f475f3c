"""Tokenizers tried on the same text: what each makes of every language, with more tokens too."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongues.core.errors import UserError
from tongues.recipe import load_recipe
from tongues.text import Document, TextSource, find_sources, read_source
from tongues.text.corpus import open_corpus
from tongues.text.document import normalised
from tongues.text.select import read_selection
from tongues.text.tokens import fertility
from tongues.text.tokens.fertility import Fertility
from tongues.text.tokens.fitting import sample_documents
from tongues.text.tokens.tokenizer import load_tokenizer

SAMPLE = 1_000_000  # bytes of each language that tokenizers are tried on
_TRIED = 500_000  # bytes of a language that extensions are tried on
_FEW = 100  # documents of a language that show whether a tokenizer was made for it
_PASSAGE = 2000  # characters

Documents = dict[str, list[tuple[str, str]]]  # group and text, by language


@dataclass(frozen=True, slots=True)
class TokenizerMeasures:
    """A tokenizer with all that is known of it.

    size: of the vocabulary. home: the language that others are compared to, and whose segmentation
        more tokens leave.
    languages: what it makes of each language's text. extensions: bytes per token by language and by
        the number of new tokens, from 0 on.
    """

    name: str
    kind: str
    size: int
    home: str
    languages: Mapping[str, Fertility]
    extensions: Mapping[str, Mapping[int, float]]


def documents_on(place: Path, size: int) -> Documents:
    """About `size` bytes of each language of a recipe, or of what is kept of a corpus."""
    if place.is_dir():
        if not (place / "corpus.json").is_file():
            hint = "name a recipe, or a folder in corpus/ that `tongues prepare` made"
            raise UserError("is neither a recipe nor a corpus", where=str(place), hint=hint)
        corpus = open_corpus(place)
        selection = read_selection(corpus)
        documents: Documents = {}
        for lang in corpus.languages:  # by the hash of the group: the same groups in every one
            numbers = sample_documents(corpus, selection, lang, size, from_end=False)
            groups = map(str, selection.component[numbers].tolist())
            documents[lang] = list(zip(groups, corpus.chosen_texts(numbers), strict=True))
        return documents
    text = load_recipe(place).text
    by_lang = {lang: [s for s in find_sources(text) if s.lang == lang] for lang in text.languages}
    return {
        lang: [row for source in sources for row in _beginning(source, size // len(sources))]
        for lang, sources in by_lang.items()
    }


def _beginning(source: TextSource, size: int) -> Iterator[tuple[str, str]]:
    for item, _ in read_source(source):
        if isinstance(item, Document):
            text = normalised(item.text)
            yield item.group, text
            size -= len(text.encode())
            if size <= 0:
                return


def measure_tokenizers(
    places: Sequence[Path], documents: Documents, progress: Callable[[str], None]
) -> list[TokenizerMeasures]:
    """Load tokenizers and try each on the documents."""
    paths = [place.resolve() for place in places]
    short = [path.parent.name if path.name == "tokenizer.json" else path.stem for path in paths]
    names = [str(p) if short.count(x) > 1 else x for p, x in zip(places, short, strict=True)]
    loaded = {name: load_tokenizer(place) for name, place in zip(names, places, strict=True)}
    documents = {lang: those for lang, those in documents.items() if those}
    if not documents:
        raise UserError("there is no text to try tokenizers on", hint="name other text")
    home = "en"
    if home not in documents:  # the language that the first one fits best
        few = {lang: those[:_FEW] for lang, those in documents.items()}
        counts = fertility.measure(next(iter(loaded.values())), few)
        home = max(counts, key=lambda x: counts[x].characters / max(counts[x].tokens, 1))
    others = [lang for lang in documents if lang != home] or [home]
    passages = {lang: _passages(those) for lang, those in documents.items()}
    keep = [] if home in others else passages[home]
    measures: list[TokenizerMeasures] = []
    for name, tokenizer in loaded.items():
        progress(f"{name}: encoding {', '.join(documents)}")
        counts = fertility.measure(tokenizer, documents, home)
        extensions: dict[str, dict[int, float]] = {}
        for lang in others:
            progress(f"{name}: trying more tokens for {lang}")
            if tried := fertility.try_extensions(tokenizer, passages[lang], keep):
                extensions[lang] = tried
        kind, size = type(tokenizer.model).__name__, tokenizer.get_vocab_size()
        measures.append(TokenizerMeasures(name, kind, size, home, counts, extensions))
    return measures


def _passages(documents: Sequence[tuple[str, str]]) -> list[str]:
    """Passages to try extensions on, so that one long document gives many."""
    texts: list[str] = []
    size = 0
    for _, text in documents:
        texts += [text[start : start + _PASSAGE] for start in range(0, len(text), _PASSAGE)]
        size += len(text.encode())
        if size >= _TRIED:
            break
    return texts
