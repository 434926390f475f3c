"""Which experts predict a token, and with what weights: the ways an ensemble can be used.

A routing is an open kind: one object that scoring, generation, evaluation, the server and reports
all ask. Another package adds one by subclassing `Routing` and naming an instance as an entry point
of the group `tongues.routings`; `weights` is all that it has to define.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np

from tongues.errors import UserError
from tongues.experts.ensemble.router import Power, Router, RouterState
from tongues.randomness import derive_seed
from tongues.registry import Registry

__all__ = [
    "ROUTINGS",
    "Guide",
    "Routing",
    "RoutingContext",
    "default_routing",
    "parse_routing",
    "sparse",
]

_FAINTEST = 1e-30  # the smallest weight of a posterior, so that no expert is ruled out for good
_LOOKED = 128  # tokens of a text from which its one expert is chosen


@dataclass(frozen=True, slots=True, eq=False)
class RoutingContext:
    """What a routing may use besides a text's tokens."""

    prior: np.ndarray  # [k], the experts' weights before anything is known of a text
    router: Router | None = None
    expert: int | None = None  # of the text's language, where that is known
    seed: int = 0

    @property
    def k(self) -> int:
        """The number of experts."""
        return len(self.prior)


class Guide(Protocol):
    """The experts' weights for the next token of a text while it is written."""

    def weights(self) -> np.ndarray:
        """One for each expert [k]; they add up to 1."""
        ...

    def push(self, token: int, log_probs: np.ndarray | None) -> None:
        """Take the next token; log_probs: by each expert [k], where the routing learns."""
        ...


@dataclass(frozen=True)
class Routing:
    """How the experts' weights come about; `m`, `power` and `temperature` are its parameters."""

    m: int | None = None  # experts with a weight; None: all
    power: Power | None = None  # of the distance; None: the router's
    temperature: float | None = None  # None: the router's

    name = ""
    summary = ""  # which experts predict a token, in one clause for tables
    label: ClassVar[str] = ""  # a few words for menus; the name if empty
    counted: ClassVar[bool] = False  # whether a number of experts may follow, as `tfidf:2`
    needs_router: ClassVar[bool] = False
    needs_language: ClassVar[bool] = False
    learns: ClassVar[bool] = False  # whether weights follow from the experts' log-probabilities
    baseline: ClassVar[bool] = False  # whether it ignores the text and is there to compare with
    by_prompt: ClassVar[bool] = False  # whether an item's choices get the weights of their prompt

    def __str__(self) -> str:
        """As `parse_routing` reads it."""
        return self.name if self.m is None else f"{self.name}:{self.m}"

    @property
    def title(self) -> str:
        """What it does with this number of experts, in a few words."""
        return self.label or self.name

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        """Weights [T, k] for each token of a document, from what is before it.

        log_probs: [T, k], of its tokens by each expert; given where the routing learns.
        """
        raise NotImplementedError

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        """The weights while a text behind this prompt is written.

        A routing that learns is given the prompt's tokens by `push`, too. This one computes all
        weights again for every token; a routing may know something quicker.
        """
        return _Recomputed(self, about, [] if self.learns else prompt.tolist())

    def chooses(self, k: int) -> bool:
        """Whether it gives some of `k` experts no weight, so that they need not run."""
        return (self.m or k) < k

    def variants(self, k: int) -> Sequence["Routing"]:
        """The routing with each number of experts that is worth comparing."""
        return [self]

    def fitted_router(self, router: Router | None) -> Router:
        """The router with this routing's power and temperature; a UserError if there is none."""
        if router is None:
            usable = [f"`{other.name}`" for other in ROUTINGS if not other.needs_router]
            hint = f"use {', '.join(usable[:3])}, or give it a router"
            what = f"`{self}` needs a router, which this ensemble lacks"
            raise UserError(what, where="routing", hint=hint)
        power, temperature = self.power or router.power, self.temperature
        if power != router.power and temperature is None:
            what = (
                f"the router's temperature was fitted for the distance to the power {router.power}"
            )
            hint = f"name one for the power {power}, or fit it"
            raise UserError(what, where="routing.temperature", hint=hint)
        return replace(router, power=power, temperature=temperature or router.temperature)


ROUTINGS: Registry[Routing] = Registry("routing", "tongues.routings")


def parse_routing(
    text: str, *, power: Power | None = None, temperature: float | None = None
) -> Routing:
    """Read `tfidf`, `tfidf:2`, `language` and so on."""
    name, colon, number = text.partition(":")
    routing = ROUTINGS.find(name, "routing")
    if colon and not routing.counted:
        hint = f"`{name}` alone, or `tfidf:{number or 2}`"
        raise UserError(f"`{name}` takes no number of experts", where="routing", hint=hint)
    if colon and (not number.isdecimal() or int(number) < 1):
        what = f"`{number}` is not a valid number of experts"
        raise UserError(what, where="routing", hint=f"`{name}:2`")
    if temperature is not None and not temperature > 0:
        raise UserError("a temperature is above 0", where="routing", hint="such as 0.1")
    return replace(routing, m=int(number) if colon else None, power=power, temperature=temperature)


def default_routing(k: int, router: Router | None) -> Routing:
    """The routing of an ensemble where none is named."""
    return parse_routing("uniform" if k == 1 else "tfidf:1" if router else "language")


