"""What is measured of a document, and when it is dropped for that: one object for each signal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tongues.core.quantities import Threshold
from tongues.core.registry import Registry
from tongues.text.document import Document
from tongues.text.signals.benchmarks import Benchmarks
from tongues.text.signals.characters import character_signals
from tongues.text.signals.language import Identification, Identifier
from tongues.text.signals.near import Near, near_signals
from tongues.text.signals.units import Units, units

if TYPE_CHECKING:
    import pyarrow as pa


KEPT, LIMIT = "kept", "over the size limit"  # what becomes of a document, whatever its signals


@dataclass(frozen=True)
class Batch:
    """Some documents of one language, and what several signals of them need."""

    documents: Sequence[Document]
    identifier: Identifier
    benchmarks: Benchmarks

    @property
    def lang(self) -> str:
        """The language of all of them, by their source."""
        return self.documents[0].lang

    @cached_property
    def texts(self) -> list[str]:
        """Each document's text."""
        return [document.text for document in self.documents]

    @cached_property
    def units(self) -> Units:
        """The words of each text, or characters in scripts without spaces, as hashes."""
        return units(self.texts)

    @cached_property
    def characters(self) -> dict[str, np.ndarray]:
        """Counts and shares of characters and lines."""
        return character_signals(self.texts)

    @cached_property
    def languages(self) -> list[Identification]:
        """The languages of each text."""
        return self.identifier.identify(self.texts)

    @cached_property
    def near(self) -> Near:
        """Signatures that find near copies."""
        return near_signals(self.units)


@dataclass(frozen=True, slots=True)
class Rule:
    """When a document is dropped for a signal.

    Rules are applied by `order`, each among the documents of a language that earlier ones keep.

    Parameters
    ----------
    reason: one or two words, such as `other language`; dropped documents are counted by it.
    sentence: describes such a document; `{}` is replaced by the threshold.
    keeps: documents whose value is `at least`, `at most` or `below` the threshold, or the longest
        document of a language with each value (`one of each`).
    default: the threshold where the recipe sets none, or `off`.
    level: the pydantic type of thresholds in a recipe; `off` is always allowed.
    key: of the threshold in `text.clean`; by default the signal's name.
    always: whether the rule cannot be switched off, and so has no key.
    """

    reason: str
    sentence: str
    keeps: Literal["at least", "at most", "below", "one of each"] = "at most"
    default: float | str = "off"
    level: Any = Threshold
    key: str = ""
    always: bool = False
    order: int = 100


@dataclass(frozen=True, slots=True)
class Signal:
    """A number that is measured of every document and stored with it.

    A signal of another package is measured where a recipe names it in `text.clean`.

    Parameters
    ----------
    name: of its column in the corpus.
    summary: what it measures, in one sentence.
    compute: a number for each document of a batch; NaN where there is nothing to measure.
    dtype: in which the numbers are stored.
    version: raised when the same text gives other numbers than before; text is then read again.
    """

    name: str
    summary: str
    compute: Callable[[Batch], Sequence[float] | np.ndarray]
    dtype: str = "float32"
    rule: Rule | None = None
    version: int = 1

    @property
    def key(self) -> str:
        """The recipe's word for its threshold; empty without one."""
        return (self.rule.key or self.name) if self.rule and not self.rule.always else ""

    def columns(self, batch: Batch) -> dict[str, "pa.Array"]:
        """What is stored, by the names of columns."""
        import pyarrow as pa

        return {self.name: pa.array(np.asarray(self.compute(batch)).astype(self.dtype))}

    def show(self, threshold: float) -> str:
        """A threshold as a person reads it."""
        counts = self.dtype.startswith("uint")
        return f"{threshold:,.0f}" if counts else f"{threshold * 100:.3g} %"


SIGNALS: Registry[Signal] = Registry("signal", "tongues.signals")


def signals_in(keys: Sequence[str]) -> tuple[Signal, ...]:
    """The built-in signals, and those of other packages that a recipe's keys name."""
    others = set(keys) - {signal.key for signal in SIGNALS.built_in}
    named = [signal for signal in SIGNALS if signal.key in others] if others else []
    return (*SIGNALS.built_in, *named)


def reasons(signals: Sequence[Signal]) -> tuple[str, ...]:
    """All that becomes of documents: kept, or the first reason to drop one, in their order."""
    return (KEPT, LIMIT, *(rule.reason for _, rule in in_order(signals)))


def in_order(signals: Sequence[Signal]) -> Iterator[tuple[Signal, Rule]]:
    """The signals with a rule, as their rules are applied."""
    for signal in sorted(signals, key=lambda s: s.rule.order if s.rule else 0):
        if signal.rule:
            yield signal, signal.rule
