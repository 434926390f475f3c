"""What is wrong with a request, in OpenAI's form."""

import json
from collections.abc import Mapping

from starlette.responses import Response

from tongues.errors import UserError

__all__ = ["Refusal", "busy", "of_user"]

_KINDS = {401: "authentication_error", 429: "rate_limit_error"}


class Refusal(Exception):
    """A request that is not answered.

    Parameters
    ----------
    status: of HTTP.
    message: what is wrong, for people.
    code: its name for programs.
    param: the field it lies in, such as `messages[0].role`.
    headers: what the answer carries beside it.
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
        usual = "server_error" if status >= 500 else "invalid_request_error"
        kind = _KINDS.get(status, usual)
        error = {"message": message, "type": kind, "param": param, "code": code}
        self.status, self.headers = status, dict(headers or {})
        self.body = json.dumps({"error": error})

    def response(self) -> Response:
        """The answer."""
        kind = "application/json"
        return Response(self.body, self.status, headers=self.headers, media_type=kind)


def of_user(error: UserError, param: str | None = None) -> Refusal:
    """A mistake in what was asked, found by a room that knows nothing of HTTP."""
    message = f"{error.what}; {error.hint}" if error.hint else error.what
    return Refusal(400, message, code=error.code or "invalid_value", param=param)


def busy(why: str) -> Refusal:
    """More is asked at once than there is room for."""
    message = f"too much is asked at once: {why}; try again in a moment"
    return Refusal(429, message, code="server_busy", headers={"retry-after": "1"})
