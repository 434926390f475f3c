"""The server's application: which address answers what, and how every request ends."""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hmac import compare_digest
from pathlib import Path
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from tongues.experts.ensemble.model import Model
from tongues.use.serve.bodies import Body, ChatBody, CompletionBody, parse
from tongues.use.serve.completions import complete, converse, find_served
from tongues.use.serve.engine import Engine
from tongues.use.serve.listed import describe_model
from tongues.use.serve.page_files import PageFile, check_host, page_files
from tongues.use.serve.refusal import Limits, Refusal, busy
from tongues.use.serve.streaming import AnswerForm, Deadline, Generating
from tongues.use.serve.text_process import TextProcess

T = TypeVar("T")
B = TypeVar("B", bound=Body)

_MODELS = "/v1/models/"
_LONG = 20_000  # bytes of a body beyond which it is read beside the loop
_READERS = 2  # of such bodies at a time
_DRAINED = 64  # times the limit that is read of a body, only to be thrown away
_STREAM = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
_log = logging.getLogger(__name__)


class Disconnected(Exception):
    """Nobody waits for the answer any more."""


@dataclass(slots=True)
class _Exchange:
    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    begun: bool = False  # an answer was begun

    async def tell(self, message: Message) -> None:
        self.begun = True
        await self.send(message)

    async def answer(self, response: Response) -> None:
        response.headers.setdefault("cache-control", "no-store")
        response.headers["x-content-type-options"] = "nosniff"
        await response(self.scope, self.receive, self.tell)

    async def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self.tell({"type": "http.response.start", "status": status, "headers": headers})

    async def part(self, content: bytes, *, more: bool = True) -> None:
        await self.tell({"type": "http.response.body", "body": content, "more_body": more})


@dataclass(frozen=True, slots=True)
class _Route:
    get: Callable[[_Exchange], Response] | None = None
    post: Callable[[_Exchange], Awaitable[None]] | None = None
    opened: bool = False  # to those without a key


