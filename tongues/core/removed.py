"""Options, recipe keys and names that are gone, each with what to use instead: `removed.toml`."""

import re

from tongues.core.beside import read_beside

_GONE = read_beside(__file__, "removed.toml")
OPTIONS: dict[str, str] = _GONE["options"]
NAMES: dict[str, str] = _GONE["names"]
KEYS: dict[str, str] = _GONE["keys"]


def instead_of_key(path: list[str]) -> str:
    """What to use instead of the key at this path; empty where it never was one."""
    names = [name for name in path if not name.isdigit()]
    for key, instead in KEYS.items():
        pattern = ".".join("[^.]+" if name == "*" else re.escape(name) for name in key.split("."))
        if re.fullmatch(pattern, ".".join(names)):
            return instead
    return ""
