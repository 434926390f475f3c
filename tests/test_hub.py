"""Models of the hub, fetched from a server on this machine that answers as the hub does."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tongues
from tests.conftest import MakeRecipe
from tests.golden import inputs
from tests.hub import COMMIT, FakeHub, serving
from tests.models.published import publish
from tongues.core import hub as client
from tongues.core.errors import UserError
from tongues.core.files import file_hash, read_json
from tongues.core.hub import commit_of, fetch, hub_model, is_hub_id, local
from tongues.experts.ensemble.model import open_model
from tongues.models import of_folder
from tongues.plan.check import check_recipe
from tongues.runs.record import read_run
from tongues.text.tokens import open_tokens, prepare_tokens
from tongues.train import run_of_recipe
from tongues.train.run import train
from tongues.train.work import open_work

NAME = "org/tiny"
WEIGHTS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]


@pytest.fixture
def served(tokens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub with one model, an empty cache, and a client that asks there."""
    folder = publish("gemma-3-4b", 400, tmp_path / "published", tokens / "tokenizer.json")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    (folder / "modeling.py").write_text("raise SystemExit('ran')")
    (folder / "original").mkdir()
    (folder / "original/model.safetensors").write_bytes(b"another copy")
    client.remote_shapes.cache_clear()
    with serving(FakeHub({NAME: folder})) as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address)
        template = f"{hub.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield hub


def test_what_may_be_an_id_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(map(is_hub_id, ("org/name", "Org-1/na.me_2@main", f"org/name@{COMMIT}")))
    assert not any(map(is_hub_id, ("name", "/org/name", "./org/name", "a/b/c", "org/", "~/x")))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org/name").mkdir(parents=True)
    assert not is_hub_id("org/name")


def test_a_model_is_fetched_without_code_pickles_and_other_copies(served: FakeHub) -> None:
    place = fetch(f"{NAME}@v1")
    assert place == local(f"{NAME}@v1")
    assert commit_of(place) == COMMIT
    names = {str(file.relative_to(place)) for file in place.rglob("*") if file.is_file()}
    small = "LICENSE README.md config.json generation_config.json tokenizer.json"
    more = ("model.safetensors.index.json", "preprocessor_config.json")
    assert names == {*small.split(), *more, *WEIGHTS}
    for name in WEIGHTS:
        assert file_hash(place / name) == file_hash(served.models[NAME] / name)


def test_a_look_fetches_no_weights_and_knows_their_shapes(served: FakeHub) -> None:
    model = hub_model(NAME)
    assert model
    assert (model.commit, model.licence, model.gated) == (COMMIT, "apache-2.0", False)
    sizes = [(served.models[NAME] / name).stat().st_size for name in WEIGHTS]
    assert model.bytes - model.fetched == sum(sizes)
    assert "licence apache-2.0" in model.sentence
    place = fetch(NAME, weights=False)
    assert not list(place.glob("*.safetensors"))
    assert not served.sent.keys() & set(WEIGHTS)
    assert of_folder(place).parameters == of_folder(served.models[NAME]).parameters
    assert fetch(NAME) == place
    assert (hub_model(NAME) or model).sentence.endswith("in the cache")


def test_what_came_is_kept_when_a_connection_breaks_or_a_fetch_fails(
    served: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)
    served.failing.add(WEIGHTS[1])
    with pytest.raises(UserError) as caught:
        fetch(NAME)
    assert caught.value.code in ("download", "offline")
    served.failing.clear()
    served.cuts[WEIGHTS[1]] = 2
    place = fetch(NAME)
    first, second = ((served.models[NAME] / name).stat().st_size for name in WEIGHTS)
    assert file_hash(place / WEIGHTS[1]) == file_hash(served.models[NAME] / WEIGHTS[1])
    assert served.sent[WEIGHTS[0]] == first  # once
    assert served.sent[WEIGHTS[1]] < 1.1 * second  # the last unfinished part of 1,024 bytes again
    assert int(served.ranges[0].strip("bytes=-")) > 0.4 * second


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        *inputs("rows")["test_a_model_that_cannot_be_had_is_refused_with_what_to_do"],
        (f"{NAME}@v9", "`org/tiny` has no revision `v9`", "commits/main"),
    ],
)
def test_a_model_that_cannot_be_had_is_refused_with_what_to_do(
    served: FakeHub, tmp_path: Path, name: str, what: str, hint: str
) -> None:
    folder = served.models[NAME]
    served.models["org/gated"] = folder
    served.gated.add("org/gated")
    for other, left_out in (("org/pickled", "*.safetensors"), ("org/bare", "tokenizer.json")):
        place = tmp_path / other.replace("/", "-")
        served.models[other] = shutil.copytree(
            folder, place, ignore=shutil.ignore_patterns(left_out)
        )
    with pytest.raises(UserError, match=what) as caught:
        hub_model(name)
    assert caught.value.where == "train.base"
    assert hint in caught.value.hint
    assert not served.sent.keys() & set(WEIGHTS)


