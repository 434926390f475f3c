"""Forms that are sums of power terms, a coefficient over powers of variables; the published ones.

The logarithm of each term is linear in the parameters, which makes a fit fast and exact.
"""

from dataclasses import dataclass

import numpy as np

from tongues.laws.forms.form import Form
from tongues.laws.forms.terms import SIGNED, Exponent, Term, TwoTerms, Values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PowerForm(Form):
    """A sum of `fitted` terms, and of `taken` terms whose parameters come from the base.

    One with a term of N alone and a term of D, and at most a floor, splits compute without
    further code.
    """

    fitted: tuple[Term, ...]
    taken: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        """Read names and variables off the terms, and the split they allow."""
        terms = self.taken + self.fitted
        free = _names(self.fitted)
        values = {
            "free": free,
            "terms": terms,
            "taken_names": tuple(name for name in _names(self.taken) if name not in free),
            "variables": tuple(dict.fromkeys(e.variable for t in terms for e in t.exponents)),
            "split": self.split or TwoTerms.of(terms),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        Form.__post_init__(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter, coefficients first: E A B alpha beta."""
        return _names(self.taken + self.fitted)

    @property
    def floor(self) -> str | None:
        """The coefficient of a fitted term that nothing weakens."""
        return next((term.coefficient for term in self.fitted if not term.exponents), None)

    @property
    def exponents(self) -> tuple[str, ...]:
        """The fitted exponents."""
        return tuple(one.name for term in self.fitted for one in term.exponents)

    def limits(self, name: str) -> tuple[float, float, bool]:
        """An exponent within its bounds, a coefficient from zero on."""
        power = self.powers.get(name)
        return (power.low, power.high, True) if power else (0.0, np.inf, True)

    def known(self, params: Values, variables: Values) -> np.ndarray:
        """The sum of the taken terms."""
        return _total(self.taken, params, variables)

    def loss(self, params: Values, variables: Values) -> np.ndarray:
        """The sum of all terms."""
        return _total(self.taken + self.fitted, params, variables)


def _names(terms: tuple[Term, ...]) -> tuple[str, ...]:
    coefficients = [term.coefficient for term in terms]
    exponents = [exponent.name for term in terms for exponent in term.exponents]
    return tuple(dict.fromkeys(coefficients + exponents))


def _total(terms: tuple[Term, ...], params: Values, variables: Values) -> np.ndarray:
    shape = np.broadcast_shapes(*(np.shape(value) for value in variables.values()))
    return sum((term.value(params, variables) for term in terms), np.zeros(shape))


# The published laws: sums over size and tokens, or over compute.
_E = Term("E")
_A = Term("A", (Exponent("alpha", "N"),))
_BETA = Exponent("beta", "D")
_JOINT = Term("B", (_BETA, Exponent("gamma", "N", low=-1.0, grid=SIGNED)))
_JOINT_FORMULA = "E + A/N^alpha + B/(D^beta N^gamma)"
_OF_COMPUTE = (_E, Term("A", (Exponent("gamma", "C"),)))
_SLOW = tuple(np.geomspace(1e-3, 1.0, 12).tolist())

EXTENDED = PowerForm(
    name="extended",
    summary="the joint term of `cpt` with all six parameters fitted: does gamma differ from 0?",
    formula=_JOINT_FORMULA,
    fitted=(_E, _A, _JOINT),
    compared=True,
)
CHINCHILLA = PowerForm(
    name="chinchilla",
    summary="training from scratch, by parameters and tokens (Hoffmann et al. 2022)",
    formula="E + A/N^alpha + B/D^beta",
    fitted=(_E, _A, Term("B", (_BETA,))),
    strategy="scratch",
    compared=True,
    predicts=EXTENDED,  # a CRPS 9 % lower than its own (benchmarks/extrapolation.py)
)
CPT = PowerForm(
    name="cpt",
    summary="continued training: E, A and alpha of the law from scratch (Zheng et al. 2024)",
    formula=_JOINT_FORMULA,
    fitted=(_JOINT,),
    taken=(_E, _A),
    base=CHINCHILLA.name,
    strategy="cpt",
    compared=True,
)
LINE = PowerForm(
    name="line",
    summary="continued runs of one base of one size: a line over log tokens",
    formula="A/D^beta",
    fitted=(Term("A", (Exponent("beta", "D", low=1e-4, grid=_SLOW),)),),
    spread={"A": (0.0, 0.3), "beta": (float(np.log(0.08)), 0.7)},  # benchmarks/one_base.txt
    drift=2.0,  # it has no floor
    strategy="cpt",
)
POWER = PowerForm(
    name="power",
    summary="the lowest loss at each compute, without a floor",
    formula="E + A/C^gamma",
    fitted=_OF_COMPUTE,
    given={"E": 0.0},
    envelope=True,
    role="compute",
)
POWER_FLOOR = PowerForm(
    name="power-floor",
    summary="the lowest loss at each compute, with a floor",
    formula="E + A/C^gamma",
    fitted=_OF_COMPUTE,
    envelope=True,
    role="compute",
)
