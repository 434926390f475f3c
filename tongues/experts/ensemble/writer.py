"""Texts that an ensemble writes side by side, joining and leaving at any step.

Only experts with a weight run. A text is the same whatever is written beside it, up to rounding.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from tongues.errors import UserError
from tongues.experts.ensemble.caches import Caches, Reading
from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.routing import (
    Guide,
    Routing,
    guide,
    posterior_weights,
    weigh,
)
from tongues.experts.ensemble.sampling import Sampling, choose
from tongues.experts.ensemble.score import expert_log_probs
from tongues.randomness import derive_seed

__all__ = ["Text", "Told", "Writer", "check_length"]

_SCORED = 128  # tokens of a prompt that are scored in a step


@dataclass(slots=True, eq=False)
class Text:
    """A text that is being written, or scored first."""

    prompt: np.ndarray
    most: int  # tokens to write at most
    sampling: Sampling
    stops: frozenset[int]  # tokens that end it
    alternatives: int  # likeliest tokens told beside each
    guide: Guide
    draws: np.random.Generator
    reading: Reading
    to_score: np.ndarray | None  # weights [T, k] of the prompt's tokens, while some are not told
    scored: int = 0  # tokens of the prompt that were told
    written: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A token of a text, given or written; or its end."""

    text: Text
    token: int
    log_prob: float  # under the mixture, before sampling changed it
    weights: np.ndarray  # [k], what each expert counted for it
    alternatives: tuple[tuple[int, float], ...]  # tokens and log-probabilities, likeliest first
    prompt: bool = False
    ended: Literal["stop", "length"] | None = None  # stop: this token ends it and is no part of it


