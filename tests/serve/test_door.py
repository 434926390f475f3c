"""Before the models are open: the page is there, other requests wait, and a failure ends it."""

import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.serve.serving import serving
from tongues.experts.ensemble.model import Model
from tongues.serve.door import Door


def test_the_page_is_there_and_requests_wait_for_the_models(
    opening: tuple[Door, httpx.Client], served: dict[str, Model]
) -> None:
    door, http = opening
    page = http.get("/")
    assert (page.status_code, "<html" in page.text) == (200, True)
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert http.get("/", headers={"if-none-match": page.headers["etag"]}).status_code == 304
    assert http.get("/page.js").headers["content-type"].startswith("text/javascript")
    assert http.get("/health").json() == {"status": "ok"}
    assert (http.get("/ready").status_code, http.get("/ready").json()["error"]["code"]) == (
        503,
        "loading",
    )
    assert http.get("/", headers={"host": "evil.test"}).status_code == 400
    with ThreadPoolExecutor(2) as pool, serving(served) as server:
        name = next(iter(served))
        body = {"model": name, "prompt": "the ban", "max_tokens": 4, "temperature": 0}
        listed = pool.submit(http.get, "/v1/models")
        written = pool.submit(http.post, "/v1/completions", json=body)
        time.sleep(0.3)
        assert not listed.done()
        assert not written.done()
        door.app = server.app
        assert {one["id"] for one in listed.result(20).json()["data"]} == set(served)
        text = written.result(20).json()["choices"][0]["text"]
        assert text == server.http.post("/v1/completions", json=body).json()["choices"][0]["text"]
        assert http.get("/ready").status_code == 200
        door.app = None


def test_where_no_model_can_be_opened_it_ends(opening: tuple[Door, httpx.Client]) -> None:
    door, http = opening
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(http.get, "/v1/models")
        time.sleep(0.2)
        assert not waiting.done()
        door.stopping = True  # as the thread that opens models does
        answer = waiting.result(10)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "server_stopping")
