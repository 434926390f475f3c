"""Numbers as people read and write them: three figures, with a scale or a unit."""

import re

SCALE = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9, "G": 10**9, "T": 10**12}  # SI and B
SCALE |= {"P": 10**15, "E": 10**18, "Z": 10**21}  # of operations alone
BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}  # SI
BYTES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}  # IEC

_COUNT = re.compile(r"^(\d[\d_]*\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?([kMBGT]?)$")


def parse_count(text: str) -> float | None:
    """A count that `k`, `M`, `B` (or `G`) and `T` scale; None for other text."""
    match = _COUNT.match(text)
    if match is None:
        return None
    digits, exponent, letter = match.groups()
    power = len(str(SCALE[letter])) - 1 + int(exponent or 0)
    return float(f"{digits.replace('_', '')}e{power}")  # 1.4B is 1.4e9 to the last bit


def with_scale(text: str) -> str:
    """A count without spaces, its letter in the case that is read: `20M` for `20 m`."""
    bare = re.sub(r"\s", "", text)
    letter = bare[-1:].upper()
    return bare[:-1] + {"K": "k"}.get(letter, letter)


def show_count(number: float) -> str:
    """A count in three figures with its scale: 1.23M."""
    number = float(f"{number:.3g}")  # rounded first: 999,864,320 is 1B, not 1000M
    if abs(number) >= 1e15:
        return f"{number:.2e}"
    for letter in "TBMk":
        if abs(number) >= SCALE[letter]:
            return f"{number / SCALE[letter]:.3g}{letter}"
    return f"{number:.3g}"


def show_bytes(number: float) -> str:
    """A size in three figures with its unit: 12.3 MB."""
    number = float(f"{number:.3g}")  # rounded first, as a count is
    unit = next((unit for unit in ("TB", "GB", "MB", "kB") if number >= BYTES[unit]), "")
    return f"{number / BYTES[unit]:.3g} {unit}" if unit else f"{number:.0f} B"


def show_seconds(number: float) -> str:
    """A stretch of time in a fitting unit: 45 s, 3 min, 2.5 h, 4 days."""
    if number < 99.5:
        return f"{number:.0f} s"
    if number < 99.5 * 60:
        return f"{number / 60:.0f} min"
    hours = number / 3600
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.0f} days"


def counted(number: int, thing: str = "row") -> str:
    """`1 row`, `2 rows`."""
    return f"{number} {thing}" + "s" * (number != 1)
