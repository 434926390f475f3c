"""Requests as they come in: who may ask, what they send, and whether they still wait."""

import asyncio
import contextlib
import ipaddress
from collections.abc import Collection, Coroutine
from hmac import compare_digest
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.types import Receive

from tongues.serve.limits import Limits
from tongues.serve.problems import Problem

__all__ = ["Gone", "attended", "check_host", "check_key", "drain", "read_body"]

T = TypeVar("T")
_DRAINED = 64  # times the limit that is read of a body, only to be thrown away


class Gone(Exception):
    """Nobody waits for the answer any more."""


def check_host(headers: Headers, allowed: Collection[str]) -> None:
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


def check_key(headers: Headers, key: str | None) -> None:
    """Refuse who does not say the key, where there is one."""
    if key is None:
        return
    kind, _, said = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and compare_digest(said.strip().encode(), key.encode()):
        return
    message = "the API key is wrong" if said else "say the API key: `Authorization: Bearer KEY`"
    headers_back = {"www-authenticate": "Bearer"}
    raise Problem(401, message, code="invalid_api_key", headers=headers_back)


async def read_body(headers: Headers, receive: Receive, limits: Limits) -> bytes:
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
                    raise Gone
                found += message.get("body", b"")
                more = message.get("more_body", False)
                if len(found) > limits.body:
                    raise _too_large(limits)
    except TimeoutError:
        message = f"the request did not come within {limits.sending:g} seconds"
        raise Problem(408, message, code="timeout", headers={"connection": "close"}) from None
    return bytes(found)


async def drain(receive: Receive, limits: Limits) -> None:
    """Read on what nobody wants, so that the sender comes to read the answer."""
    left = limits.body * _DRAINED
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limits.sending):
            while left > 0:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))


async def attended(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Work that ends when whoever asked for it goes away: Gone."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Gone
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
