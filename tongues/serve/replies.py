"""What answers look like, for the description of the API."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["Chat", "Completion", "Failure", "Model", "Models", "Status"]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Expert(_Reply):
    """An expert of an ensemble, and the languages it learned."""

    name: str
    languages: list[str]


class RoutingChoice(_Reply):
    """A way to use the experts."""

    routing: str
    title: str
    """What it does, in a few words."""
    summary: str


class ModelAside(_Reply):
    """What is said of a model beyond OpenAI's fields."""

    kind: Literal["run", "folder", "ensemble"]
    experts: list[Expert]
    languages: list[str]
    routing: str
    """Where a request names none."""
    routings: list[RoutingChoice]
    """What a request can name, the model's own first."""
    context: int | None
    """Tokens of prompt and answer together; null: any number."""
    chat: bool
    """Whether it takes conversations."""


class Model(_Reply):
    """A served model."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    tongues: ModelAside


class Models(_Reply):
    """All served models."""

    object: Literal["list"]
    data: list[Model]


class Usage(_Reply):
    """Tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Routed(_Reply):
    """How the experts were used."""

    routing: str
    experts: list[str]


class Weighed(_Reply):
    """What each expert counted, where `weights` is asked for."""

    weights: list[list[float]]
    """A row a token told, in the order of `experts`."""
    nats: list[float | None]
    """-log p of each token under the mixture, before sampling changed it."""
    language: str | None
    """That the text is nearest to, where the router can tell."""
    given: int
    """How many of these tokens are the prompt's, which come first."""


class _Head(_Reply):
    id: str
    created: int
    model: str
    usage: Usage
    tongues: Routed


class LogProbs(_Reply):
    """Of each token."""

    tokens: list[str]
    token_logprobs: list[float | None]
    """Null of a prompt's first token, where nothing stands before it."""
    top_logprobs: list[dict[str, float] | None]
    text_offset: list[int]


class _Choice(_Reply):
    index: int
    finish_reason: Literal["stop", "length"]
    tongues: Weighed | None = None


class CompletionChoice(_Choice):
    """A text."""

    text: str
    logprobs: LogProbs | None


class Completion(_Head):
    """Texts continued."""

    object: Literal["text_completion"]
    choices: list[CompletionChoice]


class Token(_Reply):
    """A token and its log-probability."""

    token: str
    logprob: float
    bytes: list[int]


class ToldToken(Token):
    """A token of the answer, and the likeliest in its place."""

    top_logprobs: list[Token]


class ChatLogProbs(_Reply):
    """Of each token."""

    content: list[ToldToken]
    refusal: None


class Answer(_Reply):
    """What the model says."""

    role: Literal["assistant"]
    content: str
    refusal: None


class ChatChoice(_Choice):
    """An answer."""

    message: Answer
    logprobs: ChatLogProbs | None


class Chat(_Head):
    """A conversation continued."""

    object: Literal["chat.completion"]
    choices: list[ChatChoice]


class Fault(_Reply):
    """What is wrong, for people and for programs."""

    message: str
    type: str
    param: str | None
    code: str | None


class Failure(_Reply):
    """A request that is not answered."""

    error: Fault


class Status(_Reply):
    """How the server stands."""

    status: Literal["ok", "ready"]
