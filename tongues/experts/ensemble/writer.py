"""Texts that an ensemble writes side by side, joining and leaving at any step.

Only experts with a weight run. A text is the same whatever is written next to it, up to rounding.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from tongues.core.errors import UserError
from tongues.core.randomness import derive_seed
from tongues.experts.ensemble.caches import Caches, TokenSequence
from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.request import Request, Token
from tongues.experts.ensemble.routing import Guide

_Part = tuple[int, np.ndarray, Tensor]  # an expert, the rows that it counts for, their logits
_CHUNK = 128  # tokens of a prompt that are reported, or learned from, in a step


@dataclass(slots=True, eq=False)
class RunningText:
    """A text that is being generated, or its prompt read first."""

    request: Request
    stops: frozenset[int]
    guide: Guide
    random: np.random.Generator
    sequence: TokenSequence
    weights: np.ndarray | None  # [T, k], of the prompt's tokens where they are known and reported
    known: int  # tokens of the prompt that were reported, or need not be
    belief: np.ndarray | None  # in each state of the filter, where its language is wanted
    written: list[int] = field(default_factory=list)

    @property
    def writes(self) -> bool:
        """Whether nothing of its prompt is left to report."""
        return self.known == len(self.request.prompt)


class Writer:
    """What writes texts with an ensemble, a token each at a step.

    memory: bytes of keys and values. pace: tokens of prompts that are read in a step, so that no
    text waits long for another's beginning. None: any.
    """

    def __init__(
        self, ensemble: Ensemble, *, memory: int | None = None, pace: int | None = None
    ) -> None:
        self.ensemble, self.pace = ensemble, pace
        self._chunk = _CHUNK if pace is None else min(_CHUNK, pace)
        self.running: list[RunningText] = []
        self.caches = Caches(ensemble.models, memory)

    @property
    def bytes(self) -> int:
        """Bytes of keys and values that are held of the texts."""
        return self.caches.bytes

    def add(self, request: Request) -> RunningText:
        """Begin a text; a UserError where it cannot be."""
        ensemble, routing, router = self.ensemble, request.routing, self.ensemble.router
        prompt = np.ascontiguousarray(request.prompt, dtype=np.int64)
        check_length(ensemble, request)
        ensemble.check(routing, request.language)
        seed, scored = request.sampling.seed, request.score_prompt
        about = ensemble.about(routing, request.language)
        digest = hashlib.sha256(prompt.data).hexdigest()
        first = ensemble.frame.first if request.first is None else request.first
        belief = None
        if request.find_language and router is not None:
            belief = router.filter.read(prompt[:0] if scored else prompt)
        text = RunningText(
            request=request,
            stops=frozenset({ensemble.frame.end}) if request.stops is None else request.stops,
            guide=routing.guide(prompt, about),
            random=np.random.Generator(
                np.random.PCG64(derive_seed(seed, "text", digest, request.copy))
            ),
            sequence=TokenSequence([first, *prompt.tolist()], request.longest),
            weights=routing.weights(prompt, about) if scored else None,
            known=0 if scored else len(prompt),
            belief=belief,
        )
        self.running.append(text)
        return text

    def drop(self, text: RunningText) -> None:
        """End a text; nothing happens where it ended already."""
        if text in self.running:
            self.running.remove(text)
            self.caches.forget(text.sequence)

    @torch.inference_mode()
    def step(self) -> list[tuple[RunningText, Token]]:
        """The next token of every text, or of the prompts that are read; texts that end leave."""
        news: list[tuple[RunningText, Token]] = []
        budget = math.inf if self.pace is None else self.pace
        ready: list[RunningText] = []
        weights: list[np.ndarray] = []
        for text in self.running:
            weight = text.guide.weights()
            if text.weights is not None and not text.writes:
                weight = text.weights[text.known : text.known + self._chunk].sum(axis=0)
            text.sequence.experts[:] = np.flatnonzero(weight).tolist()
            behind = self._behind(text)
            fits = behind <= max(budget, 1) or (
                not text.writes and budget > 0 and behind <= self._chunk
            )
            if not fits:
                if budget > 0:
                    self._read_ahead(text, weight, int(budget))
                budget = 0
                continue
            budget -= behind if behind > 1 else 0
            if text.writes:
                ready.append(text)
                weights.append(weight)
            else:
                news += ((text, token) for token in self._report(text, weight))
        if ready:
            news += zip(ready, self._write(ready, np.array(weights)), strict=True)
        for text, token in news:
            if token.ended:
                self.drop(text)
        return news

    def _behind(self, text: RunningText) -> int:
        """The most that any expert with a weight has to read before the next tokens are known."""
        sequence = text.sequence
        behind = max(self.caches.behind(expert, sequence) for expert in sequence.experts)
        left = len(text.request.prompt) - text.known
        return behind - 1 - max(0, left - self._chunk) if left else behind

    def _ordered(self, weights: np.ndarray) -> list[int]:
        held = self.ensemble.models.held
        return sorted(np.flatnonzero(weights).tolist(), key=lambda expert: expert not in held)

    def _read_ahead(self, text: RunningText, weights: np.ndarray, count: int) -> None:
        length = len(text.sequence.tokens)
        known = length - 1 if text.writes else text.known
        for expert in self._ordered(weights):
            read = length - self.caches.behind(expert, text.sequence)
            if read < known:
                self.caches.read(expert, text.sequence, min(read + count, known))

    def _write(self, texts: list[RunningText], weights: np.ndarray) -> list[Token]:
        parts: list[_Part] = []
        for expert in self._ordered(weights.sum(axis=0)):
            places = np.flatnonzero(weights[:, expert])
            some = [texts[place].sequence for place in places]
            parts.append((expert, places, self.caches.logits(expert, some)))
        mixed = _mixed(parts, weights)
        lost = mixed[:, 0].isnan().tolist()  # with one logit, all of a row is
        mixed[:, self.ensemble.vocabulary :] = 0.0
        chosen = _choose(mixed, texts)
        reached = _log(_of(mixed, chosen)).tolist()
        likely = _likeliest(mixed, [text.request.alternatives for text in texts])
        tokens = []
        for row, (text, token) in enumerate(zip(texts, chosen.tolist(), strict=True)):
            if lost[row]:
                ended = "broken"
            elif token in text.stops:
                ended = "stop"
            else:
                ended = "length" if len(text.written) + 1 == text.request.max_tokens else None
                text.written.append(token)
            if not ended:
                text.sequence.tokens.append(token)
                text.guide.push(token)
            language = self._language(text, token)
            of_token = (token, reached[row], weights[row], likely[row])
            tokens.append(Token(*of_token, ended=ended, language=language))
        return tokens

    def _report(self, text: RunningText, needed: np.ndarray) -> list[Token]:
        """Report the next tokens of a prompt; needed: the experts above 0."""
        request, start = text.request, text.known
        stop = text.known = min(start + self._chunk, len(request.prompt))
        width = stop - start
        given = torch.from_numpy(request.prompt[start:stop].astype(np.int64))
        assert text.weights is not None
        weights = text.weights[start:stop]
        parts: list[_Part] = []
        for expert in self._ordered(needed):
            rows = np.flatnonzero(weights[:, expert])
            logits = self.caches.read(expert, text.sequence, stop, width)
            # in float64, which has the least probable tokens too
            parts.append((expert, rows, logits[torch.from_numpy(rows)].double()))
        mixed = _mixed(parts, weights)
        values = _log(_of(mixed, given)).tolist()
        shown = mixed[:, : self.ensemble.vocabulary]
        likely = _likeliest(shown, [request.alternatives] * width)
        tokens = [
            Token(token, value, weight, best, given=True, language=self._language(text, token))
            for token, value, weight, best in zip(
                given.tolist(), values, weights, likely, strict=True
            )
        ]
        if any(map(math.isnan, values)):
            tokens[-1] = replace(tokens[-1], ended="broken")
        elif text.writes and not request.max_tokens:
            tokens[-1] = replace(tokens[-1], ended="length")
        return tokens

    def _language(self, text: RunningText, token: int) -> str | None:
        router = self.ensemble.router
        if text.belief is None or router is None:
            return None
        text.belief = router.filter.follow(text.belief, token)
        return router.language(text.belief)


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
        hint = "shorten the prompt, or write fewer (`--max-tokens`)"
        raise UserError(what, where="generate", hint=hint)


def _mixed(parts: Sequence[_Part], weights: np.ndarray) -> Tensor:
    """Probabilities [n, V] of the next tokens by the experts' weights [n, k]."""
    if len(parts) == 1:
        return parts[0][2].softmax(1)
    first = parts[0][2]
    mixed = first.new_zeros(len(weights), first.shape[1])
    for expert, rows, logits in parts:
        share = torch.from_numpy(weights[rows, expert]).to(mixed)
        mixed[torch.from_numpy(rows)] += logits.softmax(1) * share[:, None]
    return mixed


