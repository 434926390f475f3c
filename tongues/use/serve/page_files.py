"""The files of the page, and the names that requests may use of this server."""

import contextlib
import ipaddress
from collections.abc import Collection
from functools import cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response

from tongues.use.serve.refusal import Refusal

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
    message = f"`{name[:200]}` is not a name of this server; start it with `--allow-host NAME`"
    raise Refusal(400, message, code="unknown_host")
