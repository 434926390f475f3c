"""How much a request may ask for, and how long it may take."""

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server gives one request, and all of them together."""

    tokens: int = 1024  # written behind a prompt, at most
    copies: int = 8  # texts behind one prompt
    prompts: int = 16  # in one request
    running: int = 16  # texts that are written at a time
    queued: int = 64  # texts that wait for their turn
    body: int = 1_000_000  # bytes
    connections: int = 256
    seconds: float = 120.0  # for an answer, from the request on
    sending: float = 10.0  # seconds that a request may take to come in
    taking: float = 30.0  # seconds that a stream may lie unread

    @property
    def texts(self) -> int:
        """Texts that one request can have written, so that others find room beside it."""
        return max(self.running, self.queued // 2)