def _of(rows: Tensor, tokens: Tensor) -> Tensor:
    return rows.gather(1, tokens[:, None].to(rows.device)).squeeze(1)


def _log(odds: Tensor) -> Tensor:
    return odds.clamp_min(torch.finfo(odds.dtype).tiny).log()


def _likeliest(rows: Tensor, counts: Sequence[int]) -> list[tuple[tuple[int, float], ...]]:
    """The most probable tokens of each row, `counts` of them, with their log-probabilities."""
    most = min(max(counts), rows.shape[1])
    if not most:
        return [()] * len(counts)
    values, tokens = rows.topk(most, dim=1)
    each = zip(tokens.tolist(), _log(values).tolist(), counts, strict=True)
    return [tuple(zip(ids[:n], own[:n], strict=True)) for ids, own, n in each]


def _choose(mixed: Tensor, texts: Sequence[RunningText]) -> Tensor:
    samplings = [text.request.sampling for text in texts]
    biased = [row for row, sampling in enumerate(samplings) if sampling.bias]
    mixed = mixed.clone() if biased else mixed
    for row in biased:
        mixed[row] = _biased(mixed[row], samplings[row].bias)
    draws = np.array([text.random.random() for text in texts])
    shapes = [sampling.shape for sampling in samplings]
    if len(set(shapes)) == 1:
        return _draw(mixed, shapes[0], draws)
    chosen = torch.empty(len(mixed), dtype=torch.long, device=mixed.device)
    for shape in set(shapes):
        rows = [row for row, own in enumerate(shapes) if own == shape]
        chosen[rows] = _draw(mixed[rows], shape, draws[rows])
    return chosen


