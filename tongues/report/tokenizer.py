"""The page of tokenizers: what they do with each language, and whether more tokens are worth it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tongues.errors import UserError
from tongues.pages import blocks as b
from tongues.pages import check_folder, percent, percent_cell, share, write_page
from tongues.pages.axes import Row, colour, linear, logs
from tongues.pages.plots import dots, line, panel, words
from tongues.quantities import show_bytes, show_count
from tongues.recipe import load_recipe
from tongues.roles import list_languages
from tongues.text import Document, TextSource, find_sources, read_source
from tongues.text.corpus import reopen_corpus
from tongues.text.document import normalised
from tongues.text.select import read_selection
from tongues.text.signals.characters import character_signals
from tongues.tokens import fertility
from tongues.tokens.fertility import ExtensionAdvice, Fertility
from tongues.tokens.fitting import sample_documents
from tongues.tokens.spelling import token_spellings
from tongues.tokens.store import corpus_of
from tongues.tokens.tokenizer import load_tokenizer

__all__ = ["SAMPLE", "TokenizerMeasures", "choice", "documents_on", "measure_tokenizers"]
__all__ += ["spelling", "tokenizer_blocks", "tokenizer_numbers", "write_tokenizer_report"]

SAMPLE = 1_000_000  # bytes of each language that tokenizers are tried on
_TRIED = 500_000  # bytes of a language that extensions are tried on
_FEW = 100  # documents of a language that show whether a tokenizer was made for it
_PASSAGE = 2000  # characters
_SCRIPTS = 14  # shown
_COLOURS = 7  # languages that colours distinguish
_AS_SHORT = 1.01  # times the fewest tokens: as good
_HINT = "Name text by `--text RECIPE` or `--text corpus/NAME` to see what it makes of languages."

Documents = dict[str, list[tuple[str, str]]]  # group and text, by language


@dataclass(frozen=True, slots=True, eq=False)
class TokenizerMeasures:
    """A tokenizer with all that is known of it.

    scripts: tokens by script, the most frequent first; `bytes`: parts of characters, `Zyyy`: no
        letters. special: tokens without text.
    home: the language that others are compared to, and whose segmentation more tokens leave.
    languages: what it makes of each language's text; advice: whether to extend it for that one.
    unused: tokens of two bytes or more that this text never uses; None without text.
    """

    name: str
    kind: str
    scripts: dict[str, int]
    special: int
    home: str = ""
    languages: Mapping[str, Fertility] = field(default_factory=dict)
    advice: Mapping[str, ExtensionAdvice] = field(default_factory=dict)
    unused: int | None = None

    @property
    def size(self) -> int:
        """The size of the vocabulary."""
        return self.special + sum(self.scripts.values())


def write_tokenizer_report(
    places: Sequence[Path],
    out: Path,
    on: Path | None = None,
    title: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the page of tokenizers side by side to `out`; returns its `index.html`.

    An earlier report at `out` is replaced, any other filled folder refused. They are tried on the
    text of a recipe or a corpus, `on`, or else of the corpus next to the first one's tokens;
    without any, only their vocabularies are shown.
    """
    check_folder(out)
    if on is None and (places[0] / "tokens.json").is_file():
        corpus = corpus_of(places[0])
        on = corpus if (corpus / "corpus.json").is_file() else None
    if on:
        progress(f"reading text of {on}")
    measures = measure_tokenizers(places, documents_on(on, SAMPLE) if on else {}, progress)
    several, langs = len(measures) > 1, measures[0].languages
    topics: dict[str, list[str]] = {"Choice": [choice(measures)]} if several and langs else {}
    topics |= {lang: _ranking(measures, lang) if several else [] for lang in langs}
    for each in measures:
        name = f"`{each.name}`: " if several else ""
        for lang, text in spelling(each).items():
            topics[lang].append(f"{name}{text}.")
    topics["Vocabulary"] = [f"`{each.name}`: {_about(each)}" for each in measures]
    page = b.Page(
        title or f"Tokenizer{'s' * several} {list_languages(each.name for each in measures)}",
        [
            b.Topics({topic: [b.Items(lines)] for topic, lines in topics.items()}),
            *tokenizer_blocks(measures),
        ],
        lead=[] if langs else [b.Paragraph(_HINT, "lead")],
        numbers={"tokenizers": [tokenizer_numbers(each) for each in measures]},
    )
    return write_page(page, out, progress)


