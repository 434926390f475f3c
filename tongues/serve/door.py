"""What answers while the models are still being opened, without torch: the page, at once."""

import asyncio
import contextlib
import hashlib
import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tongues.serve.refusal import Limits, Refusal

__all__ = ["Door", "PageFile", "Served", "check_host", "page_files"]

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
_PAUSE = 0.05  # seconds between looks at whether the models are open


class Served(Protocol):
    """What a server runs."""

    limits: Limits

    @property
    def stopping(self) -> bool:
        """Whether no text is begun any more."""
        ...

    @stopping.setter
    def stopping(self, value: bool) -> None: ...

    @property
    def answering(self) -> int:
        """Requests that are answered now."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page."""

    content: bytes
    kind: str
    tag: str

    def answer(self, headers: Headers) -> Response:
        """For a request with these headers."""
        own = {"etag": self.tag, **_HEADERS}
        if headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=own)
        return Response(self.content, headers=own, media_type=self.kind)


@cache
def page_files() -> dict[str, PageFile]:
    """The files of the page by their addresses; no path of a request reaches the disk."""
    files: dict[str, PageFile] = {}
    for file in sorted(_PAGE.iterdir()):
        if kind := _KINDS.get(file.suffix):
            content = file.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            address = "/" if file.name == "index.html" else f"/{file.name}"
            files[address] = PageFile(content, kind, tag)
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
    message = f"`{name[:200]}` is not a name of this server; start it with `--allow-host NAME`"
    raise Refusal(400, message, code="unknown_host")


@dataclass(eq=False)
class Door:
    """Shows the page until an app is there, which then answers; other requests wait for it."""

    limits: Limits
    hosts: frozenset[str] = frozenset()
    app: Served | None = None
    closed: bool = False

    @property
    def stopping(self) -> bool:
        """Whether no text is begun any more."""
        return self.closed or (self.app is not None and self.app.stopping)

    @stopping.setter
    def stopping(self, value: bool) -> None:
        self.closed = value
        if self.app:
            self.app.stopping = value

    @property
    def answering(self) -> int:
        """Requests that the app answers now."""
        return self.app.answering if self.app else 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self.app is None and scope["type"] == "http":
            if answer := self._now(scope):
                await answer(scope, receive, send)
                return
            while self.app is None and not self.closed:
                await asyncio.sleep(_PAUSE)
        if self.app:
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = Refusal(503, "the server is stopping", code="server_stopping")
            await refusal.response()(scope, receive, send)

    def _now(self, scope: Scope) -> Response | None:
        """The answer that needs no model."""
        headers, path = Headers(scope=scope), scope["path"]
        try:
            check_host(headers, self.hosts)
        except Refusal as refusal:
            return refusal.response()
        if scope["method"] not in ("GET", "HEAD"):
            return None
        if path == "/ready":
            return Refusal(503, "the models are being opened", code="loading").response()
        if path == "/health":
            return JSONResponse({"status": "ok"})
        file = page_files().get(path)
        return file.answer(headers) if file else None
