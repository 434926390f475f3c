"""An evaluation of experts: settings, the best of them, each expert, added languages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Self

from tongues.core.estimate import Estimate
from tongues.evaluate.evaluation import (
    Comparison,
    EvaluatedModel,
    Evaluation,
    ExpertCell,
    ExpertScores,
    Loss,
    TextScores,
)
from tongues.evaluate.losses import Cost
from tongues.experts.ensemble import ROUTINGS
from tongues.experts.ensemble.routing import GONE

_OWN = 0.5  # chosen; share of a language's text from which an expert learned it


@dataclass(frozen=True, slots=True)
class Setting:
    """A partition of the text by one routing; loss, perplexity, bits per byte: language means."""

    partition: str  # `base` is the model that all branch from
    routing: str  # empty for one model alone
    kind: str  # the routing without its number of experts
    k: int
    cost: Cost
    losses: Mapping[str, Loss]  # by language
    versus: Mapping[str, Comparison]  # its base, dense, before
    whole: bool  # whether it could score every language
    loss: float  # nats per token
    perplexity: float
    bits_per_byte: float
    needs_language: bool  # whether its routing must be told each text's language

    @classmethod
    def of(cls, model: EvaluatedModel, text: TextScores, partition: str) -> Self:
        """That of a model."""
        losses = text.losses[model.name]
        kind = model.routing.partition(":")[0]
        groups = {"base": text.forgotten, "dense": text.compared, "before": text.added}
        return cls(
            partition=partition,
            routing=model.routing,
            kind=kind,
            k=model.experts,
            cost=text.costs[model.name],
            losses=losses,
            versus={key: c for key, of in groups.items() for c in of if c.model == model.name},
            whole=len(losses) == len(text.languages),
            loss=fmean(of.nats_per_token for of in losses.values()),
            perplexity=fmean(of.perplexity or float("inf") for of in losses.values()),
            bits_per_byte=fmean(of.bits_per_byte.value for of in losses.values()),
            needs_language=bool(kind) and ROUTINGS.find(kind).needs_language,
        )

    @property
    def name(self) -> str:
        """The partition and its routing; one model alone has no routing."""
        return f"{self.partition}, {self.routing}" if self.routing else self.partition

    def difference(self, other: str, language: str = "") -> Estimate | None:
        """Its loss minus that of one of `versus`, in the mean or on a language."""
        if other not in self.versus:
            return None
        each = self.versus[other]
        return each.languages.get(language) if language else each.overall


@dataclass(frozen=True, slots=True)
class ExpertRise:
    """An expert on a language versus the base model, mean over random seeds of its training."""

    partition: str
    number: int  # of the expert
    expert: str  # its number and the languages it learned
    lang: str
    learned: bool
    rise: float  # of its loss above the base's, nats per token


@dataclass(frozen=True, slots=True)
class AddedLanguages:
    """Languages added to an ensemble, with the donors of each, and the new experts' losses."""

    donors: Mapping[str, tuple[str, ...]]
    alone: Mapping[str, float]

    def role(self, language: str) -> str:
        """`added` or `donor`, with its counterpart; empty for every other language."""
        if language in self.donors:
            return f"added, from {', '.join(self.donors[language])}"
        new = [lang for lang, donors in self.donors.items() if language in donors]
        return f"donor of {', '.join(new)}" if new else ""