def choice(measures: Sequence[TokenizerMeasures]) -> str:
    """The tokenizer of about the fewest tokens in every language, or that of each."""
    langs = measures[0].languages
    sizes = {x: {each.name: each.languages[x].bytes_per_token for each in measures} for x in langs}
    near = {
        x: [name for name in of if of[name] >= max(of.values()) / _AS_SHORT]
        for x, of in sizes.items()
    }
    take = [each.name for each in measures if all(each.name in names for names in near.values())]
    if len(take) == len(measures):
        return (
            f"All are as good on this text: their tokens differ by less than {_AS_SHORT - 1:.0%}."
        )
    if take:
        named = " or ".join(f"`{name}`" for name in take)
        return (
            f"**Take {named}:** on every language its tokens are the fewest, or at most "
            f"{_AS_SHORT - 1:.0%} more."
        )
    each = (f"on {lang} {' or '.join(f'`{n}`' for n in names)}" for lang, names in near.items())
    return f"No tokenizer is best in every language: {', '.join(each)}."


def _ranking(measures: Sequence[TokenizerMeasures], lang: str) -> list[str]:
    ratios = {each.name: each.languages[lang].bytes_per_token for each in measures}
    best = max(ratios, key=ratios.__getitem__)
    others = ", ".join(
        f"`{name}` {percent(ratios[best] / ratio - 1)} more"
        for name, ratio in ratios.items()
        if name != best
    )
    return [f"Fewest tokens by `{best}`; {others}."]


def _about(measures: TokenizerMeasures) -> str:
    top = list(measures.scripts.items())[:3]
    scripts = ", ".join(f"{x} {percent(share(count, measures.size))}" for x, count in top)
    unused = "" if measures.unused is None else f"; {measures.unused:,} not used in this text"
    return f"{measures.size:,} tokens ({measures.kind}), by script {scripts}{unused}."


def spelling(measures: TokenizerMeasures) -> dict[str, str]:
    """How it does on each language, in a few words."""
    sentences: dict[str, str] = {}
    for lang, found in measures.languages.items():
        clauses = [f"{'falls back to bytes: ' * found.spelt_out}{found.bytes_per_token:.2f} bytes "]
        clauses[0] += "per token"
        if found.multiplier is not None and lang != measures.home:
            text = f"{found.multiplier:.2f} times the tokens of `{measures.home}`"
            clauses.append(f"{text} for the same text")
        if found.unknown:
            clauses.append(f"{percent(share(found.unknown, found.tokens))} of its tokens unknown")
        sentences[lang] = "; ".join(filter(None, [*clauses, _advice(measures, lang)]))
    return sentences


def _advice(measures: TokenizerMeasures, lang: str) -> str:
    advice = measures.advice.get(lang)
    if advice is None or len(advice.curve) == 1:
        return ""
    if not advice.new_tokens:
        return "more tokens are not worth it"
    return f"{show_count(advice.new_tokens)} more tokens shorten it by {percent(advice.saved)}"


