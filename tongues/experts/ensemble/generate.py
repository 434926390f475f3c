"""Texts that an ensemble writes, several side by side; only experts with a weight run."""

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tongues.errors import UserError
from tongues.experts.ensemble.caches import Caches
from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.routing import Guide, Routing, guide
from tongues.experts.ensemble.score import expert_log_probs
from tongues.randomness import derive_seed

__all__ = ["Generated", "Sampling", "generate"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is drawn from the mixture's probabilities."""

    temperature: float = 1.0  # 0: the likeliest, always
    top_k: int | None = None  # only the likeliest so many
    top_p: float | None = None  # only the likeliest that together have so much
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """What was written behind a prompt."""

    tokens: np.ndarray  # [T], without the one that stopped it
    nats: np.ndarray  # [T], -log p of each under the mixture, before sampling changed it
    weights: np.ndarray  # [T, k], what each expert counted for it
    stopped: bool  # by a stop token, not by the length
    computed: int  # tokens over all experts that ran, the prompt included


@torch.inference_mode()
def generate(
    ensemble: Ensemble,
    prompts: Sequence[np.ndarray],
    routing: Routing,
    *,
    most: int,
    languages: Sequence[str] | None = None,
    sampling: Sampling | None = None,
    stop: Collection[int] | None = None,
    kept: int | None = None,
) -> list[Generated]:
    """Continue prompts of token ids by at most `most` tokens each.

    A prompt gives the same text alone and among others, up to rounding. languages: of each prompt,
    for `language`. stop: tokens that end a text; the one that ends documents if left out. kept:
    experts whose memory of the texts is held at most; None: all.
    """
    sampling = sampling or Sampling()
    prompts = [np.asarray(prompt, dtype=np.int64) for prompt in prompts]
    if not prompts:
        return []
    _check_length(ensemble, prompts, most)
    _check_sampling(sampling)
    stops = np.array(sorted({ensemble.end_id} if stop is None else set(stop)), dtype=np.int64)
    lengths = np.array([1 + len(prompt) for prompt in prompts])
    width, count = int(lengths.max()), len(prompts)
    text = torch.full((count, width + most), ensemble.end_id, device=ensemble.models.device)
    for row, prompt in zip(text, prompts, strict=True):
        row[width - len(prompt) : width] = torch.from_numpy(prompt)
    caches = Caches(ensemble.models, text, width - lengths, kept)
    guided = _guide(ensemble, prompts, routing, languages, sampling.seed)
    draws = _draws(prompts, most, sampling.seed)
    nats, weights = np.zeros((count, most)), np.zeros((count, most, ensemble.k))
    stopped, running = np.full(count, most), np.arange(count)  # where each ends; those that go on
    for step in range(most):
        weights[:, step] = guided.weights()
        now = weights[running, step]
        parts = _run(caches, running, now, width + step)
        mixed = _mixed(parts, now)
        chosen = _choose(mixed, sampling, draws[running, step])
        nats[running, step] = -mixed.gather(1, chosen[:, None]).squeeze(1).log().cpu().numpy()
        each = _log_probs(parts, chosen, count, running) if routing.kind == "posterior" else None
        tokens = np.full(count, ensemble.end_id)
        tokens[running] = chosen.cpu().numpy()
        text[:, width + step] = torch.from_numpy(tokens)
        ends = np.isin(tokens[running], stops)
        stopped[running[ends]] = step
        running = running[~ends]
        if not len(running):
            break
        guided.push(tokens, each)
    written = text[:, width:].cpu().numpy()
    return [
        Generated(
            tokens=written[row, : stopped[row]],
            nats=nats[row, : stopped[row]],
            weights=weights[row, : stopped[row]],
            stopped=bool(stopped[row] < most),
            computed=int(caches.computed[row]),
        )
        for row in range(count)
    ]


@dataclass(frozen=True, slots=True)
class _Part:
    """What an expert says of those of the running texts in which it has a weight."""

    expert: int
    places: np.ndarray  # among the running texts
    logits: Tensor  # [places, V]


def _run(caches: Caches, running: np.ndarray, weights: np.ndarray, column: int) -> list[_Part]:
    """Run each expert on the texts in which it has a weight."""
    parts = []
    for expert in np.flatnonzero(weights.any(axis=0)).tolist():
        places = np.flatnonzero(weights[:, expert])
        parts.append(_Part(expert, places, caches.logits(expert, running[places], column)))
    return parts


def _mixed(parts: list[_Part], weights: np.ndarray) -> Tensor:
    """The mixture's probabilities [texts, V]."""
    if len(parts) == 1:
        return parts[0].logits.softmax(1)
    mixed = parts[0].logits.new_zeros(len(weights), parts[0].logits.shape[1])
    for part in parts:
        share = torch.from_numpy(weights[part.places, part.expert]).to(mixed)
        mixed[torch.from_numpy(part.places)] += part.logits.softmax(1) * share[:, None]
    return mixed


def _log_probs(parts: list[_Part], chosen: Tensor, count: int, running: np.ndarray) -> np.ndarray:
    """Log-probabilities [count, experts] of the chosen tokens, where every expert ran."""
    found = np.zeros((count, len(parts)))
    for part in parts:
        reached = part.logits.gather(1, chosen[:, None]).squeeze(1)
        found[running, part.expert] = (reached - part.logits.logsumexp(1)).cpu().numpy()
    return found


def _choose(mixed: Tensor, sampling: Sampling, draws: np.ndarray) -> Tensor:
    """A token of each row of probabilities, at the place of `draws` in what adds up to 1."""
    if sampling.temperature == 0:
        return mixed.argmax(1)
    odds = mixed
    if sampling.temperature != 1:
        odds = (mixed.log() / sampling.temperature).softmax(1)
    tokens: Tensor | None = None
    if sampling.top_k or sampling.top_p:
        width = odds.shape[1]
        odds, tokens = odds.topk(min(sampling.top_k or width, width), dim=1)
    if sampling.top_p:
        before = odds.cumsum(1) - odds
        odds = torch.where(before < sampling.top_p * odds.sum(1, keepdim=True), odds, 0.0)
    sums = odds.double().cumsum(1)
    wanted = torch.from_numpy(draws).to(sums)[:, None] * sums[:, -1:]
    places = torch.searchsorted(sums, wanted, right=True).clamp_(max=odds.shape[1] - 1)
    return (places if tokens is None else tokens.gather(1, places)).squeeze(1)


def _guide(
    ensemble: Ensemble,
    prompts: list[np.ndarray],
    routing: Routing,
    languages: Sequence[str] | None,
    seed: int,
) -> Guide:
    likely = expert_log_probs(ensemble, prompts) if routing.kind == "posterior" else None
    return guide(
        routing,
        prompts,
        k=ensemble.k,
        router=ensemble.router,
        experts=ensemble.experts_of(routing, languages, len(prompts)),
        log_probs=likely,
        prior=ensemble.prior,
        seed=seed,
    )


def _draws(prompts: list[np.ndarray], most: int, seed: int) -> np.ndarray:
    """Numbers [prompts, most] from 0 to 1 that follow from each prompt and how often it came."""
    rows, met = np.empty((len(prompts), most)), Counter[str]()
    for row, prompt in zip(rows, prompts, strict=True):
        text = hashlib.sha256(prompt.data).hexdigest()
        chance = np.random.Generator(np.random.PCG64(derive_seed(seed, "text", text, met[text])))
        row[:] = chance.random(most)
        met[text] += 1
    return rows


def _check_length(ensemble: Ensemble, prompts: list[np.ndarray], most: int) -> None:
    longest = max(map(len, prompts)) + most
    if most < 1:
        raise UserError("there is nothing to write", where="most", hint="such as 100 tokens")
    if ensemble.context and longest > ensemble.context:
        what = f"prompt and text together are {longest} tokens; experts see {ensemble.context}"
        raise UserError(
            what, where="generate", hint="shorten the prompt, or write fewer (`--most`)"
        )


def _check_sampling(sampling: Sampling) -> None:
    where = "generate"
    if not sampling.temperature >= 0:
        hint = "0 takes the likeliest token, 1 the probabilities as they are"
        raise UserError("a temperature is not below 0", where=where, hint=hint)
    if sampling.top_k is not None and sampling.top_k < 1:
        raise UserError("`top_k` is at least 1", where=where)
    if sampling.top_p is not None and not 0 < sampling.top_p <= 1:
        raise UserError("`top_p` lies above 0 and up to 1", where=where)
