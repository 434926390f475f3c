"""Options, recipe keys and names that are gone, each with what to use instead: `removed.toml`."""

from tongues.core.beside import read_beside

_GONE = read_beside(__file__, "removed.toml")
OPTIONS: dict[str, str] = _GONE["options"]
NAMES: dict[str, str] = _GONE["names"]
KEYS: dict[str, str] = _GONE["keys"]


def instead_of_key(path: list[str]) -> str:
    """What to use instead of the key at this path; empty where it never was one."""
    return KEYS.get(".".join(name for name in path if not name.isdigit()), "")
