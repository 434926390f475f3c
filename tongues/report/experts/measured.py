"""An evaluation of experts, put in order: settings, the best of them, each expert, what grew."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Self

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import (
    Comparison,
    Cost,
    Evaluation,
    ExpertCell,
    ExpertScores,
    Loss,
)
from tongues.experts.ensemble import ROUTINGS

__all__ = ["ExpertRise", "Growth", "MeasuredExperts", "Setting", "differ"]

_OWN = 0.5  # share of a language's text from which an expert counts as one that learned it
_EVEN = 1.1  # the most text is so many times the least, where all languages have alike


@dataclass(frozen=True, slots=True)
class Setting:
    """A division of the text by one routing; `versus`: its base, dense, before."""

    division: str  # `base` is the model that all branch from
    routing: str
    k: int
    cost: Cost
    losses: Mapping[str, Loss]  # by language
    versus: Mapping[str, Comparison]
    whole: bool  # whether it could score every language

    @property
    def name(self) -> str:
        """The division and its routing; one model alone has no routing."""
        return self.division if self.k == 1 else f"{self.division}, {self.routing}"

    @property
    def kind(self) -> str:
        """The routing without its number of experts."""
        return self.routing.partition(":")[0] if self.k > 1 else ""

    @property
    def baseline(self) -> bool:
        """Whether its routing ignores the text and is there to compare with."""
        return bool(self.kind) and ROUTINGS.find(self.kind).baseline

    @property
    def needs_language(self) -> bool:
        """Whether its routing must be told each text's language."""
        return bool(self.kind) and ROUTINGS.find(self.kind).needs_language

    @property
    def loss(self) -> float:
        """Nats per token, mean over languages."""
        return fmean(of.nats_per_token for of in self.losses.values())

    @property
    def perplexity(self) -> float:
        """Mean over languages."""
        return fmean(of.perplexity or float("inf") for of in self.losses.values())

    @property
    def bits_per_byte(self) -> float:
        """Mean over languages."""
        return fmean(of.bits_per_byte.value for of in self.losses.values())

    def difference(self, other: str, language: str = "") -> Estimate | None:
        """Its loss minus that of one of `versus`, in the mean or on a language."""
        if other not in self.versus:
            return None
        each = self.versus[other]
        return each.languages.get(language) if language else each.overall


@dataclass(frozen=True, slots=True)
class ExpertRise:
    """An expert on a language versus the base model, mean over random seeds of its training."""

    division: str
    number: int  # of the expert
    expert: str  # its number and the languages it learned
    lang: str
    learned: bool
    rise: float  # of its loss above the base's, nats per token


@dataclass(frozen=True, slots=True)
class Growth:
    """Languages added to an ensemble, with the donors of each, and the new experts' losses."""

    donors: Mapping[str, tuple[str, ...]]
    alone: Mapping[str, float]

    def role(self, language: str) -> str:
        """What a language was to the growth; nothing for one that was only there before."""
        if language in self.donors:
            return f"added, from {', '.join(self.donors[language])}"
        new = [lang for lang, donors in self.donors.items() if language in donors]
        return f"donor of {', '.join(new)}" if new else ""


