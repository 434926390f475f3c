"""Amounts as people write them, with their unit: `30M tokens`, `6 MB`, `5%`, `60 seconds`."""

import math
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from tongues.core.magnitudes import BYTES, SCALE, counted, show_bytes, show_count, show_seconds

__all__ = ["Amount", "Budget", "Bytes", "Seconds", "Share", "Threshold", "Tokens"]
__all__ += ["counted", "show_bytes", "show_count", "show_seconds"]

_NUMBER = re.compile(
    r"^\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*((?:[kMBGT](?![A-Za-z]))?)\s*(.*?)\s*$"
)
_SIZE = re.compile(r"^\s*([\d_.eE+-]+)\s*([A-Za-z]+)\s*$")
_FLOPS = re.compile(r"^([MGTPEZ]?)FLOPs?$")
# Seconds in a unit of time.
_SECONDS = {"second": 1, "seconds": 1, "s": 1, "minute": 60, "minutes": 60, "hour": 3600}
_SECONDS |= {"hours": 3600, "day": 86_400, "days": 86_400}


def _split(value: Any, example: str) -> tuple[float, str]:
    """The number and the unit of an amount; `value` may carry a scale letter (30M tokens)."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"write an amount with its unit, such as `{example}`")
    if isinstance(value, int | float):
        raise ValueError(f"`{value}` has no unit; write it with one, such as `{example}`")
    match = _NUMBER.match(value)
    if match is None:
        raise ValueError(f"`{value}` is not an amount; write one such as `{example}`")
    number, scale, unit = match.groups()
    amount = float(number.replace("_", "")) * SCALE[scale]
    if not math.isfinite(amount):
        raise ValueError(f"`{value}` is more than can be counted")
    return amount, unit


def _whole(number: float, value: Any) -> int:
    if not 1 <= number < 1e300 or abs(number - round(number)) > 1e-6 * max(number, 1.0):
        raise ValueError(f"`{value}` is not a whole number of at least 1")
    return round(number)


def _tokens(value: Any) -> int:
    number, unit = _split(value, example="30M tokens")
    if unit not in ("token", "tokens"):
        raise ValueError(f"`{value}` is not counted in tokens; write it like `30M tokens`")
    return _whole(number, value)


def _bytes(value: Any) -> int:
    match = _SIZE.match(value) if isinstance(value, str) else None
    if match is None:
        _split(value, "6 MB")
        raise ValueError(f"`{value}` has no unit of size; write it like `6 MB`")
    number, unit = match.groups()
    if unit not in BYTES:
        raise ValueError(f"`{unit}` is not a unit of size; use one of {', '.join(BYTES)}")
    try:
        return _whole(float(number.replace("_", "")) * BYTES[unit], value)
    except ValueError as error:
        raise ValueError(f"`{value}` is not an amount; write one such as `6 MB`") from error


def _seconds(value: Any) -> float:
    number, unit = _split(value, example="60 seconds")
    if unit not in _SECONDS or not number > 0:
        raise ValueError(f"`{value}` is not a time; write one such as `60 seconds`")
    return number * _SECONDS[unit]


def _share(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    else:
        number, unit = _split(value, example="5%")
        if unit not in ("", "%"):
            raise ValueError(f"`{value}` is not a share; write it like `5%` or 0.05")
        number = number / 100 if unit == "%" else number
    if not 0 <= number <= 1:
        meant = f" but {number:.0%}; write `{number:g}%`" if 1 < number <= 100 else ""
        meant = "" if "%" in str(value) else meant
        raise ValueError(f"`{value}` is not between 0 and 100%{meant}")
    return number


def _threshold(value: Any) -> float | str:
    if value == "off":
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    raise ValueError(f"`{value}` is not a threshold; write a number, `on` or `off`")


Tokens = Annotated[int, BeforeValidator(_tokens), PlainSerializer(lambda n: f"{n:d} tokens")]
Bytes = Annotated[int, BeforeValidator(_bytes), PlainSerializer(lambda n: f"{n} B")]
Seconds = Annotated[float, BeforeValidator(_seconds), PlainSerializer(lambda n: f"{n:g} seconds")]
Share = Annotated[float, BeforeValidator(_share), PlainSerializer(lambda n: f"{n * 100:.10g}%")]
Threshold = Annotated[float | str, BeforeValidator(_threshold)]


class _Amount(BaseModel):
    model_config = ConfigDict(frozen=True)
    number: int
    unit: Literal["documents", "bytes", "tokens"]

    def __str__(self) -> str:
        return f"{self.number} {'B' if self.unit == 'bytes' else self.unit}"


def _amount(value: Any) -> Any:
    if isinstance(value, _Amount):
        return value
    number, unit = _split(value, example="2 GB`, `30M tokens` or `1000 documents")
    if unit in ("token", "tokens"):
        return _Amount(number=_whole(number, value), unit="tokens")
    if unit in ("document", "documents"):
        return _Amount(number=_whole(number, value), unit="documents")
    return _Amount(number=_bytes(value), unit="bytes")


Amount = Annotated[_Amount, BeforeValidator(_amount), PlainSerializer(str)]


class _Budget(BaseModel):
    model_config = ConfigDict(frozen=True)
    amount: float
    unit: Literal["tokens", "tokens per parameter", "FLOPs", "seconds"]

    @property
    def seconds(self) -> float | None:
        return self.amount if self.unit == "seconds" else None

    def tokens(
        self, parameters: int, flops_per_token: float, tokens_per_second: float | None = None
    ) -> int:
        """The budget in tokens for a model of this size.

        tokens_per_second: as measured, needed where the budget is a time.
        """
        match self.unit:
            case "tokens":
                return round(self.amount)
            case "tokens per parameter":
                return round(self.amount * parameters)
            case "FLOPs":
                return round(self.amount / flops_per_token)
        if tokens_per_second is None:
            raise ValueError("a time gives a number of tokens only once the speed is measured")
        return round(self.amount * tokens_per_second)

    def shared(self, count: float) -> "_Budget":
        each = self.amount / count
        return _Budget(amount=round(each) if self.unit == "tokens" else each, unit=self.unit)

    def __str__(self) -> str:
        return f"{repr(self.amount).removesuffix('.0')} {self.unit}"


def _budget(value: Any) -> Any:
    if isinstance(value, _Budget):
        return value
    number, written = _split(value, example="30M tokens` or `20 tokens per parameter")
    words = " ".join(written.split())
    if words in ("tokens", "token", "tokens per parameter"):
        unit = "tokens per parameter" if words.endswith("parameter") else "tokens"
    elif match := _FLOPS.match(words):
        number, unit = number * SCALE[match[1]], "FLOPs"
    elif words in _SECONDS:
        number, unit = number * _SECONDS[words], "seconds"
    else:
        reason = "a budget is counted in tokens, tokens per parameter, FLOPs, hours or days"
        example = "20 tokens per parameter" if words else f"{value} tokens"
        raise ValueError(f"`{value}`: {reason}, such as `{example}`")
    if not 0 < number < math.inf:
        raise ValueError(
            f"`{value}` is not above 0, or is too large; write one such as `30M tokens`"
        )
    if unit == "tokens":
        _whole(number, value)
    return _Budget(amount=number, unit=unit)


Budget = Annotated[_Budget, BeforeValidator(_budget), PlainSerializer(str)]
