"""Amounts as people write them behind an option: `1.4B`, `1e21`, `5%`, `llama=8B@15T`."""

import math
import re
from dataclasses import dataclass

from tongues.errors import UserError

__all__ = [
    "USUAL_RATIO",
    "Base",
    "read_base",
    "read_count",
    "read_number",
    "read_share",
    "read_shares",
]

USUAL_RATIO = 20.0  # tokens per parameter of the bases that laws of continued training know
_COUNT = re.compile(r"^(\d[\d_]*\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?([kMBGT]?)$")
_SCALE = {"": 0, "k": 3, "M": 6, "B": 9, "G": 9, "T": 12}


@dataclass(frozen=True, slots=True)
class Base:
    """A checkpoint that training may continue from: its parameters, and the tokens it has read."""

    name: str
    params: float
    tokens: float

    @property
    def ratio(self) -> float:
        """Tokens it has read per parameter."""
        return self.tokens / self.params


def read_number(text: str, flag: str, most: float = math.inf) -> float:
    """A number above 0; `flag` names the option in the UserError. 40% is 0.4."""
    try:
        number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= most or math.isinf(number):
        bound = "" if math.isinf(most) else f" and at most {most:g}"
        raise UserError(f"`{text}` is no number above 0{bound}", where=flag)
    return number


def read_count(text: str, flag: str) -> float:
    """A count above 0, which `k`, `M`, `B` (or `G`) and `T` scale."""
    match = _COUNT.match(text.strip())
    if match is None:
        hint = "write it like `1.4B`, `30M` or `1e21`"
        if (scaled := _spelt(text)) and _COUNT.match(scaled):
            hint = f"did you mean `{scaled}`?"
        raise UserError(f"`{text}` is no count", where=flag, hint=hint)
    digits, exponent, letter = match.groups()
    power = int(exponent or 0) + _SCALE[letter]
    number = float(f"{digits.replace('_', '')}e{power}")  # read once: 1.4B is 1.4e9 to the last bit
    if not 0 < number < math.inf:
        raise UserError(f"`{text}` is not more than nothing, or more than can be", where=flag)
    return number


def read_shares(text: str, flag: str) -> tuple[float, ...]:
    """Shares of at least 0 and below 1, in rising order: `0,5%,0.2`."""
    shares = sorted({read_share(part.strip(), flag) for part in text.split(",")})
    return tuple(shares)


def read_base(text: str) -> Base:
    """A checkpoint written `NAME=PARAMS@TOKENS`."""
    name, equals, sizes = text.rpartition("=")
    params, at, tokens = sizes.partition("@")
    if not (name.strip() and equals and at):
        hint = "write `NAME=PARAMS@TOKENS`, such as `--base llama=8B@15T`"
        raise UserError(f"`{text}` is no checkpoint", where="--base", hint=hint)
    return Base(name.strip(), read_count(params, "--base"), read_count(tokens, "--base"))


def read_share(text: str, flag: str) -> float:
    """A share of at least 0 and below 1; 5% is 0.05."""
    try:
        number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < 1:
        hint = "write a share like `5%`, and several like `0,5%,20%`"
        raise UserError(f"`{text}` is no share from 0 to below 100%", where=flag, hint=hint)
    return number


def _spelt(text: str) -> str:
    """The count with blanks and commas gone and its scale letter in the case we read."""
    bare = re.sub(r"[\s,]", "", text)
    return bare[:-1] + {"k": "k"}.get(bare[-1].lower(), bare[-1].upper()) if bare else ""
