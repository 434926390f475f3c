"""The API in OpenAPI 3.1, made of the models that check what comes in."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic.json_schema import JsonSchemaMode, models_json_schema

from tongues import __version__
from tongues.experts.ensemble.routing import ROUTINGS
from tongues.serve.bodies import ChatBody, CompletionBody, bounds
from tongues.serve.limits import Limits
from tongues.serve.replies import Chat, Completion, Failure, Model, Models, Status
from tongues.serve.served import Served

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


def describe(models: Mapping[str, Served], limits: Limits, *, keyed: bool) -> dict[str, Any]:
    """The description. keyed: whether requests must say a key."""
    said: JsonSchemaMode = "validation"
    told: JsonSchemaMode = "serialization"
    _, found = models_json_schema(
        [
            *((kind, said) for kind in (CompletionBody, ChatBody)),
            *((kind, told) for kind in (Completion, Chat, Model, Models, Failure, Status)),
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
                "post": _asking("Continue texts", "CompletionBody", "Completion") | security
            },
            "/v1/chat/completions": {
                "post": _asking("Continue a conversation", "ChatBody", "Chat") | security
            },
            "/v1/models": {"get": _telling("The served models", "Models") | security},
            "/v1/models/{model}": {
                "get": _telling("A served model", "Model") | {"parameters": [name]} | security
            },
            "/health": {"get": _telling("Whether the server runs", "Status")},
            "/ready": {"get": _telling("Whether texts are begun", "Status", "503")},
            "/metrics": {
                "get": _responses("What the server did, for Prometheus", "text/plain", {})
                | security
            },
        },
        "components": components,
    }


def _narrow(schema: dict[str, Any], models: Mapping[str, Served], limits: Limits) -> None:
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
    failed = {"application/json": {"schema": _named("Failure")}}
    told: dict[str, Any] = {"200": {"description": summary, "content": {kind: {"schema": schema}}}}
    for status in problems or _PROBLEMS:
        told[status] = {"description": _REFUSALS[status], "content": failed}
    return {"summary": summary, "responses": told}


def _named(schema: str) -> dict[str, Any]:
    return {"$ref": _PLACE.format(model=schema)}