@dataclass(frozen=True, slots=True)
class MeasuredExperts:
    """The settings of an evaluation; the base model is the first."""

    settings: Sequence[Setting]
    scores: ExpertScores

    @classmethod
    def of(cls, evaluation: Evaluation) -> Self:
        """Those of an evaluation of experts."""
        assert evaluation.experts
        (text,) = evaluation.texts.values()
        compared = {"base": text.forgotten, "dense": text.compared, "before": text.grown}
        settings = [
            Setting(
                division=model.division if place else "base",
                routing=model.routing,
                k=model.experts,
                cost=text.costs[model.name],
                losses=text.losses[model.name],
                versus={
                    key: each
                    for key, comparisons in compared.items()
                    for each in comparisons
                    if each.model == model.name
                },
                whole=len(text.losses[model.name]) == len(text.languages),
            )
            for place, model in enumerate(evaluation.models)
        ]
        return cls(settings, evaluation.experts)

    @property
    def base(self) -> Setting:
        """The model that all branch from."""
        return self.settings[0]

    @property
    def languages(self) -> list[str]:
        """All that were scored."""
        return list(self.base.losses)

    @property
    def dense(self) -> Setting | None:
        """The one model trained on the text of all languages."""
        return next((each for each in self.settings if each.division == "dense"), None)

    @property
    def references(self) -> list[str]:
        """What experts are compared with, the stronger first."""
        return [*(["dense"] if self.dense else []), "base"]

    @property
    def divisions(self) -> list[str]:
        """Every division but the dense one."""
        names = dict.fromkeys(each.division for each in self.settings)
        return [name for name in names if name not in ("base", "dense")]

    @property
    def colours(self) -> list[str]:
        """What a colour stands for in every figure."""
        return ["base", "dense", *self.divisions]

    def usable(self, division: str = "") -> list[Setting]:
        """Settings of experts, or of a division, for every language; no baselines."""
        divisions = [division] if division else self.divisions
        there = (each for each in self.settings if each.division in divisions)
        return [each for each in there if each.whole and not each.baseline]

    def best(self, settings: Iterable[Setting] | None = None, lang: str = "") -> Setting | None:
        """That of the lowest loss, in the mean or on a language; settings: by default the usable.

        Of equal ones the cheapest, and one that need not be told the language.
        """
        return min(
            self.usable() if settings is None else settings,
            key=lambda each: (
                round(each.losses[lang].nats_per_token if lang else each.loss, 6),
                round(each.cost.experts_run, 2),
                each.needs_language,
            ),
            default=None,
        )

    @property
    def best_of_each(self) -> dict[str, Setting]:
        """The best setting of every division of experts."""
        each = {name: self.best(self.usable(name)) for name in self.divisions}
        return {name: setting for name, setting in each.items() if setting}

    def best_on(self, lang: str, divisions: Container[str]) -> Setting | None:
        """The lowest on a language among some divisions, baselines left out."""
        there = (s for s in self.settings if s.division in divisions and lang in s.losses)
        return self.best((each for each in there if not each.baseline), lang)

    @property
    def frequencies(self) -> Mapping[str, float]:
        """Each language's share of what the base was trained on; else its training tokens here."""
        return self.scores.base_shares or self.scores.train_tokens

    def cells(self, division: str) -> list[ExpertCell]:
        """Every expert of a division on every language."""
        return [cell for cell in self.scores.cells if cell.division == division]

    @property
    def rises(self) -> list[ExpertRise]:
        """Every expert on every language, those of one place in several ensembles as one."""
        places: dict[str, dict[str, int]] = {}
        groups: dict[tuple[str, int], dict[str, list[ExpertCell]]] = {}
        for cell in self.scores.cells:
            names = places.setdefault(cell.ensemble, {})
            number = names.setdefault(cell.expert, len(names))
            expert = groups.setdefault((cell.division, number), {})
            expert.setdefault(cell.language, []).append(cell)
        rises = []
        for (division, number), by_language in groups.items():
            own = [lang for lang, cells in by_language.items() if cells[0].learned >= _OWN]
            named = ", ".join(own if len(own) < 4 else [*own[:2], f"+{len(own) - 2}"])
            name = f"{number}: {named}" if own else str(number)
            rises += [
                ExpertRise(division, number, name, lang, lang in own, fmean(c.rise for c in cells))
                for lang, cells in by_language.items()
            ]
        order = list(dict.fromkeys(cell.language for cell in self.scores.cells))
        return sorted(rises, key=lambda rise: order.index(rise.lang))

    def unlearned(self, division: str) -> dict[str, float]:
        """Of each language, the mean rise of loss over the experts that did not learn it."""
        each: dict[str, list[float]] = {}
        for rise in self.rises:
            if rise.division == division and not rise.learned:
                each.setdefault(rise.lang, []).append(rise.rise)
        return {lang: fmean(rises) for lang, rises in each.items()}

    @property
    def growth(self) -> Growth | None:
        """What was added to the ensemble `before`, if anything grew."""
        before, grown = self.cells("before"), self.cells("grown")
        known = {cell.language for cell in before if cell.learned > 0}
        old = {cell.expert for cell in before}
        learned: dict[str, list[ExpertCell]] = {}
        for cell in grown if before else ():
            if cell.expert not in old and cell.learned > 0:
                learned.setdefault(cell.expert, []).append(cell)
        donors: dict[str, tuple[str, ...]] = {}
        alone: dict[str, list[float]] = {}
        for cells in learned.values():
            languages = [cell.language for cell in cells]
            for cell in cells:
                alone.setdefault(cell.language, []).append(cell.loss)
                if cell.language not in known:
                    donors[cell.language] = tuple(lang for lang in languages if lang in known)
        means = {lang: fmean(losses) for lang, losses in alone.items()}
        return Growth(donors, means) if donors else None

    def own_setting(self, division: str, lang: str) -> Setting | None:
        """A division as it is used for a language: by its own expert where that has one."""
        there = [s for s in self.settings if s.division == division and lang in s.losses]
        there = [each for each in there if not each.baseline]
        return min(there, key=lambda each: not each.needs_language, default=None)


def differ(amounts: Mapping[str, float]) -> bool:
    """Whether languages differ in their amounts enough to look for what that does."""
    return max(amounts.values()) > _EVEN * min(amounts.values())
