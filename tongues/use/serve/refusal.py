"""How much a request may ask for, and what is wrong with one, in OpenAI's form."""

import json
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from tongues.core.beside import read_beside
from tongues.core.errors import UserError

_TABLE = read_beside(__file__, "refusals.toml")
MEANT: dict[str, str] = _TABLE["meant"]
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

    title: in `refusals.toml`. param: the field with the mistake, such as `messages[0].role`. facts:
    what the words name.
    """

    def __init__(
        self, title: str, param: str | None = None, code: str | None = None, **facts: Any
    ) -> None:
        said = _TABLE[title]
        message, self.status = said["says"].format(**facts), said.get("status", 400)
        super().__init__(message)
        self.headers = HEADERS | said.get("headers", {})
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {"message": message, "type": said.get("type", kind)}
        error |= {"param": param or said.get("param"), "code": code or said.get("code", title)}
        self.body = json.dumps({"error": error})

    def response(self) -> Response:
        """The answer."""
        return Response(self.body, self.status, self.headers, "application/json")


def of_user(error: UserError, param: str | None = None) -> Refusal:
    """A mistake in what was asked, found by a room that knows nothing of HTTP."""
    message = f"{error.what}; {error.hint}" if error.hint else error.what
    return Refusal("wrong", param, error.code or "invalid_value", message=message)
