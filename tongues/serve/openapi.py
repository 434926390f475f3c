"""The API in OpenAPI 3.1: of the models that check requests, and of those of answers."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from tongues import __version__
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.routing import ROUTINGS
from tongues.runs import read_run
from tongues.serve.bodies import ChatBody, CompletionBody, bounds
from tongues.serve.refusal import Limits
from tongues.serve.text_rules import has_template
from tongues.train.base import find_run
from tongues.train.metadata import languages_of

__all__ = ["ChatReply", "CompletionReply", "ModelsReply", "describe", "describe_model"]

_REFUSALS = {
    "400": "The request cannot be answered.",
    "401": "The API key is missing or wrong.",
    "404": "There is no such thing here.",
    "405": "Not by this method.",
    "408": "It took too long to come in, or to answer.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "429": "Too much is asked at once; try again.",
    "503": "The server is stopping.",
}
_PATHS = {  # what each does, the answer, and the body
    "/v1/completions": ("Continue texts", "CompletionReply", "CompletionBody"),
    "/v1/chat/completions": ("Continue a conversation", "ChatReply", "ChatBody"),
    "/v1/models": ("The served models", "ModelsReply", ""),
    "/v1/models/{model}": ("A served model", "ModelReply", ""),
    "/health": ("Whether the server runs", "StatusReply", ""),
    "/ready": ("Whether texts are begun", "StatusReply", ""),
    "/metrics": ("What the server did, for Prometheus", "", ""),
}


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ExpertReply(_Reply):
    """An expert of an ensemble, and the languages it learned."""

    name: str
    languages: list[str]


class RoutingReply(_Reply):
    """A way to use the experts."""

    routing: str
    title: str
    """What it does, in a few words."""
    summary: str


class ModelAside(_Reply):
    """Fields of a model beyond OpenAI's."""

    kind: Literal["run", "folder", "ensemble"]
    experts: list[ExpertReply]
    languages: list[str]
    routing: str
    """Where a request names none."""
    routings: list[RoutingReply]
    """What a request can name, the model's own first."""
    context: int | None
    """Tokens of prompt and answer together; null: any number."""
    chat: bool
    """Whether it takes conversations."""
    examples: dict[str, str]
    """Beginnings of texts to try, by language."""


class ModelReply(_Reply):
    """A served model."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "tongues"
    tongues: ModelAside


class ModelsReply(_Reply):
    """All served models."""

    object: Literal["list"]
    data: list[ModelReply]


class Usage(_Reply):
    """Tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Routed(_Reply):
    """How the experts were used."""

    routing: str
    experts: list[str]


class Weights(_Reply):
    """The experts' weights, if the request has `weights`."""

    weights: list[list[float]]
    """A row for each token, in the order of `experts`."""
    nats: list[float | None]
    """-log p of each token under the mixture, before sampling changed it."""
    language: str | None
    """The language nearest to the text, where the router knows languages."""
    echoed: int
    """The number of these tokens that are the prompt's, by `echo`; they come first."""


class _Head(_Reply):
    id: str
    created: int
    model: str
    usage: Usage
    tongues: Routed


class _Choice(_Reply):
    index: int
    finish_reason: Literal["stop", "length"]
    tongues: Weights | None = None


class LogProbs(_Reply):
    """Of each token."""

    tokens: list[str]
    token_logprobs: list[float | None]
    """Null for a prompt's first token, which has no context."""
    top_logprobs: list[dict[str, float] | None]
    text_offset: list[int]


class CompletionChoice(_Choice):
    """A text."""

    text: str
    logprobs: LogProbs | None


class CompletionReply(_Head):
    """Texts continued."""

    object: Literal["text_completion"]
    choices: list[CompletionChoice]


class TokenReply(_Reply):
    """A token and its log-probability; in an answer also the most probable alternatives."""

    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list["TokenReply"] | None = None


class ChatLogProbs(_Reply):
    """Of each token."""

    content: list[TokenReply]
    refusal: None


class ChatMessage(_Reply):
    """What the model answers."""

    role: Literal["assistant"]
    content: str
    refusal: None


class ChatChoice(_Choice):
    """An answer."""

    message: ChatMessage
    logprobs: ChatLogProbs | None


class ChatReply(_Head):
    """A conversation continued."""

    object: Literal["chat.completion"]
    choices: list[ChatChoice]


class RefusalError(_Reply):
    """What is wrong, for people and for programs."""

    message: str
    type: str
    param: str | None
    code: str | None


