"""Options and recipe keys that are gone, each with what to use instead, in one short sentence."""

import re

__all__ = ["KEYS", "OPTIONS", "instead_of_key"]

# `verb --option`.
OPTIONS: dict[str, str] = {
    "fit --drop-highest": "use `--where`, as in `--where 'loss < 4'`",
    "fit --delta": "`laws.fit(…, delta=…)` in Python has it; 1e-3 is used here",
    "fit --tie": "`laws.fit(…, tie=…)` in Python has it; here hold parameters by `--fix`",
    "fit --narrow-at": "add runs of other sizes and lengths",
    "fit --params": "write `--column params=NAME`",
    "fit --tokens": "write `--column tokens=NAME`",
    "fit --loss": "write `--column loss=NAME`",
    "fit --flops": "write `--column flops=NAME`",
    "fit --unique": "write `--column unique=NAME`",
    "fit --replay": "write `--column replay=NAME`",
    "fit --start": "write `--column start=NAME`",
    "fit --share": "write `--column share=NAME`",
    "fit --experts": "write `--column experts=NAME`",
    "fit --run": "write `--column run=NAME`",
    "fit --strategy": "write `--column strategy=NAME`",
    "fit --lang": "write `--column lang=NAME`",
    "plan --prices": "give the price of a GPU-hour by `--price`",
    "plan --grid": "the world's average is used, 445 g of CO₂ a kWh",
    "plan --ratio": "give `--params` and `--tokens`",
    "plan --bytes-per-token": "count the tokens, and give them by `--available-tokens`",
    "plan --source-loss": "it is taken from the runs of the law of forgetting",
    "plan --verbose": "the page of `-o FOLDER` has every caveat",
}

# The path of a key. The places of items in lists are left out; `*` is any one name.
KEYS: dict[str, str] = {}


def instead_of_key(path: list[str]) -> str:
    """What to use instead of the key at this path; empty where it never was one."""
    names = [name for name in path if not name.isdigit()]
    for key, instead in KEYS.items():
        pattern = ".".join("[^.]+" if name == "*" else re.escape(name) for name in key.split("."))
        if re.fullmatch(pattern, ".".join(names)):
            return instead
    return ""
