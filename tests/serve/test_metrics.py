"""What the server counts, as Prometheus reads it."""

import re

from tests.serve.serving import Server
from tongues.serve.metrics import Histogram

LINE = re.compile(r'^[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? -?[0-9.e+-]+$')


def test_every_line_is_in_prometheus_form_and_counts_go_on(server: Server) -> None:
    before = server.metrics()
    said = {"model": "small/small", "prompt": "the ban", "max_tokens": 3, "temperature": 0}
    server.complete(**said)
    list(server.complete(**said, stream=True))
    server.http.post("/v1/completions", json={})
    after = server.metrics()
    for name, more in (
        ('tongues_requests_total{route="/v1/completions",status="200"}', 2),
        ('tongues_requests_total{route="/v1/completions",status="400"}', 1),
        ('tongues_request_seconds_count{route="/v1/completions"}', 3),
        ("tongues_first_text_seconds_count", 1),
        ('tongues_tokens_written_total{model="small/small"}', 6),
        ("tongues_tokens_read_total", 4),
    ):
        assert after[name] - before.get(name, 0) == more, name
    assert after["tongues_texts_running"] == after["tongues_texts_queued"] == 0
    assert "tongues_held_bytes" in after
    lines = server.http.get("/metrics").text.splitlines()
    assert all(line.startswith("# ") or LINE.match(line) for line in lines)


def test_a_histogram_counts_what_is_at_most_each_bound() -> None:
    histogram = Histogram()
    for seconds in (0.005, 0.3, 500):
        histogram.add(seconds)
    found = dict(line.rsplit(" ", 1) for line in histogram.lines("s"))
    assert (found['s_bucket{le="0.005"}'], found['s_bucket{le="0.5"}']) == ("1", "2")
    assert found['s_bucket{le="+Inf"}'] == found["s_count"] == "3"
