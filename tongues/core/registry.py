"""Open kinds: what `_HOMES` lists, such as schedules, optimizers, signals and law forms.

Each kind is a `Registry` of objects. An object carries its name, one sentence for help and docs
(`summary`), and what it can do. The built-in ones are registered by the module that defines them;
another package adds its own by an entry point, whose value is the object:

    [project.entry-points."tongues.schedules"]
    sawtooth = "my_package:SAWTOOTH"
"""

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, Protocol, TypeVar

from tongues.core.beside import read_beside
from tongues.core.errors import UserError, nearest
from tongues.core.removed import NAMES

_HOMES: dict[str, str] = read_beside(__file__, "registry.toml")


class Named(Protocol):
    """What every registered object has."""

    @property
    def name(self) -> str:
        """By which users choose it."""
        ...

    @property
    def summary(self) -> str:
        """One sentence for help and docs."""
        ...


T = TypeVar("T", bound=Named)
_ALL: dict[str, "Registry"] = {}


class Registry(Generic[T]):
    """The objects of one kind, such as `schedule`, by name; built-in ones first.

    group: the entry-point group by which other packages add theirs, such as `tongues.schedules`.
    """

    def __init__(self, kind: str, group: str) -> None:
        self.kind, self.group = kind, group
        self._objects: dict[str, T] = {}
        self._complete = False  # whether entry points have been read
        self._foreign: set[str] = set()  # names of what came from other packages
        _ALL[kind] = self

    def add(self, thing: T) -> T:
        """Register an object and return it; two of one name are an error."""
        if self._objects.setdefault(thing.name, thing) is not thing:
            raise ValueError(f"two {self.kind}s are called `{thing.name}`")
        return thing

    def find(self, name: str, where: str = "") -> T:
        """The object of that name; a UserError at `where` names the nearest."""
        if name not in self._objects:
            self._read_entry_points()
        if name not in self._objects:
            hint = NAMES.get(f"{self.kind} {name}") or nearest(name, self._objects)
            raise UserError(f"there is no {self.kind} `{name}`", where=where, hint=hint)
        return self._objects[name]

    @property
    def built_in(self) -> tuple[T, ...]:
        """The objects of this package alone."""
        return tuple(x for name, x in self._objects.items() if name not in self._foreign)

    def names(self) -> tuple[str, ...]:
        """All names, built-in ones first."""
        self._read_entry_points()
        return tuple(self._objects)

    def __iter__(self) -> Iterator[T]:
        self._read_entry_points()
        return iter(tuple(self._objects.values()))

    def _read_entry_points(self) -> None:
        if self._complete:
            return
        self._complete = True
        for point in entry_points(group=self.group):
            try:
                self._foreign.add(self.add(point.load()).name)
            except Exception as error:  # whatever another package raises must not stop this one
                what = f"the {self.kind} `{point.name}` of another package does not load ({error})"
                raise UserError(what, where=point.value, hint="fix or uninstall it") from error


def registry(kind: str) -> "Registry":
    """The registry of a kind, from the module that defines it."""
    import_module(_HOMES[kind])
    return _ALL[kind]
