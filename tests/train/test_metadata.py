from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard

from tests.conftest import MakeRecipe
from tests.models.families import save_tiny, tiny
from tests.records import make_run
from tongues.core.estimate import Estimate
from tongues.core.roles import Roles
from tongues.models.smollm2 import CARD
from tongues.runs.record import Base, write_run
from tongues.text.tokens import open_tokens
from tongues.train import run_of_recipe
from tongues.train.card import add_sections, write_card
from tongues.train.metadata import (
    Licence,
    ScoredText,
    base_label,
    front_matter,
    hub_name,
    licence_of,
    without_paths,
)
from tongues.train.run import train
from tongues.train.work import open_work


def test_the_head_is_read_by_the_hub_as_it_was_meant() -> None:
    head = front_matter(["no", "sw", "zh-Hans"], "org/name", Licence(), ["org/text"])
    before, inside, after = head.split("---")
    assert not before and not after
    assert yaml.safe_load(inside) == {  # YAML 1.1, in which `no` unquoted is false
        "license": "unknown",
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "language": ["no", "sw", "zh-Hans"],
        "base_model": "org/name",
        "datasets": ["org/text"],
        "tags": ["tongues"],
    }
    assert "base_model" not in front_matter(["sw"], None, Licence())


HEADS = {
    "license: apache-2.0\nlanguage: [no]": Licence("apache-2.0"),
    "license: other\nlicense_name: own\nlicense_link: LICENSE": Licence("other", "own", "LICENSE"),
    "license: [": Licence(),
    "just words": Licence(),
}


@pytest.mark.parametrize("head", HEADS)
def test_the_licence_is_that_of_the_base_s_card(head: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\n# A model\nlicense: mit\n")
    assert licence_of(str(tmp_path)) == HEADS[head]
    assert licence_of(str(tmp_path / "gone")) == licence_of(None) == Licence()


def test_a_licence_may_be_in_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"license": "mit"}')
    assert licence_of(str(tmp_path)).licence == "mit"


def test_the_hub_s_own_cache_names_the_base(tmp_path: Path) -> None:
    model = tmp_path / "hub/models--Org--a-model-1B/snapshots/0123abc"
    model.mkdir(parents=True)
    (tmp_path / "link").symlink_to(model)
    for run, base in {"first": str(tmp_path / "link"), "second": "first"}.items():
        (tmp_path / "runs" / run).mkdir(parents=True)
        write_run(tmp_path / "runs" / run, make_run(run=run, base=Base(base, ("en",), "p")))
        assert hub_name(run, tmp_path) == "Org/a-model-1B"
        assert base_label(run, tmp_path) == run
    assert base_label(str(model), tmp_path) == "Org/a-model-1B"
    assert hub_name(str(tmp_path), tmp_path) is None
    assert base_label(str(tmp_path / "hub"), tmp_path) == "hub"
    assert hub_name(None, model) is None


def test_a_base_made_from_quantized_weights_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(CARD)
    run = make_run(base=Base(str(tmp_path), ("en",), "x"), strategy="cpt")
    (tmp_path / "made").mkdir()
    write_card(tmp_path / "made", run, tmp_path)
    card = (tmp_path / "made/README.md").read_text()
    assert ModelCard(card).data.to_dict()["base_model"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert "a quantized `HuggingFaceTB/SmolLM2-135M-Instruct`: 4 bits (Q4_1)" in card


def test_settings_lose_the_paths_of_this_machine_and_nothing_else() -> None:
    settings = {"base": {"model": "/home/me/bases/small"}, "rate": 1e-3, "files": ["../a/b.txt"]}
    kept = {"mixture": "org/name", "cluster": "1/2", "note": "and/or", "root": "/"}
    assert without_paths(settings | kept) == {
        "base": {"model": "small"},
        "rate": 1e-3,
        "files": ["b.txt"],
        **kept,
    }


def test_the_hub_parses_the_whole_card(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    tokens = open_tokens(workspace / "tokens" / "small")
    base = save_tiny(tiny("llama", 400), tmp_path / "deep/bases/tiny", tokens.tokenizer_path)
    (base / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    plan = run_of_recipe(open_work(make_recipe("train.budget=1k tokens")))
    roles = Roles(("qaa",), ("en",))
    plan = replace(plan, name="small", strategy="cpt", base=str(base), roles=roles, shape=None)
    folder = train(plan, workspace) / "model"
    value = Estimate(1.25, 1.2, 1.3, unit="bits/byte", n=40)
    scores = [
        ScoredText("flores", "no", "bits_per_byte", value),
        ScoredText("xnli", "sw", "accuracy", Estimate(0.5)),
    ]
    add_sections(folder, "## Laws\n", "", scores=scores)
    text = (folder / "README.md").read_text()
    assert text.endswith("\n## Laws\n") and "`apache-2.0`, as its base has it" in text
    assert str(tmp_path) not in text and "/bases" not in text
    assert "from the weights of `tiny` on" in text
    card: Any = ModelCard.load(folder / "README.md").data
    assert card.license == "apache-2.0" and card.pipeline_tag == "text-generation"
    assert card.language == ["en", "qaa"] and card.library_name == "transformers"
    first, second = card.eval_results or []
    assert (first.metric_type, first.metric_value) == ("bits_per_byte", 1.25)
    assert first.metric_args == {"confidence": 0.95, "low": 1.2, "high": 1.3}
    assert (first.dataset_type, first.dataset_config, card.model_name) == ("flores", "no", "small")
    assert (second.metric_value, second.metric_args) == (50.0, None)


def test_the_snippet_of_the_card_runs(
    trained: Path,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = trained / "model"
    text = (folder / "README.md").read_text()
    monkeypatch.chdir(folder)
    exec(text.split("```python\n")[1].split("```")[0], {})
    assert len(capsys.readouterr().out) > 1
    assert "name it in the head of this card before you publish" in text
    write_card(folder, make_run(base=Base("/gone/x", ("en",), "p")), workspace)
    assert "`x`" in (folder / "README.md").read_text()
