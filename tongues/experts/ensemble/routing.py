"""Which experts predict a token, and with what weights: the ways an ensemble can be used."""

import hashlib
from dataclasses import dataclass, replace
from typing import Literal, Protocol, get_args

import numpy as np

from tongues.errors import UserError, nearest
from tongues.experts.ensemble.router import Power, Router, RouterState
from tongues.randomness import derive_seed

__all__ = [
    "Guide",
    "Kind",
    "Routing",
    "guide",
    "parse_routing",
    "posterior_weights",
    "router_for",
    "sparse",
    "weigh",
]

Kind = Literal["language", "text", "tfidf", "posterior", "uniform", "random"]

_FAINTEST = 1e-30  # of a posterior's weights
_LOOKED = 128  # tokens of a text from which its one expert is chosen


@dataclass(frozen=True, slots=True)
class Routing:
    """How the experts' weights come about.

    - `language`: the one expert of the text's language, which the caller knows
    - `text`: the one expert nearest to the prompt; where a text is scored, the nearest to what
      stands before each of its first tokens, then the one nearest to these
    - `tfidf`: by distance, anew at every token; of `m` only the nearest, and only they run
    - `posterior`: how likely each expert found the text so far; all of them run
    - `uniform`: equal weights; `random`: one expert a text, by lot (both to compare with)
    """

    kind: Kind
    m: int | None = None  # tfidf: experts with a weight; None: all
    power: Power | None = None  # tfidf and text: of the distance; None: the router's
    temperature: float | None = None  # tfidf: None: the router's

    def __str__(self) -> str:
        """As `parse_routing` reads it."""
        return self.kind if self.m is None else f"{self.kind}:{self.m}"

    def chooses(self, k: int) -> bool:
        """Whether it leaves some of `k` experts out, which then need not run."""
        return self.kind in ("language", "text", "random") or (self.m or k) < k


def parse_routing(
    text: str, *, power: Power | None = None, temperature: float | None = None
) -> Routing:
    """Read `tfidf`, `tfidf:2`, `language` and so on."""
    name, colon, number = text.partition(":")
    kinds: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
    if name not in kinds:
        raise UserError(
            f"no routing is called `{name}`", where="routing", hint=nearest(name, kinds)
        )
    if colon and name != "tfidf":
        hint = f"`{name}` alone, or `tfidf:{number or 2}`"
        raise UserError(f"`{name}` takes no number of experts", where="routing", hint=hint)
    if colon and (not number.isdecimal() or int(number) < 1):
        raise UserError(f"`{number}` is no number of experts", where="routing", hint="`tfidf:2`")
    if temperature is not None and not temperature > 0:
        raise UserError("a temperature is above 0", where="routing", hint="such as 0.1")
    return Routing(kinds[name], int(number) if colon else None, power, temperature)


class Guide(Protocol):
    """The experts' weights for the next token of a text."""

    learns: bool  # whether it asks for the experts' log-probabilities of what was written

    def weights(self) -> np.ndarray:
        """One for each expert [k]; they add up to 1."""
        ...

    def push(self, token: int, log_probs: np.ndarray | None) -> None:
        """Take the next token, with its log-probability by each expert [k] where it learns."""
        ...


@dataclass(slots=True)
class _Fixed:
    found: np.ndarray
    learns: bool = False

    def weights(self) -> np.ndarray:
        return self.found

    def push(self, token: int, log_probs: np.ndarray | None) -> None:
        pass


@dataclass(slots=True)
class _Nearest:
    router: Router
    state: RouterState
    m: int | None
    learns: bool = False

    def weights(self) -> np.ndarray:
        return sparse(self.router.weights(self.state), self.m)

    def push(self, token: int, log_probs: np.ndarray | None) -> None:
        self.router.push(self.state, token)


@dataclass(slots=True)
class _Posterior:
    log_weights: np.ndarray
    learns: bool = True

    def weights(self) -> np.ndarray:
        found = np.maximum(_normal(self.log_weights), _FAINTEST)  # so that all of them run
        return found / found.sum()

    def push(self, token: int, log_probs: np.ndarray | None) -> None:
        assert log_probs is not None, "the posterior lives on the experts' probabilities"
        self.log_weights = self.log_weights + log_probs


