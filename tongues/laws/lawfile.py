"""Laws as plain JSON values, and back: what comes from a file is checked before it is believed."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tongues.errors import Caution, UserError
from tongues.laws.forms import FORMS

if TYPE_CHECKING:
    from tongues.laws.law import Law

__all__ = ["NUMBERS", "finite", "law_from_json"]

NUMBERS = ("objective", "mean_huber", "gradient_norm", "delta")

L = TypeVar("L", bound="Law")


def finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(one) for name, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


def law_from_json(kind: type[L], data: Mapping[str, Any]) -> L:
    """A law from what `Law.to_json` wrote; a UserError names what is not as it was written."""
    from tongues.laws.law import HoldOut, Leverage

    if not isinstance(data, Mapping) or not isinstance(data.get("law"), str):
        raise UserError("holds no law", hint="write one by `tongues fit TABLE -o law.json`")
    form = FORMS.find(data["law"])
    try:
        holdout = data.get("holdout")
        return kind(
            form=form.name,
            params={name: _number(name, data["params"][name]) for name in data["params"]},
            draws=_draws(form.names, data.get("draws", {})),
            interval={name: _ends(name, ends) for name, ends in data["interval"].items()},
            **{name: _or_nan(name, data[name]) for name in NUMBERS},
            n_rows=int(data["n_rows"]),
            n_runs=int(data["n_runs"]),
            range={name: _ends(name, ends, positive=True) for name, ends in data["range"].items()},
            warnings=tuple(Caution(**caution) for caution in data["warnings"]),
            fixed={name: _number(name, value) for name, value in data["fixed"].items()},
            tied=dict(data["tied"]),
            leverage=tuple(Leverage(**one) for one in data["leverage"]),
            holdout=HoldOut(**holdout) if holdout else None,
            source=_text("source", data["source"]),
            strategy=_text("strategy", data["strategy"]),
            target=_text("target", data["target"]),
        )
    except UserError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"its {form.name} law is not whole ({type(error).__name__}: {error})"
        raise UserError(what, hint="write it anew by `tongues fit`") from None


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"`{name}` is no number: {value!r}", hint="write it anew by `tongues fit`")
    return float(value)


def _or_nan(name: str, value: Any) -> float:
    return math.nan if value is None else _number(name, value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UserError(f"`{name}` is no text: {value!r}", hint="write it anew by `tongues fit`")
    return value


def _ends(name: str, ends: Sequence[Any], *, positive: bool = False) -> tuple[float, float]:
    low, high = (_or_nan(name, end) for end in ends)
    if low > high or (positive and not (low >= 0 and high > 0)):
        raise UserError(f"`{name}` goes from {low:g} to {high:g}", hint="mend it, or fit anew")
    return low, high


def _draws(names: Sequence[str], draws: Mapping[str, Sequence[Any]]) -> dict[str, np.ndarray]:
    """Columns of one length, of exactly the form's names; None was a draw that is no number."""
    columns = {
        name: np.array([_or_nan(name, value) for value in values]) for name, values in draws.items()
    }
    if columns and set(columns) != set(names):
        raise UserError(f"the draws are of {' '.join(columns)}, the law is of {' '.join(names)}")
    if len({len(values) for values in columns.values()}) > 1:
        raise UserError("the draws of its parameters differ in number", hint="fit anew")
    return columns
