"""Anything that scores or generates: a run, a Hugging Face folder or an ensemble, in one type."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tongues.core.errors import UserError
from tongues.core.files import fingerprint
from tongues.core.foreign.folder import check_foreign, foreign, rules_of
from tongues.experts.ensemble.caches import kept_bytes
from tongues.experts.ensemble.ensemble import (
    Ensemble,
    open_alone,
    open_ensemble,
)
from tongues.experts.ensemble.places import Kind, base_of, resolve_model
from tongues.experts.ensemble.request import Request
from tongues.experts.ensemble.routing import (
    Routing,
    check_experts,
    default_routing,
    parse_routing,
)
from tongues.experts.ensemble.writer import Writer
from tongues.models.huggingface import configure
from tongues.models.placement import choose_placement
from tongues.text.tokens import load_tokenizer
from tongues.text.tokens.frame import read_settings
from tongues.text.tokens.spelling import token_spellings
from tongues.train.base import model_folder


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """The token ids that a text continues."""

    tokens: np.ndarray
    begun: bool = False  # its own first token begins the text; the model's is not put before it
    spaced: bool = False  # the tokenizer put a space of its own in front

    @property
    def size(self) -> int:
        """Tokens behind the text's first."""
        return len(self.tokens) - self.begun


@dataclass(frozen=True, eq=False)
class Model:
    """An ensemble and its routing; a single model is an ensemble of one."""

    name: str  # as the user gave it
    kind: Kind
    ensemble: Ensemble
    routing: Routing  # where a request names none
    first: int  # the token before every text
    prompted: bool  # whether it is before prompts of tasks and requests, too
    stops: frozenset[int]  # tokens that end a text
    tokenizer: Tokenizer
    base: str | None  # the run or folder whose weights it started from
    fingerprint: str  # of all that its numbers depend on

    @property
    def experts(self) -> tuple[str, ...]:
        """The names of experts, and of the base where it is one, in the order of their weights."""
        return tuple(expert.name for expert in self.ensemble.lineage.members)

    @property
    def context(self) -> int | None:
        """Tokens of prompt and text together that it can see; None: any number."""
        return self.ensemble.context

    @cached_property
    def token_bytes(self) -> list[bytes]:
        """The text of every token id; nothing of special tokens."""
        return token_spellings(self.tokenizer)

    @cached_property
    def longest_token(self) -> int:
        """Bytes of the longest token."""
        return max(map(len, self.token_bytes))

    @cached_property
    def special(self) -> Mapping[int, str]:
        """The special tokens and their names."""
        added = self.tokenizer.get_added_tokens_decoder().items()
        return {number: token.content for number, token in added if token.special and token.content}

    def bytes_of(self, token: int) -> bytes:
        """The text of a token; nothing of an id that the tokenizer does not have."""
        return self.token_bytes[token] if token < len(self.token_bytes) else b""

    def token_name(self, token: int) -> str:
        """A token as its tokenizer writes it, such as the name of a special one."""
        return self.tokenizer.id_to_token(token) or ""

    def encode(self, text: str) -> np.ndarray:
        """The token ids of a text, without `first`; names of special tokens are text as any."""
        if rules := rules_of(self.ensemble.tokenizer / "tokenizer.json"):
            return rules.encode(text)
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return np.array(ids, dtype=np.int64)

    def prompt(self, tokens: np.ndarray) -> Prompt:
        """A prompt of token ids."""
        begun = len(tokens) > 0 and (not self.prompted or tokens[0] == self.first)
        return Prompt(tokens, begun=bool(begun))

    def read(self, text: str, encode: Callable[[str], np.ndarray] | None = None) -> Prompt:
        """A prompt of text. encode: gives its token ids; None: `encode` of the model."""
        prompt = self.prompt((encode or self.encode)(text))
        spaces = len(text) - len(text.lstrip(" ")) + 1
        start = b"".join(map(self.bytes_of, prompt.tokens[:spaces].tolist()))
        return replace(prompt, spaced=start.startswith(b" " * spaces))

    @cached_property
    def cache_bytes(self) -> int:
        """Bytes of keys and values of a token, by one expert."""
        dtype = self.ensemble.models.placement.dtype
        return kept_bytes(configure(self.ensemble.tokenizer).get_text_config(), dtype)

    def cache_need(self, requests: Sequence[Request]) -> int:
        """Bytes of keys and values that must be held while these texts are generated together.

        Every text takes as much as the longest, for each expert that can have a weight at once.
        """
        every = self.ensemble.width  # while a prompt is scored, many tokens are read at once
        used = sum(every if x.score_prompt else x.routing.active(every) for x in requests)
        return used * max(request.longest for request in requests) * self.cache_bytes

    def writer(self, memory: int | None, *, pace: int | None = None) -> Writer:
        """What generates texts, with keys and values of `memory` bytes; None: any."""
        return Writer(self.ensemble, memory=memory, pace=pace)

    def request(
        self, prompt: Prompt, max_tokens: int, routing: Routing | None = None, **options: Any
    ) -> Request:
        """A text to generate behind a prompt; options: see `Request`."""
        return Request(
            prompt.tokens[prompt.begun :],
            routing or self.routing,
            max_tokens,
            first=int(prompt.tokens[0]) if prompt.begun else self.first,
            stops=self.stops,
            **options,
        )


