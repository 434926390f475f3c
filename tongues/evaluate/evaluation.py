"""An evaluation: models on texts and tasks, what each scored, and which differ.

It is kept as `scores.json`, from which tables, pages and cards are made without a model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from typing import Any, Self

from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.files import check_readable, read_json, write_json
from tongues.core.jsonable import from_plain, to_plain
from tongues.core.roles import Roles
from tongues.core.significance import Chance, WinRate
from tongues.evaluate.losses import Cost, Policy
from tongues.evaluate.tasks import Normalisation
from tongues.experts.partition.partition import Partition

SCORES = "scores.json"
BITS_PER_BYTE, NATS_PER_TOKEN = "bits/byte", "nats/token"


@dataclass(frozen=True, slots=True)
class Trained:
    """How a run came to be, as its record says."""

    run: str
    fingerprint: str
    strategy: str
    roles: Roles
    shape: str
    params: int
    tokens: int
    seed: int


@dataclass(frozen=True, slots=True)
class EvaluatedModel:
    """What a model is, as far as its numbers depend on it."""

    name: str
    kind: str  # run, folder or ensemble
    base: str | None  # what it was trained on from
    routing: str  # of an ensemble; empty for one model alone
    experts: int
    context: int | None
    first: str | None  # the token before every text
    prompted: bool  # and before the prompts of tasks too
    tokenizer: str  # SHA-256: perplexities compare where it is the same
    trained: Trained | None  # None where it is not a run
    fingerprint: str
    partition: str = ""  # of a recipe of experts
    members: Sequence[str] = ()  # trained with several random seeds, scored as their mean
    experts_roles: Roles | None = None  # of an ensemble

    @property
    def roles(self) -> Roles | None:
        """What languages are to it; None where that is not known, as of a folder."""
        return self.trained.roles if self.trained else self.experts_roles


@dataclass(frozen=True, slots=True)
class Loss:
    """A model's loss on a text in a language: sums over documents over sums."""

    nats_per_token: float
    perplexity: float | None  # None: over 1e299
    bits_per_byte: Estimate
    documents: int
    tokens: int
    bytes: int
    of_members: Sequence[float] = ()  # nats per token


@dataclass(frozen=True, slots=True)
class Comparison:
    """A model's score minus another's, on the same documents or items.

    Of a text: how much higher its loss is; of a task: how many more items it answers rightly. The
    p-values allow for how many there are of the kind: of all languages and pairs of models, of the
    means of all pairs. mean: over languages; None where a language is missing.
    others: the other model of a language, where that is not the same in all. relative_of: of a
    task, the score above chance over the other's.
    """

    model: str
    other: str
    languages: Mapping[str, Estimate]
    mean: Estimate | None
    others: Mapping[str, str] = field(default_factory=dict)
    relative_of: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def overall(self) -> Estimate:
        """Of the mean over languages, or of the only one."""
        if len(self.languages) == 1 or self.mean is None:
            return next(iter(self.languages.values()))
        return self.mean


