"""Which languages a text is in, and how much of it is in each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
from langcodes import Language, standardize_tag
from langcodes.data_dicts import MACROLANGUAGES

from tongues.errors import UserError
from tongues.files import file_hash
from tongues.text.signals.lockstep import ByteModel, probabilities

__all__ = ["UNKNOWN", "Found", "Identifier", "load_identifier", "same_language", "segments"]

UNKNOWN = "und"  # what has no letters that tell

_LEAST, _MOST, _NEAR = 150, 300, 50  # bytes of a segment; how far back a space is looked for
_WORTH_TELLING = 0.01  # of a text's bytes

# The label's number and probability of each segment.
Classify = Callable[[Sequence[bytes]], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, slots=True)
class Found:
    """What a text was identified as.

    `label` is the BCP-47 tag of most of its bytes, `score` the mean probability of that
    label over the segments that have it, `shares` each label's share of the bytes, largest
    first, without those under 1 %. An empty text is `und` without shares.
    """

    label: str
    score: float
    shares: dict[str, float]


@dataclass(frozen=True, slots=True)
class Identifier:
    """Tells languages apart, by segments, so that a foreign passage is seen.

    `name` has the version of the model; `labels` are its BCP-47 tags, with repeats where
    the model has several names for one language.
    """

    name: str
    labels: tuple[str, ...]
    classify: Classify

    @property
    def languages(self) -> frozenset[str]:
        """The tags that a text can be identified as."""
        return frozenset(self.labels)

    def knows(self, tag: str) -> bool:
        """Whether a text in the language `tag` can be identified as such."""
        return any(same_language(tag, label) for label in self.languages)

    def identify(self, texts: Sequence[str]) -> list[Found]:
        """What each text (NFC) is; a text is judged alike in any company."""
        cut = [list(segments(text)) for text in texts]
        pieces = [piece for those in cut for piece in those]
        if not pieces:
            return [Found(UNKNOWN, 0.0, {}) for _ in texts]
        numbers, scores = self.classify(pieces)
        names = [*dict.fromkeys((*self.labels, UNKNOWN))]
        places = {name: place for place, name in enumerate(names)}
        merged = np.array([places[label] for label in (*self.labels, UNKNOWN)])[numbers]
        owners = np.repeat(np.arange(len(texts)), [len(those) for those in cut])
        keys, inverse = np.unique(owners * len(names) + merged, return_inverse=True)
        sizes = np.bincount(inverse, weights=[len(piece) for piece in pieces])
        means = np.bincount(inverse, weights=scores) / np.bincount(inverse)
        parts: list[list[tuple[float, str, float]]] = [[] for _ in texts]
        for key, size, mean in zip(keys.tolist(), sizes.tolist(), means.tolist(), strict=True):
            owner, place = divmod(key, len(names))
            parts[owner].append((-size, names[place], mean))
        found = []
        for rows in parts:
            total = sum(size for size, _, _ in rows)
            shares = {x: s / total for s, x, _ in sorted(rows) if s <= _WORTH_TELLING * total}
            _, label, score = min(rows, default=(0.0, UNKNOWN, 0.0))
            found.append(Found(label, score, shares))
        return found


def same_language(tag: str, label: str) -> bool:
    """Whether text labelled `label` passes for text in `tag`.

    Scripts and regions do not matter, and languages of one ISO 639-3 macrolanguage pass for
    one another (`no` nb nn; `zh` yue; `ms` id; hr bs sr): identifiers mix these up on short
    text, and good text of a small language must not be lost to its larger sister.
    """
    return _family(tag) == _family(label)


def load_identifier(model: Path | None) -> Identifier:
    """The identifier of a fastText model file such as GlotLID's, py3langid's without one."""
    return _py3langid() if model is None else _fasttext(model)


def segments(text: str) -> Iterator[bytes]:
    """Cut a text into UTF-8 pieces of about 150 to 300 bytes that join to the whole again.

    Short lines go together with the next ones, long ones are cut at spaces, or between
    characters where there is none.
    """
    data = text.encode()
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _LEAST) + 1
        if end == 0 or len(data) - end < _LEAST:
            end = len(data)
        parts = -(-(end - start) // _MOST)
        before = start
        for part in range(1, parts):
            here = start + (end - start) * part // parts
            after = data.rfind(b" ", here - _NEAR, here) + 1 or here
            while data[after] & 0xC0 == 0x80:  # inside a character
                after -= 1
            yield data[before:after]
            before = after
        yield data[before:end]
        start = end


@lru_cache(maxsize=4096)
def _family(tag: str) -> str:
    """The macrolanguage of a tag's language, or the language itself."""
    language = Language.get(standardize_tag(tag, macro=True)).language or UNKNOWN
    return MACROLANGUAGES.get(language, language)


@cache
def _py3langid() -> Identifier:
    """py3langid's model, read by an automaton in lockstep; the same labels and probabilities."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # slow to import and to load

    theirs = LanguageIdentifier.from_model_file(MODEL_FILE)
    model = ByteModel(
        moves=np.asarray(theirs.tk_nextmove).astype(np.int32),
        rows=np.asarray(theirs.tk_row).astype(np.int64) << 8,
        found=np.asarray(theirs.tk_output, np.int32),
        weights=theirs.nb_ptc.astype(np.float32),
        prior=theirs.nb_pc.astype(np.float32),
    )
    classes = theirs.nb_classes
    repeats = [(classes.index(name), i) for i, name in enumerate(classes) if name in classes[:i]]

    def classify(pieces: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        texts = ((piece, piece.decode()) for piece in pieces)  # the model never saw capitals alone
        small = [text.lower().encode() if text.isupper() else piece for piece, text in texts]
        chances = probabilities(model, small)
        for first, repeat in repeats:
            chances[:, first] += chances[:, repeat]
            chances[:, repeat] = 0
        best = chances.argmax(axis=1)
        scores = chances[np.arange(len(best)), best]
        return np.where(scores > 0, best, len(classes)), scores

    labels = tuple(standardize_tag(name, macro=True) for name in classes)
    return Identifier(f"py3langid {version('py3langid')}", labels, classify)


def _fasttext(path: Path) -> Identifier:
    where = "text.identifier"
    try:
        import fasttext_pybind
    except ImportError:
        hint = "run `pip install 'tongues[glotlid]'`"
        raise UserError("fastText is not installed", where=where, hint=hint) from None
    name = f"fastText {path.name} {file_hash(path)[:16]}"
    # the compiled module itself: its Python wrapper fails with numpy 2 and prints a warning
    model = fasttext_pybind.fasttext()
    try:
        model.loadModel(str(path))
        written, _ = model.getLabels("strict")
    except (ValueError, RuntimeError) as error:
        hint = "give a model file (.bin) such as GlotLID's, or leave `identifier` out"
        raise UserError(f"{path} is no fastText model ({error})", where=where, hint=hint) from None
    numbers = {label: number for number, label in enumerate(written)}

    def classify(pieces: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        lines = [piece.decode().replace("\n", " ") + "\n" for piece in pieces]
        labels, chances = model.multilinePredict(lines, 1, 0.0, "strict")
        best = [numbers[those[0]] if len(those) else len(written) for those in labels]
        scores = [min(float(those[0]), 1.0) if len(those) else 0.0 for those in chances]
        return np.array(best), np.array(scores)

    tags = (label.removeprefix("__label__") for label in written)  # such as `swh_Latn`
    return Identifier(name, tuple(standardize_tag(tag, macro=True) for tag in tags), classify)
