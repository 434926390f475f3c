"""One seed, many named streams."""

import hashlib


def derive_seed(seed: int, *names: str | int) -> int:
    """A 63-bit seed of the stream so named; other names give independent streams."""
    digest = hashlib.sha256("/".join([str(seed), *map(str, names)]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
