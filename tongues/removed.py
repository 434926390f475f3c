"""Options and recipe keys that are gone, each with what to use instead, in one short sentence."""

import re

__all__ = ["KEYS", "OPTIONS", "instead_of_key"]

# `verb --option`.
OPTIONS: dict[str, str] = {
    "evaluate --fewshot-seeds": "examples are drawn five times, or once for tasks of lm-eval",
    "evaluate --identifier": "language confusion is no longer measured",
    "evaluate --normalisation": "set `normalisation` in a task's file",
    "evaluate --on-error": "items that cannot be scored are skipped, counted and named",
    "evaluate --seed": "items and examples are the same in every evaluation",
    "evaluate --stride": "windows do not overlap; set `--window`",
    "evaluate --templates": "tasks of lm-eval ask in the language: `--tasks lm-eval:xnli_sw`",
}

# The path of a key. The places of items in lists are left out; `*` is any one name.
KEYS: dict[str, str] = {
    # Of a task's file.
    "demonstrations_end": "an empty line ends an example",
    "files.items": "put the items into `NAME/LANGUAGE.jsonl`",
    "replace": "change the text in the rows",
    "translated": "write a file for each language, or use `lm-eval:NAME`",
    # Of a recipe.
    "train.tasks": "keep `train.milestones`, and score what `tongues export --step` makes of them",
}


def instead_of_key(path: list[str]) -> str:
    """What to use instead of the key at this path; empty where it never was one."""
    names = [name for name in path if not name.isdigit()]
    for key, instead in KEYS.items():
        pattern = ".".join("[^.]+" if name == "*" else re.escape(name) for name in key.split("."))
        if re.fullmatch(pattern, ".".join(names)):
            return instead
    return ""