def weigh(
    routing: Routing,
    tokens: np.ndarray,
    *,
    k: int,
    router: Router | None,
    expert: int | None,
    seed: int,
) -> np.ndarray | None:
    """Weights [T, k] for each token of a document; None where the experts' own probabilities tell.

    expert: of the document's language, for `language`. seed: of the lot, for `random`.
    """
    if routing.kind == "posterior":
        return None
    if routing.kind == "tfidf":
        router = router_for(routing, router)
        return sparse(router.document_weights(tokens), routing.m)
    if routing.kind == "text":
        begun = router_for(routing, router).document_weights(tokens[:_LOOKED])
        one = _one(routing, tokens, k, router, expert, seed)
        return np.vstack([sparse(begun, 1), np.tile(one, (max(0, len(tokens) - _LOOKED), 1))])
    return np.broadcast_to(_one(routing, tokens, k, router, expert, seed), (len(tokens), k))


def guide(
    routing: Routing,
    prompt: np.ndarray,
    *,
    k: int,
    router: Router | None,
    expert: int | None,
    seed: int,
    prior: np.ndarray,
) -> Guide:
    """A guide for a text that begins with this prompt.

    expert, seed: as for `weigh`. prior: [k], with which `posterior` begins: it has yet to learn
    from the prompt.
    """
    if routing.kind == "posterior":
        return _Posterior(np.log(prior))
    if routing.kind == "tfidf":
        router = router_for(routing, router)
        state = router.start()
        state.sums += router.sum(prompt)
        return _Nearest(router, state, routing.m)
    return _Fixed(_one(routing, prompt, k, router, expert, seed))


def posterior_weights(log_probs: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Bayes: weights [T, k] by the prior and the log-probabilities [T, k] of all tokens before."""
    before = np.vstack([np.zeros(log_probs.shape[1]), np.cumsum(log_probs, axis=0)[:-1]])
    return _normal(np.log(prior) + before)


def sparse(weights: np.ndarray, m: int | None) -> np.ndarray:
    """The m largest of each row's weights, brought to 1; the others 0."""
    if m is None or m >= weights.shape[-1]:
        return weights
    rows = weights.reshape(-1, weights.shape[-1])
    dropped = np.argsort(-rows, axis=1, kind="stable")[:, m:]
    found = rows.copy()
    found[np.arange(len(rows))[:, None], dropped] = 0.0
    found /= np.add.reduce(found, axis=1, keepdims=True)
    return found.reshape(weights.shape)


def _one(
    routing: Routing,
    tokens: np.ndarray,
    k: int,
    router: Router | None,
    expert: int | None,
    seed: int,
) -> np.ndarray:
    """Weights [k] that a text keeps from its beginning to its end."""
    if routing.kind == "uniform":
        return np.full(k, 1 / k)
    if routing.kind == "language":
        if expert is None:
            raise UserError(
                "the text's language is not said",
                where="routing",
                hint="name it by `--language`, or use `text`",
            )
        return np.eye(k)[expert]
    if routing.kind == "random":
        text = hashlib.sha256(np.ascontiguousarray(tokens, dtype="<i8").data).hexdigest()
        return np.eye(k)[derive_seed(seed, "expert", text) % k]
    router = router_for(routing, router)
    state = router.start()
    state.sums += router.sum(tokens[:_LOOKED])
    return np.eye(k)[int(router.weights(state).argmax())]


def router_for(routing: Routing, router: Router | None) -> Router:
    """The router, with the power and temperature that the routing names; a UserError if none."""
    if router is None:
        hint = "use `language`, `posterior` or `uniform`, or give it a router"
        what = f"`{routing}` needs a router, which this ensemble lacks"
        raise UserError(what, where="routing", hint=hint)
    power, temperature = routing.power or router.power, routing.temperature
    if power != router.power and temperature is None:
        what = f"the router's temperature was fitted for the distance to the power {router.power}"
        hint = f"name one for the power {power}, or fit it"
        raise UserError(what, where="routing.temperature", hint=hint)
    return replace(router, power=power, temperature=temperature or router.temperature)


def _normal(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
