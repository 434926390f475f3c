"""The server's application: which address answers what, and how every request ends."""

import asyncio
import contextlib
import ipaddress
import json
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hmac import compare_digest
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.routing import ROUTINGS
from tongues.serve.bodies import Body, ChatBody, CompletionBody, parse
from tongues.serve.chat import has_template
from tongues.serve.completions import complete, converse, find_served
from tongues.serve.engine import Engine
from tongues.serve.limits import Limits
from tongues.serve.metrics import Metrics
from tongues.serve.openapi import describe
from tongues.serve.pages import Page, load_pages
from tongues.serve.problems import Problem, as_response, busy
from tongues.serve.streaming import Answer, Deadline, Generating

__all__ = ["App"]

T = TypeVar("T")
B = TypeVar("B", bound=Body)

_MODELS = "/v1/models/"
_LONG = 20_000  # bytes of a body beyond which it is read beside the loop
_READERS = 2  # of such bodies at a time
_DRAINED = 64  # times the limit that is read of a body, only to be thrown away
_GONE = 499  # the client did not wait; counted, never sent
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Exchange:
    """One request, and what was sent of its answer."""

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    began: float
    route: str = "other"
    status: int | None = None

    async def tell(self, message: Message) -> None:
        """Send, and remember."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self.send(message)


@dataclass(frozen=True, slots=True)
class _Route:
    """What an address answers."""

    name: str
    get: Callable[[_Exchange], Response] | None = None
    post: Callable[[_Exchange], Awaitable[None]] | None = None
    opened: bool = False  # to those who say no key


@dataclass(eq=False)
class App:
    """Models behind HTTP.

    Parameters
    ----------
    models: by their names.
    engine: that writes their texts; started and closed by the caller.
    key: what requests must say; None: nothing.
    hosts: names of this server beyond `localhost` and numbers.
    """

    models: Mapping[str, Model]
    engine: Engine
    limits: Limits = field(default_factory=Limits)
    key: str | None = None
    hosts: frozenset[str] = frozenset()
    stopping: bool = False  # no text is begun any more
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self._created = int(time.time())
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="reader")
        self._description = json.dumps(
            describe(self.models, self.limits, keyed=self.key is not None)
        )
        routes = [
            _Route("/v1/completions", post=lambda one: self._answer(one, CompletionBody, complete)),
            _Route("/v1/chat/completions", post=lambda one: self._answer(one, ChatBody, converse)),
            _Route("/v1/models", get=self._list),
            _Route("/openapi.json", get=lambda one: _json(self._description)),
            _Route("/metrics", get=self._measured),
            _Route("/health", get=lambda one: _json('{"status":"ok"}'), opened=True),
            _Route("/ready", get=self._ready, opened=True),
        ]
        self._routes = {route.name: route for route in routes}
        for path, page in load_pages().items():
            self._routes[path] = _Route("page", get=partial(_page, page), opened=True)
        self._one_model = _Route(_MODELS + "{model}", get=self._model)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, in whatever state it comes."""
        if scope["type"] != "http":
            return
        one = _Exchange(scope, receive, send, Headers(scope=scope), time.perf_counter())
        try:
            try:
                await self._dispatch(one)
            except Disconnected:
                one.status = _GONE
            except Problem as problem:
                await self._refuse(one, problem)
            except Exception:
                _log.exception("a request could not be answered")
                if one.status is not None:
                    raise
                await self._refuse(one, Problem(500, "the server failed", code="server_failed"))
        finally:
            self.metrics.count(one.route, one.status or _GONE, time.perf_counter() - one.began)

    async def _dispatch(self, one: _Exchange) -> None:
        _check_host(one.headers, self.hosts)
        path, method = one.scope["path"], one.scope["method"]
        route = self._one_model if path.startswith(_MODELS) else self._routes.get(path)
        if not (route and route.opened):
            _check_key(one.headers, self.key)
        if route is None:
            raise Problem(404, f"there is nothing at `{path[:200]}`", code="not_found")
        one.route = route.name
        if route.post and method == "POST":
            await route.post(one)
        elif route.get and method in ("GET", "HEAD"):
            await self._send(one, route.get(one))
        else:
            allowed = "GET, HEAD" if route.get else "POST"
            message = f"`{path[:200]}` takes {allowed}, not {method[:20]}"
            raise Problem(405, message, code="method_not_allowed", headers={"allow": allowed})

    async def _answer(
        self, one: _Exchange, kind: type[B], read: Callable[[B, Model, Limits], Answer]
    ) -> None:
        """Have texts written and told, as long as somebody waits for them."""
        if self.stopping:
            headers = {"retry-after": "5", "connection": "close"}
            raise Problem(503, "the server is stopping", code="server_stopping", headers=headers)
        deadline = Deadline(self.limits.seconds)
        self.metrics.answering += 1
        try:
            raw = await _read_body(one.headers, one.receive, self.limits)
            await _attended(one.receive, self._write(one, raw, kind, read, deadline))
        finally:
            self.metrics.answering -= 1

    async def _write(
        self,
        one: _Exchange,
        raw: bytes,
        kind: type[B],
        read: Callable[[B, Model, Limits], Answer],
        deadline: Deadline,
    ) -> None:
        work = partial(self._read, raw, kind, read)
        if kind is ChatBody or len(raw) > _LONG:
            loop = asyncio.get_running_loop()
            answer = await deadline.keep(loop.run_in_executor(self._readers, work))
        else:
            answer = work()
        generating = Generating(self.engine, answer.texts, deadline)
        try:
            if answer.body.stream:
                await self._stream(one, answer, generating)
            else:
                await self._send(one, _json(await answer.all_at_once(generating)))
        finally:
            generating.close()

    def _read(
        self, raw: bytes, kind: type[B], read: Callable[[B, Model, Limits], Answer]
    ) -> Answer:
        """What a body asks for; where there is no room for it, it is not made into tokens."""
        body = parse(kind, raw, self.limits)
        model, counts = find_served(self.models, body.model), self.engine.counts
        if counts.running + counts.queued >= self.limits.running + self.limits.queued:
            raise busy(f"{counts.queued} texts are waiting already")
        return read(body, model, self.limits)

    async def _stream(self, one: _Exchange, answer: Answer, generating: Generating) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
            (b"x-content-type-options", b"nosniff"),
        ]
        async for data in answer.events(generating):
            if one.status is None:
                self.metrics.first.add(time.perf_counter() - one.began)
                await one.tell({"type": "http.response.start", "status": 200, "headers": headers})
            await one.send({"type": "http.response.body", "body": data, "more_body": True})
        await one.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _refuse(self, one: _Exchange, problem: Problem) -> None:
        """Tell a problem; a body that is still coming is let come, and thrown away."""
        response = as_response(problem)
        if problem.status != 413:
            await self._send(one, response)
            return
        headers = response.raw_headers
        await one.tell({"type": "http.response.start", "status": 413, "headers": headers})
        await one.send({"type": "http.response.body", "body": response.body, "more_body": True})
        await _drain(one.receive, self.limits)
        await one.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, one: _Exchange, response: Response) -> None:
        response.headers.setdefault("cache-control", "no-store")
        response.headers["x-content-type-options"] = "nosniff"
        await response(one.scope, one.receive, one.tell)

    def _ready(self, one: _Exchange) -> Response:
        if self.stopping or not self.engine.alive:
            raise Problem(503, "no texts are begun", code="not_ready")
        return _json('{"status":"ready"}')

    def _measured(self, one: _Exchange) -> Response:
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(self.metrics.text(self.engine), media_type=kind)

    def _list(self, one: _Exchange) -> Response:
        told = [self._described(model) for model in self.models.values()]
        return _json(json.dumps({"object": "list", "data": told}))

    def _model(self, one: _Exchange) -> Response:
        name = one.scope["path"].removeprefix(_MODELS)
        return _json(json.dumps(self._described(find_served(self.models, name))))

    def _described(self, model: Model) -> dict[str, Any]:
        return {
            "id": model.name,
            "object": "model",
            "created": self._created,
            "owned_by": "tongues",
            "tongues": _about(model),
        }


