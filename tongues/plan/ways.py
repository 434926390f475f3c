"""One way of training: a base, a model from scratch or experts; its text, and what it comes to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tongues.plan.bases import BaseCheckpoint
from tongues.plan.fits import TrainingMethod
from tongues.plan.outlook import Outlook, worth
from tongues.plan.own_laws import OwnLaws, middle
from tongues.plan.question import Target
from tongues.plan.vocabulary import Vocabulary

Array = np.ndarray
# Epochs after which repeats are not known to help: from scratch they are worth little after 16
# (Muennighoff et al. 2023); of the published projects that continued a base none read its text more
# than 5 times and gained by it.
EPOCHS = {"scratch": 16.0, "continue": 5.0, "experts": 5.0}
LEAST_READ = 1e7  # tokens below which no law at the level of a language was ever tried
_ENDLESS = 1e20  # tokens: where nobody counted
_ROLES = {"continue": "cpt", "scratch": "scratch", "experts": "experts"}
SEARCHED, _HALVINGS = 1e-3, 40  # how far below the most tokens a loss is looked for


@dataclass(frozen=True, slots=True)
class Way:
    """What is trained, and how.

    kind: `continue`, `scratch` or `experts`. base: the checkpoint; of another kind its size.
    share: of text in the base's languages. vocabularies: of its tokenizer, by language. experts:
    how many; 0 for one model.
    """

    kind: str
    base: BaseCheckpoint
    method: TrainingMethod
    targets: tuple[Target, ...]
    share: float = 0.0
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)
    experts: int = 0

    @property
    def role(self) -> str:
        """Of the own law that it is predicted by."""
        return _ROLES[self.kind]

    @property
    def tokenizer(self) -> BaseCheckpoint | None:
        """The base whose tokenizer counts; None for one of the language's own."""
        return self.base if self.kind == "continue" else None

    @property
    def rows(self) -> float:
        """Parameters of new tokens."""
        return sum(one.rows for one in self.vocabularies.values())

    def per_token(self, target: Target) -> float:
        """Bytes of a token in a language."""
        chosen = self.vocabularies.get(target.language)
        return (chosen.after if chosen else target.bytes_per_token(self.tokenizer)).value

    def unique(self, target: Target) -> float:
        """Tokens of different text in a language; infinite where nobody counted."""
        if target.tokens is not None or math.isinf(target.text):
            return target.tokens or math.inf
        return target.text / self.per_token(target)

    @property
    def text(self) -> float:
        """Tokens of different text in all languages to learn."""
        return sum(map(self.unique, self.targets))

    @property
    def most(self) -> float:
        """The tokens, replay included, after which reading again is not known to help."""
        return EPOCHS[self.kind] * self.text / (1.0 - self.share)

    def parts(self, learned: float) -> list[float]:
        """Tokens of each language: alike, but none read more often than helps (UniMax)."""
        if len(self.targets) == 1:
            return [learned]
        most = [EPOCHS[self.kind] * self.unique(target) for target in self.targets]
        parts, order = [0.0] * len(most), sorted(range(len(most)), key=most.__getitem__)
        for position, i in enumerate(order):
            parts[i] = min(most[i], learned / (len(order) - position))
            learned -= parts[i]
        return parts

    def epochs(self, tokens: float) -> float | None:
        """How often the text that is read most is read; None where nobody counted it."""
        if math.isinf(self.text):
            return None
        parts = self.parts((1.0 - self.share) * tokens)
        return max(part / self.unique(t) for part, t in zip(parts, self.targets, strict=True))

    def losses(
        self, tokens: float, laws: OwnLaws, outlooks: Mapping[str, Outlook], own: float | None
    ) -> dict[str, Array]:
        """Draws of the loss after `tokens`, by language; none where no law knows.

        By own laws in nats per token, else in bits per byte. own: the base's loss, measured.
        """
        learned = (1.0 - self.share) * tokens
        if laws:
            return self._by_laws(learned, laws, own)
        losses = dict[str, Array]()
        for target, part in zip(self.targets, self.parts(learned), strict=True):
            one = outlooks.get(target.language)
            if one is None or part < LEAST_READ or not one.covers(self.base.dense):
                return {}
            read = worth(part, self.unique(target)) * self.per_token(target)
            start = one.start(self.tokenizer, own)
            losses[target.language] = one.loss(self.base.dense, read, start)
        return losses

    def _by_laws(self, learned: float, laws: OwnLaws, own: float | None) -> dict[str, Array]:
        law = laws.find(self.role)
        if law is None:
            return {}
        knows_repeats = "U" in law.equation.variables
        read = learned if knows_repeats else worth(learned, self.text)
        start = own or middle(law.range.get("S", (1.0, 1.0)))
        at = {"N": self.base.params, "D": read, "S": start, "k": float(self.experts or 1)}
        at["U"] = min(self.text, _ENDLESS)
        return {laws.target: laws.draws(self.role, **at)}

    def fewest(
        self,
        loss: float,
        most: float,
        laws: OwnLaws,
        outlooks: Mapping[str, Outlook],
        own: float | None,
    ) -> float | None:
        """The fewest of at most `most` tokens whose median loss is `loss`; None where none are.

        A thousandth of `most` stands for what is there already.
        """

        def reached(tokens: float) -> bool:
            losses = self.losses(tokens, laws, outlooks, own)
            return bool(losses) and float(np.median(mean_of(losses))) <= loss

        if not reached(most):
            return None
        low, high = math.log(SEARCHED * most), math.log(most)
        for _ in range(_HALVINGS):
            between = (low + high) / 2.0
            low, high = (low, between) if reached(math.exp(between)) else (between, high)
        return math.exp(high)


def mean_of(losses: Mapping[str, Array]) -> Array:
    """Draws of the mean over languages."""
    return np.mean(list(losses.values()), axis=0)