def open_model(
    name: str,
    workspace: Path,
    *,
    max_memory: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
) -> Model:
    """Open what a user names: a run, ensemble (`NAME@tfidf:2` by a routing), folder or hub id.

    max_memory: bytes of weights to hold at most; None: any. device, dtype: see `choose_placement`.

    Before every text and every prompt comes what the model's tokenizer puts there. Where that is
    nothing, the end of documents comes before texts, so that every token is scored, and nothing
    before prompts, as lm-eval has it.
    """
    return open_models([name], workspace, max_memory=max_memory, device=device, dtype=dtype)[0]


def open_models(
    names: Sequence[str],
    workspace: Path,
    *,
    max_memory: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
) -> list[Model]:
    """As `open_model` does; an ensemble that is named with several routings is opened once."""
    placement = choose_placement(device, dtype)
    ensembles: dict[Path, Ensemble] = {}
    models = []
    for name in names:
        kind, folder, plain, way = resolve_model(name, workspace)
        check_foreign(model_folder(folder))
        with foreign(name):
            if folder not in ensembles and kind == "ensemble":
                ensembles[folder] = open_ensemble(
                    folder, workspace, memory=max_memory, placement=placement
                )
            elif folder not in ensembles:
                ensembles[folder] = open_alone(model_folder(folder), plain, placement)
            models.append(_as_model(name, kind, folder, ensembles[folder], way))
    return models


def _as_model(name: str, kind: Kind, folder: Path, ensemble: Ensemble, way: str | None) -> Model:
    predicted = configure(ensemble.tokenizer).get_text_config().vocab_size
    if predicted < ensemble.vocabulary:
        what = f"predicts {predicted:,} tokens; its tokenizer has {ensemble.vocabulary:,}"
        raise UserError(what, where=name, hint="take the model from another place")
    routing = parse_routing(way) if way else default_routing(ensemble.k)
    check_experts(routing, ensemble.k, name)
    tokenizer = load_tokenizer(ensemble.tokenizer)
    first, prompted = ensemble.frame.first, ensemble.frame.start is not None
    ends = read_settings(ensemble.tokenizer / "generation_config.json").get("eos_token_id")
    ends = ends if isinstance(ends, list) else [ends]
    return Model(
        name=name,
        kind=kind,
        ensemble=ensemble,
        routing=routing,
        first=first,
        prompted=prompted,
        stops=frozenset({ensemble.frame.end, *(end for end in ends if isinstance(end, int))}),
        tokenizer=tokenizer,
        base=base_of(kind, folder),
        fingerprint=_fingerprint(ensemble, routing, first, prompted),
    )


def _fingerprint(ensemble: Ensemble, routing: Routing, first: int, prompted: bool) -> str:
    """Of the bytes of models, tokenizer and router, the routing, and what comes before texts."""
    lineage, router = ensemble.lineage, ensemble.lineage.router
    return fingerprint(
        {
            "experts": [dict(sorted(expert.sha256.items())) for expert in lineage.members],
            "languages": dict(lineage.languages) if routing.needs_language else None,
            "tokenizer": lineage.tokenizer_sha256,
            "router": router.sha256 if router and ensemble.k > 1 else None,
            "routing": [str(routing), "unknown" if routing.name == "filter" else None, None],
            "first": [first, prompted],
        }
    )