def tokenizer_numbers(measures: TokenizerMeasures) -> dict[str, Any]:
    """All that is known of a tokenizer, in JSON."""
    names = "bytes characters words tokens bytes_per_token tokens_per_word unknown partial"
    languages: dict[str, Any] = {}
    for lang, found in measures.languages.items():
        numbers = {x: getattr(found, x) for x in (*names.split(), "multiplier", "spelt_out")}
        advice = measures.advice.get(lang)
        tried = advice and {"new_tokens": advice.new_tokens, "bytes_per_token": advice.curve}
        languages[lang] = numbers | {"advice": tried}
    sentences = [_about(measures), *spelling(measures).values()]
    about = {x: getattr(measures, x) for x in ("name", "kind", "scripts", "unused", "home")}
    return {**about, "vocab_size": measures.size, "sentences": sentences, "languages": languages}


def tokenizer_blocks(measures: Sequence[TokenizerMeasures]) -> list[b.Block]:
    """Figures and tables of tokenizers."""
    if not measures[0].languages:
        return [_scripts(measures)]
    size = sum(found.bytes for found in measures[0].languages.values())
    about = (
        f"On {show_bytes(size)} of text. A word is a run of letters and digits, in scripts without "
        "spaces a character; a token is partial where it begins or ends inside a character. "
        "Tokens versus another language are of documents of the same groups."
    )
    home, several = measures[0].home, len(measures) > 1
    rows: list[Mapping[str, b.Entry]] = [
        {"language": lang, **({"tokenizer": each.name} if several else {})}
        | {"bytes per token": _ratio(found.bytes_per_token)}
        | {"tokens per word": _ratio(found.tokens_per_word)}
        | {f"tokens versus {home}": _ratio(found.multiplier)}
        | {"unknown": percent_cell(found.unknown, found.tokens)}
        | {"partial": percent_cell(found.partial, found.tokens)}
        for lang in measures[0].languages
        for each in measures
        for found in (each.languages[lang],)
    ]
    inside = [b.Paragraph(about, "quiet"), b.Table.of(rows)]
    extended = _extensions(measures)
    figures = [extended] if extended else []
    return [b.Section("tokens", "Tokens by language", inside), *figures, _scripts(measures)]


def _ratio(value: float | None) -> b.Cell:
    return b.Cell("") if value is None else b.Cell(f"{value:.2f}", value)


def _extensions(measures: Sequence[TokenizerMeasures]) -> b.Figure | None:
    rows: list[Row] = [
        {"tokenizer": each.name, "language": lang, "added": count}
        | {"saved": 1 - advice.curve[0] / ratio, "bytes per token": ratio}
        | {"advised": count == advice.new_tokens}
        for each in measures
        for lang, advice in each.advice.items()
        for count, ratio in advice.curve.items()
        if count
    ]
    if not rows:
        return None
    langs = list(dict.fromkeys(row["language"] for row in rows))
    counts, saved = [row["added"] for row in rows], [row["saved"] for row in rows]
    ticks = sorted(set(counts))
    x = logs("added", "tokens added", counts, margin=0.1, grid=False, ticks=ticks)
    y = linear("saved", "length saved", low=min(0.0, *saved), high=1.1 * max(saved), format="~%")
    few = len(langs) <= _COLOURS
    tint = colour(langs, langs, field="language", columns=5) if few else None
    said = ("language", "added:,", "saved:.1%=length saved", "bytes per token:.2f")
    panels = []
    for name in dict.fromkeys(row["tokenizer"] for row in rows):
        own = [row for row in rows if row["tokenizer"] == name]
        ends = {row["language"]: row for row in sorted(own, key=lambda row: row["added"])}
        layers = [
            line(own, x, y, tint, "language", width=2, opacity=1 if few else 0.5),
            dots(own, x, y, tint, size=36, tooltip=said),
            dots((row for row in own if row["advised"]), x, y, tint, size=190, ring=True),
        ]
        named = words(ends.values(), x, y, field="language", align="left", dx=8)
        panels.append(panel(name, *layers, *(() if few else named)))
    caption = (
        "The tokenizer's own merges continued on text of the language, measured on other text. A "
        "ring marks the number advised, where there is one."
    )
    if measures[0].home not in langs:
        caption += f" Text of {measures[0].home} keeps its tokens."
    title = "What a larger vocabulary brings"
    return b.Figure("extensions", title, caption, tuple(panels), tuple(rows))


