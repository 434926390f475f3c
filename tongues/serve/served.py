"""A model as it is served: what it is called, reads, writes and says of itself."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tongues.errors import UserError
from tongues.evaluate.subjects import Kind, open_subject
from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.routing import ROUTINGS, Routing
from tongues.serve.templates import Said, conversation_ids
from tongues.tokens import load_tokenizer
from tongues.tokens.pieces import piece_bytes

__all__ = ["Prompt", "Served", "open_served"]


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """What a text goes on from."""

    tokens: np.ndarray
    begun: bool = False  # its own first token is the text's first: nothing stands before it
    spaced: bool = False  # the tokenizer put a space of its own in front

    @property
    def size(self) -> int:
        """Tokens behind the text's first."""
        return len(self.tokens) - self.begun


@dataclass(frozen=True, eq=False)
class Served:
    """An ensemble, or a model by itself as an ensemble of one."""

    name: str
    kind: Kind
    ensemble: Ensemble
    routing: Routing  # where a request names none
    first: int  # the token that stands before texts
    prompted: bool  # it stands before prompts too
    stops: frozenset[int]  # tokens that end a text
    tokenizer: Tokenizer

    @property
    def experts(self) -> tuple[str, ...]:
        """The experts' names, in the order of their weights."""
        return self.ensemble.lineage.names

    @property
    def context(self) -> int | None:
        """Tokens of prompt and answer together that it can see; None: any number."""
        return self.ensemble.context

    @property
    def chats(self) -> bool:
        """Whether its tokenizer says how a conversation is written."""
        return _template(self.ensemble.tokenizer) is not None

    @property
    def vocabulary(self) -> int:
        """How many token ids its tokenizer has."""
        return len(self._pieces)

    @cached_property
    def longest_piece(self) -> int:
        """Bytes of the longest token."""
        return max(map(len, self._pieces))

    def bytes_of(self, token: int) -> bytes:
        """What a token stands for; nothing where it is special, or no piece of the tokenizer."""
        return self._pieces[token] if token < len(self._pieces) else b""

    def encode(self, text: str) -> np.ndarray:
        """The token ids of a text, in which special tokens are spelt out as any text."""
        return np.array(self.tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int64)

    def prompt(self, tokens: np.ndarray) -> Prompt:
        """A prompt of token ids."""
        begun = len(tokens) > 0 and (not self.prompted or tokens[0] == self.first)
        return Prompt(tokens, begun=bool(begun))

    def read(self, text: str) -> Prompt:
        """A prompt of text."""
        prompt = self.prompt(self.encode(text))
        spaces = len(text) - len(text.lstrip(" ")) + 1
        start = b"".join(map(self.bytes_of, prompt.tokens[:spaces].tolist()))
        return replace(prompt, spaced=start.startswith(b" " * spaces))

    def token_name(self, token: int) -> str:
        """A token as its tokenizer writes it, such as the name of a special one."""
        return self.tokenizer.id_to_token(token) or ""

    def converse(self, messages: Sequence[Said]) -> Prompt:
        """A conversation, by the template of its tokenizer, up to the answer."""
        if self.template_reader is None:
            what = f"`{self.name}` has no chat template"
            raise UserError(what, where="messages", hint="ask it by `/v1/completions`")
        names = self._special.values()
        ids = conversation_ids(self.template_reader, messages, names, self.encode)
        return Prompt(ids, begun=len(ids) > 0 and int(ids[0]) in self._special)

    def describe(self) -> dict[str, Any]:
        """What `/v1/models` says of it beyond its name."""
        return {
            "kind": self.kind,
            "experts": [
                {"name": expert.name, "languages": sorted(expert.languages)}
                for expert in self.ensemble.lineage.experts
            ],
            "languages": sorted(self.ensemble.lineage.languages),
            "routing": str(self.routing),
            "routings": self._routings(),
            "context": self.context,
            "chat": self.chats,
        }

    def _routings(self) -> list[dict[str, str]]:
        """What a request can choose from, the model's own first."""
        found = [self.routing]
        alike = sorted(ROUTINGS, key=lambda routing: routing.name != self.routing.name)
        for routing in alike if self.ensemble.k > 1 else ():
            lacks = (routing.needs_router and self.ensemble.router is None) or (
                routing.needs_language and not self.ensemble.lineage.languages
            )
            found += [] if lacks else routing.variants(min(self.ensemble.k, 3))
        return [
            {"routing": str(routing), "title": routing.title, "summary": routing.summary}
            for routing in dict.fromkeys(found)
        ]

    @cached_property
    def _pieces(self) -> list[bytes]:
        return piece_bytes(self.tokenizer)

    @cached_property
    def _special(self) -> dict[int, str]:
        """How the special tokens are spelt."""
        added = self.tokenizer.get_added_tokens_decoder().items()
        return {number: token.content for number, token in added if token.special and token.content}

    @cached_property
    def template_reader(self) -> Any:
        """Hugging Face's tokenizer, which writes conversations; its templates run in a sandbox."""
        if not self.chats:
            return None
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self.ensemble.tokenizer, trust_remote_code=False)


def open_served(said: str, workspace: Path, *, memory: int | None = None) -> Served:
    """Open what a user names, as `tongues evaluate` does: `NAME`, `NAME@tfidf:2`, or a folder.

    memory: bytes of weights to hold at most; None: any.
    """
    subject = open_subject(said, workspace, memory=memory)
    ensemble = subject.ensemble
    return Served(
        name=said,
        kind=subject.kind,
        ensemble=ensemble,
        routing=subject.routing,
        first=subject.first,
        prompted=subject.prompted,
        stops=frozenset({ensemble.end_id, *_ends(ensemble.tokenizer)}),
        tokenizer=load_tokenizer(ensemble.tokenizer),
    )


def _ends(folder: Path) -> list[int]:
    """The tokens that end an answer, by the model's own settings for writing."""
    ends = _settings(folder / "generation_config.json").get("eos_token_id")
    ends = ends if isinstance(ends, list) else [ends]
    return [end for end in ends if isinstance(end, int)]


def _template(folder: Path) -> Any:
    for name in ("chat_template.jinja", "chat_template.json"):
        if (folder / name).is_file():
            return name
    return _settings(folder / "tokenizer_config.json").get("chat_template")


def _settings(file: Path) -> dict[str, Any]:
    try:
        settings: Any = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read ({error})", where=str(file)) from None
    return settings if isinstance(settings, dict) else {}
