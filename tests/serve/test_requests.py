"""What is answered to requests that are not as they should be."""

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx
import pytest

import tongues
from tests.golden import cases, golden, inputs
from tests.serve.serving import Server, serving
from tongues.core.foreign.process import TextProcess
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.writer import Writer
from tongues.use.serve.bodies import IGNORED, NOTHING, Body, ChatBody, CompletionBody
from tongues.use.serve.refusal import Limits

GOOD = {"model": "small/small", "prompt": "the ban", "max_tokens": 2}
NO_END = {"0": -100}
STEP = 0.03  # seconds that a slow step takes
CHAT = {"model": "small/small", "messages": [{"role": "user", "content": "a"}]}


def fault(answer: httpx.Response) -> dict[str, Any]:
    """The problem, in OpenAI's form."""
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    return answer.json()["error"]


def refused(answer: httpx.Response, message: str = "") -> dict[str, Any]:
    assert answer.status_code == 400
    found = fault(answer)
    assert found["message"] and message in found["message"]
    return found


@pytest.mark.parametrize("said", cases("refused-requests"))
def test_a_mistake_is_told_by_its_field(server: Server, said: str) -> None:
    found = refused(server.http.post("/v1/completions", json=GOOD | json.loads(said)))
    golden(f"refused-requests/{said}", "\n".join(map(str, found.values())))


def test_a_long_list_of_prompts_is_refused_as_a_whole(server: Server) -> None:
    said = GOOD | {"prompt": [[1.0]] * 100_000}
    refused(server.http.post("/v1/completions", json=said), "100000 prompts")


def test_one_model_takes_no_routing(server: Server, hub: str) -> None:
    routed = GOOD | {"model": hub, "routing": "tfidf"}
    refused(server.http.post("/v1/completions", json=routed), "this is one model")


@pytest.mark.parametrize("said", cases("refused-chats"))
def test_so_it_is_in_conversations(server: Server, hub: str, said: str) -> None:
    body = CHAT | {"model": hub} | json.loads(said)
    found = refused(server.http.post("/v1/chat/completions", json=body))
    told = "\n".join(map(str, found.values()))
    golden(f"refused-chats/{said}", told.replace(hub, "MODEL"))


