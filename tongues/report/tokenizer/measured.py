"""What a tokenizer's pieces are, and what it makes of text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tokenizers import Tokenizer

from tongues.report.tokenizer.texts import Documents
from tongues.text.signals.characters import character_signals
from tongues.tokens.fertility import Advice, Fertility, advise, measure, unused_pieces
from tongues.tokens.pieces import piece_bytes
from tongues.tokens.tokenizer import load_tokenizer

__all__ = ["SAMPLE", "Measured", "measure_tokenizers"]

SAMPLE = 1_000_000  # bytes of each language that tokenizers are tried on
_TRIED = 500_000  # bytes of a language that extensions are tried on
_FEW = 100  # documents of a language that show whether a tokenizer was made for it
_PASSAGE = 2000  # characters
_SPELT = "bytes"  # pieces that are no whole characters
_NO_LETTERS = "Zyyy"


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A tokenizer with all that is known of it.

    scripts: how many pieces are of each script, `bytes` for parts of characters, `Zyyy` for
        those without letters; the most frequent first.
    special: how many pieces stand for no text.
    home: the language that others are compared to, and whose segmentation more pieces leave.
    languages: what it makes of each language's text, and whether to extend it for that one.
    unused: pieces of two bytes or more that this text never uses; None without text.
    """

    name: str
    kind: str
    scripts: dict[str, int]
    special: int
    home: str = ""
    languages: dict[str, Fertility] = field(default_factory=dict)
    advice: dict[str, Advice] = field(default_factory=dict)
    unused: int | None = None

    @property
    def size(self) -> int:
        """Pieces in all."""
        return self.special + sum(self.scripts.values())


def measure_tokenizers(
    places: Sequence[Path], documents: Documents, progress: Callable[[str], None]
) -> list[Measured]:
    """Load tokenizers and try each on the documents, if there are any."""
    names = _names(places)
    documents = {lang: those for lang, those in documents.items() if those}
    loaded = {names[place]: load_tokenizer(place) for place in places}
    home = _home(next(iter(loaded.values())), documents) if documents else ""
    return [_measured(name, loaded[name], documents, home, progress) for name in loaded]


def _home(tokenizer: Tokenizer, documents: Documents) -> str:
    """English, or else the language that the tokenizer fits best."""
    if "en" in documents:
        return "en"
    found = measure(tokenizer, {lang: those[:_FEW] for lang, those in documents.items()})
    return max(found, key=lambda lang: found[lang].characters / max(found[lang].tokens, 1))


def _measured(
    name: str,
    tokenizer: Tokenizer,
    documents: Documents,
    home: str,
    progress: Callable[[str], None],
) -> Measured:
    scripts, special = _vocabulary(tokenizer)
    kind = type(tokenizer.model).__name__
    if not documents:
        return Measured(name, kind, scripts, special)
    progress(f"{name}: encoding {', '.join(documents)}")
    found = measure(tokenizer, documents, home)
    others = [lang for lang in documents if lang != home] or [home]
    keep = [] if home in others else _passages(documents[home])
    advice: dict[str, Advice] = {}
    for lang in others:
        progress(f"{name}: trying more pieces for {lang}")
        tried = advise(tokenizer, _passages(documents[lang]), keep)
        if tried:
            advice[lang] = tried
    unused = len(unused_pieces(tokenizer, found))
    return Measured(name, kind, scripts, special, home, found, advice, unused)


def _vocabulary(tokenizer: Tokenizer) -> tuple[dict[str, int], int]:
    """Pieces by script, and how many stand for no text."""
    pieces = [piece for piece in piece_bytes(tokenizer) if piece]
    texts: list[str] = []
    for piece in pieces:
        try:
            texts.append(piece.decode())
        except UnicodeDecodeError:
            continue
    counts: dict[str, int] = {}
    for script in character_signals(texts)["script"].tolist() if texts else []:
        counts[script] = counts.get(script, 0) + 1
    if len(texts) < len(pieces):
        counts[_SPELT] = len(pieces) - len(texts)
    order = sorted(counts, key=lambda script: (-counts[script], script))
    return {script: counts[script] for script in order}, tokenizer.get_vocab_size() - len(pieces)


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


def _names(places: Sequence[Path]) -> dict[Path, str]:
    """What each tokenizer is called: its folder's name, or all of its path where two share one."""
    short = {place: _name(place.resolve()) for place in places}
    names = list(short.values())
    return {place: str(place) if names.count(name) > 1 else name for place, name in short.items()}


def _name(place: Path) -> str:
    return place.parent.name if place.name == "tokenizer.json" else place.stem
