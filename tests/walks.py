"""How an object walks through the package: the files whose functions are given it, in order."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import tongues

PACKAGE = Path(tongues.__file__).parent


@dataclass(slots=True)
class Walk:
    """The files that were entered with the object, without repeats of the same one in a row."""

    floor: Callable[[str], int]  # of a file, counted from the ground
    stops: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)  # `file:function`, each call

    @property
    def climbs(self) -> int:
        """How often it went to a room above the one where it was."""
        floors = map(self.floor, self.stops)
        return sum(later > earlier for earlier, later in pairwise(floors))


@contextmanager
def walked(kinds: tuple[type, ...], floor: Callable[[str], int]) -> Iterator[Walk]:
    """The walk of objects of these kinds as arguments, while entered, in this thread."""
    walk = Walk(floor)

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)):
            return
        if code.co_name.startswith("<"):
            return  # parts of the function that it stands in
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        names = names[names[:1] == ("self",) :]  # one that is asked is not passed on
        if not any(_holds(frame.f_locals.get(name), kinds) for name in names):
            return
        place = str(Path(code.co_filename).relative_to(PACKAGE))
        walk.calls.append(f"{place}:{code.co_name}")
        if not walk.stops or walk.stops[-1] != place:
            walk.stops.append(place)

    before: Callable[..., Any] | None = sys.getprofile()
    sys.setprofile(look)
    try:
        yield walk
    finally:
        sys.setprofile(before)


def _holds(value: object, kinds: tuple[type, ...]) -> bool:
    """Whether a value is of these kinds, or a list of such."""
    inside = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(one, kinds) for one in inside)
