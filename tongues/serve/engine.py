"""One thread that writes all texts that are asked for, side by side.

A text joins at the next step and leaves when it ends, so no request waits for another's end.
"""

import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from tongues.experts.ensemble.writer import Text, Told, Writer, broken, check_length
from tongues.serve.asks import Ask, End, Full, Piece, Ticket
from tongues.serve.served import Served

__all__ = ["Counts", "Engine", "Tell"]

Tell = Callable[[Sequence[Piece | End]], None]

_PACE = 512  # tokens of prompts that are read in a step, while others write
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Counts:
    """What the engine did since it started, and what it has to do."""

    running: int = 0
    queued: int = 0
    steps: int = 0
    read: int = 0  # tokens of prompts
    written: dict[str, int] = field(default_factory=dict)  # tokens, by model
    held: int = 0  # bytes of keys and values of the texts that run


@dataclass(slots=True, eq=False)
class _Job:
    """A text that was asked for and has not ended."""

    ask: Ask
    tell: Tell
    text: Text | None = None  # None: it waits
    sums: np.ndarray | None = None  # the text so far, as the router sees it


class Engine:
    """Models, and the texts that they write.

    running: texts written side by side, at most; queued: those that wait for a place, at most.
    """

    def __init__(
        self, models: Mapping[str, Served], *, running: int = 16, queued: int = 64
    ) -> None:
        self.models, self.counts = models, Counts(written=dict.fromkeys(models, 0))
        self._most_running, self._most_queued = running, queued
        self._writers: dict[str, Writer] = {}
        self._jobs: dict[Ticket, _Job] = {}  # the oldest first
        self._waiting: deque[Ticket] = deque()
        self._cancelled: set[Ticket] = set()
        self._by_text: dict[Text, Ticket] = {}
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self) -> None:
        """End all texts as cancelled, and the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether texts are being written."""
        return self._thread.is_alive()

    def submit(self, ask: Ask, tell: Tell) -> Ticket:
        """Ask for a text; a UserError where it cannot be written, Full where too many wait.

        tell: called from the engine's thread after every step with what is new, an `End` at last.
        """
        served = self.models[ask.model]
        check_length(served.ensemble, len(ask.tokens) - ask.begun, ask.most, scored=ask.scored)
        served.ensemble.check(ask.routing or served.routing, ask.language)
        with self._changed:
            if self._closing:
                raise Full("the server is stopping")
            if len(self._jobs) >= self._most_running + self._most_queued:
                raise Full(f"{len(self._waiting)} texts are waiting already")
            ticket = Ticket(next(self._numbers))
            self._jobs[ticket] = _Job(ask, tell)
            self._waiting.append(ticket)
            self.counts.queued = len(self._waiting)
            self._changed.notify()
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Write a text no further; nothing happens where it ended already."""
        with self._changed:
            if ticket in self._jobs:
                self._cancelled.add(ticket)
                self._changed.notify()

    def _work(self) -> None:
        torch.set_num_threads(max(1, torch.get_num_threads() - 1))  # one answers requests
        while True:
            with self._changed:
                while not (self._closing or self._jobs):
                    self._changed.wait()
                closing, cancelled = self._closing, list(self._cancelled)
                self._cancelled.clear()
            for ticket in list(self._jobs) if closing else cancelled:
                self._end(ticket, End("cancelled"))
            if closing:
                return
            self._admit()
            for name, writer in list(self._writers.items()):
                if writer.running:
                    self._step(name, writer)
            self.counts.held = sum(writer.bytes for writer in self._writers.values())

    def _admit(self) -> None:
        """Begin texts that wait, the oldest first, as far as there are places."""
        while True:
            with self._changed:
                free = self._most_running - len(self._by_text)
                ticket = self._waiting.popleft() if self._waiting and free > 0 else None
                self.counts.queued = len(self._waiting)
            if ticket is None:
                return
            try:
                self._begin(ticket, self._jobs[ticket])
            except Exception as error:
                self._failed([ticket], error)

    def _begin(self, ticket: Ticket, job: _Job) -> None:
        ask, served = job.ask, self.models[job.ask.model]
        if ask.model not in self._writers:
            self._writers[ask.model] = Writer(served.ensemble, pace=_PACE)
        prompt = ask.tokens[1:] if ask.begun else ask.tokens
        text = job.text = self._writers[ask.model].add(
            prompt,
            ask.routing or served.routing,
            most=ask.most,
            language=ask.language,
            sampling=ask.sampling,
            first=int(ask.tokens[0]) if ask.begun else served.first,
            stop=served.stops,
            copy=ask.copy,
            alternatives=ask.alternatives,
            scored=ask.scored,
        )
        self._by_text[text] = ticket
        router = served.ensemble.router
        if ask.explained and router is not None:
            job.sums = router.start().sums if ask.scored else router.sum(prompt)
        self.counts.read += len(ask.tokens)
        self.counts.running = len(self._by_text)

    def _step(self, name: str, writer: Writer) -> None:
        """A step of all texts of a model."""
        try:
            told = writer.step()
        except Exception as error:  # such as no memory: other models go on
            tickets = [self._by_text[text] for text in writer.running]
            del self._writers[name]
            self._failed(tickets, error)
            return
        self.counts.steps += 1
        for text, group in itertools.groupby(told, key=lambda each: each.text):
            ticket, some = self._by_text[text], list(group)
            try:
                self._told(name, ticket, some)
            except Exception as error:
                self._failed([ticket], error)

    def _told(self, name: str, ticket: Ticket, some: Sequence[Told]) -> None:
        """Tell what is new of a text."""
        job, ended = self._jobs[ticket], some[-1].ended
        if ended == "broken":
            raise broken(self.models[name].ensemble, some[-1].weights)
        pieces = [self._piece(job, each) for each in some]
        self.counts.written[name] += sum(not piece.prompt for piece in pieces)
        _tell(job, pieces)
        if ended:
            self._end(ticket, End(ended))

    def _piece(self, job: _Job, told: Told) -> Piece:
        language = None
        router = self.models[job.ask.model].ensemble.router
        sums = job.sums
        if sums is not None and router is not None:
            sums += router.vectors[told.token]
            language = router.language(sums)
        return Piece(
            told.token, told.log_prob, told.alternatives, told.weights, language, told.prompt
        )

    def _failed(self, tickets: Sequence[Ticket], error: Exception) -> None:
        _log.error("a text could not be written", exc_info=error)
        for ticket in tickets:
            self._end(ticket, End("failed", str(error) or type(error).__name__))

    def _end(self, ticket: Ticket, end: End) -> None:
        """Let go of a text, and tell so."""
        with self._changed:
            job = self._jobs.pop(ticket, None)
            self._cancelled.discard(ticket)
            if job is not None and job.text is None and ticket in self._waiting:
                self._waiting.remove(ticket)
                self.counts.queued = len(self._waiting)
        if job is None:
            return
        if job.text is not None:
            self._by_text.pop(job.text, None)
            writer = self._writers.get(job.ask.model)
            if writer is not None:
                writer.drop(job.text)
        self.counts.running = len(self._by_text)
        _tell(job, [end])


def _tell(job: _Job, news: Sequence[Piece | End]) -> None:
    """Tell one request; whatever is wrong with it is not the others' business."""
    try:
        job.tell(news)
    except Exception as error:
        _log.error("what was written could not be told", exc_info=error)
