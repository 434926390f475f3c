"""One way to spend a budget: a base, a model from scratch or experts; its text, and its loss."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from tongues.core.estimate import Estimate
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.budget import FORWARD_AND_BACKWARD
from tongues.plan.fits import TrainingMethod
from tongues.plan.outlook import Outlook, estimate, worth
from tongues.plan.own_laws import OwnLaws, middle
from tongues.plan.question import Target
from tongues.plan.vocabulary import Vocabulary

Array = np.ndarray
Kind = Literal["continue", "scratch", "experts"]
# Epochs after which repeats are not known to help: from scratch they are worth little after 16
# (Muennighoff et al. 2023); of the published projects that continued a base none read its text more
# than 5 times and gained by it.
EPOCHS = {"scratch": 16.0, "continue": 5.0, "experts": 5.0}
LEAST_READ = 1e7  # tokens below which no law at the level of a language was ever tried
_ENDLESS = 1e20  # tokens: where nobody counted
_TOLD = ("name", "kind", "params", "tokens", "replay", "parts", "epochs", "limit", "flops", "batch")
_TOLD += ("rate", "hours", "cost", "kept", "experts")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A way that cannot be taken: its name, a code, why, and what to do."""

    name: str
    code: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """What is trained, how, on how much text, and what comes of it.

    model: the checkpoint that is continued; of another kind only its size. replay: share of text in
    the base's languages. vocabularies: of its tokenizer, by language. experts: how many; 0 for one
    model. tokens: with replay. context: tokens. limit: what ended it: `budget` or `text`. batch:
    tokens; rate: the peak; None without a base. draws: of the loss in the end, by language, in the
    plan's unit; none where no law knows. rise: of the loss on the base's languages, 0.01 for 1 %;
    kept: the probability that it stays within the limit that was set.
    """

    name: str
    kind: Kind
    model: BaseCheckpoint
    method: TrainingMethod
    targets: tuple[Target, ...]
    replay: float = 0.0
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)
    experts: int = 0
    tokens: float = 0.0
    context: int = 0
    limit: str = "budget"
    batch: float | None = None
    rate: float | None = None
    hours: float | None = None
    cost: float | None = None
    draws: Mapping[str, Array] = field(default_factory=dict)
    rise: Estimate | None = None
    kept: float | None = None

    @property
    def base(self) -> BaseCheckpoint | None:
        """The checkpoint that is continued, whose tokenizer counts; None for another kind."""
        return self.model if self.kind == "continue" else None

    @property
    def role(self) -> str:
        """Of the own law that it is predicted by."""
        return "cpt" if self.kind == "continue" else self.kind

    @property
    def rows(self) -> float:
        """Parameters of new tokens."""
        return sum(one.rows for one in self.vocabularies.values())

    @property
    def new_tokens(self) -> int:
        """Tokens that its tokenizer gets."""
        return sum(one.new_tokens for one in self.vocabularies.values())

    @property
    def params(self) -> float:
        """All parameters, new rows included."""
        return self.model.params + self.rows

    @property
    def met(self) -> float:
        """Parameters that each token meets, new rows included."""
        return self.model.met + self.rows

    @property
    def per_token_flops(self) -> float:
        """Operations of its training for each token."""
        products = FORWARD_AND_BACKWARD * self.method.work * self.met
        return products + self.model.attention(self.context)

    @property
    def flops(self) -> float:
        """Operations of its training."""
        return self.per_token_flops * self.tokens

    def per_token(self, target: Target) -> float:
        """Bytes of a token in a language."""
        chosen = self.vocabularies.get(target.language)
        return (chosen.after if chosen else target.bytes_per_token(self.base)).value

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
        return EPOCHS[self.kind] * self.text / (1.0 - self.replay)

    @property
    def parts(self) -> dict[str, float]:
        """Tokens of each language: alike, but none read more often than helps (UniMax)."""
        left = (1.0 - self.replay) * self.tokens
        if len(self.targets) == 1:
            return {self.targets[0].language: left}
        parts = {target.language: 0.0 for target in self.targets}
        order = sorted(self.targets, key=self.unique)
        for position, target in enumerate(order):
            share = left / (len(order) - position)
            parts[target.language] = min(EPOCHS[self.kind] * self.unique(target), share)
            left -= parts[target.language]
        return parts

    @property
    def epochs(self) -> float | None:
        """How often the text that is read most is read; None where nobody counted it."""
        if math.isinf(self.text):
            return None
        return max(self.parts[one.language] / self.unique(one) for one in self.targets)

    @property
    def mean(self) -> Array | None:
        """Draws of the mean loss over the languages."""
        return np.mean(list(self.draws.values()), axis=0) if self.draws else None

    @property
    def loss(self) -> Estimate | None:
        """The mean over the languages."""
        return None if self.mean is None else estimate(self.mean)

    @property
    def losses(self) -> dict[str, Estimate]:
        """The loss of each language."""
        return {language: estimate(draws) for language, draws in self.draws.items()}

    def after(
        self,
        tokens: float,
        laws: OwnLaws,
        outlooks: Mapping[str, Outlook],
        measured: float | None,
    ) -> "Option":
        """With that many tokens, and the loss that it then has.

        By own laws in nats per token, else in bits per byte. measured: the base's loss before.
        """
        option = replace(self, tokens=tokens)
        if laws:
            return replace(option, draws=option._by_laws(laws, measured))
        draws, parts = dict[str, Array](), option.parts
        for target in self.targets:
            one, part = outlooks.get(target.language), parts[target.language]
            if one is None or part < LEAST_READ or not one.covers(self.model.dense):
                return replace(option, draws={})
            read = worth(part, self.unique(target)) * self.per_token(target)
            start = one.start(self.base, measured)
            draws[target.language] = one.loss(self.model.dense, read, start)
        return replace(option, draws=draws)

    def _by_laws(self, laws: OwnLaws, measured: float | None) -> dict[str, Array]:
        law = laws.find(self.role)
        if law is None:
            return {}
        learned = (1.0 - self.replay) * self.tokens
        read = learned if "U" in law.equation.variables else worth(learned, self.text)
        start = measured or middle(law.range.get("S", (1.0, 1.0)))
        at = {"N": self.model.params, "D": read, "S": start, "k": float(self.experts or 1)}
        at["U"] = min(self.text, _ENDLESS)
        return {laws.target: laws.draws(self.role, **at)}

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        loss, rise, counted = self.loss, self.rise, self.vocabularies.items()
        return {name: getattr(self, name) for name in _TOLD} | {
            "base": self.base and self.base.name,
            "method": self.method.name,
            "train": self.method.settings,
            "memory_per_gpu": self.method.memory,
            "new_tokens": {lang: one.new_tokens for lang, one in counted},
            "bytes_per_token": {lang: one.before.to_json() for lang, one in counted},
            "bytes_per_new_token": {lang: one.after.to_json() for lang, one in counted},
            "losses": {lang: one.to_json() for lang, one in self.losses.items()},
            "loss": loss and loss.to_json(),
            "rise": rise and rise.to_json(),
        }
