"""Which experts predict a token, and with what weights: the ways an ensemble can be used.

A routing is an open kind: one object that scoring, generation, evaluation, the server and reports
use. Another package adds one by subclassing `Routing` and naming an instance as an entry point
of the group `tongues.routings`; `weights` is all that it has to define.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tongues.errors import UserError
from tongues.experts.ensemble.router import Router
from tongues.registry import Registry

__all__ = [
    "ROUTINGS",
    "Guide",
    "Routing",
    "RoutingContext",
    "check_experts",
    "default_routing",
    "parse_routing",
    "sparse",
]

_FAINTEST = 1e-30  # the smallest weight of a posterior, so that no expert is ruled out for good
_LOOKED = 128  # tokens of a text from which its one expert is chosen
_NEED = "the posterior needs the experts' probabilities"


@dataclass(frozen=True, slots=True, eq=False)
class RoutingContext:
    """What a routing may use in addition to a text's tokens."""

    prior: np.ndarray  # [k], the experts' weights before anything is known of a text
    router: Router | None = None
    expert: int | None = None  # of the text's language, where that is known

    @property
    def k(self) -> int:
        """The number of experts."""
        return len(self.prior)


@dataclass(frozen=True, slots=True)
class Guide:
    """The experts' weights for the next token of a text while it is written.

    weights: gives one for each expert [k]; they add up to 1. push: takes the next token, and its
    log-probability by each expert [k] where the routing learns.
    """

    weights: Callable[[], np.ndarray]
    push: Callable[[int, np.ndarray | None], None] = lambda token, log_probs: None