def _scripts(measures: Sequence[TokenizerMeasures]) -> b.Section:
    totals: dict[str, int] = {}
    for each in measures:
        for script, count in each.scripts.items():
            totals[script] = totals.get(script, 0) + count
    rows: list[Mapping[str, b.Entry]] = [
        {"script": script}
        | {x.name: percent_cell(x.scripts.get(script, 0), x.size) for x in measures}
        for script in sorted(totals, key=lambda script: (-totals[script], script))[:_SCRIPTS]
    ]
    about = "By the script of most letters; `Zyyy`: without letters, `bytes`: parts of characters."
    return b.Section(
        "scripts", "Vocabulary by script", [b.Paragraph(about, "quiet"), b.Table.of(rows)]
    )


def documents_on(place: Path, size: int) -> Documents:
    """About `size` bytes of each language of a recipe, or of what is kept of a corpus."""
    if place.is_dir():
        if not (place / "corpus.json").is_file():
            hint = "name a recipe, or a folder in corpus/ that `tongues prepare` made"
            raise UserError("is neither a recipe nor a corpus", where=str(place), hint=hint)
        corpus = reopen_corpus(place)
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
    """Load tokenizers and try each on the documents, if there are any."""
    paths = [place.resolve() for place in places]
    short = [path.parent.name if path.name == "tokenizer.json" else path.stem for path in paths]
    names = [str(p) if short.count(x) > 1 else x for p, x in zip(places, short, strict=True)]
    loaded = {name: load_tokenizer(place) for name, place in zip(names, places, strict=True)}
    documents = {lang: those for lang, those in documents.items() if those}
    home = "en" if "en" in documents else ""
    if documents and not home:  # the language that the first one fits best
        few = {lang: those[:_FEW] for lang, those in documents.items()}
        counts = fertility.measure(next(iter(loaded.values())), few)
        home = max(counts, key=lambda x: counts[x].characters / max(counts[x].tokens, 1))
    others = [lang for lang in documents if lang != home] or [home]
    passages = {lang: _passages(those) for lang, those in documents.items()}
    keep = [] if home in others else passages[home]
    measures: list[TokenizerMeasures] = []
    for name, tokenizer in loaded.items():
        kind, (scripts, special) = type(tokenizer.model).__name__, _vocabulary(tokenizer)
        if not documents:
            measures.append(TokenizerMeasures(name, kind, scripts, special))
            continue
        progress(f"{name}: encoding {', '.join(documents)}")
        counts = fertility.measure(tokenizer, documents, home)
        advice: dict[str, ExtensionAdvice] = {}
        for lang in others:
            progress(f"{name}: trying more tokens for {lang}")
            if tried := fertility.advise_extension(tokenizer, passages[lang], keep):
                advice[lang] = tried
        unused = len(fertility.unused_tokens(tokenizer, counts))
        numbers = home, counts, advice, unused
        measures.append(TokenizerMeasures(name, kind, scripts, special, *numbers))
    return measures


def _vocabulary(tokenizer: Tokenizer) -> tuple[dict[str, int], int]:
    pieces = [piece for piece in token_spellings(tokenizer) if piece]
    decoded = [piece.decode(errors="ignore") for piece in pieces]
    rows = zip(decoded, pieces, strict=True)
    texts = [text for text, piece in rows if len(text.encode()) == len(piece)]
    scripts, counts = np.unique(character_signals(texts)["script"], return_counts=True)
    by_script = dict(zip(scripts.tolist(), counts.tolist(), strict=True)) if texts else {}
    by_script |= {"bytes": len(pieces) - len(texts)} if len(texts) < len(pieces) else {}
    order = sorted(by_script, key=lambda script: (-by_script[script], script))
    return {x: by_script[x] for x in order}, tokenizer.get_vocab_size() - len(pieces)


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