@dataclass(frozen=True, slots=True)
class MeasuredExperts:
    """The settings of an evaluation."""

    settings: Sequence[Setting]
    scores: ExpertScores
    base: Setting  # the model that all branch from
    dense: Setting | None  # the one model trained on the text of all languages
    languages: Sequence[str]
    references: Sequence[str]  # what experts are compared with, the stronger first
    partitions: Sequence[str]  # but for the dense one

    @classmethod
    def of(cls, evaluation: Evaluation) -> Self:
        """Those of an evaluation of experts."""
        assert evaluation.experts
        (text,) = evaluation.texts.values()
        settings = [
            Setting.of(model, text, model.partition if place else "base")
            for place, model in enumerate(evaluation.models)
            if model.routing.partition(":")[0] not in GONE
        ]
        dense = next((each for each in settings if each.partition == "dense"), None)
        names = dict.fromkeys(each.partition for each in settings)
        return cls(
            settings=settings,
            scores=evaluation.experts,
            base=settings[0],
            dense=dense,
            languages=list(settings[0].losses),
            references=["dense", "base"] if dense else ["base"],
            partitions=[name for name in names if name not in ("base", "dense")],
        )

    @property
    def colours(self) -> list[str]:
        """What each colour is in every figure."""
        return ["base", "dense", *self.partitions]

    def usable(self, partition: str = "") -> list[Setting]:
        """Settings of experts, or of a partition, for every language."""
        partitions = [partition] if partition else self.partitions
        there = (each for each in self.settings if each.partition in partitions)
        return [each for each in there if each.whole]

    def scored(self, lang: str, partitions: Sequence[str]) -> list[Setting]:
        """Settings of some partitions that could score a language."""
        there = (each for each in self.settings if each.partition in partitions)
        return [each for each in there if lang in each.losses]

    def best(self, settings: Iterable[Setting] | None = None, lang: str = "") -> Setting | None:
        """That of the lowest loss, in the mean or on a language; settings: by default the usable.

        Of equal ones the cheapest, and one that does not need the language.
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
    def choice(self) -> str:
        """The partition to use, `dense` where that is significantly better; empty without any."""
        top = self.best()
        dense = top.difference("dense") if top else None
        if dense and dense.significant > 0:
            return "dense"
        return top.partition if top else ""

    @property
    def as_good(self) -> bool:
        """Whether the best experts and the dense model do not differ significantly."""
        top = self.best()
        dense = top.difference("dense") if top else None
        return bool(dense and not dense.significant and not dense.reason)

    @property
    def best_of_each(self) -> dict[str, Setting]:
        """The best setting of every partition of experts."""
        each = {name: self.best(self.usable(name)) for name in self.partitions}
        return {name: setting for name, setting in each.items() if setting}

    def own_setting(self, partition: str, lang: str) -> Setting | None:
        """A partition as it is used for a language: by its own expert where that has one."""
        there = self.scored(lang, [partition])
        return min(there, key=lambda each: not each.needs_language, default=None)

    def cells(self, partition: str) -> list[ExpertCell]:
        """Every expert of a partition on every language."""
        return [cell for cell in self.scores.cells if cell.partition == partition]

    @property
    def rises(self) -> list[ExpertRise]:
        """Every expert on every language, those of one place in several ensembles as one."""
        places: dict[str, dict[str, int]] = {}
        groups: dict[tuple[str, int], dict[str, list[ExpertCell]]] = {}
        for cell in self.scores.cells:
            names = places.setdefault(cell.ensemble, {})
            number = names.setdefault(cell.expert, len(names))
            expert = groups.setdefault((cell.partition, number), {})
            expert.setdefault(cell.language, []).append(cell)
        rises = []
        for (partition, number), by_language in groups.items():
            own = [lang for lang, cells in by_language.items() if cells[0].learned >= _OWN]
            named = ", ".join(own if len(own) < 4 else [*own[:2], f"+{len(own) - 2}"])
            name = f"{number}: {named}" if own else str(number)
            rises += [
                ExpertRise(partition, number, name, lang, lang in own, fmean(c.rise for c in cells))
                for lang, cells in by_language.items()
            ]
        order = list(dict.fromkeys(cell.language for cell in self.scores.cells))
        return sorted(rises, key=lambda rise: order.index(rise.lang))

    @property
    def added(self) -> AddedLanguages | None:
        """What was added to the ensemble `before`, if there is one."""
        before = self.cells("before")
        known = {cell.language for cell in before if cell.learned > 0}
        old = {cell.expert for cell in before}
        learned: dict[str, list[ExpertCell]] = {}
        alone: dict[str, list[float]] = {}
        for cell in self.cells("added") if before else ():
            if cell.expert not in old and cell.learned > 0:
                learned.setdefault(cell.expert, []).append(cell)
                alone.setdefault(cell.language, []).append(cell.loss)
        donors = {
            cell.language: tuple(of.language for of in cells if of.language in known)
            for cells in learned.values()
            for cell in cells
            if cell.language not in known
        }
        means = {lang: fmean(losses) for lang, losses in alone.items()}
        return AddedLanguages(donors, means) if donors else None
