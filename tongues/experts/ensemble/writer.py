"""Texts that an ensemble writes side by side, joining and leaving at any step.

Only experts with a weight run. A text is the same whatever is written beside it, up to rounding.
"""

import hashlib
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from tongues.errors import UserError
from tongues.experts.ensemble.caches import Caches, Reading
from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.routing import Guide, Routing
from tongues.experts.ensemble.sampling import Sampling, choose
from tongues.randomness import derive_seed

__all__ = ["Ended", "Text", "Told", "Writer", "broken", "check_length"]

# stop: by this token, which is no part of it; broken: an expert predicts what is not a number
Ended = Literal["stop", "length", "broken"]

_KNOWN = 128  # tokens of a prompt that are told, or learned from, in a step


@dataclass(slots=True, eq=False)
class Text:
    """A text that is being written, or read first."""

    prompt: np.ndarray
    most: int  # tokens to write at most
    sampling: Sampling
    stops: frozenset[int]  # tokens that end it
    alternatives: int  # likeliest tokens told beside each
    guide: Guide
    learns: bool  # whether the guide takes the experts' log-probabilities
    draws: np.random.Generator
    reading: Reading
    weights: np.ndarray | None  # [T, k], of the prompt's tokens where they are told; None: learned
    tells: bool  # the prompt's tokens as well
    known: int  # tokens of the prompt that were told, or learned from, or need not be
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
    ended: Ended | None = None


