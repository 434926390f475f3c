"""The one exception a user can cause, the one a user can ask for, and cautions."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches

__all__ = ["Caution", "Stopped", "UserError", "nearest"]

_SHOWN = 12  # words that a suggestion names


@dataclass(frozen=True, slots=True)
class Caution:
    """A reason to doubt a number: a code for programs, a sentence for people."""

    code: str
    sentence: str

    def __str__(self) -> str:
        """The sentence with its code behind it."""
        return f"{self.sentence} ({self.code})"


class UserError(Exception):
    """What is wrong, where, and what to do about it; shown without a traceback.

    Parameters
    ----------
    what: the mistake in one sentence.
    where: the recipe key, file or run it was found in.
    hint: what to do next.
    code: its name for programs, where one tells kinds of refusals apart.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", code: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.hint, self.code = what, where, hint, code

    def __str__(self) -> str:
        """One block of text: `where: what (code)`, then the hint on a line of its own."""
        first = f"{self.where}: {self.what}" if self.where else self.what
        first = f"{first} ({self.code})" if self.code else first
        return f"{first}\n  {self.hint}" if self.hint else first

    def __reduce__(self) -> tuple[object, ...]:
        """Cross process borders whole (worker processes raise it too)."""
        return _rebuild, (self.what, self.where, self.hint, self.code)


class Stopped(Exception):
    """The work was asked to stop; it left a checkpoint and the same command goes on."""


def _rebuild(what: str, where: str, hint: str, code: str) -> UserError:
    return UserError(what, where=where, hint=hint, code=code)


def nearest(word: str, choices: Iterable[str]) -> str:
    """A sentence that names the nearest valid word, or all of them when none is near.

    Of many those come first that are nearest, of few they stand in the order of the alphabet.
    """
    known = sorted(set(choices))
    lowered = {choice.lower(): choice for choice in reversed(known)}
    close = get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{lowered[close[0]]}`?"
    if not known:
        return "there is none to choose from"
    if len(known) > _SHOWN:
        matcher = SequenceMatcher(b=word.lower())

        def unlike(choice: str) -> float:
            matcher.set_seq1(choice.lower())
            return -matcher.ratio()

        known.sort(key=unlike)
    shown = ", ".join(f"`{choice}`" for choice in known[:_SHOWN])
    more = len(known) - _SHOWN
    return f"choose from {shown}" + (f" and {more} more" if more > 0 else "")