@dataclass(frozen=True)
class Routing:
    """How the experts' weights come about."""

    m: int | None = None  # experts with a weight; None: all

    name = ""
    summary = ""  # which experts predict a token, in one clause for tables
    label: ClassVar[str] = ""  # a few words for menus; the name if empty
    counted: ClassVar[bool] = False  # whether a number of experts may follow, as `tfidf:2`
    needs_router: ClassVar[bool] = False
    needs_language: ClassVar[bool] = False
    learns: ClassVar[bool] = False  # whether weights follow from the experts' log-probabilities
    baseline: ClassVar[bool] = False  # whether it ignores the text and is there to compare with

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
        weights again for every token, with a last one that does not matter; a routing may know
        something quicker.
        """
        tokens: list[int] = [] if self.learns else prompt.tolist()
        rows: list[np.ndarray] = []

        def weights() -> np.ndarray:
            given = np.array([*rows, np.zeros(about.k)]) if rows or self.learns else None
            return self.weights(np.array([*tokens, 0]), about, given)[-1]

        def push(token: int, log_probs: np.ndarray | None) -> None:
            tokens.append(token)
            if log_probs is not None:
                rows.append(log_probs)

        return Guide(weights, push)

    def active(self, k: int) -> int:
        """The most of `k` experts that have a weight at once while a text is written."""
        return self.m or k

    def chooses(self, k: int) -> bool:
        """Whether it gives some of `k` experts no weight, so that they need not run."""
        return self.active(k) < k

    def variants(self, k: int) -> Sequence["Routing"]:
        """The routing with each number of experts that is worth comparing."""
        return [self]

    def need(self, router: Router | None) -> Router:
        """The router; a UserError if there is none."""
        if router is None:
            usable = [f"`{other.name}`" for other in ROUTINGS if not other.needs_router]
            hint = f"use {', '.join(usable[:3])}, or give it a router"
            what = f"`{self}` needs a router, which this ensemble does not have"
            raise UserError(what, where="routing", hint=hint)
        return router


ROUTINGS: Registry[Routing] = Registry("routing", "tongues.routings")


def parse_routing(text: str) -> Routing:
    """Read `filter:1`, `tfidf:2`, `language` and so on."""
    name, colon, number = text.partition(":")
    routing = ROUTINGS.find(name, "routing")
    if not colon:
        return routing
    if not routing.counted:
        hint = f"`{name}` alone, or `tfidf:{number or 2}`"
        raise UserError(f"`{name}` takes no number of experts", where="routing", hint=hint)
    if not number.isdecimal() or int(number) < 1:
        what = f"`{number}` is not a valid number of experts"
        raise UserError(what, where="routing", hint=f"`{name}:2`")
    return replace(routing, m=int(number))


def check_experts(routing: Routing, k: int) -> None:
    """A UserError where a routing asks for more than k experts, or chooses among one."""
    if routing.m and routing.m > k:
        there = "it is one model" if k == 1 else f"there are {k}"
        what, name = f"`{routing}` asks for {routing.m} experts and {there}", routing.name
        hint = f"`{name}:{k}`, or `{name}` for all" if k > 1 else "leave it out"
        raise UserError(what, where="routing", hint=hint)
    if routing.needs_router and k == 1:
        what = f"`{routing}` chooses among experts, and this is one model"
        raise UserError(what, where="routing", hint="leave it out")


def default_routing(k: int, router: Router | None) -> Routing:
    """The routing of an ensemble where none is named."""
    return parse_routing("uniform" if k == 1 else "filter:1" if router else "language")


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


class _OneForAText(Routing):
    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        raise NotImplementedError

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        return np.broadcast_to(self.row(tokens, about), (len(tokens), about.k))

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        row = self.row(prompt, about)
        return Guide(lambda: row)

    def active(self, k: int) -> int:
        return 1


class _Language(_OneForAText):
    name, label = "language", "the expert of a language"
    summary = "the one expert of the text's language, which must be given"
    needs_language = True

    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        if about.expert is None:
            hint = "name it by `--language`, or use `text`"
            raise UserError("the text's language is not given", where="routing", hint=hint)
        return np.eye(about.k)[about.expert]


class _Text(_OneForAText):
    """While a text is scored, its first tokens go to the expert nearest to what is before each."""

    name, label = "text", "one expert a text"
    summary = "the one expert nearest to the beginning of the text"
    needs_router = True

    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        router = self.need(about.router)
        return np.eye(about.k)[int(router.weights(router.sum(tokens[:_LOOKED])).argmax())]

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        first = self.need(about.router).document_weights(tokens[:_LOOKED])
        rest = np.tile(self.row(tokens, about), (max(0, len(tokens) - _LOOKED), 1))
        return np.vstack([sparse(first, 1), rest])


class _Uniform(_OneForAText):
    name, label = "uniform", "all alike"
    summary = "all experts with equal weights, to compare with"
    baseline = True

    def active(self, k: int) -> int:
        return k

    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        return np.full(about.k, 1 / about.k)


class _Filter(Routing):
    name = "filter"
    summary = (
        "all experts, weighted at every token by the languages that it may be in after the text so "
        "far; of `filter:m` only the m heaviest run"
    )
    counted = needs_router = True

    @property
    def title(self) -> str:
        few = {None: "all, by language so far", 1: "expert of the language so far"}
        return few.get(self.m, f"{self.m} experts, by language so far")

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        router = self.need(about.router)
        return sparse(router.filter.beliefs(tokens) @ router.owned, self.m)

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        router = self.need(about.router)
        belief = [router.filter.read(prompt)]

        def push(token: int, log_probs: np.ndarray | None) -> None:
            belief[0] = router.filter.follow(belief[0], token)

        return Guide(lambda: sparse(belief[0] @ router.owned, self.m), push)

    def variants(self, k: int) -> Sequence[Routing]:
        return [replace(self, m=1), self]


class _Tfidf(Routing):
    name = "tfidf"
    summary = (
        "all experts, weighted at every token by how near the text so far is to each; of "
        "`tfidf:m` only the m nearest run"
    )
    counted = needs_router = True

    @property
    def title(self) -> str:
        if self.m is None:
            return "all, by nearness"
        few = {1: "nearest expert, each token", 2: "two nearest experts"}
        return few.get(self.m, f"{self.m} nearest experts")

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        return sparse(self.need(about.router).document_weights(tokens), self.m)

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        router = self.need(about.router)
        sums = router.sum(prompt)

        def push(token: int, log_probs: np.ndarray | None) -> None:
            np.add(sums, router.vectors[token], out=sums)

        return Guide(lambda: sparse(router.weights(sums), self.m), push)

    def variants(self, k: int) -> Sequence[Routing]:
        return [*(replace(self, m=2**i) for i in range(k.bit_length()) if 2**i < k), self]


class _Posterior(Routing):
    """Bayes: by the prior and the log-probabilities of all tokens before."""

    name, label = "posterior", "whoever predicts best so far"
    summary = "all experts, weighted by how likely each found the text so far"
    learns = True

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        assert log_probs is not None, _NEED
        before = np.vstack([np.zeros(about.k), np.cumsum(log_probs, axis=0)[:-1]])
        return _normal(np.log(about.prior) + before)[: len(tokens)]

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        belief = np.log(about.prior)

        def weights() -> np.ndarray:
            own = np.maximum(_normal(belief), _FAINTEST)
            return own / own.sum()

        def push(token: int, log_probs: np.ndarray | None) -> None:
            assert log_probs is not None, _NEED
            np.add(belief, log_probs, out=belief)

        return Guide(weights, push)


for _routing in (_Filter(), _Language(), _Text(), _Tfidf(), _Posterior(), _Uniform()):
    ROUTINGS.add(_routing)


def _normal(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
