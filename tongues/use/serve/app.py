"""The server's application: which address answers what, and how every request ends."""

import asyncio
import contextlib
import ipaddress
import json
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from hmac import compare_digest
from pathlib import Path
from typing import Any, Generic, TypeVar

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tongues import __version__
from tongues.core.foreign.process import TextProcess
from tongues.core.foreign.rules import has_template
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.routing import ROUTINGS
from tongues.runs.record import read_run
from tongues.train.base import find_run
from tongues.train.metadata import languages_of
from tongues.use.serve.bodies import ChatBody, CompletionBody, ModelBody, TokensBody, parse
from tongues.use.serve.completions import complete, converse, find_served, tokenize
from tongues.use.serve.engine import Engine
from tongues.use.serve.refusal import HEADERS, Limits, Refusal
from tongues.use.serve.streaming import AnswerForm, Deadline, Generating

# The files of the page, and the names that requests may use of this server.
_PAGE = Path(__file__).with_name("page")
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


@cache
def page_files() -> dict[str, Response]:
    """The answers with the page's files by their addresses; no request's path reaches the disk."""
    files: dict[str, Response] = {}
    for file in sorted(_PAGE.iterdir()):
        if kind := _KINDS.get(file.suffix):
            address = "/" if file.name == "index.html" else f"/{file.name}"
            files[address] = Response(file.read_bytes(), headers=_HEADERS, media_type=kind)
    return files


def check_host(headers: Headers, allowed: Collection[str]) -> None:
    """Refuse names that are not this server's: a page elsewhere could have them point here.

    Numeric addresses and `localhost` always pass.
    """
    host = headers.get("host", "").lower()
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if name == "localhost" or name in allowed:
        return
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return
    raise Refusal("unknown_host", name=name[:200])


def check_origin(headers: Headers, allowed: Collection[str]) -> None:
    """Refuse what the page of another site asks for; browsers name that site as `Origin`."""
    origin = headers.get("origin", "").lower()
    own = origin.partition("://")[2] == headers.get("host", "").lower()
    if origin and not (own or origin in allowed or "*" in allowed):
        raise Refusal("unknown_origin", origin=origin[:200])


