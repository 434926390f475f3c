"""What is wrong, told in OpenAI's form."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from tongues.errors import UserError

__all__ = ["Problem", "as_response", "busy", "of_user", "problem_body"]

_KINDS = {401: "authentication_error", 429: "rate_limit_error"}


class Problem(Exception):
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
        self.status, self.message, self.code, self.param = status, message, code, param
        self.headers = dict(headers or {})


def problem_body(problem: Problem) -> dict[str, Any]:
    """The answer's JSON."""
    usual = "server_error" if problem.status >= 500 else "invalid_request_error"
    return {
        "error": {
            "message": problem.message,
            "type": _KINDS.get(problem.status, usual),
            "param": problem.param,
            "code": problem.code,
        }
    }


def as_response(problem: Problem) -> Response:
    """The answer."""
    return Response(
        json.dumps(problem_body(problem)),
        problem.status,
        headers=problem.headers,
        media_type="application/json",
    )


def of_user(error: UserError, param: str | None = None) -> Problem:
    """A mistake in what was asked, found by a room that knows nothing of HTTP."""
    message = f"{error.what}; {error.hint}" if error.hint else error.what
    return Problem(400, message, code=error.code or "invalid_value", param=param)


def busy(why: str) -> Problem:
    """More is asked at once than there is room for."""
    message = f"too much is asked at once: {why}; try again in a moment"
    return Problem(429, message, code="server_busy", headers={"retry-after": "1"})
