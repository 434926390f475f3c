"""A plan: the options for a question, and which one to take."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from tongues.errors import UserError
from tongues.frames import html_table, text_table, to_frame
from tongues.plan import words
from tongues.plan.bases import BaseCheckpoint, known_bases
from tongues.plan.decide import Decision, decide
from tongues.plan.options import LeftOut, Option, Planner, refuse_empty
from tongues.plan.outlook import Outlook, outlook
from tongues.plan.own_laws import OwnLaws
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
        return words.answer_lines(self.question, self.decision, self.unit, self.left_out)

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

    def _repr_html_(self) -> str:
        first, *others = (f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        return first + html_table(self.rows()) + "".join(others)

    def to_frame(self) -> Any:
        """A row an option with its numbers, as a data frame of pandas or polars."""
        taken = self.decision.option
        nested = (
            "train",
            "parts",
            "losses",
            "bytes_per_token",
            "bytes_per_new_token",
            "new_tokens",
        )
        rows = []
        for option in self.options:
            plain = option.to_json()
            loss = plain.pop("loss") or {}
            rise = plain.pop("rise") or {}
            flat = {key: value for key, value in plain.items() if key not in nested}
            flat |= {"recommended": option is taken, "rise": rise.get("value")}
            flat |= {key: loss.get(of) for key, of in _OF_LOSS.items()}
            rows.append(flat)
        return to_frame(rows)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values, without draws."""
        question, taken = self.question, self.decision
        budget = question.budget and {"amount": question.budget.amount, "of": question.budget.kind}
        cluster = question.cluster
        return {
            "question": {
                "budget": budget,
                "target_loss": question.target_loss,
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


_OF_LOSS = {"loss": "value", "loss_low": "low", "loss_high": "high"}


def make_plan(question: Question, laws: OwnLaws | None = None, sample: str | None = None) -> Plan:
    """Every way of spending the budget that can be taken, and the one to take.

    sample: text of the language, where there is one. A UserError where nothing can be done.
    """
    laws = laws or OwnLaws({}, {})
    if not (laws or question.bases or question.languages):
        hint = "name a base by `--base`, or a language by `--language`"
        raise UserError("there is nothing to plan", hint=hint, code="nothing")
    outlooks = {} if laws else _outlooks(question, sample)
    planner = Planner(question, laws, outlooks)
    if question.bases or laws:
        made = list(_named(planner))
    else:
        question, made = _chosen(planner)
    too_large = all(isinstance(one, LeftOut) and one.code == "out_of_memory" for one in made)
    if question.chosen and too_large:
        made.append(planner.scratch())
    options = [one for one in made if isinstance(one, Option)]
    left_out = [one for one in made if isinstance(one, LeftOut)]
    refuse_empty(options, left_out)
    taken = decide(options, question)
    options.sort(key=lambda option: option is not taken.option)
    return Plan(question, laws, outlooks, tuple(options), taken, tuple(left_out))


def _outlooks(question: Question, sample: str | None) -> dict[str, Outlook]:
    return {
        target.language: outlook(target, sample, question.runs)
        for target in question.targets
        if target.language
    }


def _named(planner: Planner) -> Iterator[Option | LeftOut]:
    """Of the bases that were named, and what own laws are of."""
    question, laws = planner.question, planner.laws
    if not laws or laws.find("cpt"):
        yield from map(planner.continued, question.bases)
        if not question.bases:
            yield planner.of_any_base()
    yield from planner.ensembles()
    if laws.find("scratch"):
        yield planner.scratch()


def _chosen(planner: Planner) -> tuple[Question, list[Option | LeftOut]]:
    """The bases of the catalogue that promise the lowest loss, one of each maker."""
    question = replace(planner.question, chosen=True)
    if not question.languages:
        return question, []
    made = [planner.continued(base) for base in _candidates()]
    options = [one for one in made if isinstance(one, Option) and not one.method.offloads]
    options.sort(key=_order)
    makers: dict[str, Option] = {}
    for option in options:
        maker = option.base.name.split("/")[0] if option.base else ""
        makers.setdefault(maker, option)
    shown = list(makers.values())[:_SHOWN]
    return question, [*shown] if shown else made[:1]


def _order(option: Option) -> tuple[float, float]:
    """The lowest loss first; without losses the base nearest to the usual size."""
    return option.loss.value if option.loss else math.inf, abs(math.log(option.params / _USUAL))


def _candidates() -> Sequence[BaseCheckpoint]:
    """Recent bases that may be used for anything, as far as their licence says."""
    bases = (base for base in known_bases().values() if base.released >= _RECENT)
    return [base for base in bases if not any(word in base.licence for word in _LIMITED)]


def _finite(amount: float) -> float | None:
    return amount if math.isfinite(amount) else None