@dataclass(frozen=True, slots=True)
class TextScores:
    """All models on one text."""

    losses: Mapping[str, Mapping[str, Loss]]  # by model and language
    unit: str  # of the comparisons: bits/byte or nats/token
    segments: int  # that all languages have, as translations of each other
    translated: bool  # whether most documents are of a group that is in several languages
    bits_per_segment: Mapping[str, Mapping[str, float]]  # by model and language
    best: Mapping[str, WinRate]  # in how many languages a model's loss is the lowest
    leaders: Mapping[str, Sequence[str]]  # by language, where tested: the best, and those as good
    compared: Sequence[Comparison]  # with the first model
    forgotten: Sequence[Comparison]  # with the base of each model
    added: Sequence[Comparison]  # with an ensemble before languages were added
    cautions: Sequence[str]
    costs: Mapping[str, Cost]  # of a token, by model
    # The same of each source of the text, `LANGUAGE: SOURCE` in the place of languages, where a
    # language has several.
    by_source: "TextScores | None" = None

    @property
    def languages(self) -> list[str]:
        """Of the text; a model may have no loss in one of them."""
        return list(dict.fromkeys(lang for by in self.losses.values() for lang in by))

    @property
    def versus_base(self) -> Sequence[Comparison]:
        """Every model versus its base."""
        return self.forgotten

    @property
    def versus_first(self) -> Sequence[Comparison]:
        """The models versus the first, but for pairs of a model and its base."""
        pairs = [{each.model, each.other} for each in self.forgotten]
        return [each for each in self.compared if {each.model, each.other} not in pairs]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of items of a language that a model answers rightly, and that of guessing.

    majority: of always choosing the place that is right most often; None where that is one place.
    """

    share: Estimate
    chance: Chance | None  # None where the metric is no accuracy
    majority: float | None
    items: int
    groups: int  # of items that are not independent
    fewshot_seeds: int
    worth: float | None = None  # alike groups with as many degrees of freedom, if under half

    @property
    def guessing(self) -> float:
        """The higher of chance and majority."""
        return max(self.chance.level if self.chance else 0.0, self.majority or 0.0)


@dataclass(frozen=True, slots=True)
class TaskScores:
    """All models on one task."""

    normalisation: Normalisation | None  # None: of a metric of lm-eval
    num_fewshot: int
    metric: str  # of lm-eval; "": accuracy
    share: bool  # whether values are shown in percent
    lower_is_better: bool
    accuracies: Mapping[str, Mapping[str, Accuracy]]  # by model and language
    mean: Mapping[str, Estimate]  # over languages
    chance: Chance | None  # of the mean
    translated: bool  # whether most items are in several languages
    best: Mapping[str, WinRate]  # in how many languages a model is the best
    leaders: Mapping[str, Sequence[str]]  # by language, where tested: the best, and those as good
    compared: Sequence[Comparison]

    @property
    def languages(self) -> list[str]:
        """Of the task, the same for all models."""
        return list(next(iter(self.accuracies.values())))

    @property
    def versus_base(self) -> Sequence[Comparison]:
        """None: on tasks models are compared with the first only."""
        return ()

    @property
    def versus_first(self) -> Sequence[Comparison]:
        """The models versus the first."""
        return self.compared


@dataclass(frozen=True, slots=True)
class ExpertCell:
    """The loss of a single expert on one language."""

    partition: str
    ensemble: str
    expert: str
    learned: float  # share of the language's text that it was trained on
    language: str
    loss: float  # nats per token
    base_loss: float

    @property
    def rise(self) -> float:
        """Of its loss above the base's."""
        return self.loss - self.base_loss

    @property
    def perplexity_rise(self) -> float:
        """Of its perplexity above the base's."""
        return exp(self.loss) - exp(self.base_loss)


@dataclass(frozen=True, slots=True)
class ExpertScores:
    """Scores of language experts in addition to the losses of models."""

    base: str
    same_tokenizer: bool  # whether the base model has the experts' tokenizer
    base_shares: Mapping[str, float] | None  # of each language in the base's training tokens
    context: int
    train_tokens: Mapping[str, int]  # by language
    cells: Sequence[ExpertCell]
    partitions: Mapping[str, Partition]  # by partition
    unknown: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by partition and
    # language: share of documents that the router calls unknown by their first 200 tokens


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of an evaluation."""

    tongues: str  # the version that made it
    models: Sequence[EvaluatedModel]
    policy: Policy  # windows of long texts
    texts: Mapping[str, TextScores]
    tasks: Mapping[str, TaskScores]
    examples: Mapping[str, Mapping[str, str]]  # by task and language: an item, rightly answered
    left_out: Sequence[str]  # documents and items that were not scored, counted by reason
    experts: ExpertScores | None = None
    name: str = ""  # of its folder in `evaluations/`
    limit: int | None = None  # documents and items of a language, by `--limit`

    @property
    def comparisons(self) -> Iterator[Comparison]:
        """Every model versus another, on all texts and tasks."""
        for scores in self.texts.values():
            yield from (*scores.compared, *scores.forgotten, *scores.added)
        for scores in self.tasks.values():
            yield from scores.compared

    def model(self, name: str) -> EvaluatedModel:
        """The model of that name."""
        return next(model for model in self.models if model.name == name)

    def to_json(self) -> dict[str, Any]:
        """As `scores.json` holds it."""
        return {name: to_plain(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The evaluation that `to_json` gave."""
        return from_plain(cls, plain)

    def write(self, folder: Path) -> Path:
        """Keep it as `scores.json` in an evaluation's folder; returns the file."""
        write_json(folder / SCORES, self.to_json())
        return folder / SCORES


def read_evaluation(folder: Path) -> Evaluation:
    """The evaluation in a folder; a UserError where it is damaged or of another version."""
    check_readable(folder / SCORES)
    try:
        return Evaluation.from_json(read_json(folder / SCORES))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"cannot be read as an evaluation ({error!r})"
        hint = "run `tongues evaluate` again"
        raise UserError(what, where=str(folder / SCORES), hint=hint) from None
