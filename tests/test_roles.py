"""An English base continued on Turkish and Hebrew: every place names the roles as declared."""

import gzip
import re
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tongues
from tests.laws.test_targets import run_of
from tongues.core.files import read_json
from tongues.core.roles import Roles
from tongues.laws.observed import gather_runs
from tongues.laws.targets import fit_targets
from tongues.runs.record import read_run, run_rows

BOTH = {"tr": "80%", "he": "20%"}


TEXT = Path(__file__).parents[1] / "../shared/data/text/bible"
DOCUMENTS = 150


def recipe(place: Path, run: str, **train: Any) -> dict[str, Any]:
    """A small model of three languages; some documents of each are copied to `place`."""
    files = {}
    for lang in ("en", "tr", "he"):
        file = place / f"{lang}.jsonl"
        if not file.is_file():
            with gzip.open(TEXT / f"{lang}.jsonl.gz", "rt", encoding="utf-8") as source:
                file.write_text("".join(islice(source, DOCUMENTS)), encoding="utf-8")
        files[lang] = {"paths": [str(file)], "columns": {"group": "id"}}
    usual = {
        "budget": "10k tokens",
        "batch": "512 tokens",
        "context": "64 tokens",
        "learning_rate": 0.005,
    }
    return {
        "name": "roles",
        "text": {"files": files},
        "tokens": {"vocab_size": 400, "held_out": "3k tokens"},
        "model": {"shape": None if "base" in train else "0.05M"},
        "train": usual | {"run": run, "threads": 1, "num_evals": 3} | train,
    }


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base, and it continued on two languages without replay and with 20 % of English."""
    if not TEXT.is_dir():
        pytest.skip("the shared text is not here")
    place = tmp_path_factory.mktemp("roles")
    first = recipe(place, "base", mixture={"en": "100%"})
    tongues.prepare(first, workspace=place, quiet=True)
    tongues.train(first, workspace=place, quiet=True)
    for run, replay in (("two", {}), ("two-replay", {"en": "20%"})):
        continued = recipe(place, run, base="base", mixture=BOTH, replay=replay)
        tongues.train(continued, workspace=place, quiet=True)
    return place


def test_the_record_names_base_targets_and_replay(workspace: Path) -> None:
    record = read_json(workspace / "runs/two/run.json")
    assert record["base"]["languages"] == ["en"]
    assert (record["targets"], record["replay"]) == (["tr", "he"], {})
    replayed = read_json(workspace / "runs/two-replay/run.json")
    assert (replayed["base"], replayed["targets"]) == (record["base"], ["tr", "he"])
    assert replayed["replay"] == {"en": 0.2}
    differing = {
        key for key in record["settings"] if record["settings"][key] != replayed["settings"][key]
    }
    assert differing == {"replay"}
    roles = {row["lang"]: row["role"] for row in run_rows([workspace / "runs/two"])}
    assert roles == {"en": "base", "tr": "target", "he": "target"}


def test_each_target_is_seen_by_itself_and_what_the_base_knew_is_forgotten_once(
    workspace: Path,
) -> None:
    views = gather_runs(run_rows([workspace / "runs/two"]))
    assert [view.target for view in views] == ["tr (with he)", "he (with tr)"]
    assert {view.forgettable for view in views} == {("en",)}


@pytest.mark.parametrize(("run", "replay"), [("two", 0.0), ("two-replay", 0.2)])
def test_the_page_opens_with_what_happened_to_english(
    workspace: Path, tmp_path: Path, run: str, replay: float
) -> None:
    page = tongues.report(workspace / "runs" / run, tmp_path / run, quiet=True)
    numbers = read_json(page.with_name("report.json"))
    assert numbers["title"] == f"{run}: from English to Turkish and Hebrew"
    assert [one["target"] for one in numbers["outcomes"]] == ["tr (with he)", "he (with tr)"]
    for one in numbers["outcomes"]:
        assert (one["replay"], list(one["rises"])) == (replay, ["en"])
    text = re.sub(r"<[^>]+>", " ", page.read_text())
    english = text.index("English, bits per byte")
    assert english < text.index("Learned and forgotten")
    assert "n = 1" not in text.replace("\xa0", " ")


def test_the_card_and_the_evaluation_name_the_roles(workspace: Path) -> None:
    cards = {
        run: (workspace / "runs" / run / "model/README.md").read_text()
        for run in ("two", "two-replay")
    }
    for card in cards.values():
        assert "- target languages: tr and he" in card
        assert "- base languages: en" in card
    assert "- replay of base languages: none" in cards["two"]
    assert "- replay of base languages: 20% en" in cards["two-replay"]
    known = {run: read_run(workspace / "runs" / run).roles for run in cards}
    assert str(known["two"]) == "en → tr + he, no replay"
    assert str(known["two-replay"]) == "en → tr + he, 20 % replay of en"


def test_the_evaluation_names_the_roles(workspace: Path) -> None:
    evaluation = tongues.evaluate(
        ["two", "two-replay"], workspace, text=workspace / "tokens/roles", limit=2, quiet=True
    )
    roles = {model.name: model.trained.roles for model in evaluation.models if model.trained}
    assert roles["two"] == Roles(("tr", "he"), ("en",))
    assert roles["two-replay"] == Roles(("tr", "he"), ("en",), {"en": 0.2})
    assert roles["base"] == Roles(("en",))
    (page,) = workspace.glob("reports/evaluation*/index.html")
    assert "en → tr + he, no replay" in page.read_text()


def test_a_law_names_all_that_its_runs_learn() -> None:
    runs = [
        run_of(size, strategy, target="tr", also=("he",))
        for size in np.geomspace(1e5, 3e6, 6)
        for strategy in ("scratch", "cpt")
    ]
    (fitted,) = fit_targets(runs, draws=20)
    assert fitted.target == fitted.laws["cpt"].target == "tr (with he)"