def _about(model: Model) -> dict[str, Any]:
    """What `/v1/models` has of a model beyond OpenAI's fields."""
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
    return {
        "kind": model.kind,
        "experts": [
            {"name": expert.name, "languages": sorted(expert.languages)}
            for expert in ensemble.lineage.experts
        ],
        "languages": sorted(ensemble.lineage.languages),
        "routing": str(model.routing),
        "routings": [
            {"routing": str(routing), "title": routing.title, "summary": routing.summary}
            for routing in dict.fromkeys([model.routing, *usable])
        ],
        "context": model.context,
        "chat": has_template(ensemble.tokenizer),
    }


def _page(page: Page, one: _Exchange) -> Response:
    return page.answer(one.headers)


def _json(content: str | bytes) -> Response:
    return Response(content, media_type="application/json")


class Disconnected(Exception):
    """Nobody waits for the answer any more."""


def _check_host(headers: Headers, allowed: Collection[str]) -> None:
    """Refuse names that are not this server's: a page elsewhere could have them point here.

    A number is no such name, and neither is `localhost`.
    """
    said = headers.get("host", "").lower()
    name = said[1:].partition("]")[0] if said.startswith("[") else said.partition(":")[0]
    if name == "localhost" or name in allowed:
        return
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return
    message = f"`{name[:200]}` is no name of this server; start it with `--allow-host NAME`"
    raise Problem(400, message, code="unknown_host")


def _check_key(headers: Headers, key: str | None) -> None:
    """Refuse who does not say the key, where there is one."""
    if key is None:
        return
    kind, _, said = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and compare_digest(said.strip().encode(), key.encode()):
        return
    message = "the API key is wrong" if said else "say the API key: `Authorization: Bearer KEY`"
    headers_back = {"www-authenticate": "Bearer"}
    raise Problem(401, message, code="invalid_api_key", headers=headers_back)


async def _read_body(headers: Headers, receive: Receive, limits: Limits) -> bytes:
    """A JSON body, whole; a Problem where it is another kind, too large or too slow."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" or headers.get("content-encoding", "identity") != "identity":
        message = "say it in JSON, as it is: `Content-Type: application/json`"
        raise Problem(415, message, code="unsupported_media_type")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limits.body:
        raise _too_large(limits)
    found = bytearray()
    try:
        async with asyncio.timeout(limits.sending):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                found += message.get("body", b"")
                more = message.get("more_body", False)
                if len(found) > limits.body:
                    raise _too_large(limits)
    except TimeoutError:
        message = f"the request did not come within {limits.sending:g} seconds"
        raise Problem(408, message, code="timeout", headers={"connection": "close"}) from None
    return bytes(found)


async def _drain(receive: Receive, limits: Limits) -> None:
    """Read on what nobody wants, so that the sender comes to read the answer."""
    left = limits.body * _DRAINED
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limits.sending):
            while left > 0:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))


async def _attended(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Work that ends when whoever asked for it goes away: Disconnected."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Disconnected
        return task.result()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(limits: Limits) -> Problem:
    message = f"the body is larger than {limits.body:,} bytes"
    return Problem(413, message, code="body_too_large", headers={"connection": "close"})
