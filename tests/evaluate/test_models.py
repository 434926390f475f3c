import shutil
from pathlib import Path

import pytest

from tests.evaluate.hub import hub_model
from tests.models.families import save_tiny, tiny
from tests.printed import DOCS
from tests.records import make_run
from tongues.core.errors import UserError
from tongues.core.roles import Roles
from tongues.experts.ensemble.lineage import Expert, Lineage, write_lineage
from tongues.experts.ensemble.model import Model, open_model
from tongues.experts.ensemble.places import lineage_of, model_roles
from tongues.runs.record import Base, write_run
from tongues.train.base import find_base


def first_of(subject: Model) -> str | None:
    return subject.tokenizer.id_to_token(subject.first)


def test_before_a_text_stands_what_the_model_knows_there(house: Path, tmp_path: Path) -> None:
    trained_here = open_model(str(house / "models/e1"), house)
    assert first_of(trained_here) == "<|end|>"
    assert first_of(open_model("small/small", house)) == "<|end|>"
    said: dict[str, object] = {"add_bos_token": True, "bos_token": "<s>"}
    cases = [(None, True, "<s>"), (said, False, "<s>"), (None, False, "</s>")]
    assert trained_here.prompted
    assert open_model(str(house / "hub"), house).prompted  # by its tokenizer one of ours
    for number, (settings, template, expected) in enumerate(cases):
        folder = hub_model(tmp_path / str(number), house, settings, template)
        subject = open_model(str(folder), house)
        assert first_of(subject) == expected
        assert subject.prompted == (expected == "<s>")
        assert subject.kind == "folder"
        assert subject.base is None
        assert subject.tokenizer.decode(subject.encode("the ban of").tolist()) == "the ban of"


def test_a_run_begins_every_text_as_it_was_trained(house: Path, tmp_path: Path) -> None:
    run = tmp_path / "runs/study/one"
    hub_model(run / "model", house, {"add_bos_token": True, "bos_token": "<s>"}, template=True)
    write_run(run, make_run(run="study/one", base=Base("hub-model", ("qaa",), "p")))
    by_name = open_model("study/one", tmp_path)
    assert (by_name.kind, by_name.base, first_of(by_name)) == ("run", "hub-model", "<s>")
    for path in (run, run / "model"):
        assert open_model(str(path), tmp_path).fingerprint == by_name.fingerprint


def test_an_ensemble_is_named_with_its_routing(house: Path) -> None:
    assert str(open_model("small/small", house).routing) == "filter:2"
    subject = open_model("small/small@tfidf:2", house)
    assert (str(subject.routing), subject.kind, subject.base) == ("tfidf:2", "ensemble", "seed")
    assert subject.fingerprint != open_model("small/small@tfidf", house).fingerprint
    with pytest.raises(UserError, match="this is one model"):
        open_model(f"{house / 'models/e1'}@tfidf", house)


def test_what_a_recipe_here_is_to_train_is_not_looked_for_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    shutil.copy(DOCS / "examples/own-more.yaml", "later.yaml")
    shutil.copy(DOCS / "examples/own.yaml", "one.yaml")
    for name in ("own-more/added-s1", "own-more/added-s1@filter:1"):
        with pytest.raises(UserError, match=r"there is no ens.*\n.*`tongues experts train later"):
            open_model(name, Path())
    with pytest.raises(UserError, match=r"there is no ensemble.*\n.*`tongues train one.yaml`"):
        open_model("own-seed", Path())
    with pytest.raises(UserError, match=r"neither a run.*\n.*`tongues train .*one.yaml --work"):
        find_base("own-seed", tmp_path)
    with pytest.raises(UserError, match="hf download other/added-s1"):
        open_model("other/added-s1", Path())


def test_other_bytes_are_another_fingerprint(house: Path, tmp_path: Path) -> None:
    one = open_model(str(house / "models/e1"), house)
    shutil.copytree(house / "models/e1", tmp_path / "copy")
    assert open_model(str(tmp_path / "copy"), house).fingerprint == one.fingerprint
    assert open_model(str(house / "models/e2"), house).fingerprint != one.fingerprint
    save_tiny(tiny("llama", 300), tmp_path / "copy", house / "models/e1/tokenizer.json")
    assert open_model(str(tmp_path / "copy"), house).fingerprint != one.fingerprint


def test_a_model_is_known_by_the_runs_it_came_of(house: Path, tmp_path: Path) -> None:
    said = {"b": "a", "a": "elsewhere"}
    for run, parent in said.items():
        hub_model(tmp_path / f"runs/{run}/model", house, None, template=False)
        base = Base(parent, ("qaa",), "p")
        write_run(tmp_path / f"runs/{run}", make_run(run=run, base=base, shares={"qaa": 1.0}))
    assert lineage_of("b", tmp_path).names == ("b", "a")
    assert lineage_of(str(tmp_path / "runs/a"), tmp_path).names == ("a",)
    assert lineage_of(str(tmp_path / "runs/a/model"), house).names == ("a",)
    assert lineage_of(str(house / "hub"), house).names == ()
    ensemble = open_model("small/small", house).ensemble
    assert lineage_of("small/small@tfidf:2", house).names == ensemble.lineage.names


def test_the_roles_of_an_ensemble_are_those_of_its_experts_runs(tmp_path: Path) -> None:
    runs = {"first": ("qaa", "base", 3000), "added": ("qab", "first", 1000)}
    for run, (lang, parent, _) in runs.items():
        known = ("qaa",) if run == "added" else ("qac",)
        about = {"base": Base(parent, known, "p"), "targets": (lang,), "replay": {known[0]: 0.2}}
        write_run(tmp_path / f"runs/{run}", make_run(run=run, **about))
    experts = tuple(
        Expert(f"e-{run}", "", {}, {lang: 1.0}, parent if run == "first" else "e-first", run, count)
        for run, (lang, parent, count) in runs.items()
    )
    folder = tmp_path / "ensembles/small/one"
    write_lineage(Lineage(experts, {}, "base", "", None, {}), folder)
    learned = ("qaa", "qab")
    assert model_roles("ensemble", folder, tmp_path) == Roles(learned, ("qac",), {"qac": 0.2})
    away = model_roles("ensemble", folder, tmp_path / "elsewhere")  # where the runs are not
    assert away == Roles(learned)
    assert model_roles("run", tmp_path / "runs/added", tmp_path) == Roles(
        ("qab",), ("qaa",), {"qaa": 0.2}
    )
    assert model_roles("folder", tmp_path, tmp_path) is None
