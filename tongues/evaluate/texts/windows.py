"""How a text longer than a model sees at once is scored: window by window."""

from collections.abc import Iterator
from dataclasses import dataclass

from tongues.errors import UserError

__all__ = ["Policy", "Window", "resolved", "windows"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The windows of a text.

    The first one scores as much as it sees, each further one the next `stride` tokens, the last
    one what is left. Hugging Face's sliding windows of M tokens are `window=M - 1`, since the last
    of them is only predicted; lm-eval's rolling ones have `back=True` and no overlap.
    """

    window: int | None = None  # tokens seen at once; None: what the model sees
    stride: int | None = None  # tokens scored a window; None: the window, so none is seen twice
    back: bool = False  # the last window reaches back, to see as much as the others


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens from `begin` to `stop` are seen, those from `start` on are scored."""

    begin: int
    start: int
    stop: int


def resolved(policy: Policy, context: int | None, name: str = "the model") -> Policy:
    """The policy in numbers for a model that sees so many tokens; its own where it sees any.

    name: of the model, for errors.
    """
    window = context if policy.window is None else policy.window
    if window is None:
        if policy.stride is not None:
            hint = "name the window too"
            raise UserError("a stride without a window", where="stride", hint=hint)
        return policy
    stride = window if policy.stride is None else policy.stride
    if window < 1:
        raise UserError("a window of no tokens", where="window", hint="1 token or more")
    if context is not None and window > context:
        hint = "name a shorter one, or none"
        what = f"a window of {window} tokens is longer than {name} sees ({context})"
        raise UserError(what, where="window", hint=hint)
    if not 1 <= stride <= window:
        what = f"a stride of {stride} tokens with a window of {window}"
        raise UserError(what, where="stride", hint="from 1 to the window")
    return Policy(window, stride, policy.back)


def windows(policy: Policy, count: int) -> Iterator[Window]:
    """The windows of a text of `count` tokens, the one that stands before it included.

    Each token but the first is scored once. policy: in numbers, as `resolved` gives it.
    """
    window, stride = policy.window or count, policy.stride or count
    begin, start = 0, 1
    while start < count:
        whole = window + 1 if start == 1 else start + stride
        stop = min(whole, count)
        if start > 1:
            begin = max(0, (stop if policy.back else whole) - 1 - window)
        yield Window(begin, start, stop)
        start = stop