class Writer:
    """What writes texts with an ensemble, a token each at a step.

    first: the token that stands before every text; the one that ends documents if left out.
    kept: experts whose memory of the texts is held at most; None: all. pace: tokens of prompts that
    are read in a step, so that no text waits long for another's beginning; None: any.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        *,
        first: int | None = None,
        kept: int | None = None,
        pace: int | None = None,
    ) -> None:
        self.ensemble, self.pace = ensemble, pace
        self.first = ensemble.end_id if first is None else first
        self.running: list[Text] = []
        self._caches = Caches(ensemble.models, kept)

    @property
    def bytes(self) -> int:
        """Bytes of keys and values that are held of the texts."""
        return self._caches.bytes

    def add(
        self,
        prompt: np.ndarray,
        routing: Routing,
        *,
        most: int,
        language: str | None = None,
        sampling: Sampling | None = None,
        stop: Collection[int] | None = None,
        copy: int = 0,
        alternatives: int = 0,
        scored: bool = False,
    ) -> Text:
        """Begin a text behind a prompt of token ids; a UserError where it cannot be.

        most: tokens to write at most; 0 where it is only scored. stop: tokens that end it; the one
        that ends documents if left out. copy: which of several texts behind the same prompt.
        scored: whether the prompt's tokens are told as well.
        """
        prompt = np.asarray(prompt, dtype=np.int64)
        sampling, ensemble = sampling or Sampling(), self.ensemble
        check_length(ensemble, len(prompt), most, scored=scored)
        ensemble.check(routing, language)
        expert = ensemble.expert_of(routing, language)
        likely = None
        if routing.kind == "posterior":
            with torch.inference_mode():
                likely = expert_log_probs(ensemble, [prompt])[0]
        known = {
            "k": ensemble.k,
            "router": ensemble.router,
            "expert": expert,
            "seed": sampling.seed,
        }
        weights = None
        if scored and len(prompt):
            weights = weigh(routing, prompt, **known)
            if weights is None:
                assert likely is not None
                weights = posterior_weights(likely, ensemble.prior)
        name = hashlib.sha256(prompt.data).hexdigest()
        text = Text(
            prompt=prompt,
            most=most,
            sampling=sampling,
            stops=frozenset({ensemble.end_id} if stop is None else stop),
            alternatives=alternatives,
            guide=guide(routing, prompt, **known, log_probs=likely, prior=ensemble.prior),
            draws=np.random.Generator(
                np.random.PCG64(derive_seed(sampling.seed, "text", name, copy))
            ),
            reading=Reading([self.first, *prompt.tolist()]),
            to_score=weights,
        )
        self.running.append(text)
        return text

    def drop(self, text: Text) -> None:
        """Write a text no further; nothing happens where it ended already."""
        if text in self.running:
            self.running.remove(text)
            self._caches.forget(text.reading)

    @torch.inference_mode()
    def step(self) -> list[Told]:
        """Go on by a token with every text, or with reading the prompts of some."""
        told: list[Told] = []
        budget = self.pace
        ready: list[Text] = []
        weights: list[np.ndarray] = []
        for text in self.running:
            if text.to_score is not None:
                if budget is None or budget > 0:
                    told += self._score(text, text.to_score)
                    budget = budget and max(0, budget - _SCORED)
                continue
            weight = text.guide.weights()
            behind = self._behind(text, weight)
            if behind > 1 and budget is not None:
                if behind > budget:
                    if budget == self.pace:
                        self._read_ahead(text, weight, budget)
                        budget = 0
                    continue
                budget -= behind
            ready.append(text)
            weights.append(weight)
        if ready:
            told += self._write(ready, np.array(weights))
        for each in told:
            if each.ended:
                self.drop(each.text)
        return told

    def _write(self, texts: list[Text], weights: np.ndarray) -> list[Told]:
        """A token more of each of these texts."""
        parts = self._run(texts, weights)
        mixed = _mixed(parts, weights)
        chosen = choose(
            mixed,
            [text.sampling for text in texts],
            [text.written for text in texts],
            np.array([text.draws.random() for text in texts]),
        )
        reached = _log(mixed.gather(1, chosen[:, None]).squeeze(1)).cpu().numpy()
        if not np.isfinite(reached).all():
            where = ", ".join(str(self.ensemble.models.folders[part.expert]) for part in parts)
            raise UserError("predicts what is not a number", where=where)
        likely = _likeliest(mixed, [text.alternatives for text in texts])
        each = None
        told = []
        for row, (text, token) in enumerate(zip(texts, chosen.tolist(), strict=True)):
            ended: Literal["stop", "length"] | None = None
            if token in text.stops:
                ended = "stop"
            elif len(text.written) + 1 == text.most:
                ended = "length"
            if ended != "stop":
                text.written.append(token)
            if not ended:
                text.reading.tokens.append(token)
                if text.guide.learns:
                    each = _log_probs(parts, chosen, len(texts)) if each is None else each
                text.guide.push(token, None if each is None else each[row])
            told.append(
                Told(text, token, float(reached[row]), weights[row], likely[row], ended=ended)
            )
        return told

    def _score(self, text: Text, weights: np.ndarray) -> list[Told]:
        """Tell the next tokens of a prompt."""
        start = text.scored
        stop = min(start + _SCORED, len(text.prompt))
        now, width = weights[start:stop], stop - start
        mixed: Tensor | None = None
        for expert in np.flatnonzero(now.any(axis=0)).tolist():
            found = self._caches.read(expert, text.reading, stop, width).log_softmax(1)
            found += torch.from_numpy(now[:, expert].copy()).to(found).log()[:, None]
            mixed = found if mixed is None else torch.logaddexp(mixed, found)
        assert mixed is not None
        tokens = torch.from_numpy(text.prompt[start:stop]).to(mixed.device)
        reached = mixed.gather(1, tokens[:, None]).squeeze(1).tolist()
        likely = _likeliest(mixed.exp(), [text.alternatives] * width)
        text.scored = stop
        whole = stop == len(text.prompt)
        if whole:
            text.to_score = None
        last = "length" if whole and not text.most else None
        return [
            Told(text, token, value, weight, best, True, last if place == width - 1 else None)
            for place, (token, value, weight, best) in enumerate(
                zip(tokens.tolist(), reached, now, likely, strict=True)
            )
        ]

    def _run(self, texts: list[Text], weights: np.ndarray) -> "list[_Part]":
        """Run each expert on the texts in which it has a weight."""
        parts = []
        for expert in np.flatnonzero(weights.any(axis=0)).tolist():
            places = np.flatnonzero(weights[:, expert])
            some = [texts[place].reading for place in places]
            parts.append(_Part(expert, places, self._caches.logits(expert, some)))
        return parts

    def _behind(self, text: Text, weights: np.ndarray) -> int:
        """The most that any expert that is asked has yet to read."""
        return max(
            self._caches.behind(expert, text.reading) for expert in np.flatnonzero(weights).tolist()
        )

    def _read_ahead(self, text: Text, weights: np.ndarray, count: int) -> None:
        """Have the experts that are asked read some of what they missed."""
        for expert in np.flatnonzero(weights).tolist():
            behind = self._caches.behind(expert, text.reading)
            if behind > count:
                stop = len(text.reading.tokens) - behind + count
                self._caches.read(expert, text.reading, stop)


def check_length(ensemble: Ensemble, prompt: int, most: int, *, scored: bool = False) -> None:
    """A UserError where so many tokens behind a prompt of so many cannot be written."""
    context = ensemble.context
    if most < 1 and not (scored and prompt):
        raise UserError("there is nothing to write", where="most", hint="such as 100 tokens")
    if context and prompt + most > context:
        what = f"prompt and text together are {prompt + most} tokens; experts see {context}"
        hint = "shorten the prompt, or write fewer (`--most`)"
        raise UserError(what, where="generate", hint=hint)


@dataclass(frozen=True, slots=True)
class _Part:
    """What an expert says of those texts in which it has a weight."""

    expert: int
    places: np.ndarray  # among the texts
    logits: Tensor  # [places, V]


def _mixed(parts: list[_Part], weights: np.ndarray) -> Tensor:
    """The mixture's probabilities [texts, V]."""
    if len(parts) == 1:
        return parts[0].logits.softmax(1)
    mixed = parts[0].logits.new_zeros(len(weights), parts[0].logits.shape[1])
    for part in parts:
        share = torch.from_numpy(weights[part.places, part.expert]).to(mixed)
        mixed[torch.from_numpy(part.places)] += part.logits.softmax(1) * share[:, None]
    return mixed


def _log_probs(parts: list[_Part], chosen: Tensor, count: int) -> np.ndarray:
    """Log-probabilities [texts, experts] of the chosen tokens, for texts in which all ran."""
    found = np.zeros((count, max(part.expert for part in parts) + 1))
    for part in parts:
        reached = part.logits.gather(1, chosen[part.places, None]).squeeze(1)
        found[part.places, part.expert] = (reached - part.logits.logsumexp(1)).cpu().numpy()
    return found


def _likeliest(mixed: Tensor, counts: Sequence[int]) -> list[tuple[tuple[int, float], ...]]:
    """The likeliest tokens of each row, as many as are wanted, with their log-probabilities."""
    most = min(max(counts), mixed.shape[1])
    if not most:
        return [()] * len(counts)
    odds, tokens = mixed.topk(most, dim=1)
    rows = zip(tokens.tolist(), _log(odds).tolist(), counts, strict=True)
    return [tuple(zip(ids[:n], logs[:n], strict=True)) for ids, logs, n in rows]


def _log(odds: Tensor) -> Tensor:
    """Logarithms, none of them infinite."""
    return odds.clamp_min(torch.finfo(odds.dtype).tiny).log()
