"""The laws as data: a new law is one more entry of `FORMS`, and everything else follows from it.

Most laws are sums of power terms (`Form`): a coefficient over powers of the variables, so that
the logarithm of each term is linear in the parameters. The others (`Curved`) are any smooth
function of positive parameters. Variables, by name: N parameters of the model, D tokens trained
on, C training FLOPs, U unique tokens there are, r share of replayed text, S loss on the source
language before the first step.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tongues.errors import UserError, nearest
from tongues.laws.curved import DATA_CONSTRAINED, KAPLAN, Curved
from tongues.laws.forgetting import FORGETTING
from tongues.laws.values import Values

__all__ = ["FORMS", "AnyForm", "Exponent", "Form", "Term", "check_names", "find_form"]

_POSITIVE = tuple(np.geomspace(0.02, 2.0, 12).tolist())
_SIGNED = tuple(np.linspace(-0.6, 1.6, 12).tolist())


@dataclass(frozen=True, slots=True)
class Exponent:
    """A power of one variable: `variable ** -name`, looked for on `grid`, kept in `[low, high]`."""

    name: str
    variable: str
    low: float = 0.01
    high: float = 3.0
    grid: tuple[float, ...] = _POSITIVE


@dataclass(frozen=True, slots=True)
class Term:
    """One addend of a law: a positive coefficient over powers of the variables."""

    coefficient: str
    exponents: tuple[Exponent, ...] = ()

    def value(self, params: Values, variables: Values) -> np.ndarray:
        """The term in nats per token; parameters and variables broadcast."""
        value = np.asarray(params[self.coefficient])
        for exponent in self.exponents:
            value = value * variables[exponent.variable] ** -params[exponent.name]
        return value


@dataclass(frozen=True, slots=True)
class Form:
    """A law's shape: `fitted` terms, and `taken` terms whose parameters come from a base law.

    base: the law whose parameters are taken over.
    given: parameters that are not fitted unless a user says otherwise.
    envelope: whether it is fitted to the lowest loss at each compute only.
    """

    name: str
    formula: str
    fitted: tuple[Term, ...]
    taken: tuple[Term, ...] = ()
    base: str | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    envelope: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter, coefficients first, in the order people write them: E A B alpha beta."""
        return _names(self.taken + self.fitted)

    @property
    def free(self) -> tuple[str, ...]:
        """The parameters a fit of this form may find."""
        return _names(self.fitted)

    @property
    def taken_names(self) -> tuple[str, ...]:
        """The parameters that come from the base."""
        return tuple(name for name in _names(self.taken) if name not in self.free)

    @property
    def exponents(self) -> dict[str, Exponent]:
        """The fitted exponents by name."""
        return {one.name: one for term in self.fitted for one in term.exponents}

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables the law depends on."""
        terms = self.taken + self.fitted
        return tuple(dict.fromkeys(e.variable for term in terms for e in term.exponents))

    def known(self, params: Values, variables: Values) -> np.ndarray:
        """The part of the loss that the taken terms fix, in nats per token."""
        return _total(self.taken, params, variables)

    def loss(self, params: Values, variables: Values) -> np.ndarray:
        """The law itself, in nats per token; parameters and variables broadcast."""
        return _total(self.taken + self.fitted, params, variables)


def _names(terms: tuple[Term, ...]) -> tuple[str, ...]:
    coefficients = [term.coefficient for term in terms]
    exponents = [exponent.name for term in terms for exponent in term.exponents]
    return tuple(dict.fromkeys(coefficients + exponents))


def _total(terms: tuple[Term, ...], params: Values, variables: Values) -> np.ndarray:
    shape = np.broadcast_shapes(*(np.shape(value) for value in variables.values()))
    return sum((term.value(params, variables) for term in terms), np.zeros(shape))


AnyForm = Form | Curved

_E = Term("E")
_A = Term("A", (Exponent("alpha", "N"),))
_BETA = Exponent("beta", "D")
_B = Term("B", (_BETA,))
_JOINT = Term("B", (_BETA, Exponent("gamma", "N", low=-1.0, grid=_SIGNED)))
_OF_COMPUTE = Term("A", (Exponent("gamma", "C"),))
_JOINT_FORMULA = "E + A/N^alpha + B/(D^beta N^gamma)"
_POWER_FORMULA = "E + A/C^gamma"

_ALL: tuple[AnyForm, ...] = (
    Form("chinchilla", "E + A/N^alpha + B/D^beta", (_E, _A, _B)),
    Form("cpt", _JOINT_FORMULA, (_JOINT,), taken=(_E, _A), base="chinchilla"),
    Form("extended", _JOINT_FORMULA, (_E, _A, _JOINT)),
    KAPLAN,
    DATA_CONSTRAINED,
    FORGETTING,
    Form("power", _POWER_FORMULA, (_E, _OF_COMPUTE), given={"E": 0.0}, envelope=True),
    Form("power-floor", _POWER_FORMULA, (_E, _OF_COMPUTE), envelope=True),
)
_ALSO = {"replay": "forgetting"}
FORMS: dict[str, AnyForm] = {form.name: form for form in _ALL}


def find_form(name: str) -> AnyForm:
    """The form of that name; a UserError names the nearest."""
    name = _ALSO.get(name, name)
    if name not in FORMS:
        raise UserError(f"no law `{name}`", where="law", hint=nearest(name, FORMS))
    return FORMS[name]


def check_names(variables: Iterable[str]) -> None:
    """Refuse names that are a variable of no law: they are slips of the pen."""
    known = {name for form in _ALL for name in form.variables}
    for name in variables:
        if name not in known:
            raise UserError(f"no law has a variable `{name}`", hint=nearest(name, known))
