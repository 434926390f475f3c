"""From what may be spent to tokens: the one place where hours, money and FLOPs become tokens."""

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from tongues.errors import UserError
from tongues.hardware import Cluster
from tongues.plan.amounts import read_count
from tongues.quantities import Budget as WrittenBudget

FORWARD_AND_BACKWARD = 6.0  # operations of a parameter and token; C = 6 N D
Kind = Literal["tokens", "tokens per parameter", "flops", "hours", "cost"]
_MONEY = re.compile(r"^\s*(?:US)?\$?\s*([\d.,]+)\s*(?:US\$|USD|\$|dollars)\s*$")


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of tokens, tokens per parameter, FLOPs, hours on all GPUs together, or US$."""

    amount: float
    kind: str  # a `Kind`

    def flops(self, cluster: Cluster | None) -> float | None:
        """The FLOPs of it; None where these depend on the model."""
        if self.kind == "flops":
            return self.amount
        if cluster and self.kind == "hours":
            return cluster.flops(self.amount)
        if cluster and self.kind == "cost":
            return cluster.flops(cluster.hours_for(self.amount))
        return None

    def tokens(
        self, params: float, cluster: Cluster | None, per_parameter: float = FORWARD_AND_BACKWARD
    ) -> float:
        """The tokens that a model of `params` can read for it.

        per_parameter: operations of each parameter and token.
        """
        if self.kind == "tokens":
            return self.amount
        if self.kind == "tokens per parameter":
            return self.amount * params
        flops = self.flops(cluster)
        assert flops is not None, "hours and money need a cluster"
        return flops / (per_parameter * params)


def read_budget(text: str, where: str) -> Budget:
    """A budget as people write it: `40B tokens`, `7 days`, `1e21 FLOPs`, `5000 US$`."""
    money = _MONEY.match(text)
    if money:
        return Budget(read_count(money[1].replace(",", ""), where), "cost")
    try:
        read = TypeAdapter(WrittenBudget).validate_python(text)
    except ValidationError as error:
        what = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(what, where=where, hint="or money, such as `5000 US$`") from None
    if read.unit == "seconds":
        return Budget(read.amount / 3600.0, "hours")
    return Budget(read.amount, "flops" if read.unit == "FLOPs" else read.unit)
