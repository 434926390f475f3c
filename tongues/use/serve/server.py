"""The server as a process: where it listens, slow and surplus connections, how it stops."""

import asyncio
import errno
import gc
import ipaddress
import os
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tongues.core.errors import Stopped, UserError
from tongues.use.serve.refusal import Limits, Refusal

if TYPE_CHECKING:
    from tongues.use.serve.app import App


_IDLE = 20.0  # seconds that a connection is kept for the next request
_CLOSING = 2  # seconds for answers that are sent already to be taken


def listen(host: str, port: int, *, keyed: bool) -> socket.socket:
    """Listen; a UserError where that cannot be, or where all could ask and no key is set.

    port: 0 takes any that is free.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        number = str(place[0]).partition("%")[0]
        if not (keyed or ipaddress.ip_address(number).is_loopback):
            hint = "set TONGUES_API_KEY or `--key-file`, or leave `--host` out"
            what = f"others reach `{host}`, and no key is asked for"
            raise UserError(what, where="--host", hint=hint)
        return socket.create_server((number, port), family=family, backlog=256)
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise UserError(f"`{host}` is not an address of this machine", where="--host") from None
        what = f"cannot listen on port {port} of `{host}` ({os.strerror(error.errno or 0)})"
        raise UserError(what, where="--port", hint="`--port 0` takes any that is free") from None


def address(listening: socket.socket) -> str:
    """Where a browser on this machine finds the page."""
    host, port = listening.getsockname()[:2]
    number = ipaddress.ip_address(host)
    if number.is_unspecified:
        number = ipaddress.ip_address("127.0.0.1" if number.version == 4 else "::1")
    return f"http://{f'[{number}]' if number.version == 6 else number}:{port}/"


def run(
    app: "App",
    listening: socket.socket,
    *,
    ready: Callable[[], None],
    waiting: Callable[[int], None] = lambda answers: None,
) -> None:
    """Answer until a signal: running answers end, then it returns; a second one ends at once.

    ready: called when requests are answered. waiting: called at the first signal with the number
    of answers that are still to end, if there are any.
    """
    kind = type("Connection", (_Connection,), {"limits": app.limits})
    config = uvicorn.Config(
        cast("Any", app),
        http=kind,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=int(_IDLE),
        timeout_graceful_shutdown=_CLOSING,
    )
    server = _Server(config)
    server.app, server.ready, server.waiting = app, ready, waiting
    gc.freeze()  # or a long list in a body has all that is loaded looked through, for half a second
    try:
        server.run(sockets=[listening])
    finally:
        gc.unfreeze()
    if server.force_exit:
        raise Stopped("stopped before all answers had ended")


class _Server(uvicorn.Server):
    app: "App"
    ready: Callable[[], None]
    waiting: Callable[[int], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()

    async def on_tick(self, counter: int) -> bool:
        if self.app.stopping and not self.app.answering:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.force_exit:
            for connection in list(self.server_state.connections):
                cast("H11Protocol", connection).transport.abort()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.app.stopping:
            self.should_exit = self.force_exit = True
        elif self.app.answering:
            self.waiting(self.app.answering)
        self.app.stopping = True


class _Connection(H11Protocol):
    """A connection that cannot be held open by sending or reading slowly."""

    limits: ClassVar[Limits]

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)
        taken = transport.get_extra_info("socket")
        taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each event waits 40 ms
        self._timers: dict[str, asyncio.TimerHandle] = {}
        if len(self.connections) > self.limits.connections:
            message = "too many connections; try again in a moment"
            self._end(Refusal(503, message, code="server_busy", headers={"retry-after": "1"}))
            return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for name in list(self._timers):
            self._cancel(name)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def pause_writing(self) -> None:
        super().pause_writing()
        if "unread" not in self._timers:
            timer = self.loop.call_later(self.limits.taking, self.transport.abort)
            self._timers["unread"] = timer

    def resume_writing(self) -> None:
        self._cancel("unread")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        self._end(Refusal(400, msg, code="invalid_http"))

    @property
    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _cancel(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()

    def _expect(self) -> None:
        if self._busy or self.transport.is_closing():
            self._cancel("coming")
        elif "coming" not in self._timers:
            self._timers["coming"] = self.loop.call_later(self.limits.sending, self._too_slow)

    def _too_slow(self) -> None:
        self._cancel("coming")
        if not self._busy and self.conn.trailing_data[0]:
            self._end(Refusal(408, "the request did not come in time", code="timeout"))
        elif not self._busy:
            self.transport.close()

    def _end(self, refusal: Refusal) -> None:
        if not (self._busy and self.cycle.response_started):
            lines = [
                f"HTTP/1.1 {refusal.status} Refused",
                f"date: {time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime())}",
                "content-type: application/json",
                f"content-length: {len(refusal.body)}",
                "connection: close",
                *(f"{name}: {value}" for name, value in refusal.headers.items()),
            ]
            self.transport.write("\r\n".join([*lines, "", refusal.body]).encode())
        self.transport.close()
