"""A server in a thread, on any free port."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from openai import OpenAI

from tongues.core.foreign.process import TextProcess
from tongues.experts.ensemble.model import Model
from tongues.use.serve import server
from tongues.use.serve.app import App
from tongues.use.serve.engine import Engine
from tongues.use.serve.refusal import Limits

RULES: dict[Path, TextProcess] = {}  # shared, since each is a process


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, and two that ask it."""

    url: str
    app: App
    http: httpx.Client
    openai: OpenAI

    @property
    def port(self) -> int:
        return int(self.url.rstrip("/").rpartition(":")[2])

    def complete(self, **said: Any) -> Any:
        """What OpenAI's client makes of completions."""
        return self.openai.completions.create(**said)

    def converse(self, **said: Any) -> Any:
        """What it makes of a conversation."""
        return self.openai.chat.completions.create(**said)


@contextmanager
def serving(
    models: Mapping[str, Model],
    limits: Limits | None = None,
    *,
    key: str | None = None,
    origins: frozenset[str] = frozenset(),
    examples: Mapping[str, Mapping[str, str]] | None = None,
) -> Iterator[Server]:
    """Serve these until the end of the block."""
    limits = limits or Limits()
    engine = Engine(models, running=limits.running, queued=limits.queued)
    app = App(
        models,
        engine,
        limits,
        key=key,
        hosts=frozenset({"tongues.test"}),
        origins=origins,
        rules=RULES,
        examples=examples or {},
    )
    listening = server.listen("127.0.0.1", 0, keyed=key is not None)
    url, ready = server.address(listening), threading.Event()
    own = server.Server(app, ready=ready.set)
    engine.start()
    thread = threading.Thread(target=own.answer, args=(listening,))
    thread.start()
    try:
        assert ready.wait(10)
        with (
            httpx.Client(base_url=url, timeout=30) as http,
            OpenAI(base_url=f"{url}v1", api_key=key or "none", max_retries=0) as openai,
        ):
            yield Server(url, app, http, openai)
    finally:
        own.should_exit = True
        engine.close()
        thread.join(20)
    assert not thread.is_alive()