@dataclass(eq=False)
class App:
    """Models by their names behind HTTP.

    engine: writes their texts; started and closed by the caller. key: that requests must have;
    None: nothing. hosts: names of this server beyond `localhost` and numbers.
    """

    models: Mapping[str, Model]
    engine: Engine
    limits: Limits = field(default_factory=Limits)
    key: str | None = None
    hosts: frozenset[str] = frozenset()
    stopping: bool = False  # no text is begun any more
    answering: int = 0  # requests that are answered now
    rules: dict[Path, TextProcess] = field(default_factory=dict)  # by the tokenizers' folders
    examples: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by model, language

    def __post_init__(self) -> None:
        created = int(time.time())
        shown = {
            name: describe_model(model, created, self.examples.get(name))
            for name, model in self.models.items()
        }
        listed = {"object": "list", "data": [*shown.values()]}
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="reader")
        for model in self.models.values():
            folder = model.ensemble.tokenizer.resolve()
            self.rules.setdefault(folder, TextProcess(folder))

        def one_model(one: _Exchange) -> Response:
            model = find_served(self.models, one.scope["path"].removeprefix(_MODELS))
            return _json(shown[model.name])

        self._routes = {
            "/v1/completions": _Route(post=lambda x: self._answer(x, CompletionBody, complete)),
            "/v1/chat/completions": _Route(post=lambda x: self._answer(x, ChatBody, converse)),
            "/v1/models": _Route(get=lambda one: _json(listed)),
            "/health": _Route(get=self._health, opened=True),
        }
        for path, file in page_files().items():
            self._routes[path] = _Route(get=partial(_page, file), opened=True)
        self._one_model = _Route(get=one_model)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        one = _Exchange(scope, receive, send, Headers(scope=scope))
        try:
            await self._dispatch(one)
        except Disconnected:
            pass
        except Refusal as refusal:
            await self._refuse(one, refusal)
        except Exception:
            _log.exception("a request could not be answered")
            if one.begun:
                raise
            await self._refuse(one, Refusal(500, "the server failed", code="server_failed"))

    async def _dispatch(self, one: _Exchange) -> None:
        check_host(one.headers, self.hosts)
        path, method = one.scope["path"], one.scope["method"]
        route = self._one_model if path.startswith(_MODELS) else self._routes.get(path)
        if not (route and route.opened):
            _check_key(one.headers, self.key)
        if route is None:
            raise Refusal(404, f"there is nothing at `{path[:200]}`", code="not_found")
        if route.post and method == "POST":
            await route.post(one)
        elif route.get and method in ("GET", "HEAD"):
            await one.answer(route.get(one))
        else:
            allowed = "GET, HEAD" if route.get else "POST"
            message = f"`{path[:200]}` takes {allowed}, not {method[:20]}"
            raise Refusal(405, message, code="method_not_allowed", headers={"allow": allowed})

    async def _answer(
        self,
        one: _Exchange,
        kind: type[B],
        read: Callable[[B, Model, TextProcess, Limits], AnswerForm],
    ) -> None:
        if self.stopping:
            headers = {"retry-after": "5", "connection": "close"}
            raise Refusal(503, "the server is stopping", code="server_stopping", headers=headers)
        deadline = Deadline(self.limits.seconds)

        loop = asyncio.get_running_loop()

        async def write(content: bytes) -> None:
            if len(content) > _LONG:
                work = loop.run_in_executor(self._readers, parse, kind, content, self.limits)
                body = await deadline.keep(work)
            else:
                body = parse(kind, content, self.limits)
            model, counts = find_served(self.models, body.model), self.engine.counts
            if counts.running + counts.queued >= self.limits.running + self.limits.queued:
                raise busy(f"{counts.queued} texts are waiting already")  # not made into tokens
            rules = self.rules[model.ensemble.tokenizer.resolve()]
            work = loop.run_in_executor(rules.pool, read, body, model, rules, self.limits)
            answer = await deadline.keep(work)
            generating = Generating(self.engine, answer.texts, deadline)
            try:
                if not answer.body.stream:
                    await one.answer(_json(await answer.all_at_once(generating)))
                    return
                async for event in answer.events(generating):
                    if not one.begun:
                        await one.start(200, _STREAM)
                    await one.part(event)
                await one.part(b"", more=False)
            finally:
                generating.close()

        self.answering += 1
        try:
            content = await _read_body(one.headers, one.receive, self.limits)
            await _attended(one.receive, write(content))
        finally:
            self.answering -= 1

    async def _refuse(self, one: _Exchange, refusal: Refusal) -> None:
        response = refusal.response()
        if refusal.status != 413:
            await one.answer(response)
            return
        await one.start(413, response.raw_headers)
        await one.part(bytes(response.body))
        left, more = self.limits.body * _DRAINED, True
        with contextlib.suppress(TimeoutError):  # so that the sender comes to read the answer
            async with asyncio.timeout(self.limits.sending):
                while left > 0 and more:
                    message = await one.receive()
                    more = message.get("more_body", False)
                    left -= len(message.get("body", b""))
        await one.part(b"", more=False)

    def _health(self, one: _Exchange) -> Response:
        if self.stopping or not self.engine.alive:
            raise Refusal(503, "no texts are begun", code="server_stopping")
        return _json({"status": "ok"})


def _page(file: PageFile, one: _Exchange) -> Response:
    return file.answer()


def _json(content: Mapping[str, Any] | bytes) -> Response:
    whole = content if isinstance(content, bytes) else json.dumps(content)
    return Response(whole, media_type="application/json")


def _check_key(headers: Headers, key: str | None) -> None:
    kind, _, value = headers.get("authorization", "").partition(" ")
    right = key is not None and compare_digest(value.strip().encode(), key.encode())
    if key is None or (kind.lower() == "bearer" and right):
        return
    message = "the API key is wrong" if value else "say the API key: `Authorization: Bearer KEY`"
    headers_back = {"www-authenticate": "Bearer"}
    raise Refusal(401, message, code="invalid_api_key", headers=headers_back)


async def _read_body(headers: Headers, receive: Receive, limits: Limits) -> bytes:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" or headers.get("content-encoding", "identity") != "identity":
        message = "set the header `Content-Type: application/json`, without a content encoding"
        raise Refusal(415, message, code="unsupported_media_type")
    message, last = f"the body is larger than {limits.body:,} bytes", {"connection": "close"}
    too_large = Refusal(413, message, code="body_too_large", headers=last)
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limits.body:
        raise too_large
    content, more = bytearray(), True
    try:
        async with asyncio.timeout(limits.sending):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                content += message.get("body", b"")
                more = message.get("more_body", False)
                if len(content) > limits.body:
                    raise too_large
    except TimeoutError:
        message = f"the request did not come within {limits.sending:g} seconds"
        raise Refusal(408, message, code="timeout", headers=last) from None
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
