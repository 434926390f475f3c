"""What laws say in words: cautions by their code, and the lines of an answer.

Every sentence is a template in `words.toml`; what is true is decided elsewhere.
"""

from tongues.core.beside import read_beside
from tongues.core.errors import Caution

_WORDS = read_beside(__file__)
_CAUTIONS: dict[str, str] = _WORDS["cautions"]
_LINES: dict[str, str] = _WORDS["lines"]


def caution(kind: str, **facts: object) -> Caution:
    """The caution of a kind, its code or `code.case`, with its sentence about these facts."""
    return Caution(kind.partition(".")[0], _CAUTIONS[kind].format(**facts))


def law_line(kind: str, **facts: object) -> str:
    """The line of a kind about these facts."""
    return _LINES[kind].format(**facts)


def with_interval(value: float, ends: tuple[float, float] | None) -> str:
    """As in `0.519 [0.5, 0.543]`."""
    return f"{value:.3g} [{ends[0]:.3g}, {ends[1]:.3g}]" if ends else f"{value:.3g}"
