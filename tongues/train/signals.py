"""Ctrl-C and SIGTERM as a request to stop after the step in hand."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["StopSignal"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignal:
    """While entered, notes a signal in `asked` instead of dying of it."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopSignal":
        """Take over the signals; only a process's main thread can."""
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.getsignal(number)
                signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
