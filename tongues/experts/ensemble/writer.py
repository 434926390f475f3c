"""Texts that an ensemble writes side by side, joining and leaving at any step.

Only experts with a weight run. A text is the same whatever is written beside it, up to rounding.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from tongues.errors import UserError
from tongues.experts.ensemble.caches import Caches, Reading
from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.request import Ended, Request, Token
from tongues.experts.ensemble.routing import Guide
from tongues.experts.ensemble.sampling import choose
from tongues.randomness import derive_seed

__all__ = ["Text", "Writer", "broken", "check_length"]

_KNOWN = 128  # tokens of a prompt that are told, or learned from, in a step


@dataclass(slots=True, eq=False)
class Text:
    """A text that is being generated, or its prompt read first."""

    request: Request
    stops: frozenset[int]
    guide: Guide
    draws: np.random.Generator
    reading: Reading
    weights: np.ndarray | None  # [T, k], of the prompt's tokens where they are known and reported
    known: int  # tokens of the prompt that were reported, or learned from, or need not be
    sums: np.ndarray | None  # the text so far, as the router sees it, where its language is wanted
    written: list[int] = field(default_factory=list)


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

    def add(self, request: Request) -> Text:
        """Begin a text; a UserError where it cannot be."""
        ensemble, routing = self.ensemble, request.routing
        prompt = np.ascontiguousarray(request.prompt, dtype=np.int64)
        check_length(ensemble, request)
        ensemble.check(routing, request.language)
        seed = request.sampling.seed
        about = ensemble.about(routing, request.language, seed)
        chance = derive_seed(
            seed,
            "text",
            hashlib.sha256(prompt.data).hexdigest(),
            request.copy,
        )
        first = ensemble.end_id if request.first is None else request.first
        scored, sums = request.score_prompt, None
        if request.find_language and ensemble.router is not None:
            sums = ensemble.router.start().sums if scored else ensemble.router.sum(prompt)
        text = Text(
            request=request,
            stops=frozenset({ensemble.end_id}) if request.stops is None else request.stops,
            guide=routing.guide(prompt, about),
            draws=np.random.Generator(np.random.PCG64(chance)),
            reading=Reading([first, *prompt.tolist()]),
            weights=routing.weights(prompt, about) if scored and not routing.learns else None,
            known=0 if scored or routing.learns else len(prompt),
            sums=sums,
        )
        self.running.append(text)
        return text

    def drop(self, text: Text) -> None:
        """End a text; nothing happens where it ended already."""
        if text in self.running:
            self.running.remove(text)
            self._caches.forget(text.reading)

    @torch.inference_mode()
    def step(self) -> list[tuple[Text, Token]]:
        """The next token of every text, or of the prompts that are read; texts that end leave."""
        news: list[tuple[Text, Token]] = []
        budget = math.inf if self.pace is None else self.pace
        ready: list[Text] = []
        weights: list[np.ndarray] = []
        for text in self.running:
            known = text.known == len(text.request.prompt)
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
                news += ((text, token) for token in self._know(text, weight))
        if ready:
            news += zip(ready, self._write(ready, np.array(weights)), strict=True)
        for text, token in news:
            if token.ended:
                self.drop(text)
        return news

    def _write(self, texts: list[Text], weights: np.ndarray) -> list[Token]:
        """One more token of each of these texts."""
        parts = self._run(texts, weights)
        mixed = _mixed(parts, weights)
        lost = mixed[:, 0].isnan().tolist()  # with one logit, all of a row is
        mixed[:, self.ensemble.vocabulary :] = 0.0
        chosen = choose(
            mixed,
            [text.request.sampling for text in texts],
            [text.written for text in texts],
            np.array([text.draws.random() for text in texts]),
        )
        reached = _log(mixed.gather(1, chosen[:, None]).squeeze(1)).tolist()
        likely = _likeliest(mixed, _log, [text.request.alternatives for text in texts])
        each = None
        tokens = []
        for row, (text, token) in enumerate(zip(texts, chosen.tolist(), strict=True)):
            ended = "broken" if lost[row] else _ended(text, token)
            if ended in (None, "length"):
                text.written.append(token)
            if not ended:
                text.reading.tokens.append(token)
                if text.request.routing.learns and each is None:
                    each = _log_probs(parts, chosen, weights.shape)
                text.guide.push(token, None if each is None else each[row])
            language = self._language(text, token)
            tokens.append(
                Token(
                    token, reached[row], weights[row], likely[row], ended=ended, language=language
                )
            )
        return tokens

    def _asked(self, text: Text) -> np.ndarray:
        """The experts [k] that are needed for the next tokens of a prompt: those above 0."""
        if text.weights is None:
            return text.guide.weights()
        return text.weights[text.known : text.known + self._chunk].sum(axis=0)

    def _language(self, text: Text, token: int) -> str | None:
        """The language of a text with this token, where it is wanted and the router knows it."""
        router, sums = self.ensemble.router, text.sums
        if sums is None or router is None:
            return None
        sums += router.vectors[token]
        return router.language(sums)

    def _know(self, text: Text, asked: np.ndarray) -> list[Token]:
        """Report the next tokens of a prompt, or learn from them."""
        request, start = text.request, text.known
        stop = text.known = min(start + self._chunk, len(text.request.prompt))
        width = stop - start
        tokens = torch.from_numpy(request.prompt[start:stop].astype(np.int64))
        logs_of = {
            expert: self._caches.read(expert, text.reading, stop, width).log_softmax(1)
            for expert in self._ordered(asked)
        }
        if text.weights is None:
            reached = np.zeros((width, self.ensemble.k))
            for expert, logs in logs_of.items():
                reached[:, expert] = _of(logs, tokens).cpu().numpy()
            weights = np.zeros_like(reached)
            for place, (token, row) in enumerate(zip(tokens.tolist(), reached, strict=True)):
                weights[place] = text.guide.weights()
                text.guide.push(token, row)
        else:
            weights = text.weights[start:stop]
        if not request.score_prompt:
            return []
        mixed: Tensor | None = None
        for expert, logs in sorted(logs_of.items()):
            logs += torch.from_numpy(weights[:, expert].copy()).to(logs).log()[:, None]
            mixed = logs if mixed is None else torch.logaddexp(mixed, logs)
        assert mixed is not None
        values = _of(mixed, tokens).tolist()
        mixed = mixed[:, : self.ensemble.vocabulary]
        likely = _likeliest(mixed, lambda logs: logs, [request.alternatives] * width)
        found = [
            Token(token, value, weight, best, given=True, language=self._language(text, token))
            for token, value, weight, best in zip(
                tokens.tolist(), values, weights, likely, strict=True
            )
        ]
        if any(map(math.isnan, values)):
            return [*found[:-1], replace(found[-1], ended="broken")]
        if stop == len(request.prompt) and not request.max_tokens:
            return [*found[:-1], replace(found[-1], ended="length")]
        return found

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
        left = len(text.request.prompt) - text.known
        return behind - 1 - max(0, left - self._chunk) if left else behind

    def _read_ahead(self, text: Text, weights: np.ndarray, count: int) -> None:
        """Have the experts that are asked read some of what they missed, before what is to tell."""
        known = (
            text.known if text.known < len(text.request.prompt) else len(text.reading.tokens) - 1
        )
        for expert in self._ordered(weights):
            read = len(text.reading.tokens) - self._caches.behind(expert, text.reading)
            if read < known:
                self._caches.read(expert, text.reading, min(read + count, known))


def broken(ensemble: Ensemble, weights: np.ndarray) -> UserError:
    """The error of a text that ended so; weights: [k], of its last token."""
    folders = [str(ensemble.models.folders[expert]) for expert in np.flatnonzero(weights)]
    return UserError("predicts what is not a number", where=", ".join(folders))


def check_length(ensemble: Ensemble, request: Request) -> None:
    """A UserError where a request is for nothing, or for more than the experts can see."""
    context, prompt, count = ensemble.context, len(request.prompt), request.max_tokens
    if count < 1 and not (request.score_prompt and prompt):
        raise UserError("there is nothing to write", where="most", hint="such as 100 tokens")
    if context and prompt + count > context:
        what = f"prompt and text together are {prompt + count} tokens; experts see {context}"
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
    return "length" if len(text.written) + 1 == text.request.max_tokens else None


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
