"""An evaluation of experts, put in order: the best settings, what was forgotten, what grew."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import (
    Comparison,
    Cost,
    Evaluation,
    ExpertCell,
    ExpertScores,
    Loss,
)

__all__ = [
    "Cell",
    "Experts",
    "Grown",
    "Setting",
    "averaged",
    "best",
    "best_of_each",
    "dense_setting",
    "expert_divisions",
    "expert_settings",
    "frequencies",
    "grown",
    "is_control",
    "lowest",
    "models",
    "read_experts",
    "references",
    "rise_by_language",
    "seed_setting",
    "spread",
    "worse",
]

_CONTROLS = ("uniform", "random")
_OWN = 0.5  # share of a language's text from which an expert counts as one that learned it
_EVEN = 1.1  # times the least is the most text, up to which all languages have alike


@dataclass(frozen=True, slots=True)
class Means:
    """Over languages."""

    loss: float  # nats per token
    perplexity: float
    bits_per_byte: float


@dataclass(frozen=True, slots=True)
class Setting:
    """A division of the text by one routing."""

    division: str  # `seed` is the model that all branch from
    routing: str
    k: int
    cost: Cost
    losses: Mapping[str, Loss]  # by language
    versus: Mapping[str, Comparison]  # seed, dense, before
    whole: bool  # whether it could score every language

    @property
    def seeds(self) -> int:
        """Random seeds that it was trained with."""
        return len(next(iter(self.losses.values())).of_members)

    @property
    def mean(self) -> Means:
        """Over the languages that it could score."""
        each = list(self.losses.values())
        return Means(
            fmean(of.nats_per_token for of in each),
            fmean(of.perplexity or float("inf") for of in each),
            fmean(of.bits_per_byte.value for of in each),
        )

    def loss(self, language: str) -> float:
        """Nats per token."""
        return self.losses[language].nats_per_token

    def lower(self, other: str, language: str = "") -> Estimate:
        """How much lower its loss is than that of one of `versus`, in the mean or on a language."""
        comparison = self.versus[other]
        return -(comparison.languages[language] if language else comparison.overall)


@dataclass(frozen=True, slots=True)
class Experts:
    """An evaluation of experts, setting by setting; the seed is the first."""

    settings: Sequence[Setting]
    text: Mapping[str, Loss]  # of some model that scored every language: what there was to score
    scores: ExpertScores


@dataclass(frozen=True, slots=True)
class Cell:
    """An expert on a language against the seed, the mean over the seeds of its training."""

    division: str
    number: int  # of the expert
    expert: str  # its number and the languages it learned
    lang: str
    learned: bool
    rise: float  # of its loss over the seed's, nats per token


@dataclass(frozen=True, slots=True)
class Grown:
    """Languages added to an ensemble, and the donors of each."""

    donors: Mapping[str, tuple[str, ...]]
    alone: Mapping[str, float]  # nats per token of the new expert, on what it learned


def read_experts(evaluation: Evaluation) -> Experts:
    """The settings of an evaluation of experts."""
    assert evaluation.experts
    (text,) = evaluation.texts.values()
    versus = {
        "seed": {one.model: one for one in text.forgotten},
        "dense": {one.model: one for one in text.compared},
        "before": {one.model: one for one in text.grown},
    }
    settings = [
        Setting(
            division=model.division if place else "seed",
            routing=model.routing,
            k=model.experts,
            cost=text.costs[model.name],
            losses=text.losses[model.name],
            versus={key: by[model.name] for key, by in versus.items() if model.name in by},
            whole=len(text.losses[model.name]) == len(text.languages),
        )
        for place, model in enumerate(evaluation.models)
    ]
    return Experts(settings, settings[0].losses, evaluation.experts)


def seed_setting(found: Experts) -> Setting:
    """The model that all branch from."""
    return found.settings[0]


def dense_setting(found: Experts) -> Setting | None:
    """The one model trained on the text of all languages."""
    return next((one for one in found.settings if one.division == "dense"), None)


def references(found: Experts) -> list[str]:
    """What the experts are compared with, by an interval each."""
    return ["seed", *(["dense"] if dense_setting(found) else [])]


def models(found: Experts) -> list[str]:
    """What a colour stands for in every figure: the seed, the dense model, every division."""
    return ["seed", "dense", *expert_divisions(found)]


def expert_divisions(found: Experts) -> list[str]:
    """Every division but the dense one."""
    names = dict.fromkeys(one.division for one in found.settings)
    return [name for name in names if name not in ("seed", "dense")]


def is_control(setting: Setting) -> bool:
    """Whether its routing knows nothing of the text."""
    return setting.k > 1 and setting.routing in _CONTROLS


def expert_settings(found: Experts, division: str = "") -> list[Setting]:
    """Settings of experts, or of one division, that could score every language; no controls."""
    divisions = [division] if division else expert_divisions(found)
    return [
        one
        for one in found.settings
        if one.division in divisions and one.whole and not is_control(one)
    ]


def best(settings: Iterable[Setting], lang: str = "") -> Setting | None:
    """That of the lowest loss, in the mean or on a language.

    Of equal ones the cheapest, and one that is not told the language.
    """
    return min(
        settings,
        key=lambda one: (
            round(one.loss(lang) if lang else one.mean.loss, 6),
            round(one.cost.experts_run, 2),
            one.routing == "language",
        ),
        default=None,
    )


def best_of_each(found: Experts) -> dict[str, Setting]:
    """The best setting of every division of experts."""
    chosen = {name: best(expert_settings(found, name)) for name in expert_divisions(found)}
    return {name: one for name, one in chosen.items() if one}


def lowest(found: Experts, lang: str, divisions: Container[str]) -> Setting | None:
    """Of some divisions the setting with the lowest loss on a language, controls left out."""
    there = (one for one in found.settings if one.division in divisions and lang in one.losses)
    return best((one for one in there if not is_control(one)), lang)


def spread(amounts: Mapping[str, float]) -> bool:
    """Whether languages differ in their amounts enough to ask what it does."""
    return max(amounts.values()) > _EVEN * min(amounts.values())


def frequencies(found: Experts) -> Mapping[str, float]:
    """How frequent each language was for the seed: its share of what that was trained on.

    Where that is not known, the language's training tokens in the experts' text stand for it.
    """
    return found.scores.base_shares or found.scores.train_tokens


def worse(found: Experts, division: str) -> tuple[list[ExpertCell], int]:
    """Pairs of expert and language that became worse than the seed, and how many there are."""
    cells = _of(found, division)
    return [cell for cell in cells if cell.perplexity_rise > 0], len(cells)


def averaged(found: Experts) -> list[Cell]:
    """Every expert on every language, those of one place in several ensembles taken together."""
    places: dict[str, dict[str, int]] = {}
    groups: dict[tuple[str, int, str], list[ExpertCell]] = {}
    for cell in found.scores.cells:
        names = places.setdefault(cell.ensemble, {})
        number = names.setdefault(cell.expert, len(names))
        groups.setdefault((cell.division, number, cell.language), []).append(cell)
    own: dict[tuple[str, int], list[str]] = {}
    for (division, number, lang), cells in groups.items():
        learned = own.setdefault((division, number), [])
        if cells[0].learned >= _OWN:
            learned.append(lang)
    return [
        Cell(
            division,
            number,
            _called(number, own[division, number]),
            lang,
            lang in own[division, number],
            fmean(cell.rise for cell in cells),
        )
        for (division, number, lang), cells in groups.items()
    ]


def rise_by_language(found: Experts, division: str) -> dict[str, float]:
    """Of each language, the mean rise of loss over the experts that did not learn it."""
    rises: dict[str, list[float]] = {}
    for cell in averaged(found):
        if cell.division == division and not cell.learned:
            rises.setdefault(cell.lang, []).append(cell.rise)
    return {lang: fmean(of) for lang, of in rises.items()}


def grown(found: Experts) -> Grown | None:
    """What was added to the ensemble `before`, or None where nothing grew."""
    cells = {name: _of(found, name) for name in ("before", "grown")}
    if not all(cells.values()):
        return None
    known = {cell.language for cell in cells["before"] if cell.learned > 0}
    old = {cell.expert for cell in cells["before"]}
    learned: dict[str, list[str]] = {}
    losses: dict[str, list[float]] = {}
    for cell in cells["grown"]:
        if cell.expert not in old and cell.learned > 0:
            learned.setdefault(cell.expert, []).append(cell.language)
            losses.setdefault(cell.language, []).append(cell.loss)
    donors = {
        lang: tuple(other for other in langs if other in known)
        for langs in learned.values()
        for lang in langs
        if lang not in known
    }
    return Grown(donors, {lang: fmean(each) for lang, each in losses.items()}) if donors else None


def _of(found: Experts, division: str) -> list[ExpertCell]:
    return [cell for cell in found.scores.cells if cell.division == division]


def _called(number: int, learned: Sequence[str]) -> str:
    more = f" +{len(learned) - 2}" if len(learned) > 3 else ""
    named = ", ".join(learned[:2] if more else learned) + more
    return f"{number}: {named}" if named else str(number)
