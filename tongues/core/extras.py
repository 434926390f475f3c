"""Packages that are installed on demand: which extra brings each, and what it is for."""

from dataclasses import dataclass
from importlib.util import find_spec

from tongues.core.beside import read_beside
from tongues.core.errors import UserError


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of `pip install 'tongues[NAME]'`."""

    name: str
    module: str  # that it brings
    purpose: str

    @property
    def is_installed(self) -> bool:
        """Whether its module can be imported."""
        return find_spec(self.module) is not None

    @property
    def install(self) -> str:
        """The line that installs it."""
        return f"pip install 'tongues[{self.name}]'"


_TABLE = read_beside(__file__, "extras.toml")
_ALSO: dict[str, str] = _TABLE.pop("also")
EXTRAS = {module: Extra(name, module, purpose) for module, (name, purpose) in _TABLE.items()}


def required_by(error: ModuleNotFoundError) -> UserError | None:
    """What to say of a module that is missing; nothing if no extra brings it."""
    module = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(_ALSO.get(module, module))
    return UserError(f"`{module}` is not installed", hint=extra.install) if extra else None


def require(module: str, where: str = "") -> None:
    """Refuse with the line that installs it, where a module of an extra is missing."""
    extra = EXTRAS[module]
    if not extra.is_installed:
        raise UserError(f"`{module}` is not installed", where=where, hint=extra.install)
