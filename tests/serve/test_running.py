"""How the server listens, and how it stops."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from tests.serve.test_requests import until
from tongues.core.errors import Stopped, UserError
from tongues.experts.ensemble.model import Model
from tongues.use.serve.app import App
from tongues.use.serve.engine import Engine
from tongues.use.serve.refusal import Limits
from tongues.use.serve.server import Server, address, listen
from tongues.verbs.main import COMMANDS

# Greedy: a sampled answer may end before it has all its tokens.
SAID = {"model": "small/small", "prompt": "a", "max_tokens": 5, "stream": True, "temperature": 0}


class Held(Engine):
    """An engine whose news are held back until they may come."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        super().__init__(models)
        self.free = threading.Event()
        self.news: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        threading.Thread(target=self.bring, daemon=True).start()

    def submit(self, model: str, request: Any, listener: Any) -> Any:
        return super().submit(model, request, lambda news: self.news.put((listener, news)))

    def bring(self) -> None:
        while True:
            tell, news = self.news.get()
            self.free.wait(10)
            tell(news)


@contextmanager
def held(served: Mapping[str, Model], limits: Limits) -> Iterator[tuple[App, Held, socket.socket]]:
    engine = Held(served)
    engine.start()
    app = App(served, engine, limits)
    try:
        yield app, engine, listen("127.0.0.1", 0, keyed=False)
    finally:
        engine.free.set()
        engine.close()


def run_with(
    app: App, listening: socket.socket, client: Callable[[Server, str], None]
) -> list[int]:
    """Serve in this thread, as signals want it, until a client in another has ended it.

    Returns the numbers of answers that it waited for.
    """
    ready, faults, waited = threading.Event(), [], list[int]()
    url, server = address(listening), Server(app, ready=ready.set, waiting=waited.append)

    def ask() -> None:
        try:
            assert ready.wait(10)
            client(server, url)
        except BaseException as fault:
            faults.append(fault)
            server.should_exit = True

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        server.answer(listening)
    finally:
        thread.join(10)
        assert not faults, faults
    return waited


def test_running_answers_end_when_it_is_stopped(served: dict[str, Model]) -> None:
    with held(served, Limits()) as (app, engine, listening):

        def client(server: Server, url: str) -> None:
            with httpx.Client(base_url=url, timeout=30) as http:
                told: list[str] = []
                ask = partial(http.post, "/v1/completions", json=SAID)
                first = threading.Thread(target=lambda: told.append(ask().text))
                first.start()
                until(lambda: app.answering == 1)
                os.kill(os.getpid(), signal.SIGTERM)
                until(lambda: refuses(http), 20)
                engine.free.set()
                first.join(10)
                assert told[0].endswith("data: [DONE]\n\n")
                assert '"finish_reason":"length"' in told[0]

        assert run_with(app, listening, client) == [1]


def refuses(http: httpx.Client) -> bool:
    """Whether no connection is taken any more."""
    try:
        http.get("/health")
    except httpx.TransportError:
        return True
    return False


def test_a_second_signal_ends_at_once(served: dict[str, Model]) -> None:
    with held(served, Limits()) as (app, _, listening):

        def client(server: Server, url: str) -> None:
            first = threading.Thread(target=partial(ask_in_vain, url))
            first.start()
            until(lambda: app.answering == 1)
            os.kill(os.getpid(), signal.SIGINT)
            until(lambda: server.should_exit)
            os.kill(os.getpid(), signal.SIGINT)
            first.join(10)

        began = time.monotonic()
        with pytest.raises(Stopped):
            run_with(app, listening, client)
        assert time.monotonic() - began < 5


def ask_in_vain(url: str) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.post(f"{url}v1/completions", json=SAID)


def test_a_stream_that_nobody_reads_is_given_up(served: dict[str, Model]) -> None:
    with held(served, Limits(taking=0.3)) as (app, engine, listening):
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        engine.free.set()

        def client(server: Server, url: str) -> None:
            body = json.dumps(SAID | {"max_tokens": 90, "n": 8, "logprobs": 20}).encode()
            head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
            head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            with socket.socket() as lazy:
                lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                lazy.connect(listening.getsockname())
                lazy.sendall(head + body)
                until(lambda: app.answering == 1)
                began = time.monotonic()
                until(lambda: app.answering == 0)
                assert time.monotonic() - began > 0.2
                until(lambda: engine.counts.running == 0)
            server.should_exit = True

        run_with(app, listening, client)


def test_others_are_let_in_only_by_a_key() -> None:
    with pytest.raises(UserError, match="others reach") as told:
        listen("0.0.0.0", 0, keyed=False)
    assert "TONGUES_API_KEY" in told.value.hint
    with listen("0.0.0.0", 0, keyed=True) as listening:
        assert address(listening).startswith("http://127.0.0.1:")
        with pytest.raises(UserError, match="cannot listen on port") as told:
            listen("127.0.0.1", listening.getsockname()[1], keyed=False)
        assert "--port 0" in told.value.hint
    with pytest.raises(UserError, match="not an address"):
        listen("nowhere.invalid", 0, keyed=False)


def test_the_verb_prints_where_the_page_is(served: dict[str, Model], hub: str) -> None:
    with listen("127.0.0.1", 0, keyed=False) as free:
        url, port = address(free), free.getsockname()[1]
    found: list[int] = []

    def client() -> None:
        with httpx.Client(headers={"authorization": "Bearer secret"}) as http:
            until(lambda: answers(http, url), 20)
            found.append(http.get(f"{url}v1/models").status_code)
        time.sleep(0.2)  # until the server has done with the answer
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=client)
    thread.start()
    words, env = [hub, "--port", str(port)], {"TONGUES_API_KEY": "secret\n"}
    done = CliRunner().invoke(COMMANDS["serve"], words, env=env)
    thread.join(10)
    assert (done.exit_code, done.stdout, found) == (0, f"{url}\n", [200])
    look = f"`{hub}` is opened for a look; to serve it: `vllm serve {hub}`"
    assert done.stderr.splitlines() == [f"opening {hub}", look]


def answers(http: httpx.Client, url: str) -> bool:
    try:
        return http.get(f"{url}health").status_code == 200
    except httpx.TransportError:
        return False
