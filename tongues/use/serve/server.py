"""The server as a process: where it listens, slow and surplus connections, how it stops."""

import asyncio
import errno
import gc
import ipaddress
import os
import socket
from collections.abc import Callable
from math import ceil
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tongues.core.errors import Stopped, UserError
from tongues.use.serve.refusal import Limits

if TYPE_CHECKING:
    from tongues.use.serve.app import App

_IDLE = 20  # seconds that a connection is kept for the next request; chosen


def listen(host: str, port: int, *, keyed: bool) -> socket.socket:
    """Listen; a UserError where that cannot be, or where all could ask and no key is set.

    port: 0 takes any that is free.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        number = str(place[0]).partition("%")[0]
        if not (keyed or ipaddress.ip_address(number).is_loopback):
            hint = "set TONGUES_API_KEY, or leave `--host` out"
            what = f"others reach `{host}`, and no key is asked for"
            raise UserError(what, where="--host", hint=hint)
        listening = socket.create_server((number, port), family=family, backlog=256)
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise UserError(f"`{host}` is not an address of this machine", where="--host") from None
        what = f"cannot listen on port {port} of `{host}` ({os.strerror(error.errno or 0)})"
        raise UserError(what, where="--port", hint="`--port 0` takes any that is free") from None
    # Connections inherit it; else each event of a stream waits 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address(listening: socket.socket) -> str:
    """Where a browser on this machine finds the page."""
    host, port = listening.getsockname()[:2]
    number = ipaddress.ip_address(host)
    if number.is_unspecified:
        number = ipaddress.ip_address("127.0.0.1" if number.version == 4 else "::1")
    return f"http://{f'[{number}]' if number.version == 6 else number}:{port}/"


class Server(uvicorn.Server):
    """uvicorn, until a signal: running answers end, then it returns; a second one ends at once.

    ready: called when requests are answered. waiting: called at the first signal with the number
    of answers that are still to end, if there are any.
    """

    def __init__(
        self,
        app: "App",
        *,
        ready: Callable[[], None],
        waiting: Callable[[int], None] = lambda answers: None,
    ) -> None:
        kind = type("Connection", (_Connection,), {"limits": app.limits})
        longest = app.limits.sending + app.limits.seconds + app.limits.taking
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
            limit_concurrency=app.limits.connections,
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=ceil(longest),
        )
        super().__init__(config)
        self._ready, self._waiting = ready, waiting

    def answer(self, listening: socket.socket) -> None:
        """Answer requests; Stopped where answers were cut off."""
        gc.freeze()  # or a long list in a body has all objects looked through, for half a second
        try:
            self.run(sockets=[listening])
        finally:
            gc.unfreeze()
        if self.force_exit:
            raise Stopped("stopped before all answers had ended")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's."""
        await super().startup(sockets)
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        if self.should_exit:
            self.force_exit = True
            for connection in list(self.server_state.connections):
                open_one = cast("H11Protocol", connection)
                open_one.loop.call_soon_threadsafe(open_one.transport.abort)
        elif answers := len(self.server_state.tasks):
            self._waiting(answers)
        self.should_exit = True


class _Connection(H11Protocol):
    """A connection that cannot be held open by sending or reading slowly."""

    limits: ClassVar[Limits]
    _coming: asyncio.TimerHandle | None = None  # ends it where no request comes
    _unread: asyncio.TimerHandle | None = None  # ends it where the answer is not taken

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._coming, self._unread = _cancelled(self._coming), _cancelled(self._unread)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self.limits.taking, self.transport.abort)

    def resume_writing(self) -> None:
        self._unread = _cancelled(self._unread)
        super().resume_writing()

    def _expect(self) -> None:
        if self._busy or self.transport.is_closing():
            self._coming = _cancelled(self._coming)
        elif self._coming is None:
            self._coming = self.loop.call_later(self.limits.sending, self._too_slow)

    @property
    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _too_slow(self) -> None:
        self._coming = None
        if not self._busy:
            self.transport.close()


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