def _biased(odds: Tensor, bias: Mapping[int, float]) -> Tensor:
    ids, logs = torch.tensor(list(bias)), odds.log()
    logs[ids.to(logs.device)] += torch.tensor([*bias.values()]).to(logs)
    return logs.softmax(0)


def _draw(odds: Tensor, shape: tuple[float, int | None, float | None], draws: np.ndarray) -> Tensor:
    """A token of each row, at the place of `draws`, from 0 to 1, in what adds up to 1."""
    temperature, top_k, top_p = shape
    if temperature == 0:
        return odds.argmax(1)
    if temperature != 1:
        likeliest = odds.max(1, keepdim=True).values
        odds = ((odds / likeliest).log() / temperature).softmax(1)
    tokens: Tensor | None = None
    if top_k or top_p:
        width = odds.shape[1]
        odds, tokens = odds.topk(min(top_k or width, width), dim=1)
    if top_p:
        before = odds.cumsum(1) - odds
        odds = torch.where(before < top_p * odds.sum(1, keepdim=True), odds, 0.0)
    sums = odds.double().cumsum(1)
    wanted = torch.from_numpy(draws).to(sums)[:, None] * sums[:, -1:]
    places = torch.searchsorted(sums, wanted, right=True).clamp_(max=odds.shape[1] - 1)
    return (places if tokens is None else tokens.gather(1, places)).squeeze(1)
