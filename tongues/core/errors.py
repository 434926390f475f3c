"""The one exception a user can cause, the one a user can ask for, and cautions."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import partial
from unicodedata import combining, normalize

from tongues.core.beside import read_beside

# Codes of errors of work that was asked for correctly, and failed.
_FAILURES = (
    "cluster_failed",
    "languages_missing",
    "out_of_memory",
    "problems_found",
    "process_failed",
    "runs_failed",
    "spike",
)
_SHOWN = 12  # words that a suggestion names
_LEAST = 3  # letters from which the beginning of a word means it
_SLIP = 0.9  # of likeness, from which a word is meant, whatever else begins like it

_OTHERS = read_beside(__file__, "synonyms.toml")
_KEYS = [(ours.split(), word) for ours, words in _OTHERS.items() for word in words.split()]
_SYNONYMS = {
    word: tuple(key for ours, other in _KEYS if other == word for key in ours) for _, word in _KEYS
}

# What is obeyed instead of shown: C0 without tab and line feed, DEL, C1, and what turns the
# direction of all that follows; and what no file of text or XML can hold.
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}
_CONTROLS |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
_CONTROLS |= dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")
# What ends a name between backticks in Markdown.
_IN_CODE = _CONTROLS | {ord("`"): "'", 9: " ", 10: " "}


@dataclass(frozen=True, slots=True)
class Caution:
    """A caveat about a number: a code for programs, a sentence for people."""

    code: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.sentence} ({self.code})"


class UserError(Exception):
    """What is wrong, where, and what to do about it; shown without a traceback.

    what: the mistake in one sentence. where: the recipe key, file or run with the mistake. hint:
    what to do next. code: its name for programs.
    """

    @property
    def exit_code(self) -> int:
        """1 for work that failed, 2 for wrong use."""
        return 1 if self.code in _FAILURES else 2

    def __init__(self, what: str, *, where: str = "", hint: str = "", code: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.hint, self.code = what, where, hint, code

    def __str__(self) -> str:
        first = f"{self.where}: {self.what}" if self.where else self.what
        first = f"{first} ({self.code})" if self.code else first
        return printable(f"{first}\n  {self.hint}" if self.hint else first)

    def __reduce__(self) -> tuple[object, ...]:
        """Cross process borders whole (worker processes raise it too)."""
        return partial(UserError, where=self.where, hint=self.hint, code=self.code), (self.what,)


class Stopped(Exception):
    """The work was interrupted after a checkpoint; the same command resumes it."""


def printable(text: str) -> str:
    """A text that a terminal or page only shows: its control characters are replaced.

    Names of files, runs and models come from others, and may hold sequences that set the
    clipboard or the title of a window, or show a name backwards.
    """
    return text.translate(_CONTROLS)


def code_text(name: str) -> str:
    """A name as Markdown has it between backticks, where nothing in it is markup."""
    return name.translate(_IN_CODE)


def nearest(word: str, choices: Iterable[str]) -> str:
    """A sentence that names the nearest valid word, or all of them when none is near.

    A synonym comes first (`lr` for `learning_rate`), then a word that the other begins with
    (`a100-80gb` for `a100`), then the one with the fewest other letters.
    """
    known = sorted(set(choices))
    plain = {_plain(choice): choice for choice in reversed(known)}
    query = _plain(word)
    matcher = SequenceMatcher(b=query)

    def likeness(choice: str) -> float:
        matcher.set_seq1(choice)
        return matcher.ratio()

    best = next((one for one in _SYNONYMS.get(query, ()) if one in plain), None)
    if best is None:
        close = get_close_matches(query, plain, n=1, cutoff=0.6)
        begun = [one for one in plain if _begins(one, query) or _begins(query, one)]
        if close and likeness(close[0]) >= _SLIP:
            begun = []
        best = max(begun, key=likeness, default=next(iter(close), None))
    if best is not None:
        return f"did you mean `{plain[best]}`?"
    if not known:
        return "there is none to choose from"
    if len(known) > _SHOWN:
        known.sort(key=lambda choice: -likeness(_plain(choice)))
    shown = ", ".join(f"`{choice}`" for choice in known[:_SHOWN])
    more = len(known) - _SHOWN
    return f"choose from {shown}" + (f" and {more} more" if more > 0 else "")


def _plain(word: str) -> str:
    if not word.isascii():
        word = "".join(c for c in normalize("NFKD", word) if not combining(c))
    return word.lower().lstrip("-").replace("-", "_").replace(" ", "_")


def _begins(word: str, start: str) -> bool:
    return len(start) >= _LEAST and word.startswith(start)
