"""From what may be spent to tokens: the one place where hours, money and FLOPs become tokens."""

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from tongues.core.errors import UserError
from tongues.core.hardware import Cluster
from tongues.core.magnitudes import parse_count, with_scale
from tongues.core.quantities import Budget as WrittenBudget

FORWARD_AND_BACKWARD = 6.0  # operations of a parameter and token; C = 6 N D
Kind = Literal["tokens", "tokens per parameter", "flops", "hours", "cost"]
_MONEY = re.compile(r"^\s*(?:US)?\$?\s*([\d.,]+)\s*(?:US\$|USD|\$|dollars)\s*$")
FEW_STEPS = 10  # of a run, below which it learns next to nothing; chosen, for a caution
# Chosen: an amount beyond these is surely a slip in its unit.
_LEAST_FLOPS, _MOST_FLOPS, _MOST_TOKENS = 1e6, 1e30, 1e15


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of tokens, tokens per parameter, FLOPs, hours on all GPUs together, or US$."""

    amount: float
    kind: Kind

    def flops(self, cluster: Cluster | None) -> float | None:
        """The FLOPs of it; None where these depend on the model."""
        if self.kind == "flops":
            return self.amount
        if cluster and self.kind == "hours":
            return cluster.flops(self.amount)
        if cluster and self.kind == "cost":
            return cluster.flops(self.amount / cluster.cost(1.0))
        return None

    def tokens(self, params: float, per_token: float, cluster: Cluster | None) -> float:
        """The tokens that a model of `params` can read for it.

        per_token: operations of each token.
        """
        if self.kind == "tokens":
            return self.amount
        if self.kind == "tokens per parameter":
            return self.amount * params
        flops = self.flops(cluster)
        assert flops is not None, "hours and money need a cluster"
        return flops / per_token


def read_budget(text: str, where: str, cluster: Cluster | None = None) -> Budget:
    """A budget as people write it: `40B tokens`, `7 days`, `1e21 FLOPs`, `5000 US$`.

    A UserError about `where` for another, or for an amount that no model takes; about `--gpu` for
    hours and money without a cluster.
    """
    budget = _read(text, where)
    if budget.kind in ("hours", "cost") and cluster is None:
        what = "hours and money buy tokens on GPUs that are named"
        raise UserError(what, where="--gpu", hint="such as `--gpu h100 --gpus 8`")
    flops = budget.flops(cluster)
    if flops is not None and not _LEAST_FLOPS <= flops <= _MOST_FLOPS:
        what = f"{flops:.3g} FLOPs are not what a model takes"
        raise UserError(what, where=where, code="implausible", hint="give from 1e6 to 1e30 FLOPs")
    if budget.kind == "tokens" and budget.amount > _MOST_TOKENS:
        what = f"{budget.amount:.3g} tokens are more than there are"
        raise UserError(what, where=where, code="implausible", hint="write it like `40B tokens`")
    return budget


def _read(text: str, where: str) -> Budget:
    if money := _MONEY.match(text):
        return Budget(read_number(money[1].replace(",", ""), where), "cost")
    read = read_as(WrittenBudget, text, where, "or money, such as `5000 US$`")
    if read.unit == "seconds":
        return Budget(read.amount / 3600.0, "hours")
    return Budget(read.amount, "flops" if read.unit == "FLOPs" else read.unit)


def read_as(kind: Any, text: str, flag: str, hint: str = "") -> Any:
    """An amount of a kind of `tongues.core.quantities`; a UserError about `flag` for other text."""
    try:
        return TypeAdapter(kind).validate_python(text)
    except ValidationError as error:
        what = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(what, where=flag, hint=hint) from None


def read_number(text: str, flag: str) -> float:
    """A number above 0, such as `24`, `1.9`, `30M` or `1e21`; `flag` is named in the UserError."""
    number = parse_count(text.strip())
    if number is None or not 0.0 < number < math.inf:
        hint, meant = "write it like `24`, `1.4B` or `1e21`", with_scale(text.replace(",", ""))
        hint = f"did you mean `{meant}`?" if parse_count(meant) and number is None else hint
        raise UserError(f"`{text}` is not a number above 0", where=flag, hint=hint)
    return number
