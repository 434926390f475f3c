"""How much held-out text fits a run, how long it takes, what is read first; without torch."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tongues.core.files import fingerprint
from tongues.runs.record import Run
from tongues.text import Document

Texts: TypeAlias = Mapping[str, Mapping[str, Sequence[Document]]]  # by name and language

_PASSES = 3  # of a trained token: one forward, and one backward that takes twice as long
START = 20.0  # seconds to import and to open two models of 135M on two cores

ALL = 2**62  # tokens: more than any text has
# An early estimate is of what takes so many seconds by the speeds, then of ten times as much, and
# so on: all of them together add at most a ninth. The speeds, in FLOPs a second, are low ones of a
# laptop and of a GPU (chosen); they are fixed, so that a resumed evaluation reads the same parts.
_FEWEST, FIRST, _GROWTH = 6, 20.0, 10
SPEEDS = {"cpu": 4e10, "cuda": 2e13}
STORED, BYTES = 3, 3  # bytes of a weight in a file, and of a token of text; between usual ones


def fitting_tokens(runs: Sequence[Run], models: int, languages: int) -> int:
    """Tokens of a language that models score in about the time that runs were trained.

    So that an answer costs no more than what it is about; any number without a run.
    """
    tokens = sum(run.tokens for run in runs)
    return _PASSES * tokens // (models * languages) if runs else ALL


def expected_seconds(run: Run, held_out: Mapping[str, int], models: int) -> float | None:
    """How long the evaluation of a run takes by the speed of its training; None: not known.

    held_out: tokens by language, of which the first half is scored. models: it, and its base.
    """
    if not run.seconds or not run.tokens:
        return None
    most = fitting_tokens([run], models, len(held_out))
    scored = models * sum(min(tokens // 2, most) for tokens in held_out.values())
    processes = (run.engine or {}).get("processes", 1)
    return START + scored * run.seconds * processes / (_PASSES * run.tokens)


def early_parts(texts: Texts, stored: int, device: str) -> list[tuple[float, Texts]]:
    """Growing parts of texts to have estimates by, with their shares; none where all is quick.

    stored: bytes of the weights of all models. device: `cpu` or `cuda`.
    """
    size = sum(len(x.text.encode()) for by in texts.values() for of in by.values() for x in of)
    share = FIRST * SPEEDS[device] / max(2 * stored / STORED * size / BYTES, 1.0)
    parts: list[tuple[float, Texts]] = []
    counts, whole = list[int](), sum(len(of) for by in texts.values() for of in by.values())
    while share <= 1 / 3:
        some = {name: {x: _part(of, share) for x, of in by.items()} for name, by in texts.items()}
        count = sum(len(of) for by in some.values() for of in by.values())
        if count not in counts and 3 * count <= whole:  # more would cost more than it tells
            counts.append(count)
            parts.append((count / whole, some))
        share *= _GROWTH
    return parts


def _part(documents: Sequence[Document], share: float) -> list[Document]:
    """A share of the documents of a language, six at least, in their order.

    At random, but of every group one before any second, and the same groups in all languages:
    translations stay pairs.
    """
    seen = Counter[str]()
    ranks: list[tuple[int, str, int]] = []
    for place, one in enumerate(documents):
        ranks.append((seen[one.group], fingerprint(one.group), place))
        seen[one.group] += 1
    count = max(_FEWEST, math.ceil(share * len(documents)))
    return [documents[place] for place in sorted(place for *_, place in sorted(ranks)[:count])]
