"""A plan: the options for a question, and which one to take."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tongues.core.errors import UserError
from tongues.core.pages import text_table
from tongues.plan import words
from tongues.plan.bases import BaseCheckpoint, known_bases
from tongues.plan.decide import Decision, decide
from tongues.plan.options import LeftOut, Option
from tongues.plan.outlook import Outlook, outlook
from tongues.plan.own_laws import OwnLaws
from tongues.plan.planner import Planner
from tongues.plan.question import Question

_SHOWN = 4  # bases that the planner chose
_LIMITED = ("nc", "research")  # in names of licences for some uses alone
_USUAL = 8e9  # parameters of what published projects continue
_RECENT = "2024-07"  # release of the oldest base that it chooses


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked, the options, the one to take, and why others cannot be taken."""

    question: Question
    laws: OwnLaws
    outlooks: dict[str, Outlook]
    options: tuple[Option, ...]
    decision: Decision
    left_out: tuple[LeftOut, ...]

    @property
    def unit(self) -> str:
        """Of losses."""
        return "loss" if self.laws else "bits/byte"

    @property
    def writable(self) -> bool:
        """Whether the advice is one run that a recipe can have."""
        return self.decision.decided and self.decision.option.kind != "experts"

    def rows(self) -> list[dict[str, str]]:
        """A row of text an option; columns that no option fills are left out."""
        return words.rows(self.options, self.decision, self.unit, len(self.question.targets))

    def sentences(self) -> list[str]:
        """What to do, and what comes of it: at most a dozen lines."""
        asked, laws = self.question, self.laws
        return words.answer_lines(asked, self.decision, self.unit, self.left_out, laws)

    def reasons(self) -> list[str]:
        """What the answer rests on, and what was left out."""
        asked, laws = self.question, self.laws
        return words.reason_lines(
            asked, self.decision, self.options, self.left_out, self.outlooks, laws
        )

    def __str__(self) -> str:
        first, *others = self.sentences()
        return "\n".join([first, "", text_table(self.rows()), "", *others])

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values, without draws."""
        question, taken, cluster = self.question, self.decision, self.question.cluster
        return {
            "question": {
                "budget": {"amount": question.budget.amount, "of": question.budget.kind},
                "languages": list(question.languages),
                "text": [_finite(target.text) for target in question.targets],
                "max_forgetting": question.max_forgetting,
                "losses_before": dict(question.losses),
                "gpu": cluster and cluster.gpu.name,
                "gpus": cluster and cluster.count,
                "mfu": cluster and cluster.mfu,
                "price": cluster and cluster.price,
            },
            "laws": {role: law.to_json(draws=False) for role, law in self.laws.laws.items()},
            "unit": "nats per token" if self.laws else "bits per byte",
            "options": [option.to_json() for option in self.options],
            "decision": {
                "code": taken.code,
                "option": taken.option.name,
                "rival": taken.rival and taken.rival.name,
                "likely": taken.likely,
            },
            "answer": self.sentences(),
            "reasons": self.reasons(),
            "left_out": [
                {"name": one.name, "code": one.code, "reason": one.reason} for one in self.left_out
            ],
            "forecasts": {
                lang: one.forecast.to_json() for lang, one in self.outlooks.items() if not self.laws
            },
        }


def make_plan(question: Question, laws: OwnLaws | None = None) -> Plan:
    """Every way of spending the budget that can be taken, and the one to take.

    A UserError where nothing can be done.
    """
    laws = laws or OwnLaws({}, {})
    if not (laws or question.bases or question.languages):
        hint = "name a base by `--base`, or a language by `--language`"
        raise UserError("there is nothing to plan", hint=hint, code="nothing")
    question = replace(question, chosen=not (question.bases or laws))
    outlooks = {} if laws else _outlooks(question)
    planner = Planner(question, laws, outlooks)
    made = _chosen(planner) if question.chosen else list(_named(planner))
    options = [one for one in made if isinstance(one, Option)]
    left_out = [one for one in made if isinstance(one, LeftOut)]
    if not options:
        what = "; ".join(f"`{one.name}`: {one.reason}" for one in left_out[:3])
        raise UserError(what, code=left_out[0].code, hint=left_out[0].hint)
    taken = decide(options, question)
    options.sort(key=lambda option: option is not taken.option)
    return Plan(question, laws, outlooks, tuple(options), taken, tuple(left_out))


def _outlooks(question: Question) -> dict[str, Outlook]:
    targets = [target for target in question.targets if target.language]
    return {target.language: outlook(target, question.runs) for target in targets}


def _named(planner: Planner) -> Iterator[Option | LeftOut]:
    """Of the bases that were named, and what own laws are of."""
    laws, bases = planner.laws, planner.question.bases
    if not laws or laws.find("cpt"):
        yield from map(planner.continued, bases)
    else:
        what, hint = "no law here is of runs that continue a base", "leave out `--law`"
        yield from (LeftOut(base.short, "no_law", what, hint) for base in bases)
    if not bases and laws.find("cpt"):
        hint = "name one that your runs continued: `--base mine=1.3B@26B`"
        yield LeftOut("continue", "no_base", "no base is named", hint)
    yield from planner.ensembles()
    if laws.find("scratch"):
        yield planner.scratch()


def _chosen(planner: Planner) -> list[Option | LeftOut]:
    """The bases of the catalogue that promise the lowest loss, one of each maker.

    A model from scratch where none of them fits.
    """
    made = [planner.continued(base) for base in _candidates()]
    options = [one for one in made if isinstance(one, Option) and not one.method.offloads]
    makers: dict[str, Option] = {}
    for option in sorted(options, key=_order):
        makers.setdefault(option.model.name.split("/")[0], option)
    shown: list[Option | LeftOut] = [*list(makers.values())[:_SHOWN]] or made[:1]
    too_large = all(isinstance(one, LeftOut) and one.code == "out_of_memory" for one in shown)
    return [*shown, planner.scratch()] if too_large else shown


def _order(option: Option) -> tuple[float, float]:
    """The lowest loss first; without losses the base nearest to the usual size."""
    return option.loss.value if option.loss else math.inf, abs(math.log(option.params / _USUAL))


def _candidates() -> Sequence[BaseCheckpoint]:
    """Recent bases that may be used for anything, as far as their licence says."""
    bases = (base for base in known_bases().values() if base.released >= _RECENT)
    return [base for base in bases if not any(word in base.licence for word in _LIMITED)]


def _finite(amount: float) -> float | None:
    return amount if math.isfinite(amount) else None