def sparse(weights: np.ndarray, m: int | None) -> np.ndarray:
    """The m largest of each row's weights, brought to 1; the others 0."""
    if m is None or m >= weights.shape[-1]:
        return weights
    rows = weights.reshape(-1, weights.shape[-1])
    dropped = np.argsort(-rows, axis=1, kind="stable")[:, m:]
    kept = rows.copy()
    kept[np.arange(len(rows))[:, None], dropped] = 0.0
    kept /= np.add.reduce(kept, axis=1, keepdims=True)
    return kept.reshape(weights.shape)


@dataclass(slots=True)
class _Recomputed:
    """Weights by all tokens so far, with a last one that does not matter."""

    routing: Routing
    about: RoutingContext
    tokens: list[int]
    log_probs: list[np.ndarray] = field(default_factory=list)

    def weights(self) -> np.ndarray:
        given = np.array([*self.log_probs, np.zeros(self.about.k)]) if self.log_probs else None
        if given is None and self.routing.learns:
            given = np.zeros((1, self.about.k))
        return self.routing.weights(np.array([*self.tokens, 0]), self.about, given)[-1]

    def push(self, token: int, log_probs: np.ndarray | None) -> None:
        self.tokens.append(token)
        if log_probs is not None:
            self.log_probs.append(log_probs)


@dataclass(slots=True)
class _Constant:
    row: np.ndarray

    def weights(self) -> np.ndarray:
        return self.row

    def push(self, token: int, log_probs: np.ndarray | None) -> None:
        pass


class _OneForAText(Routing):
    """Weights [k] that a text keeps from its beginning to its end."""

    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        raise NotImplementedError

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        return np.broadcast_to(self.row(tokens, about), (len(tokens), about.k))

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        return _Constant(self.row(prompt, about))


class _Language(_OneForAText):
    name = "language"
    summary = "the one expert of the text's language, which must be given"
    label = "the expert of a language"
    needs_language = True

    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        if about.expert is None:
            hint = "name it by `--language`, or use `text`"
            raise UserError("the text's language is not given", where="routing", hint=hint)
        return np.eye(about.k)[about.expert]

    def chooses(self, k: int) -> bool:
        return True


class _Text(_OneForAText):
    """While a text is scored, its first tokens go to the expert nearest to what is before each."""

    name = "text"
    summary = "the one expert nearest to the beginning of the text"
    label = "one expert a text"
    needs_router = True

    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        router = self.fitted_router(about.router)
        state = router.start()
        state.sums += router.sum(tokens[:_LOOKED])
        return np.eye(about.k)[int(router.weights(state).argmax())]

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        first = self.fitted_router(about.router).document_weights(tokens[:_LOOKED])
        rest = np.tile(self.row(tokens, about), (max(0, len(tokens) - _LOOKED), 1))
        return np.vstack([sparse(first, 1), rest])

    def chooses(self, k: int) -> bool:
        return True


@dataclass(slots=True)
class _Nearest:
    router: Router
    state: RouterState
    m: int | None

    def weights(self) -> np.ndarray:
        return sparse(self.router.weights(self.state), self.m)

    def push(self, token: int, log_probs: np.ndarray | None) -> None:
        self.router.push(self.state, token)


class _Tfidf(Routing):
    name = "tfidf"
    summary = (
        "all experts, weighted at every token by how near the text so far is to each; of "
        "`tfidf:m` only the m nearest run"
    )
    counted = True
    needs_router = True

    @property
    def title(self) -> str:
        if self.m is None:
            return "all, by nearness"
        few = {1: "nearest expert, each token", 2: "two nearest experts"}
        return few.get(self.m, f"{self.m} nearest experts")

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        return sparse(self.fitted_router(about.router).document_weights(tokens), self.m)

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        router = self.fitted_router(about.router)
        state = router.start()
        state.sums += router.sum(prompt)
        return _Nearest(router, state, self.m)

    def variants(self, k: int) -> Sequence[Routing]:
        return [*(replace(self, m=2**i) for i in range(k.bit_length()) if 2**i < k), self]


@dataclass(slots=True)
class _Belief:
    log_weights: np.ndarray

    def weights(self) -> np.ndarray:
        weights = np.maximum(_normal(self.log_weights), _FAINTEST)
        return weights / weights.sum()

    def push(self, token: int, log_probs: np.ndarray | None) -> None:
        assert log_probs is not None, "the posterior needs the experts' probabilities"
        self.log_weights = self.log_weights + log_probs


class _Posterior(Routing):
    """Bayes: by the prior and the log-probabilities of all tokens before."""

    name = "posterior"
    summary = "all experts, weighted by how likely each found the text so far"
    label = "whoever predicts best so far"
    learns = True

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        assert log_probs is not None, "the posterior needs the experts' probabilities"
        before = np.vstack([np.zeros(about.k), np.cumsum(log_probs, axis=0)[:-1]])
        return _normal(np.log(about.prior) + before)[: len(tokens)]

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        return _Belief(np.log(about.prior))


class _Uniform(_OneForAText):
    name = "uniform"
    summary = "all experts with equal weights, to compare with"
    label = "all alike"
    baseline = True

    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        return np.full(about.k, 1 / about.k)


class _Random(_OneForAText):
    name = "random"
    summary = "one expert a text at random, to compare with"
    label = "one at random"
    baseline = True
    by_prompt = True

    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        text = hashlib.sha256(np.ascontiguousarray(tokens, dtype="<i8").data).hexdigest()
        return np.eye(about.k)[derive_seed(about.seed, "expert", text) % about.k]

    def chooses(self, k: int) -> bool:
        return True


for _routing in (_Language(), _Text(), _Tfidf(), _Posterior(), _Uniform(), _Random()):
    ROUTINGS.add(_routing)


def _normal(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
