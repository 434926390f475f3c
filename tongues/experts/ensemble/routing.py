"""Which experts predict a token, and with what weights: the ways an ensemble can be used.

A routing is an open kind: one object that scoring, generation, evaluation, the server and reports
use. Another package adds one by subclassing `Routing` and naming an instance as an entry point
of the group `tongues.routings`; `weights` is all that it has to define.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tongues.core.errors import UserError
from tongues.core.registry import Registry
from tongues.experts.ensemble.router import Router

_SURE = 0.9  # chosen; the weight of an expert from which `filter:m` runs it alone

# Routings that are gone, and what to use instead; older evaluations still name them.
GONE = {
    "text": "`filter:1`",
    "posterior": "`filter` or `tfidf`",
    "uniform": "`filter` or `tfidf`",
}


@dataclass(frozen=True, slots=True, eq=False)
class RoutingContext:
    """What a routing may use in addition to a text's tokens."""

    k: int  # the number of experts
    router: Router | None = None
    expert: int | None = None  # of the text's language, where that is known

    @property
    def known_router(self) -> Router:
        """That of an ensemble, which always has one."""
        assert self.router
        return self.router


@dataclass(frozen=True, slots=True)
class Guide:
    """The experts' weights for the next token of a text while it is written.

    weights: gives one for each expert [k]; they add up to 1. push: takes the next token.
    """

    weights: Callable[[], np.ndarray]
    push: Callable[[int], None] = lambda token: None


@dataclass(frozen=True)
class Routing:
    """How the experts' weights come about."""

    m: int | None = None  # experts with a weight; None: all

    name = ""
    summary = ""  # which experts predict a token, in one clause for tables
    label: ClassVar[str] = ""  # a few words for menus; the name if empty
    counted: ClassVar[bool] = False  # whether a number of experts may follow, as `tfidf:2`
    needs_language: ClassVar[bool] = False

    def __str__(self) -> str:
        """As `parse_routing` reads it."""
        return self.name if self.m is None else f"{self.name}:{self.m}"

    @property
    def title(self) -> str:
        """What it does with this number of experts, in a few words."""
        return self.label or self.name

    def weights(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        """Weights [T, k] for each token of a document, from what is before it."""
        raise NotImplementedError

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        """The weights while a text behind this prompt is written.

        This one computes all weights again for every token, with a last one that does not matter;
        a routing may know something quicker.
        """
        tokens: list[int] = prompt.tolist()
        return Guide(lambda: self.weights(np.array([*tokens, 0]), about)[-1], tokens.append)

    def active(self, k: int) -> int:
        """The most of `k` experts that have a weight at once while a text is written."""
        return self.m or k

    def chooses(self, k: int) -> bool:
        """Whether it gives some of `k` experts no weight, so that they need not run."""
        return self.active(k) < k

    def variants(self, k: int) -> Sequence["Routing"]:
        """The routing with each number of experts that is worth comparing."""
        return [self]


ROUTINGS: Registry[Routing] = Registry("routing", "tongues.routings")


def parse_routing(text: str) -> Routing:
    """Read `filter:1`, `tfidf:2`, `language` and so on."""
    name, colon, number = text.partition(":")
    if name in GONE:
        raise UserError(f"the routing `{name}` is gone: use {GONE[name]}", where="routing")
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


def check_experts(routing: Routing, k: int, where: str = "routing") -> None:
    """A UserError where a routing asks for more than k experts, or chooses among one."""
    if k == 1 and routing is not ONE_MODEL:
        what = f"`{routing}` chooses among experts, and this is one model"
        raise UserError(what, where=where, hint="leave it out")
    if routing.m and routing.m > k:
        what, name = f"`{routing}` asks for {routing.m} experts and there are {k}", routing.name
        raise UserError(what, where=where, hint=f"`{name}:{k}`, or `{name}` for all")


def default_routing(k: int) -> Routing:
    """The routing of an ensemble where none is named."""
    return ONE_MODEL if k == 1 else parse_routing("filter:2")


def sparse(weights: np.ndarray, m: int | np.ndarray | None) -> np.ndarray:
    """The m largest of each row's weights, brought to 1; the others 0. m: may differ by row."""
    if m is None:
        return weights
    order = np.argsort(-weights, axis=-1, kind="stable")
    kept = np.where(np.argsort(order, axis=-1) < m, weights, 0.0)
    return kept / np.add.reduce(kept, axis=-1, keepdims=True)


class _OneForAText(Routing):
    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        raise NotImplementedError

    def weights(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
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
        assert about.expert is not None, "see `Ensemble.about`"
        return np.eye(about.k)[about.expert]


class _OneModel(_OneForAText):
    """Of what has a single expert; its name is in fingerprints of stored evaluations."""

    name = "uniform"

    def row(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        return np.ones(1)


ONE_MODEL = _OneModel()


class _Filter(Routing):
    name = "filter"
    summary = (
        "all experts, weighted at every token by the languages that it may be in after the text so "
        "far; of `filter:m` the m heaviest run, or one where that has nine tenths"
    )
    counted = True

    @property
    def title(self) -> str:
        few = {None: "all, by language so far", 1: "expert of the language so far"}
        return few.get(self.m, f"up to {self.m} experts, by language so far")

    def weights(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        router = about.known_router
        return self._few(router.filter.beliefs(tokens) @ router.shares)

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        router = about.known_router
        belief = [router.filter.read(prompt)]

        def push(token: int) -> None:
            belief[0] = router.filter.follow(belief[0], token)

        return Guide(lambda: self._few(belief[0].sum(0) @ router.shares), push)

    def _few(self, weights: np.ndarray) -> np.ndarray:
        """The m heaviest, or one that is sure: a second would run for nothing."""
        sure = weights.max(-1, keepdims=True) >= _SURE
        return sparse(weights, self.m and np.where(sure, 1, self.m))

    def variants(self, k: int) -> Sequence[Routing]:
        return [replace(self, m=2), self]


class _Tfidf(Routing):
    name = "tfidf"
    summary = (
        "all experts, weighted at every token by how near the text so far is to each; of "
        "`tfidf:m` only the m nearest run"
    )
    counted = True

    @property
    def title(self) -> str:
        if self.m is None:
            return "all, by nearness"
        few = {1: "nearest expert, each token", 2: "two nearest experts"}
        return few.get(self.m, f"{self.m} nearest experts")

    def weights(self, tokens: np.ndarray, about: RoutingContext) -> np.ndarray:
        return sparse(about.known_router.document_weights(tokens), self.m)

    def guide(self, prompt: np.ndarray, about: RoutingContext) -> Guide:
        router = about.known_router
        sums = router.sum(prompt)

        def push(token: int) -> None:
            np.add(sums, router.vectors[token], out=sums)

        return Guide(lambda: sparse(router.weights(sums), self.m), push)

    def variants(self, k: int) -> Sequence[Routing]:
        return [*(replace(self, m=2**i) for i in range(k.bit_length()) if 2**i < k), self]


for _routing in (_Filter(), _Language(), _Tfidf()):
    ROUTINGS.add(_routing)