def test_what_the_context_leaves_is_written(server: Server) -> None:
    long = GOOD | {"prompt": [1] * 90, "max_tokens": 600, "logit_bias": NO_END}
    answer = server.complete(**long)
    assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (6, "length")


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b"\xff", b"\xef\xbb\xbf{}", b"[" * 100_000),
        *(b'{"model": NaN}', b'{"model": "\\ud800"}', b'{"n": ' + b"1" * 100_000 + b"}"),
        b'{"model": "small/small", "temperature": 1e999}',
    ],
    ids=lambda body: body[:20].decode(errors="replace"),
)
def test_what_is_no_json_object_is_refused(server: Server, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    for path in ("/v1/completions", "/v1/chat/completions"):
        refused(server.http.post(path, content=body, headers=headers))


ODD = [None, True, -1, 0, 1e300, 2**70, "", "\x00\ud7ff", [], [[]], {}, {"a": [None]}, ["a", 1]]


@pytest.mark.parametrize(
    ("kind", "path"), [(CompletionBody, "completions"), (ChatBody, "chat/completions")]
)
def test_no_value_of_any_field_breaks_the_server(
    server: Server, hub: str, kind: type[Body], path: str
) -> None:
    good = GOOD if kind is CompletionBody else CHAT | {"model": hub, "max_tokens": 2}
    for field in kind.model_fields:
        for value in ODD:
            answer = server.http.post(f"/v1/{path}", json=good | {field: value})
            assert answer.status_code in (200, 400, 404), (field, value)
            if answer.status_code != 200:
                assert "\n" not in fault(answer)["message"], (field, value)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    inputs("addresses"),
)
def test_addresses_methods_and_hosts(
    server: Server, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = server.http.request(method, path, headers=headers)
    assert answer.status_code == status
    assert ("set the header `Content-Type: application/json`" in fault(answer)["message"]) == (
        status == 415
    )
    assert (status == 405) == ("allow" in answer.headers)
    assert (status == 403) == ("`--allow-origin " in fault(answer)["message"])
    assert (status == 404 and path != "/v1/models/nobody") == (
        "there are /v1/completions, /v1/chat/completions" in fault(answer)["message"]
    )


def test_pages_of_named_sites_may_ask(served: Mapping[str, Model]) -> None:
    own, other = "http://localhost:3000", "http://localhost:3001"
    asked = {"access-control-request-method": "POST"}
    asked["access-control-request-headers"] = "authorization,content-type,x-stainless-os"
    with serving(served, key="secret", origins=frozenset({own})) as server:
        before = server.http.options("/v1/completions", headers={"origin": own} | asked)
        assert before.status_code == 200  # without the key, which browsers do not send yet
        assert before.headers["access-control-allow-origin"] == own
        allowed = before.headers["access-control-allow-headers"]
        assert allowed == asked["access-control-request-headers"]
        key = {"authorization": "Bearer secret"}
        for headers, status in (({}, 401), (key, 200)):
            for stream in (False, True):
                body, said = GOOD | {"stream": stream}, headers | {"origin": own}
                answer = server.http.post("/v1/completions", json=body, headers=said)
                assert answer.status_code == status
                assert answer.headers["access-control-allow-origin"] == own
        foreign = server.http.get("/v1/models", headers=key | {"origin": other})
        assert (foreign.status_code, fault(foreign)["code"]) == (403, "unknown_origin")
        assert "access-control-allow-origin" not in foreign.headers
        before = server.http.options("/v1/models", headers=asked | {"origin": other})
        assert before.status_code == 400
        page = server.http.get("/", headers={"origin": server.url.rstrip("/")})
        assert page.status_code == 200
    with serving(served, origins=frozenset({"*"})) as server:
        answer = server.http.get("/v1/models", headers={"origin": other})
        assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("path", ["completions", "chat/completions"])
def test_values_that_change_nothing_are_passed_over(server: Server, hub: str, path: str) -> None:
    good = GOOD | {"model": hub, "temperature": 0}
    if path != "completions":
        good = CHAT | {"model": hub, "temperature": 0, "max_tokens": 2}
    ask = partial(server.http.post, f"/v1/{path}")
    plain = ask(json=good).json()["choices"]
    said = {name: [*values, None] for name, values in NOTHING.items()}
    said |= {name: ["a", 1, {"a": "b"}] for name in IGNORED}
    for at in range(max(map(len, said.values()))):  # all at once
        more = {name: values[at] for name, values in said.items() if at < len(values)}
        answer = ask(json=good | more)
        assert answer.status_code == 200, fault(answer)
        assert answer.json()["choices"] == plain
    said = {name: {"a": 1} for name in NOTHING} | {"min_p": 0.1, "ignore_eos": 0, "best_of": True}
    for name, value in said.items():
        assert refused(ask(json=good | {name: value}))["param"] == name


def test_openai_client_says_nothing_in_its_words(server: Server, hub: str) -> None:
    said = {"model": hub, "messages": CHAT["messages"], "max_tokens": 2, "temperature": 0}
    odd = {"min_p": 0, "repetition_penalty": 1.0, "ignore_eos": False, "keep_alive": "5m"}
    own = {"tools": [], "tool_choice": "none", "response_format": {"type": "text"}}
    answer = server.converse(**said, **own, store=False, metadata={"a": "b"}, extra_body=odd)
    assert answer.choices == server.converse(**said).choices


def test_ids_of_a_text_are_those_that_a_prompt_takes(server: Server, hub: str) -> None:
    asked = {"model": hub, "prompt": "the ban of"}
    found = server.http.post("/tokenize", json=asked).json()
    assert set(found) == {"count", "max_model_len", "tokens"}
    told = server.complete(**asked, max_tokens=4, temperature=0)
    by_ids = server.complete(**asked | {"prompt": found["tokens"]}, max_tokens=4, temperature=0)
    assert told.choices == by_ids.choices
    assert found["count"] == len(found["tokens"]) == told.usage.prompt_tokens
    assert found["max_model_len"] == 64
    refused(server.http.post("/tokenize", json={"prompt": "a"}), "`model` is missing")
    refused(server.http.post("/tokenize", json=asked | {"add_special_tokens": True}))
    assert server.http.get("/version").json() == {"version": tongues.__version__}


def test_the_only_model_need_not_be_named(served: Mapping[str, Model]) -> None:
    with serving({"small/small": served["small/small"]}) as server:
        said = {"prompt": "the ban", "max_tokens": 1}
        assert server.http.post("/v1/completions", json=said).json()["model"] == "small/small"
        assert server.http.post("/tokenize", json={"prompt": "the ban"}).json()["count"] == 2


@pytest.mark.parametrize(
    "host", ["localhost:1", "127.0.0.1", "[::1]:80", "10.1.2.3", "Tongues.Test"]
)
def test_this_server_has_names(server: Server, host: str) -> None:
    assert server.http.get("/health", headers={"host": host}).status_code == 200


def test_an_unknown_model_is_not_found(server: Server) -> None:
    answer = server.http.post("/v1/completions", json=GOOD | {"model": "small/smal"})
    assert answer.status_code == 404
    assert fault(answer)["code"] == "model_not_found"
    assert "did you mean `small/small`?" in fault(answer)["message"]


def test_a_key_is_asked_for_where_there_is_one(served: Mapping[str, Model]) -> None:
    with serving(served, key="secret") as server:
        for path in ("/", "/page.css", "/health"):
            assert server.http.get(path).status_code == 200
        for path in ("/v1/models", "/nowhere"):
            assert server.http.get(path).status_code == 401
            wrong = server.http.get(path, headers={"authorization": "Bearer secre"})
            assert fault(wrong)["code"] == "invalid_api_key"
        assert {model.id for model in server.openai.models.list()} == set(served)


def test_the_page_comes_with_all_it_needs_and_asks_for_nothing_else(server: Server) -> None:
    page = server.http.get("/")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    head = server.http.head("/")
    assert (head.content, head.headers["content-length"]) == (b"", str(len(page.content)))


def test_a_large_body_is_refused_and_the_connection_lives_on(server: Server) -> None:
    for content in (b"x" * 5_000_000, iter([b"x" * 1000] * 2000)):
        headers = {"content-type": "application/json"}
        answer = server.http.post("/v1/completions", content=content, headers=headers)
        assert answer.status_code == 413
        assert fault(answer)["code"] == "body_too_large"


@pytest.fixture
def slow_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that texts are still written when a busy machine looks at them."""
    step = Writer.step

    def slow(writer: Writer) -> Any:
        time.sleep(STEP)
        return step(writer)

    monkeypatch.setattr(Writer, "step", slow)


@pytest.mark.usefixtures("slow_steps")
def test_too_many_texts_are_refused_and_those_before_are_written(
    served: Mapping[str, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(served, Limits(running=1, queued=1)) as server:
        body = GOOD | {"max_tokens": 40, "stream": True}
        ask = partial(server.http.post, "/v1/completions", json=body)
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(ask) for _ in range(2)]
            until(lambda: server.app.engine.counts.queued == 1)
            with monkeypatch.context() as patched:
                patched.setattr(Model, "read", None)  # nothing is made into tokens in vain
                busy = ask()
            assert (busy.status_code, busy.headers["retry-after"]) == (429, "1")
            assert fault(busy)["type"] == "rate_limit_error"
            assert all(one.result().text.endswith("data: [DONE]\n\n") for one in both)
        assert server.http.post("/v1/completions", json=body | {"n": 2}).status_code == 400
        assert server.http.post("/v1/completions", json=GOOD).status_code == 200


def raw(server: Server, sent: bytes, *, wait: float = 5) -> bytes:
    """What comes back for these bytes until the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as connection:
        connection.sendall(sent)
        found = b""
        while part := connection.recv(65_536):
            found += part
        return found


def test_slow_and_broken_requests_end(served: Mapping[str, Model]) -> None:
    limits = Limits(sending=0.3, connections=3)
    head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serving(served, limits) as server:
        cases: dict[bytes, bytes] = {
            b"": b"",  # a connection that says nothing
            b"GET / HTTP/1.1\r\nHost: lo": b"",  # half of one
            head + b"Content-Length: 100\r\n\r\n{": b"408",
            b"\x00\x01\x02\r\n\r\n": b"400",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000: b"400",
            head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n": b"400",
        }
        for sent, status in cases.items():
            found = raw(server, sent)
            assert found[9:12] == status
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        assert raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")[9:12] == b"503"
        for connection in held:
            connection.close()


def until(holds: Callable[[], bool], seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.usefixtures("slow_steps")
def test_nothing_is_written_for_those_who_went_away(server: Server) -> None:
    body = json.dumps(GOOD | {"max_tokens": 90, "n": 8, "logit_bias": NO_END})
    head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for stream in ("", '"stream": true, '):
        said = "{" + stream + body[1:]
        sent = f"{head}Content-Length: {len(said)}\r\n\r\n{said}".encode()
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(sent)
            until(lambda: server.app.engine.counts.running == 8)
            began = time.monotonic()
        until(lambda: server.app.engine.counts.running == 0)
        assert time.monotonic() - began < 90 * STEP
        until(lambda: server.app.answering == 0)


def test_a_request_that_is_read_is_waited_for_as_long_as_it_may_take(
    served: Mapping[str, Model], hub: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, go_on = TextProcess.conversation, threading.Event()

    def slow(rules: TextProcess, messages: Any) -> Any:
        go_on.wait(10)
        return plain(rules, messages)

    monkeypatch.setattr(TextProcess, "conversation", slow)
    said = CHAT | {"model": hub, "max_tokens": 1}
    with serving(served, Limits(seconds=0.3)) as server:
        late = server.http.post("/v1/chat/completions", json=said, timeout=5)
        assert (late.status_code, fault(late)["code"]) == (408, "timeout")
        go_on.set()
    go_on.clear()
    with serving(served) as server:
        with pytest.raises(httpx.ReadTimeout):
            server.http.post("/v1/chat/completions", json=said, timeout=0.2)
        until(lambda: server.app.answering == 0)
        go_on.set()
