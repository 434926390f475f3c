"""Options and recipe keys that are gone, each with what to use instead, in one short sentence."""

import re

__all__ = ["KEYS", "OPTIONS", "instead_of_key"]

# `verb --option`.
OPTIONS: dict[str, str] = {
    "study --pilot": "leave it out; the recipe's `pilot` section says it",
    **{
        f"{verb} --{setting}": f"write `--launcher slurm:{setting}=…`"
        for verb in ("prepare", "study", "experts train", "evaluate")
        for setting in ("partition", "time")
    },
}

# The path of a key. The places of items in lists are left out; `*` is any one name.
KEYS: dict[str, str] = {
    "pilot.source_budget": "leave it out; bases train as long as the longest small run",
    "pilot.max_forgetting": "leave it out; a study with `replay` shows what is forgotten",
    "pilot.shapes": "leave it out; the share says how large the small runs are",
    "pilot.seeds": "leave it out; the small runs have `train.seed`",
}


def instead_of_key(path: list[str]) -> str:
    """What to use instead of the key at this path; empty where it never was one."""
    names = [name for name in path if not name.isdigit()]
    for key, instead in KEYS.items():
        pattern = ".".join("[^.]+" if name == "*" else re.escape(name) for name in key.split("."))
        if re.fullmatch(pattern, ".".join(names)):
            return instead
    return ""
