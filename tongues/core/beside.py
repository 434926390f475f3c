"""Tables of words and values next to the code that uses them."""

import tomllib
from pathlib import Path
from typing import Any


def read_beside(module: str, name: str = "words.toml") -> dict[str, Any]:
    """The contents of the TOML file next to a module; module: its `__file__`."""
    return tomllib.loads((Path(module).parent / name).read_text(encoding="utf-8"))
