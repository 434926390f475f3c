"""The forms of laws: each is one object with its equation and all that the program does with it.

Another package adds its own by an entry point of the group `tongues.law_forms`, whose value is a
`PowerForm` or a `CurvedForm`. It is then fitted, compared, drawn and planned with as the ones of
this package are.
"""

from tongues.core.registry import Registry
from tongues.laws.forms.experts import EXPERTS
from tongues.laws.forms.forgetting import FORGETTING
from tongues.laws.forms.form import VARIABLES, CurvedForm, Form, check_names
from tongues.laws.forms.power_terms import (
    CHINCHILLA,
    CPT,
    EXTENDED,
    LINE,
    POWER,
    POWER_FLOOR,
    PowerForm,
)
from tongues.laws.forms.repeated import DATA_CONSTRAINED, OVERFITTED
from tongues.laws.forms.terms import Exponent, Term, TwoTerms, Values

__all__ = [
    "EXPERTS",
    "FORMS",
    "LINE",
    "VARIABLES",
    "CurvedForm",
    "Exponent",
    "Form",
    "PowerForm",
    "Term",
    "TwoTerms",
    "Values",
    "check_names",
]

FORMS: Registry[Form] = Registry("law form", "tongues.law_forms")
for _form in (
    *(CHINCHILLA, EXTENDED, CPT, LINE, DATA_CONSTRAINED, OVERFITTED),
    *(EXPERTS, FORGETTING, POWER, POWER_FLOOR),
):
    FORMS.add(_form)
