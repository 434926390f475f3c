"""How much a request may ask for, and what is wrong with one, in OpenAI's form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from tongues.core.errors import UserError

_KINDS = {401: "authentication_error", 429: "rate_limit_error"}  # as OpenAI names them
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}  # of all but the page


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server gives one request, and all of them together; all chosen, for one machine."""

    tokens: int = 1024  # written behind a prompt, at most
    running: int = 16  # texts that are written at a time
    queued: int = 64  # texts that wait for their turn
    body: int = 1_000_000  # bytes
    connections: int = 256
    seconds: float = 120.0  # for an answer, from the request on
    sending: float = 10.0  # seconds that a request may take to come in
    taking: float = 30.0  # seconds that a stream may lie unread

    @property
    def texts(self) -> int:
        """Texts that one request may generate, so that there is room for other requests."""
        return max(self.running, self.queued // 2)


class Refusal(Exception):
    """A request that is not answered: what is wrong, for people, and its `code` for programs.

    status: of HTTP. param: the field with the mistake, such as `messages[0].role`.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
        error = {"message": message, "type": kind, "param": param, "code": code}
        self.status, self.headers = status, HEADERS | dict(headers or {})
        self.body = json.dumps({"error": error})

    def response(self) -> Response:
        """The answer."""
        return Response(self.body, self.status, self.headers, "application/json")


def of_user(error: UserError, param: str | None = None) -> Refusal:
    """A mistake in what was asked, found by a room that knows nothing of HTTP."""
    message = f"{error.what}; {error.hint}" if error.hint else error.what
    return Refusal(400, message, code=error.code or "invalid_value", param=param)


def busy(why: str) -> Refusal:
    """More is asked at once than there is room for."""
    message = f"too much is asked at once: {why}; try again in a moment"
    return Refusal(429, message, code="server_busy", headers={"retry-after": "1"})
