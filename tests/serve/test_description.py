"""The description of the API holds: checked by hand, and by a fuzzer that reads it."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks

from tests.experts.ensemble.making import make_tokenizer
from tests.models.families import save_tiny, tiny
from tests.records import make_run
from tests.serve.serving import Server
from tongues.experts.ensemble import ROUTINGS, parse_routing
from tongues.experts.ensemble.model import open_model
from tongues.runs import write_run
from tongues.serve.openapi import describe_model

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


def test_a_single_model_has_the_languages_of_its_run_or_card(tmp_path: Path) -> None:
    run = tmp_path / "runs/one"
    save_tiny(tiny("llama", 300), run / "model", make_tokenizer(tmp_path / "tokenizer"))
    write_run(run, make_run(run="one", shares={"de": 0.5, "tr": 0.5}))
    shutil.copytree(run / "model", tmp_path / "card")
    (tmp_path / "card/README.md").write_text("---\nlanguage: [sw]\n---\n")
    for name, languages in (("one", ["de", "tr"]), (str(tmp_path / "card"), ["sw"])):
        about = describe_model(open_model(name, tmp_path), 0)["tongues"]
        assert about["languages"] == languages == about["experts"][0]["languages"]