class Writer:
    """What writes texts with an ensemble, a token each at a step.

    kept: experts whose memory of the texts is held at most; None: all. pace: tokens of prompts that
    are read in a step, so that no text waits long for another's beginning; None: any.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        *,
        kept: int | None = None,
        pace: int | None = None,
    ) -> None:
        self.ensemble, self.pace = ensemble, pace
        self._chunk = _KNOWN if pace is None else min(_KNOWN, pace)  # tokens of a prompt in a step
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
        first: int | None = None,
        stop: Collection[int] | None = None,
        copy: int = 0,
        alternatives: int = 0,
        scored: bool = False,
    ) -> Text:
        """Begin a text behind a prompt of token ids; a UserError where it cannot be.

        most: tokens to write at most; 0 where it is only scored. first: the token that stands
        before it; the one that ends documents if left out. stop: tokens that end it; the same.
        copy: which of several texts behind the same prompt. scored: whether the prompt's tokens are
        told as well.
        """
        prompt = np.asarray(prompt, dtype=np.int64)
        sampling, ensemble = sampling or Sampling(), self.ensemble
        check_length(ensemble, len(prompt), most, scored=scored)
        ensemble.check(routing, language)
        about = ensemble.about(routing, language, sampling.seed)
        chance = derive_seed(sampling.seed, "text", hashlib.sha256(prompt.data).hexdigest(), copy)
        text = Text(
            prompt=prompt,
            most=most,
            sampling=sampling,
            stops=frozenset({ensemble.end_id} if stop is None else stop),
            alternatives=alternatives,
            guide=routing.guide(prompt, about),
            learns=routing.learns,
            draws=np.random.Generator(np.random.PCG64(chance)),
            reading=Reading([ensemble.end_id if first is None else first, *prompt.tolist()]),
            weights=routing.weights(prompt, about) if scored and not routing.learns else None,
            tells=scored,
            known=0 if scored or routing.learns else len(prompt),
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
        budget = math.inf if self.pace is None else self.pace
        ready: list[Text] = []
        weights: list[np.ndarray] = []
        for text in self.running:
            known = text.known == len(text.prompt)
            weight = text.guide.weights() if known else self._asked(text)
            behind = self._behind(text, weight)
            fits = behind <= max(budget, 1) or (not known and budget > 0 and behind <= self._chunk)
            if not fits:
                if budget > 0:
                    self._read_ahead(text, weight, int(budget))
                budget = 0
                continue
            budget -= behind if behind > 1 else 0
            if known:
                ready.append(text)
                weights.append(weight)
            else:
                told += self._know(text, weight)
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
        lost = mixed[:, 0].isnan().tolist()  # with one logit, all of a row is
        mixed[:, self.ensemble.vocabulary :] = 0.0
        chosen = choose(
            mixed,
            [text.sampling for text in texts],
            [text.written for text in texts],
            np.array([text.draws.random() for text in texts]),
        )
        reached = _log(mixed.gather(1, chosen[:, None]).squeeze(1)).tolist()
        likely = _likeliest(mixed, _log, [text.alternatives for text in texts])
        each = None
        told = []
        for row, (text, token) in enumerate(zip(texts, chosen.tolist(), strict=True)):
            ended = "broken" if lost[row] else _ended(text, token)
            if ended in (None, "length"):
                text.written.append(token)
            if not ended:
                text.reading.tokens.append(token)
                if text.learns and each is None:
                    each = _log_probs(parts, chosen, weights.shape)
                text.guide.push(token, None if each is None else each[row])
            told.append(Told(text, token, reached[row], weights[row], likely[row], ended=ended))
        return told

    def _asked(self, text: Text) -> np.ndarray:
        """The experts [k] that are needed for the next tokens of a prompt: those above 0."""
        if text.weights is None:
            return text.guide.weights()
        return text.weights[text.known : text.known + self._chunk].sum(axis=0)

    def _know(self, text: Text, asked: np.ndarray) -> list[Told]:
        """Tell the next tokens of a prompt, or learn from them."""
        start = text.known
        stop = text.known = min(start + self._chunk, len(text.prompt))
        width = stop - start
        tokens = torch.from_numpy(text.prompt[start:stop])
        found = {
            expert: self._caches.read(expert, text.reading, stop, width).log_softmax(1)
            for expert in self._ordered(asked)
        }
        if text.weights is None:
            reached = np.zeros((width, self.ensemble.k))
            for expert, logs in found.items():
                reached[:, expert] = _of(logs, tokens).cpu().numpy()
            weights = np.zeros_like(reached)
            for place, (token, row) in enumerate(zip(tokens.tolist(), reached, strict=True)):
                weights[place] = text.guide.weights()
                text.guide.push(token, row)
        else:
            weights = text.weights[start:stop]
        if not text.tells:
            return []
        mixed: Tensor | None = None
        for expert, logs in sorted(found.items()):
            logs += torch.from_numpy(weights[:, expert].copy()).to(logs).log()[:, None]
            mixed = logs if mixed is None else torch.logaddexp(mixed, logs)
        assert mixed is not None
        values = _of(mixed, tokens).tolist()
        mixed = mixed[:, : self.ensemble.vocabulary]
        likely = _likeliest(mixed, lambda logs: logs, [text.alternatives] * width)
        told = [
            Told(text, token, value, weight, best, prompt=True)
            for token, value, weight, best in zip(
                tokens.tolist(), values, weights, likely, strict=True
            )
        ]
        if any(map(math.isnan, values)):
            return [*told[:-1], replace(told[-1], ended="broken")]
        if stop == len(text.prompt) and not text.most:
            return [*told[:-1], replace(told[-1], ended="length")]
        return told

    def _ordered(self, weights: np.ndarray) -> list[int]:
        """The experts with a weight, those first that are open: another may need their place."""
        held = self.ensemble.models.held
        return sorted(np.flatnonzero(weights).tolist(), key=lambda expert: expert not in held)

    def _run(self, texts: list[Text], weights: np.ndarray) -> "list[_Part]":
        """Run each expert on the texts in which it has a weight."""
        parts = []
        for expert in self._ordered(weights.sum(axis=0)):
            places = np.flatnonzero(weights[:, expert])
            some = [texts[place].reading for place in places]
            parts.append(_Part(expert, places, self._caches.logits(expert, some)))
        return parts

    def _behind(self, text: Text, weights: np.ndarray) -> int:
        """The most that any expert that is asked has to read before the next tokens are known."""
        behind = max(
            self._caches.behind(expert, text.reading) for expert in np.flatnonzero(weights).tolist()
        )
        left = len(text.prompt) - text.known
        return behind - 1 - max(0, left - self._chunk) if left else behind

    def _read_ahead(self, text: Text, weights: np.ndarray, count: int) -> None:
        """Have the experts that are asked read some of what they missed, before what is to tell."""
        known = text.known if text.known < len(text.prompt) else len(text.reading.tokens) - 1
        for expert in self._ordered(weights):
            read = len(text.reading.tokens) - self._caches.behind(expert, text.reading)
            if read < known:
                self._caches.read(expert, text.reading, min(read + count, known))


def broken(ensemble: Ensemble, weights: np.ndarray) -> UserError:
    """What is wrong where a text ended so; weights: [k], of its last token."""
    folders = [str(ensemble.models.folders[expert]) for expert in np.flatnonzero(weights)]
    return UserError("predicts what is not a number", where=", ".join(folders))


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


def _log_probs(parts: list[_Part], chosen: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    """Log-probabilities [texts, k] of the chosen tokens, where an expert ran."""
    found = np.zeros(shape)
    for part in parts:
        found[part.places, part.expert] = (
            _of(part.logits.log_softmax(1), chosen[part.places]).cpu().numpy()
        )
    return found


def _ended(text: Text, token: int) -> Ended | None:
    """Whether a text ends with a token."""
    if token in text.stops:
        return "stop"
    return "length" if len(text.written) + 1 == text.most else None


def _of(rows: Tensor, tokens: Tensor) -> Tensor:
    """What rows [T, V] have for a token each."""
    return rows.gather(1, tokens[:, None].to(rows.device)).squeeze(1)


def _likeliest(
    rows: Tensor, log: Callable[[Tensor], Tensor], counts: Sequence[int]
) -> list[tuple[tuple[int, float], ...]]:
    """The likeliest tokens of each row, as many as are wanted, with their log-probabilities.

    log: of what stands in the rows, as it is told of a token itself.
    """
    most = min(max(counts), rows.shape[1])
    if not most:
        return [()] * len(counts)
    values, tokens = rows.topk(most, dim=1)
    told = zip(tokens.tolist(), log(values).tolist(), counts, strict=True)
    return [tuple(zip(ids[:n], logs[:n], strict=True)) for ids, logs, n in told]


def _log(odds: Tensor) -> Tensor:
    """Logarithms, none of them infinite."""
    return odds.clamp_min(torch.finfo(odds.dtype).tiny).log()
