"""Which languages a text is in, and how much of it is in each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
from langcodes import Language, standardize_tag

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.core.files import file_hash
from tongues.text.signals.close import UNKNOWN, same_language

_LEAST, _MOST, _NEAR = 150, 300, 50  # bytes of a segment; how far back a space is looked for
_BATCH = 1024  # segments scored together: they hide the cost of the loop, and fit the cache
_SMALLEST = 0.01  # share of a text's bytes from which a language is reported
_LISTED = 25  # bytes of a line, on average, below which a segment of several lines is a list
# Scripts besides the usual one that identifiers know though no label names them.
_FURTHER = ("crh-Latn", "ko-Hang", "uz-Arab", "uz-Cyrl", "zh-Hant")

# The label's number of each segment.
Classify = Callable[[Sequence[bytes]], np.ndarray]


@dataclass(frozen=True, slots=True)
class Identification:
    """The languages of a text.

    label: the BCP-47 tag of most of its bytes; `und` for an empty text. shares: each label's share
    of the bytes, largest first, without those under 1 %.
    """

    label: str
    shares: dict[str, float]


@dataclass(frozen=True, slots=True)
class Identifier:
    """Identifies the language of each segment of a text, so that it finds foreign passages.

    name: with the version of the model. labels: its BCP-47 tags, repeated where the model has
    several names for one language.
    """

    name: str
    labels: tuple[str, ...]
    classify: Classify

    @property
    def languages(self) -> frozenset[str]:
        """The tags that a text can be identified as."""
        return frozenset(self.labels)

    def knows(self, tag: str) -> bool:
        """Whether a text in the language and script `tag` can be identified as such."""
        language = Language.get(tag)
        script = language.script if tag not in _FURTHER else None
        usual = script in (None, Language.get(language.language or UNKNOWN).maximize().script)
        return any(
            same_language(tag, label) and (usual or Language.get(label).maximize().script == script)
            for label in self.languages
        )

    def identify(self, texts: Sequence[str]) -> list[Identification]:
        """The languages of each text (in NFC), independent of the other texts.

        Lists, whose names and titles may be of any language, count as the language of most of the
        text around them; where there is none, as what they are identified as.
        """
        cut = [list(segments(text)) for text in texts]
        every = [segment for of_text in cut for segment in of_text]
        if not every:
            return [Identification(UNKNOWN, {}) for _ in texts]
        numbers = self.classify(every)
        names = [*dict.fromkeys((*self.labels, UNKNOWN))]
        places = {name: place for place, name in enumerate(names)}
        merged = np.array([places[label] for label in (*self.labels, UNKNOWN)])[numbers]
        owners = np.repeat(np.arange(len(texts)), [len(of_text) for of_text in cut])
        size = np.fromiter(map(len, every), np.float64, len(every))
        ends = np.fromiter((segment.count(b"\n") for segment in every), np.int64, len(every))
        merged = _of_most(owners, merged, size, (ends > 1) & (size < _LISTED * ends), len(names))
        keys, inverse = np.unique(owners * len(names) + merged, return_inverse=True)
        sizes = np.bincount(inverse, weights=size)
        parts: list[list[tuple[float, str]]] = [[] for _ in texts]
        for key, size in zip(keys.tolist(), sizes.tolist(), strict=True):
            owner, place = divmod(key, len(names))
            parts[owner].append((-size, names[place]))
        identified = []
        for rows in parts:
            total = sum(size for size, _ in rows)
            shares = {x: s / total for s, x in sorted(rows) if s <= _SMALLEST * total}
            _, label = min(rows, default=(0.0, UNKNOWN))
            identified.append(Identification(label, shares))
        return identified


def _of_most(
    owners: np.ndarray, labels: np.ndarray, sizes: np.ndarray, lists: np.ndarray, count: int
) -> np.ndarray:
    """The labels, where lists have that of most of their owner's other segments."""
    keys, inverse = np.unique((owners * count + labels)[~lists], return_inverse=True)
    order = np.argsort(np.bincount(inverse, weights=sizes[~lists]), kind="stable")
    most = np.full(owners[-1] + 1, -1)
    most[keys[order] // count] = keys[order] % count  # the largest is written last
    return np.where(lists & (most[owners] >= 0), most[owners], labels)


def load_identifier(model: Path | None) -> Identifier:
    """The identifier of a fastText model file, such as GlotLID's; without a file, py3langid's."""
    return _py3langid() if model is None else _fasttext(model)


def segments(text: str) -> Iterator[bytes]:
    """Cut a text, in UTF-8, into segments of about 150 to 300 bytes.

    Short lines are joined with the next ones; long lines are cut at spaces, or between characters
    where there is no space.
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


@dataclass(frozen=True, slots=True)
class _ByteModel:
    """Naive Bayes over n-grams of bytes, which an automaton finds.

    The automaton reads a segment byte by byte; in some states an n-gram ends. From state `s`, byte
    `b` leads to `moves[rows[s] + b]`. All segments of a batch are read in step, one byte each:
    a loop over single segments would be slow.
    """

    moves: np.ndarray  # int32
    rows: np.ndarray  # int64, of each state
    outputs: np.ndarray  # int32, of each state: the n-gram that ends there, or -1
    weights: np.ndarray  # float32, of each n-gram and class: log likelihood
    prior: np.ndarray  # float32, of each class: log probability


def _probabilities(model: _ByteModel, segments: Sequence[bytes]) -> np.ndarray:
    """Probability of each class for each segment, float32.

    A row without n-grams of the model is all zeros. Scores are divided by the square root of a
    segment's bytes: otherwise the probabilities of long segments would all be near 0 or 1.
    """
    sizes = np.fromiter(map(len, segments), np.int64, len(segments))
    result = np.zeros((len(segments), len(model.prior)), np.float32)
    order = np.argsort(-sizes, kind="stable")  # segments of similar size in a batch waste no steps
    for start in range(0, len(order), _BATCH):
        chosen = order[start : start + _BATCH]
        ngrams = _walk(model, [segments[i] for i in chosen.tolist()], sizes[chosen])
        result[chosen] = _scores(model, ngrams)
    some = np.flatnonzero(result.any(axis=1))
    scores = result[some] / np.sqrt(sizes[some].astype(np.float32))[:, None]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    result[some] = scores / scores.sum(axis=1, keepdims=True)
    return result


def _walk(model: _ByteModel, segments: Sequence[bytes], sizes: np.ndarray) -> np.ndarray:
    """The n-gram that ends at each byte of each segment, or -1; longest segment first."""
    steps = np.arange(sizes[0])
    letters = np.zeros((len(segments), len(steps)), np.uint8)
    letters[steps < sizes[:, None]] = np.frombuffer(b"".join(segments), np.uint8)
    letters = np.ascontiguousarray(letters.T)
    states = np.zeros(letters.shape, np.int32)  # beyond a segment's end the state of no n-gram
    state = states[0] if len(states) else np.zeros(0, np.int32)
    for step, reading in enumerate(np.searchsorted(-sizes, -steps).tolist()):
        moves = model.rows.take(state[:reading])
        moves += letters[step, :reading]
        state = states[step, :reading]
        model.moves.take(moves, out=state, mode="clip")
    return np.ascontiguousarray(model.outputs.take(states).T)


def _scores(model: _ByteModel, ngrams: np.ndarray) -> np.ndarray:
    """Log posterior, but for a constant, by segment and class; zeros without any n-gram."""
    scores = np.zeros((len(ngrams), len(model.prior)), np.float32)
    weights = np.empty((ngrams.shape[1], len(model.prior)), np.float32)
    for row, (kinds, counts) in enumerate(_counted(ngrams)):
        if len(kinds):
            taken = model.weights.take(kinds, axis=0, out=weights[: len(kinds)], mode="clip")
            np.dot(counts, taken, out=scores[row])
            scores[row] += model.prior
    return scores


def _counted(ngrams: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    ngrams.sort(axis=1)
    count, width = ngrams.shape
    new = np.ones(ngrams.shape, bool)
    np.not_equal(ngrams[:, 1:], ngrams[:, :-1], out=new[:, 1:])
    new &= ngrams >= 0
    places = np.flatnonzero(new)
    bounds = np.searchsorted(places, np.arange(count + 1) * width)
    row_ends = np.repeat(np.arange(1, count + 1) * width, np.diff(bounds))
    ends = np.minimum(np.append(places[1:], ngrams.size), row_ends)
    kinds = ngrams.ravel()[places].astype(np.int64)
    counts = np.log1p((ends - places).astype(np.float32))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield kinds[start:end], counts[start:end]


@cache
def _py3langid() -> Identifier:
    return _of_bytes(*_byte_model(), f"py3langid {version('py3langid')}")


@cache
def _byte_model() -> tuple[_ByteModel, tuple[str, ...]]:
    """py3langid's model and the names of its classes."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # slow to import and to load

    theirs = LanguageIdentifier.from_model_file(MODEL_FILE)
    model = _ByteModel(
        moves=np.asarray(theirs.tk_nextmove).astype(np.int32),
        rows=np.asarray(theirs.tk_row).astype(np.int64) << 8,
        outputs=np.asarray(theirs.tk_output, np.int32),
        weights=theirs.nb_ptc.astype(np.float32),
        prior=theirs.nb_pc.astype(np.float32),
    )
    return model, tuple(theirs.nb_classes)


def _small(segments: Iterable[bytes]) -> list[bytes]:
    """Capitals alone, which the model was not trained on, in lower case."""
    texts = ((segment, segment.decode()) for segment in segments)
    return [text.lower().encode() if text.isupper() else segment for segment, text in texts]


def _of_bytes(model: _ByteModel, classes: tuple[str, ...], name: str) -> Identifier:
    repeats = [(classes.index(name), i) for i, name in enumerate(classes) if name in classes[:i]]

    def classify(segments: Sequence[bytes]) -> np.ndarray:
        chances = _probabilities(model, _small(segments))
        for first, repeat in repeats:
            chances[:, first] += chances[:, repeat]
            chances[:, repeat] = 0
        return np.where(chances.any(axis=1), chances.argmax(axis=1), len(classes))

    labels = tuple(standardize_tag(name, macro=True) for name in classes)
    return Identifier(name, labels, classify)


def _fasttext(path: Path) -> Identifier:
    where = "text.identifier"
    require("fasttext_pybind", where)
    import fasttext_pybind

    name = f"fastText {path.name} {file_hash(path)[:16]}"
    # the compiled module itself: its Python wrapper fails with numpy 2 and prints a warning
    model = fasttext_pybind.fasttext()
    try:
        model.loadModel(str(path))
        written, _ = model.getLabels("strict")
    except (ValueError, RuntimeError) as error:
        hint = "give a model file (.bin) such as GlotLID's, or leave `identifier` out"
        what = f"{path} is not a fastText model ({error})"
        raise UserError(what, where=where, hint=hint) from None
    numbers = {label: number for number, label in enumerate(written)}

    def classify(segments: Sequence[bytes]) -> np.ndarray:
        lines = [segment.decode().replace("\n", " ") + "\n" for segment in segments]
        labels, _ = model.multilinePredict(lines, 1, 0.0, "strict")
        return np.array([numbers[those[0]] if len(those) else len(written) for those in labels])

    tags = (label.removeprefix("__label__") for label in written)  # such as `swh_Latn`
    return Identifier(name, tuple(standardize_tag(tag, macro=True) for tag in tags), classify)
