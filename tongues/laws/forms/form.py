"""What every form of a law has, and what it may be able to do."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tongues.core.errors import UserError, nearest
from tongues.laws.forms.terms import Exponent, Term, TwoTerms, Values

Spans = dict[str, tuple[float, float]]

VARIABLES: Mapping[str, str] = {
    "N": "parameters of the model",
    "D": "tokens trained on",
    "C": "training FLOPs",
    "U": "unique tokens there are",
    "r": "share of replayed text",
    "S": "loss before the first step, on the language the law is about",
    "k": "experts that share the tokens; 1 is one model",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Form(ABC):
    """A law's equation, and all that the program can do with it.

    name: what `--law` calls it. summary: one sentence for help. formula: the loss in nats per
    token, as people write it.
    base: the form whose parameters are taken over.
    given: parameters that are not fitted unless a user asks for them.
    envelope: whether it is fitted to the lowest loss at each compute only.
    free: the parameters a fit may find. taken_names: those that come from the base.
    variables: what the law depends on.
    role: what a plan uses it for: `loss` over size and tokens, `compute` (the lowest loss of any
        size), `repetition` of text, or `forgetting` of the source language.
    strategy: the runs it is about, `scratch` or `cpt`; empty where it may be either.
    compared: whether `--compare` fits it; one with a base is then compared on continued runs.
    terms: its coefficients with the powers under each; a prediction states what is usual of
        a coefficient by its term's share of the loss.
    spread: the middle and deviation of the logarithm of a parameter, before any run, where it is
        in no term.
    amounts: parameters that are amounts of a variable; what is stated of them is of their share of
        it at the middle of the runs.
    drift: how far a prediction takes it to stray, in what is usual of laws.
    predicts: the form that its predictions are of, with what it leaves out; None: its own.
    split: of compute, for `allocate`, where its terms have one.
    """

    name: str
    summary: str
    formula: str
    free: tuple[str, ...] = ()
    taken_names: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    base: str | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    envelope: bool = False
    role: Literal["loss", "compute", "repetition", "forgetting"] = "loss"
    strategy: Literal["", "scratch", "cpt"] = ""
    compared: bool = False
    terms: tuple[Term, ...] = ()
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    amounts: Mapping[str, str] = field(default_factory=dict)
    drift: float = 1.0
    predicts: "Form | None" = None
    split: TwoTerms | None = None

    def __post_init__(self) -> None:
        """Refuse a form that depends on what nobody measures."""
        if unknown := set(self.variables) - set(VARIABLES):
            what = f"the form `{self.name}` depends on {', '.join(sorted(unknown))}"
            raise ValueError(f"{what}; variables are {', '.join(VARIABLES)}")

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter, in the order people write them."""
        return self.taken_names + self.free

    @property
    def powers(self) -> dict[str, Exponent]:
        """The exponents of the terms by name."""
        return {one.name: one for term in self.terms for one in term.exponents}

    @property
    def exponents(self) -> tuple[str, ...]:
        """The fitted parameters whose interval a reader looks at."""
        return self.free

    @property
    def floor(self) -> str | None:
        """The fitted parameter below which no loss falls, if there is one."""
        return None

    def read(self, given: Mapping[str, ArrayLike | None]) -> dict[str, np.ndarray]:
        """The values of its variables; a UserError names those that are missing or not known."""
        check_names(given)
        missing = [name for name in self.variables if given.get(name) is None]
        if missing:
            raise UserError(f"the {self.name} law needs {' and '.join(missing)}", where="loss")
        return {name: np.asarray(given[name], dtype=float) for name in self.variables}

    def limits(self, name: str) -> tuple[float, float, bool]:
        """The lowest and highest value of a free parameter, and whether the ends are allowed."""
        return 0.0, np.inf, False

    def known(self, params: Values, variables: Values) -> np.ndarray:
        """The part of the loss that the base fixes, in nats per token; 0 if it has no such part."""
        return np.zeros(1)

    @abstractmethod
    def loss(self, params: Values, variables: Values) -> np.ndarray:
        """The law itself, in nats per token; parameters and variables broadcast."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurvedForm(Form):
    """Any smooth function of positive parameters, and where to look for them.

    curve: the loss in nats per token from parameters and variables; both broadcast, and complex
    numbers pass through: slopes come from a complex step, exact to rounding.
    spans: lowest and highest value of each free parameter, from the rows.
    starts: values of the free parameters to start from, (starts, parameters), from the rows.
    """

    curve: Callable[[Values, Values], np.ndarray]
    spans: Callable[[Mapping[str, np.ndarray], np.ndarray], Spans]
    starts: Callable[[Mapping[str, np.ndarray], np.ndarray], np.ndarray]

    def loss(self, params: Values, variables: Values) -> np.ndarray:
        """The curve."""
        return self.curve(params, variables)


def check_names(variables: Iterable[str]) -> None:
    """Refuse names that are not a variable of any law: they are typing errors."""
    for name in variables:
        if name not in VARIABLES:
            raise UserError(f"no law has a variable `{name}`", hint=nearest(name, VARIABLES))
