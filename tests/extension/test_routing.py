import json
import time
from pathlib import Path

import httpx
import pytest

from tests.command import run_code, run_command, start_command
from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with an ensemble `small/small` of two experts, and a text."""
    place = tmp_path_factory.mktemp("routed")
    tokenizer = make_tokenizer(place / "tokens")
    folders = [make_expert(place / f"models/e{n}", tokenizer, seed=n) for n in range(2)]
    make_ensemble(place, folders, tokenizer)
    rows = [{"id": str(n), "text": "the ban of a mal is an art", "lang": "qaa"} for n in range(4)]
    (place / "qaa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


def tongues(house: Path, environment: dict[str, str], *words: str) -> str:
    done = run_command(words, house, environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_generates_and_is_evaluated(house: Path, environment: dict[str, str]) -> None:
    words = ("generate", "small/small", "the", "--routing", "turns", "--max-tokens", "6", "--json")
    (text,) = json.loads(tongues(house, environment, *words))["texts"]
    first = text["weights"][0].index(1.0)
    heaviest = [weights.index(1.0) for weights in text["weights"]]
    assert heaviest == [(first + place) % 2 for place in range(len(heaviest))]
    models = ("small/small@turns", "models/e0", "models/e1")
    tongues(house, environment, "evaluate", *models, "--text", "qaa.jsonl")
    (scores,) = house.rglob("scores.json")
    assert "small/small@turns" in scores.read_text()


def test_it_is_served_with_its_words(house: Path, environment: dict[str, str]) -> None:
    started = start_command(["serve", "small/small@turns", "--port", "0"], house, environment)
    try:
        printed = Path(started.folder.name, "out")
        while not (printed.exists() and printed.read_text().endswith("\n")):
            assert started.process.is_alive()
            time.sleep(0.02)
        with httpx.Client(base_url=printed.read_text().strip(), timeout=60) as http:
            (model,) = http.get("/v1/models").json()["data"]
            offered = {one["routing"]: one["title"] for one in model["tongues"]["routings"]}
            assert next(iter(offered.items())) == ("turns", "in turns")
            assert offered["tfidf:1"] == "nearest expert, each token"
            body = {"model": model["id"], "prompt": "the", "max_tokens": 4, "weights": True}
            answer = http.post("/v1/completions", json=body).json()
            weights = answer["choices"][0]["tongues"]["weights"]
            assert answer["tongues"]["routing"] == "turns"
            assert all(sorted(row) == [0, 1] for row in weights)
    finally:
        started.process.terminate()
        started.wait()


def test_it_is_compared_and_reported(house: Path, environment: dict[str, str]) -> None:
    code = (
        "from tongues.evaluate.experts import default_routings\n"
        "from tongues.report.experts.view import routing_table\n"
        "names = [str(routing) for routing in default_routings(2)]\n"
        "from types import SimpleNamespace as Some\n"
        "rows = [Some(kind=name.partition(':')[0]) for name in names]\n"
        "print(names, routing_table(rows).rows)"
    )
    done = run_code(code, house, environment)
    assert done.returncode == 0, done.stderr
    assert "'turns'" in done.stdout
    assert "['turns', 'one expert a token, each in its turn']" in done.stdout