class RefusalReply(_Reply):
    """A request that is not answered."""

    error: RefusalError


class StatusReply(_Reply):
    """The server's state."""

    status: Literal["ok", "ready"]


def describe_model(
    model: Model, created: int, examples: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A model as `/v1/models` has it. created: when, in seconds since 1970."""
    ensemble, k = model.ensemble, model.ensemble.k
    own_first = sorted(ROUTINGS, key=lambda routing: routing.name != model.routing.name)
    usable = [
        variant
        for routing in own_first
        if k > 1
        and (ensemble.router or not routing.needs_router)
        and (ensemble.lineage.languages or not routing.needs_language)
        for variant in routing.variants(min(k, 3))
    ]
    alone = _known_languages(model) if k == 1 else ()
    aside = ModelAside(
        kind=model.kind,
        experts=[
            ExpertReply(name=expert.name, languages=sorted(expert.languages or alone))
            for expert in ensemble.lineage.experts
        ],
        languages=sorted(ensemble.lineage.languages or alone),
        routing=str(model.routing),
        routings=[
            RoutingReply(routing=str(one), title=one.title, summary=one.summary)
            for one in dict.fromkeys([model.routing, *usable])
        ],
        context=model.context,
        chat=has_template(ensemble.tokenizer),
        examples=dict(examples or {}),
    )
    return ModelReply(id=model.name, created=created, tongues=aside).model_dump()


def _known_languages(model: Model) -> tuple[str, ...]:
    """Those of a single model: by its run's record, or else by its folder's card."""
    folder = model.ensemble.models.folders[0]
    run = find_run(str(folder), Path())
    return read_run(run).languages if run else languages_of(folder)


def describe(models: Collection[str], limits: Limits, *, keyed: bool) -> dict[str, Any]:
    """The description. keyed: whether requests must have a key."""
    replies = (CompletionReply, ChatReply, ModelReply, ModelsReply, RefusalReply, StatusReply)
    modes: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((body, "validation") for body in (CompletionBody, ChatBody)),
        *((reply, "serialization") for reply in replies),
    ]
    _, definitions = models_json_schema(modes, ref_template="#/components/schemas/{model}")
    components: dict[str, Any] = {"schemas": definitions["$defs"]}
    for body in ("CompletionBody", "ChatBody"):
        _narrow(components["schemas"][body]["properties"], models, limits)
    if keyed:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    paths = {}
    for path, (summary, reply, taken) in _PATHS.items():
        answer = {"description": summary, "content": _content(reply)}
        operation: dict[str, Any] = {"summary": summary, "responses": {"200": answer}}
        for status in _REFUSALS if taken or path == "/ready" else list(_REFUSALS)[:4]:
            refusal = {"description": _REFUSALS[status], "content": _content("RefusalReply")}
            operation["responses"][status] = refusal
        if taken:
            operation["requestBody"] = {"required": True, "content": _content(taken)}
            answer["content"] = _content(reply) | {"text/event-stream": {}}
        if path.endswith("{model}"):
            name = {"type": "string", "enum": sorted(models)}
            place = {"name": "model", "in": "path", "required": True, "schema": name}
            operation["parameters"] = [place]
        if keyed and path not in ("/health", "/ready"):
            operation["security"] = [{"key": []}]
        paths[path] = {"post" if taken else "get": operation}
    summary = "OpenAI's API for models and ensembles of language experts"
    info = {"title": "tongues serve", "version": __version__, "summary": summary}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


def _content(name: str) -> dict[str, Any]:
    if not name:
        return {"text/plain": {"schema": {}}}
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _narrow(fields: dict[str, Any], models: Collection[str], limits: Limits) -> None:
    def kinds(name: str, *types: str) -> list[dict[str, Any]]:
        return [one for one in fields.get(name, {}).get("anyOf", ()) if one.get("type") in types]

    fields["model"]["enum"] = sorted(models)
    for name, most in bounds(limits).items():
        for kind in kinds(name, "integer"):
            kind["maximum"] = most
    for kind in kinds("prompt", "array"):
        if kind["items"].get("type") in ("string", "array"):
            kind["maxItems"] = limits.prompts
    for kind in kinds("logit_bias", "object"):
        kind["additionalProperties"] = False
    counted = [f"{re.escape(one.name)}:[1-9][0-9]{{0,3}}" for one in ROUTINGS if one.counted]
    for kind in kinds("routing", "string"):
        kind["pattern"] = f"^({'|'.join([*map(re.escape, ROUTINGS.names()), *counted])})$"
