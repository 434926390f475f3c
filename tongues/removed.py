"""Options and recipe keys that are gone, each with what to use instead, in one short sentence."""

import re

__all__ = ["KEYS", "OPTIONS", "instead_of_key"]

# `verb --option`.
OPTIONS: dict[str, str] = {}

# The path of a key. The places of items in lists are left out; `*` is any one name.
KEYS: dict[str, str] = {
    "experts.budget.weights": "a budget is `even` or `by text`, with `max_epochs` as a limit",
    "train.teacher": "distillation showed no gain; train on the text alone",
}


def instead_of_key(path: list[str]) -> str:
    """What to use instead of the key at this path; empty where it never was one."""
    names = [name for name in path if not name.isdigit()]
    for key, instead in KEYS.items():
        pattern = ".".join("[^.]+" if name == "*" else re.escape(name) for name in key.split("."))
        if re.fullmatch(pattern, ".".join(names)):
            return instead
    return ""
