"""The description of the API holds: checked by hand, and by a fuzzer that reads it."""

import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks

from tests.serve.serving import Server
from tongues.experts.ensemble import ROUTINGS, parse_routing

# A prompt that is too long for a model is valid by any schema.
LEFT_OUT = [checks.positive_data_acceptance]
PATIENT = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.mark.parametrize(
    ("path", "method", "examples"),
    [
        ("/v1/completions", "POST", 25),
        ("/v1/chat/completions", "POST", 25),
        *((path, "GET", 3) for path in ("/v1/models", "/v1/models/{model}", "/metrics", "/ready")),
    ],
)
def test_no_request_breaks_the_server(
    server: Server, path: str, method: str, examples: int
) -> None:
    said = server.http.get("/openapi.json").json()
    operation = schemathesis.openapi.from_dict(said)[path][method]
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    strategy = st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])

    @settings(max_examples=examples, suppress_health_check=PATIENT)
    @given(case=strategy)
    def ask(case: Any) -> None:
        case.call_and_validate(base_url=server.url, excluded_checks=LEFT_OUT)

    ask()


def test_the_description_says_what_this_server_allows(server: Server, hub: str) -> None:
    said = server.http.get("/openapi.json").json()
    fields = said["components"]["schemas"]["CompletionBody"]["properties"]
    assert fields["model"]["enum"] == sorted(["small/small", hub])
    assert fields["n"]["anyOf"][0]["maximum"] == 8
    assert [kind.get("maxItems") for kind in fields["prompt"]["anyOf"]].count(16) == 2
    pattern = fields["routing"]["anyOf"][0]["pattern"]
    for routing in (*ROUTINGS.names(), "tfidf:12"):
        assert parse_routing(routing) and re.search(pattern, routing)
    assert not re.search(pattern, "text:2")
