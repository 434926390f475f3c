"""The API in OpenAPI 3.1: of the models that check requests, and of answers."""

import re
from collections.abc import Collection, Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from tongues import __version__
from tongues.experts.ensemble.routing import ROUTINGS
from tongues.serve.bodies import ChatBody, CompletionBody, bounds
from tongues.serve.limits import Limits

__all__ = ["describe"]

_PLACE = "#/components/schemas/{model}"
_PROBLEMS = {
    "400": "What is said cannot be answered.",
    "401": "The API key is missing or wrong.",
    "404": "There is no such thing here.",
    "405": "Not by this method.",
}
_REFUSALS = _PROBLEMS | {
    "408": "It took too long to come in, or to answer.",
    "413": "The body is too large.",
    "415": "The body is no JSON.",
    "429": "Too much is asked at once; try again.",
    "503": "The server is stopping.",
}


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ExpertReply(_Reply):
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
    experts: list[ExpertReply]
    languages: list[str]
    routing: str
    """Where a request names none."""
    routings: list[RoutingChoice]
    """What a request can name, the model's own first."""
    context: int | None
    """Tokens of prompt and answer together; null: any number."""
    chat: bool
    """Whether it takes conversations."""


class ModelReply(_Reply):
    """A served model."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    tongues: ModelAside


class ModelsReply(_Reply):
    """All served models."""

    object: Literal["list"]
    data: list[ModelReply]


class UsageReply(_Reply):
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
    usage: UsageReply
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


class CompletionReply(_Head):
    """Texts continued."""

    object: Literal["text_completion"]
    choices: list[CompletionChoice]


class TokenReply(_Reply):
    """A token and its log-probability."""

    token: str
    logprob: float
    bytes: list[int]


class ScoredTokenReply(TokenReply):
    """A token of the answer, and the likeliest in its place."""

    top_logprobs: list[TokenReply]


class ChatLogProbs(_Reply):
    """Of each token."""

    content: list[ScoredTokenReply]
    refusal: None


class AnswerReply(_Reply):
    """What the model says."""

    role: Literal["assistant"]
    content: str
    refusal: None


class ChatChoice(_Choice):
    """An answer."""

    message: AnswerReply
    logprobs: ChatLogProbs | None


class ChatReply(_Head):
    """A conversation continued."""

    object: Literal["chat.completion"]
    choices: list[ChatChoice]


class Fault(_Reply):
    """What is wrong, for people and for programs."""

    message: str
    type: str
    param: str | None
    code: str | None


class FailureReply(_Reply):
    """A request that is not answered."""

    error: Fault


class StatusReply(_Reply):
    """How the server stands."""

    status: Literal["ok", "ready"]


def describe(models: Collection[str], limits: Limits, *, keyed: bool) -> dict[str, Any]:
    """The description. keyed: whether requests must say a key."""
    said: JsonSchemaMode = "validation"
    told: JsonSchemaMode = "serialization"
    _, found = models_json_schema(
        [
            *((kind, said) for kind in (CompletionBody, ChatBody)),
            *(
                (kind, told)
                for kind in (
                    CompletionReply,
                    ChatReply,
                    ModelReply,
                    ModelsReply,
                    FailureReply,
                    StatusReply,
                )
            ),
        ],
        ref_template=_PLACE,
    )
    schemas = found["$defs"]
    for body in ("CompletionBody", "ChatBody"):
        _narrow(schemas[body], models, limits)
    security: dict[str, Any] = {"security": [{"key": []}]} if keyed else {}
    components: dict[str, Any] = {"schemas": schemas}
    if keyed:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    name = {
        "name": "model",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "enum": sorted(models)},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tongues serve",
            "version": __version__,
            "summary": "OpenAI's API for models and ensembles of language experts",
        },
        "paths": {
            "/v1/completions": {
                "post": _asking("Continue texts", "CompletionBody", "CompletionReply") | security
            },
            "/v1/chat/completions": {
                "post": _asking("Continue a conversation", "ChatBody", "ChatReply") | security
            },
            "/v1/models": {"get": _telling("The served models", "ModelsReply") | security},
            "/v1/models/{model}": {
                "get": _telling("A served model", "ModelReply") | {"parameters": [name]} | security
            },
            "/health": {"get": _telling("Whether the server runs", "StatusReply")},
            "/ready": {"get": _telling("Whether texts are begun", "StatusReply", "503")},
            "/metrics": {
                "get": _responses("What the server did, for Prometheus", "text/plain", {})
                | security
            },
        },
        "components": components,
    }


def _narrow(schema: dict[str, Any], models: Collection[str], limits: Limits) -> None:
    """Say what this server allows."""
    fields = schema["properties"]
    fields["model"]["enum"] = sorted(models)
    for name, most in bounds(limits).items():
        for kind in fields.get(name, {}).get("anyOf", ()):
            if kind.get("type") == "integer":
                kind["maximum"] = most
    for kind in fields.get("prompt", {}).get("anyOf", ()):
        if kind.get("items", {}).get("type") in ("string", "array"):
            kind["maxItems"] = limits.prompts
    for kind in fields["logit_bias"]["anyOf"]:
        if kind.get("type") == "object":
            kind["additionalProperties"] = False
    for kind in fields["routing"]["anyOf"]:
        if kind.get("type") == "string":
            kind["pattern"] = f"^({'|'.join(_routings())})$"


def _routings() -> Iterator[str]:
    """What may be said for a routing, as regular expressions."""
    for routing in ROUTINGS:
        yield re.escape(routing.name)
        if routing.counted:
            yield re.escape(routing.name) + ":[1-9][0-9]{0,3}"


def _asking(summary: str, body: str, reply: str) -> dict[str, Any]:
    told = _responses(summary, "application/json", _named(reply), *_REFUSALS)
    told["responses"]["200"]["content"]["text/event-stream"] = {}
    content = {"application/json": {"schema": _named(body)}}
    return told | {"requestBody": {"required": True, "content": content}}


def _telling(summary: str, reply: str, *problems: str) -> dict[str, Any]:
    return _responses(summary, "application/json", _named(reply), *_PROBLEMS, *problems)


def _responses(summary: str, kind: str, schema: dict[str, Any], *problems: str) -> dict[str, Any]:
    failed = {"application/json": {"schema": _named("FailureReply")}}
    told: dict[str, Any] = {"200": {"description": summary, "content": {kind: {"schema": schema}}}}
    for status in problems or _PROBLEMS:
        told[status] = {"description": _REFUSALS[status], "content": failed}
    return {"summary": summary, "responses": told}


def _named(schema: str) -> dict[str, Any]:
    return {"$ref": _PLACE.format(model=schema)}
