"""Amounts as people write them behind an option: `1.4B`, `1e21`, `5%`, `3GB`."""

import math
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tongues.errors import UserError
from tongues.magnitudes import parse_count, with_scale
from tongues.quantities import Bytes

_BYTES: TypeAdapter[int] = TypeAdapter(Bytes)


def _value(text: str) -> float:
    """A number; 40% is 0.4, and other text is NaN."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return math.nan


def read_number(text: str, flag: str, most: float = math.inf) -> float:
    """A number above 0; `flag` names the option in the UserError. 40% is 0.4."""
    number = _value(text)
    if not 0 < number <= most or math.isinf(number):
        bound = "" if math.isinf(most) else f" and at most {most:g}"
        hint = "write a number such as `24`, and decimals with a point, such as `1.9`"
        if most == 1:
            hint = "write a share such as `40%` or `0.4`"
        raise UserError(f"`{text}` is not a number above 0{bound}", where=flag, hint=hint)
    return number


def read_count(text: str, flag: str) -> float:
    """A count above 0, which `k`, `M`, `B` (or `G`) and `T` scale."""
    number = parse_count(text.strip())
    if number is None:
        hint, scaled = "write it like `1.4B`, `30M` or `1e21`", with_scale(text.replace(",", ""))
        if parse_count(scaled) is not None:
            hint = f"did you mean `{scaled}`?"
        raise UserError(f"`{text}` is not a count", where=flag, hint=hint)
    if not 0 < number < math.inf:
        hint = "write a count such as `8`, `30M` or `1e21`"
        raise UserError(f"`{text}` is not above 0, or is too large", where=flag, hint=hint)
    return number


def read_share(text: str, flag: str) -> float:
    """A share of at least 0 and below 1; 5% is 0.05."""
    if not 0 <= (number := _value(text)) < 1:
        hint = "write a share like `5%`"
        raise UserError(f"`{text}` is not a share from 0 to below 100%", where=flag, hint=hint)
    return number


def read_bytes(text: str, flag: str) -> float | Path:
    """An amount of text, such as `3GB`, or the file or folder that it is in."""
    try:
        return float(_BYTES.validate_python(text.strip()))
    except ValidationError:
        if Path(text).exists():
            return Path(text)
    hint = "write it like `3GB`, name a file or folder, or give tokens: `200M tokens`"
    raise UserError(f"`{text}` is neither an amount of text nor a file", where=flag, hint=hint)
