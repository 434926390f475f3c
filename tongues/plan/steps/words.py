"""Why a step is the next one: a sentence for each state, in `words.toml`."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

REASONS: Mapping[str, str] = tomllib.loads(
    (Path(__file__).parent / "words.toml").read_text(encoding="utf-8")
)