def test_a_gated_model_is_fetched_with_the_token_that_has_access(
    served: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.gated.add(NAME)
    monkeypatch.setenv("HF_TOKEN", "hf_other")
    with pytest.raises(UserError, match="your account has no access"):
        fetch(NAME)
    monkeypatch.setenv("HF_TOKEN", "hf_allowed")
    fetch(NAME)
    model = hub_model(NAME)
    assert model
    assert "gated, and open to you" in model.sentence


def test_offline_a_cached_model_is_taken_and_another_one_says_which_files_to_bring(
    served: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = fetch(NAME)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert fetch(NAME) == place
    assert hub_model(NAME) is None
    with pytest.raises(UserError, match="not all in the hub's cache, and the hub may") as caught:
        fetch("org/other@v1")
    assert "hf download org/other --revision v1 --local-dir bases/other" in caught.value.hint
    assert "'model-*.safetensors'" in caught.value.hint
    assert caught.value.code == "offline" and "smollm2" not in caught.value.hint
    with pytest.raises(UserError) as caught:
        fetch("HuggingFaceTB/SmolLM2-135M")
    made = "`python -m tongues.models.smollm2 bases/SmolLM2-135M`"
    assert made in caught.value.hint


def test_a_model_of_the_hub_is_used_by_its_id_as_a_folder_is(
    served: FakeHub, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = served.models[NAME]
    options = {"prompts": ["ba"], "max_tokens": 8, "temperature": 0.0}
    here = tongues.generate(str(folder), workspace=workspace, **options)
    there = tongues.generate(f"{NAME}@v1", workspace=workspace, **options)
    assert there.texts[0].text == here.texts[0].text
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/qaa.txt").write_text("ba ba ba\n")
    models = [str(folder), NAME]
    scored = tongues.evaluate(
        models, workspace, text=str(tmp_path / "texts"), page=False, quiet=True
    )
    (scores,) = scored.texts.values()
    assert scores.losses[str(folder)]["qaa"] == scores.losses[NAME]["qaa"]
    with pytest.raises(UserError, match="`org/none` is not here, and the hub has no such model"):
        open_model("org/none", workspace)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert open_model(f"{NAME}@v1", workspace).kind == "folder"
    (workspace / "runs/org").mkdir(parents=True)
    with pytest.raises(UserError, match="no ensemble, run or model folder"):
        open_model("org/other", workspace)


def test_a_recipe_with_a_base_of_the_hub_is_checked_prepared_and_trained(
    served: FakeHub, make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = make_recipe(
        f"tokens.base={NAME}",
        f"train.base={{model: {NAME}@v1, languages: [qac]}}",
        "model.shape=null",
        "train.budget=2k tokens",
    )
    workspace = tmp_path / "work"
    checked = check_recipe(open_work(recipe, workspace))
    assert [model.name for model in checked.hub] == [f"{NAME}@v1"]
    assert checked.to_json()["hub"][0]["licence"] == "apache-2.0"
    assert not list(fetch(NAME, weights=False).glob("*.safetensors"))  # headers alone were read
    place = prepare_tokens(recipe, workspace, progress=lambda line: None)
    assert read_json(place / "tokens.json")["commit"] == COMMIT
    assert not list(fetch(NAME, weights=False).glob("*.safetensors"))
    directory = train(run_of_recipe(open_work(recipe)), workspace)
    base = read_run(directory).base
    assert base
    assert (base.model, base.commit) == (f"{NAME}@v1", COMMIT)
    assert set(WEIGHTS) <= {file.name for file in (directory / "model").iterdir()}
    config = json.loads((directory / "model/config.json").read_text())
    assert config["model_type"] == "gemma3"
    card = (directory / "model/README.md").read_text()
    assert f'base_model: "{NAME}"' in card
    assert "apache-2.0" in card
    assert open_tokens(place).vocabulary_size == 400
