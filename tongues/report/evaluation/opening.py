"""What an evaluation opens with: what one model gained and lost, drawn and as three numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Self

from tongues.core.estimate import Estimate
from tongues.core.pages import Figure, Tile, interval, signed
from tongues.core.pages.axes import Row, categories, colour, linear
from tongues.core.pages.plots import Marks, intervals, words
from tongues.core.quantities import counted, show_count
from tongues.core.roles import Role
from tongues.evaluate.choice import Choice, roles_by_language
from tongues.evaluate.evaluation import EvaluatedModel, Evaluation
from tongues.languages import language_name
from tongues.report.evaluation.tables import Measure
from tongues.report.evaluation.words import WORDS

_SHOWN: tuple[Role, ...] = ("target", "base")  # roles with a number of their own
_LEGEND: dict[Role, str] = {
    "target": "after, target",
    "base": "after, base",
    "other": "after, other",
}
# In the order of the palette: blue, green, purple; grey for what was before.
_COLOURS = ("scratch", *_LEGEND.values(), "unused", "unused too", "before")
_TILES = 3  # of a model alone
_ROW = 46  # pixels of a language
_ROOM = 0.25  # of the panel, at its right, for the differences


@dataclass(frozen=True, slots=True)
class Verdict:
    """One model and its base on a text.

    roles: of the languages, targets first. changes: of the loss, in the measure's unit.
    """

    measure: Measure
    model: EvaluatedModel
    base: str
    roles: Mapping[str, Role]
    changes: Mapping[str, Estimate]

    @classmethod
    def of(cls, evaluation: Evaluation) -> Self | None:
        """Of the model to take on the first text, or the only one; None where that is open."""
        for measure in Measure.of(evaluation):
            compared = measure.versus.get("base", ())
            if len(compared) > 1:
                best = Choice.of(evaluation, measure.scores).models
                compared = [each for each in compared if [each.model] == list(best)]
            if len(compared) == 1:
                (comparison,) = compared
                changes = measure.differences(comparison)
                known = roles_by_language(evaluation, list(changes))
                roles: dict[str, Role] = {
                    lang: role
                    for role in _LEGEND
                    for lang, of in known.items()
                    if role == (of[0] if len(of) == 1 else "other")
                }
                model = evaluation.model(comparison.model)
                return cls(measure, model, comparison.other, roles, changes)
        return None

    def tiles(self) -> Iterator[Tile]:
        """What target and base languages gained or lost, and how much training that took."""
        for role in _SHOWN:
            if langs := [lang for lang, of in self.roles.items() if of == role]:
                yield self._one(role, langs[0]) if len(langs) == 1 else self._mean(role, langs)
        if run := self.model.trained:
            replay = f"{100 * run.roles.replay_share:.3g}"
            about = WORDS["replay_of"].format(params=show_count(run.params), replay=replay)
            yield Tile(WORDS["trained"], f"{show_count(run.tokens)} tokens", about)

    def _one(self, role: Role, lang: str) -> Tile:
        measure, change = self.measure, self.changes[lang]
        verdict, basis = WORDS["verdicts"][role][change.significant], ""
        if change.reason:
            verdict = WORDS["not_tested"].format(count=change.n or "few")
        elif change.n:
            thing = "item" if measure.task else "independent document"
            basis = WORDS["basis"].format(counted(change.n, thing))
        size = f"{signed(change.value, measure.show)} {interval(change, measure.show)}".rstrip()
        said = WORDS["changed" if measure.unit == measure.quantity else "changed_in"]
        below = said.format(verdict=verdict, size=size, unit=measure.unit, basis=basis)
        run = self.model.trained  # whose own text has the run's name, as `new` and `demo` write it
        replayed = run is not None and measure.name == run.run and lang in run.roles.replay
        label = WORDS["replayed" if replayed else "language"].format(name=language_name(lang))
        return Tile(label, self._way([lang]), below, role)

    def _mean(self, role: Role, langs: list[str]) -> Tile:
        show, changes = self.measure.show, [self.changes[lang] for lang in langs]
        ends = [signed(end(of.value for of in changes), show) for end in (min, max)]
        counts = {sign: sum(of.significant == sign for of in changes) for sign in (-1, 1)}
        below = WORDS["changed_several"].format(
            *ends, unit=self.measure.unit, better=counts[-1], worse=counts[1]
        )
        label = WORDS["several"].format(count=len(langs), role=role)
        return Tile(label, self._way(langs), below, role)

    def _way(self, langs: list[str]) -> str:
        """Such as `1.985 → 1.375`."""
        values = [self.measure.values[model] for model in (self.base, self.model.name)]
        means = (fmean(of[lang].value for lang in langs) for of in values)
        return " → ".join(map(self.measure.show, means))

    def figure(self) -> Figure | None:
        """Before and after by language, with the difference at the side."""
        measure, rows, sizes, ends = self.measure, list[Row](), list[Row](), list[float]()
        for lang, role in self.roles.items():
            name, change = language_name(lang), self.changes[lang].value
            sizes.append({"language": name, "text": signed(change, measure.show)})
            for when, model in (("before", self.base), ("after", self.model.name)):
                of = measure.values[model][lang]
                series = when if when == "before" else _LEGEND[role]
                row = {"language": name, "when": when, "series": series, "value": of.value}
                rows.append({**row, "low": of.low, "high": of.high})
                ends += [end for end in (of.low, of.value, of.high) if end is not None]
        room = _ROOM * (max(ends) - min(ends))
        y = categories("language", [row["language"] for row in sizes], labelLimit=190, grid=True)
        panel = intervals(
            "",
            rows,
            linear("value", measure.quantity, ends, high=max(ends) + room),
            y,
            colour(_COLOURS, rows, "circle", columns=4),
            height=_ROW * len(sizes) + 20,
            side_by_side=("before", "after"),
            beside="when",
            tooltip=("language", "when", "value:.4~g", "low:.4~g", "high:.4~g"),
            marks=Marks(size=80, width=2.5, padding=0.8),
            over=words(sizes, "width", y, align="right", baseline="middle", dx=-4),
        )
        return Figure.of(
            "outcome", WORDS["before_and_after"], WORDS["lower_is_better"], [panel], rows
        )


def opening_tiles(evaluation: Evaluation) -> list[Tile]:
    """The numbers of the model to take; of a model alone its own, on the first text or task."""
    if outcome := Verdict.of(evaluation):
        return list(outcome.tiles())
    alone = Measure.of(evaluation)[:1] if len(evaluation.models) == 1 else []
    return [
        Tile(f"{language_name(lang)}, {of.quantity}", of.show(one.value), interval(one, of.show))
        for of in alone
        for lang, one in list(of.values[evaluation.models[0].name].items())[:_TILES]
    ]
