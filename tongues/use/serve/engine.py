"""One thread that generates all texts that are asked for, together.

A text joins at the next step and leaves when it ends, so no request waits for another's end.
"""

import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from tongues.core.errors import UserError
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.request import Request, Token
from tongues.experts.ensemble.writer import RunningText, Writer, broken, check_length

_PACE = 512  # tokens of prompts that are read in a step, while other texts are generated
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class End:
    """No token comes after this."""

    reason: Literal["stop", "length", "cancelled", "failed"]
    why: str | None = None  # it failed


Listener = Callable[[Sequence[Token | End]], None]


class Full(Exception):
    """More texts are waiting than the engine keeps."""


@dataclass(slots=True)
class EngineCounts:
    """What the engine has to do."""

    running: int = 0
    queued: int = 0
    held: int = 0  # bytes of keys and values of the texts that run


@dataclass(frozen=True, slots=True, eq=False)
class TextJob:
    """A text to generate."""

    model: str
    request: Request
    listener: Listener

    def report(self, news: Sequence[Token | End]) -> None:
        """Call its listener; an error there must not touch other texts."""
        try:
            self.listener(news)
        except Exception:
            _log.exception("a listener failed")


class Engine:
    """Models, and the texts that they generate.

    running: texts generated together, at most; queued: those that wait for a place, at most.
    memory: bytes of keys and values, shared out equally among the models; a text waits until its
    prompt and its longest answer fit. None: any.
    """

    def __init__(
        self,
        models: Mapping[str, Model],
        *,
        running: int = 16,
        queued: int = 64,
        memory: int | None = None,
    ) -> None:
        self.models, self.counts = models, EngineCounts()
        self._most_running, self._most_queued = running, queued
        self._memory = None if memory is None else memory // len(models)  # of one model
        self._writers: dict[str, Writer] = {}
        self._jobs: dict[TextJob, RunningText | None] = {}  # the oldest first; None: it waits
        self._waiting: deque[TextJob] = deque()
        self._cancelled: set[TextJob] = set()
        self._by_text: dict[RunningText, TextJob] = {}
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)

    def start(self) -> None:
        """Begin to generate."""
        self._thread.start()

    def close(self) -> None:
        """End all texts as cancelled, and the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether texts are generated."""
        return self._thread.is_alive()

    def submit(self, model: str, request: Request, listener: Listener) -> TextJob:
        """Ask for a text; a UserError where it cannot be generated, Full where too many wait.

        listener: called from the engine's thread after every step with what is new, an `End` last.
        """
        ensemble, job = self.models[model].ensemble, TextJob(model, request, listener)
        check_length(ensemble, request)
        ensemble.check(request.routing, request.language)
        limit = self._memory
        if limit is not None and (size := self.models[model].cache_need([request])) > limit:
            need, most = (f"{each / 1e6:,.1f} MB" for each in (size, limit))
            what = f"keys and values of this request take {need}, and the server keeps {most}"
            raise UserError(what, where="max_tokens", hint="ask for a shorter text")
        with self._changed:
            if self._closing:
                raise Full("the server is stopping")
            if len(self._jobs) >= self._most_running + self._most_queued:
                raise Full(f"{len(self._waiting)} texts are waiting already")
            self._jobs[job] = None
            self._waiting.append(job)
            self.counts.queued = len(self._waiting)
            self._changed.notify()
        return job

    def cancel(self, job: TextJob) -> None:
        """End a text; nothing happens where it ended already."""
        with self._changed:
            if job in self._jobs:
                self._cancelled.add(job)
                self._changed.notify()

    def _work(self) -> None:
        torch.set_num_threads(max(1, torch.get_num_threads() - 1))  # one answers requests
        while True:
            with self._changed:
                while not (self._closing or self._jobs):
                    self._changed.wait()
                closing, cancelled = self._closing, list(self._cancelled)
                self._cancelled.clear()
            for job in list(self._jobs) if closing else cancelled:
                self._end(job, End("cancelled"))
            if closing:
                return
            while self._begin_next():
                pass
            for name, writer in list(self._writers.items()):
                if writer.running:
                    self._step(name, writer)
            self.counts.held = sum(writer.bytes for writer in self._writers.values())

    def _fits(self, job: TextJob) -> bool:
        if self._memory is None:
            return True
        others = [each.request for each in self._by_text.values() if each.model == job.model]
        return self.models[job.model].cache_need([*others, job.request]) <= self._memory

    def _begin_next(self) -> bool:
        with self._changed:
            free = self._most_running - len(self._by_text)
            fits = self._waiting and free > 0 and self._fits(self._waiting[0])
            job = self._waiting.popleft() if fits else None
            self.counts.queued = len(self._waiting)
        if job is None:
            return False
        try:
            if job.model not in self._writers:
                model = self.models[job.model]
                self._writers[job.model] = model.writer(self._memory, pace=_PACE)
            text = self._jobs[job] = self._writers[job.model].add(job.request)
            self._by_text[text] = job
            self.counts.running = len(self._by_text)
        except Exception as error:
            self._fail([job], error)
        return True

    def _step(self, name: str, writer: Writer) -> None:
        try:
            news = writer.step()
        except Exception as error:  # such as no memory: other models go on
            self._give_up(name, error)
            return
        for text, group in itertools.groupby(news, key=lambda each: each[0]):
            job, tokens = self._by_text[text], [token for _, token in group]
            ended = tokens[-1].ended
            if ended == "broken":
                self._fail([job], broken(writer.ensemble, tokens[-1].weights))
                continue
            job.report(tokens)
            if ended:
                self._end(job, End(ended))

    def _give_up(self, name: str, error: Exception) -> None:
        """Fail all texts of a model; the next ones get a new writer."""
        writer = self._writers.pop(name)
        self._fail([self._by_text[text] for text in writer.running], error)

    def _fail(self, jobs: Sequence[TextJob], error: Exception) -> None:
        _log.error("a text could not be generated", exc_info=error)
        for job in jobs:
            self._end(job, End("failed", str(error) or type(error).__name__))

    def _end(self, job: TextJob, end: End) -> None:
        with self._changed:
            known, text = job in self._jobs, self._jobs.pop(job, None)
            self._cancelled.discard(job)
            if job in self._waiting:
                self._waiting.remove(job)
                self.counts.queued = len(self._waiting)
        if text is not None:
            self._by_text.pop(text, None)
            if writer := self._writers.get(job.model):
                try:
                    writer.drop(text)
                except Exception as error:  # to give room back takes some first
                    self._give_up(job.model, error)
        if known:
            self.counts.running = len(self._by_text)
            job.report([end])