def describe_model(
    model: Model, created: int, examples: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A model as `/v1/models` lists it: OpenAI's fields, and in `tongues` what the page needs.

    created: when, in seconds since 1970. examples: beginnings of texts to try, by language. The
    model's own routing is the first of `routings`; `context` is null where any number of tokens
    fits.
    """
    ensemble, k = model.ensemble, model.ensemble.k
    own_first = sorted(ROUTINGS, key=lambda routing: routing.name != model.routing.name)
    usable = [
        variant
        for routing in own_first
        if k > 1 and (ensemble.lineage.languages or not routing.needs_language)
        for variant in routing.variants(min(k, 3))
    ]
    alone = _known_languages(model) if k == 1 else ()
    aside = {
        "kind": model.kind,
        "experts": [
            {"name": expert.name, "languages": sorted(expert.languages or alone)}
            for expert in ensemble.lineage.members
        ],
        "languages": sorted(ensemble.lineage.languages or alone),
        "routing": str(model.routing),
        "routings": [
            {"routing": str(one), "title": one.title}
            for one in dict.fromkeys([model.routing, *usable])
        ],
        "context": model.context,
        "chat": has_template(ensemble.tokenizer),
        "examples": dict(examples or {}),
    }
    own = {"id": model.name, "object": "model", "created": created, "owned_by": "tongues"}
    return own | {"tongues": aside}


def _known_languages(model: Model) -> tuple[str, ...]:
    """Those of a single model: by its run's record, or else by its folder's card."""
    folder = model.ensemble.models.folders[0]
    run = find_run(str(folder), Path())
    return read_run(run).languages if run else languages_of(folder)


T = TypeVar("T")
B = TypeVar("B", bound=ModelBody)

_LONG = 20_000  # bytes of a body beyond which it is read beside the loop; chosen
_READERS = 2  # of such bodies at a time; chosen
_DRAINED = 64  # times the limit that is read of a body, only to be thrown away; chosen
_STREAM = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
]


class Disconnected(Exception):
    """Nobody waits for the answer any more."""


@dataclass(eq=False)
class App:
    """Models by their names behind HTTP.

    engine: writes their texts; started and closed by the caller. key: that requests must have;
    None: nothing. hosts: names of this server beyond `localhost` and numbers. origins: of other
    sites whose pages may ask; `*`: all.
    """

    models: Mapping[str, Model]
    engine: Engine
    limits: Limits = field(default_factory=Limits)
    key: str | None = None
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    answering: int = 0  # requests for texts that are answered now
    rules: dict[Path, TextProcess] = field(default_factory=dict)  # by the tokenizers' folders
    examples: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by model, language

    def __post_init__(self) -> None:
        for model in self.models.values():
            folder = model.ensemble.tokenizer.resolve()
            self.rules.setdefault(folder, TextProcess(folder))
        created, pages = int(time.time()), page_files()
        shown = {
            name: describe_model(model, created, self.examples.get(name))
            for name, model in self.models.items()
        }

        async def one_model(request: Request) -> Response:
            return _json(shown[find_served(self.models, request.path_params["name"]).name])

        async def health(_: Request) -> Response:
            if not self.engine.alive:
                raise Refusal("silent")
            return _json({"status": "ok"})

        listed = _json({"object": "list", "data": [*shown.values()]})
        texts = Texts(self, CompletionBody, complete), Texts(self, ChatBody, converse)
        routes = [
            Route("/v1/completions", texts[0], methods=["POST"]),
            Route("/v1/chat/completions", texts[1], methods=["POST"]),
            Route("/tokenize", Texts(self, TokensBody, tokenize), methods=["POST"]),
            Route("/version", _json({"version": __version__}), methods=["GET"]),
            Route("/v1/models", listed, methods=["GET"]),
            Route("/v1/models/{name:path}", one_model),
            Route("/health", health),
            *(Route(path, file, methods=["GET"]) for path, file in pages.items()),
        ]
        self._opened = {"/health", *pages}  # to those without a key
        handlers: Any = {Refusal: _refused, HTTPException: _not_routed, Exception: _failed}
        self._routed = Starlette(routes=routes, exception_handlers=handlers)
        self._shared = CORSMiddleware(self._checked, self.origins, ["GET", "POST"], ["*"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._shared(scope, receive, send)

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            check_host(headers, self.hosts)
            check_origin(headers, self.origins)
            if scope["path"] not in self._opened:
                _check_key(headers, self.key)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
        else:
            await self._routed(scope, receive, send)


@dataclass(frozen=True)
class Texts(Generic[B]):
    """An address at which texts are generated.

    read: the texts that a body of this kind asks for, and the form of their answer; or the answer.
    """

    app: App
    kind: type[B]
    read: Callable[[B, Model, TextProcess, Limits], AnswerForm | bytes]
    readers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_READERS))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; what is written for those who went away is given up."""
        deadline = Deadline(self.app.limits.seconds)
        self.app.answering += 1
        try:
            content = await _read_body(Headers(scope=scope), receive, self.app.limits)
            await _attended(receive, self._write(content, deadline, scope, receive, send))
        except Disconnected:
            pass
        finally:
            self.app.answering -= 1

    async def _write(
        self, content: bytes, deadline: Deadline, scope: Scope, receive: Receive, send: Send
    ) -> None:
        answer = await self._answer(content, deadline)
        if isinstance(answer, bytes):
            await _json(answer)(scope, receive, send)
            return
        generating = Generating(self.app.engine, answer.texts, deadline)
        try:
            if not answer.body.stream:
                await _json(await answer.all_at_once(generating))(scope, receive, send)
                return
            begun = False
            async for event in answer.events(generating):
                if not begun:
                    start = {"type": "http.response.start", "status": 200, "headers": _STREAM}
                    await send(start)
                    begun = True
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            generating.close()

    async def _answer(self, content: bytes, deadline: Deadline) -> AnswerForm | bytes:
        limits, counts = self.app.limits, self.app.engine.counts
        loop = asyncio.get_running_loop()
        if len(content) > _LONG:
            work = loop.run_in_executor(self.readers, parse, self.kind, content, limits)
            body = await deadline.keep(work)
        else:
            body = parse(self.kind, content, limits)
        model = find_served(self.app.models, body.model)
        if counts.running + counts.queued >= limits.running + limits.queued:  # not tokenized
            raise Refusal("server_busy", why=f"{counts.queued} texts are waiting already")
        rules = self.app.rules[model.ensemble.tokenizer.resolve()]
        work = loop.run_in_executor(rules.pool, self.read, body, model, rules, limits)
        return await deadline.keep(work)


def _json(content: Mapping[str, Any] | bytes) -> Response:
    whole = content if isinstance(content, bytes) else json.dumps(content)
    return Response(whole, headers=HEADERS, media_type="application/json")


async def _refused(_: Request, refusal: Refusal) -> Response:
    return refusal.response()


async def _not_routed(request: Request, error: HTTPException) -> Response:
    """No such address, or not by this method."""
    title = "not_found" if error.status_code == 404 else "method_not_allowed"
    paths = [route.path for route in request.app.routes if not {".", "{"} & {*route.path}]
    asked = {"method": request.method[:20], "path": request.url.path[:200]}
    refusal = Refusal(title, paths=", ".join(paths), **asked)
    refusal.headers |= error.headers or {}
    return refusal.response()


async def _failed(_: Request, __: Exception) -> Response:
    return Refusal("server_failed").response()


def _check_key(headers: Headers, key: str | None) -> None:
    kind, _, value = headers.get("authorization", "").partition(" ")
    right = key is not None and compare_digest(value.strip().encode(), key.encode())
    if key is None or (kind.lower() == "bearer" and right):
        return
    raise Refusal("invalid_api_key" if value else "no_api_key")


async def _read_body(headers: Headers, receive: Receive, limits: Limits) -> bytes:
    """The body; one that is too large is read on, so that the sender comes to read the answer."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" or headers.get("content-encoding", "identity") != "identity":
        raise Refusal("unsupported_media_type")
    content, size, more = bytearray(), 0, True
    try:
        async with asyncio.timeout(limits.sending):
            while more and size <= _DRAINED * limits.body:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                part, more = message.get("body", b""), message.get("more_body", False)
                size += len(part)
                content += part if size <= limits.body else b""
    except TimeoutError:
        raise Refusal("late_body", seconds=limits.sending) from None
    if size > limits.body:
        raise Refusal("body_too_large", most=limits.body)
    return bytes(content)


async def _attended(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    async def leave() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    task, left = asyncio.create_task(work), asyncio.create_task(leave())
    try:
        await asyncio.wait((task, left), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Disconnected
        return task.result()
    finally:
        task.cancel()
        left.cancel()
        await asyncio.gather(task, left, return_exceptions=True)
