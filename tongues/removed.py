"""Options and recipe keys that are gone, each with what to use instead, in one short sentence."""

import re

__all__ = ["KEYS", "OPTIONS", "instead_of_key"]

# `verb --option`.
OPTIONS: dict[str, str] = {
    "languages --country": "`--json` names the countries of every language",
    "languages --limit": "`--json` has all languages",
    "languages --out": "`--json` has all that a page had",
    "languages -o": "`--json` has all that a page had",
    "report --title": "the page is named by what it is about",
}

# The path of a key. The places of items in lists are left out; `*` is any one name.
KEYS: dict[str, str] = {
    "text.clean.paragraphs": "remove repeated paragraphs before, for instance by datatrove",
    "text.clean.passages": "leave it out: documents that are mostly foreign are dropped",
    "text.clean.private": "replace private data before, for instance by datatrove or presidio",
    "tokens.sampling": "leave it out: every language gives as much",
    "text.clean.words": "leave it out, or teach the language filter by `text.clean.sample`",
    "text.clean.listed_words": "leave it out, or teach the language filter by `text.clean.sample`",
}


def instead_of_key(path: list[str]) -> str:
    """What to use instead of the key at this path; empty where it never was one."""
    names = [name for name in path if not name.isdigit()]
    for key, instead in KEYS.items():
        pattern = ".".join("[^.]+" if name == "*" else re.escape(name) for name in key.split("."))
        if re.fullmatch(pattern, ".".join(names)):
            return instead
    return ""
