"""Models asked one after the other: what is done is kept, and what follows is put together."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import tongues
from tests.evaluate.conftest import WORDS, write_asked
from tests.records import make_run
from tests.report.evaluation.scored import PLAIN, SCRATCH, SOURCE, outcome
from tests.text.corpora import write_rows
from tongues.core.errors import UserError
from tongues.evaluate.documents import read_texts
from tongues.evaluate.evaluation import read_evaluation
from tongues.evaluate.kept import free_name, replaced
from tongues.evaluate.losses import Policy
from tongues.evaluate.outcome import build_evaluation
from tongues.evaluate.runner import EvalSpec, Unit, evaluate
from tongues.evaluate.tasks import ItemFault, read_fewshot_tasks
from tongues.experts.ensemble.places import with_bases
from tongues.runs.record import Base, write_run
from tongues.verbs.shared import evaluation_folder

MODELS = ("models/e0", "small/small@tfidf:2")


@pytest.fixture
def place(house: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(house)
    return house


@pytest.fixture
def asked(tmp_path: Path, house: Path) -> EvalSpec:
    texts = [f"the {one} of a {other} is an art" for one in WORDS for other in WORDS[:3]]
    rows = [{"text": text, "id": str(n), "group": str(n)} for n, text in enumerate(texts)]
    items = [
        {"said": f"the {one} of", "one": "a mal", "other": other, "label": 0}
        for one in WORDS
        for other in ("the end", "an art")
    ]
    write_asked(tmp_path, rows, items, "qaa", "qab")
    found = read_texts(str(tmp_path / "texts"), house)
    data = str(tmp_path / "items")
    tasks = read_fewshot_tasks("parts", None, data, num_fewshot=1, fewshot_seeds=3)
    return EvalSpec({"lines": found}, {"parts": tasks}, Policy())


def test_all_is_asked_once_and_put_together(asked: EvalSpec, place: Path, tmp_path: Path) -> None:
    done = evaluate(MODELS, asked, place, tmp_path)
    assert [one.name for one in done.models] == list(MODELS)
    assert done.models[1].routing == "tfidf:2"
    assert (len(done.texts), len(done.answers)) == (2 * 2, 2 * 2 * 3)
    made = build_evaluation(done)
    assert set(made.texts["lines"].losses) == set(MODELS)
    assert made.tasks["parts"].num_fewshot == 1
    assert made.tasks["parts"].accuracies[MODELS[0]]["qaa"].fewshot_seeds == 3
    made.write(tmp_path)
    kept = read_evaluation(tmp_path)
    assert json.loads((tmp_path / "scores.json").read_text()) == kept.to_json() == made.to_json()
    assert kept.texts["lines"].losses == made.texts["lines"].losses


def test_scores_of_another_version_are_refused(tmp_path: Path) -> None:
    for damaged in ("{", '{"models": []}', '{"texts": {"a": {"losses": 1}}}'):
        (tmp_path / "scores.json").write_text(damaged)
        with pytest.raises(UserError, match="cannot be read as an evaluation"):
            read_evaluation(tmp_path)


def test_what_was_done_is_not_done_again(asked: EvalSpec, place: Path, tmp_path: Path) -> None:
    evaluate(MODELS[:1], asked, place, tmp_path)
    first = Unit(MODELS[0], "lines", "qaa")
    first.path(tmp_path).unlink()
    stands = {path: path.stat().st_mtime_ns for path in (tmp_path / "units").rglob("*.json")}
    found = evaluate(MODELS[:1], asked, place, tmp_path)
    assert first.path(tmp_path).is_file()
    assert {path: path.stat().st_mtime_ns for path in stands} == stands
    shorter = EvalSpec(asked.texts, policy=Policy(window=3))
    again = evaluate(MODELS[:1], shorter, place, tmp_path)
    assert again.texts[first].nats.tolist() != found.texts[first].nats.tolist()


def test_a_model_is_named_once_and_its_seed_comes_along(house: Path) -> None:
    with pytest.raises(UserError, match="`small/small` is named twice"):
        with_bases(["small/small", "small/small"], house)
    assert with_bases(["small/small"], house) == ["small/small"]


def test_a_seed_is_one_model_however_it_is_named(house: Path, tmp_path: Path) -> None:
    for run, parent in (("seed", None), ("child", "seed")):
        shutil.copytree(house / "models/e0", tmp_path / f"runs/{run}/model")
        base = Base(parent, ("qaa",), "p") if parent else None
        write_run(tmp_path / f"runs/{run}", make_run(run=run, fingerprint=run, base=base))
    path = str(tmp_path / "runs/seed")
    assert with_bases(["child"], tmp_path) == ["child", "seed"]
    assert with_bases(["child", path], tmp_path) == ["child", path]
    with pytest.raises(UserError, match=f"`{path}` is named twice, as `seed` too"):
        with_bases(["seed", path], tmp_path)
    done = evaluate(["child", path], EvalSpec(), tmp_path, tmp_path)
    assert [one.base for one in done.models] == [path, None]


def test_languages_without_items_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    row = {"said": "a", "one": "b", "other": "c", "label": 1}
    write_rows(tmp_path / "parts/qab.jsonl", [row])
    assert list(read_fewshot_tasks("parts", None, str(tmp_path))) == ["qab"]
    with pytest.raises(UserError, match="in `qaa`"):
        read_fewshot_tasks("parts", ["qaa"], str(tmp_path))


def test_a_text_and_a_task_may_have_one_name(asked: EvalSpec, place: Path, tmp_path: Path) -> None:
    fault = ItemFault("de.jsonl", "at 0", "not JSON", "nope")
    both = EvalSpec({"parts": asked.texts["lines"]}, asked.tasks, faults=[fault])
    made = build_evaluation(evaluate(MODELS[:1], both, place, tmp_path))
    assert set(made.texts) == set(made.tasks) == {"parts"}
    assert made.left_out == ["1 left out: not JSON (first de.jsonl, at 0: nope)"]


def test_a_model_that_diverged_is_told(asked: EvalSpec, place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(place / "models/e0", folder)
    weights = load_file(folder / "model.safetensors")
    weights = {name: torch.full_like(of, math.nan) for name, of in weights.items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    for half in (EvalSpec(asked.texts), EvalSpec(tasks=asked.tasks)):
        with pytest.raises(UserError, match="produces NaN"):
            evaluate([str(folder)], half, place, tmp_path)
    assert not list((tmp_path / "units").rglob("*.json"))
    models = [str(folder), *MODELS]
    made = build_evaluation(evaluate(models, EvalSpec(asked.texts), place, tmp_path), models)
    assert [one.name for one in made.models] == list(made.texts["lines"].losses) == list(MODELS)
    (compared,) = made.texts["lines"].compared
    assert (compared.model, compared.other) == (MODELS[1], MODELS[0])
    (line,) = made.left_out
    assert line.startswith(f"1 left out: produces NaN (first {folder}, in `lines`")


def test_a_language_that_does_not_fit_is_left_out_and_the_rest_goes_on(
    asked: EvalSpec, place: Path, tmp_path: Path
) -> None:
    long = {"said": "the ban " * 90, "one": "a mal", "other": "an art", "label": 0}
    (tmp_path / "items/parts/qab.jsonl").write_text(json.dumps(long))
    tasks = {"parts": read_fewshot_tasks("parts", ["qaa", "qab"], str(tmp_path / "items"))}
    made = build_evaluation(evaluate(MODELS[:1], EvalSpec({}, tasks), place, tmp_path / "both"))
    assert list(made.tasks["parts"].accuracies[MODELS[0]]) == ["qaa"]
    why = "no item suits every model (too long for the model)"
    assert f"`parts` in `qab`: {why}" in made.left_out
    tasks = {"parts": read_fewshot_tasks("parts", ["qab"], str(tmp_path / "items"))}
    with pytest.raises(UserError, match="no item can be scored by every model") as caught:
        build_evaluation(evaluate(MODELS[:1], EvalSpec({}, tasks), place, tmp_path / "none"))
    assert f"`parts` in `qab`: {why}" in caught.value.hint
    made = build_evaluation(
        evaluate(MODELS[:1], EvalSpec(asked.texts, tasks), place, tmp_path / "again")
    )
    assert set(made.texts) == {"lines"} and not made.tasks and not made.examples
    assert f"`parts` in `qab`: {why}" in made.left_out


def test_models_without_an_item_in_common_are_not_compared(
    asked: EvalSpec, place: Path, tmp_path: Path
) -> None:
    done = evaluate(MODELS, EvalSpec(tasks=asked.tasks), place, tmp_path)
    kept = dict(done.answers)
    for unit, answers in done.answers.items():
        if unit.language == "qab":
            half = slice(0, 9) if unit.model == MODELS[0] else slice(9, None)
            kept[unit] = replace(answers, scores=answers.scores[half])
    made = build_evaluation(replace(done, answers=kept))
    assert list(made.tasks["parts"].accuracies[MODELS[0]]) == ["qaa"]
    assert made.left_out[0].startswith("`parts` in `qab`: no item suits every model")


TEXTS = [(name, lang) for name in ("study", "xnli") for lang in ("qaa", "qab")]


def test_what_a_new_evaluation_would_replace(tmp_path: Path) -> None:
    models = [SOURCE, SCRATCH]
    assert free_name(tmp_path, models, TEXTS) == "evaluation"
    outcome(models, languages=("qaa", "qab")).write(tmp_path / "evaluations/evaluation")
    assert free_name(tmp_path, models, TEXTS) == "evaluation"  # the same again
    assert free_name(tmp_path, [*models, PLAIN], [*TEXTS, ("more", "qaa")]) == "evaluation"
    assert free_name(tmp_path, [SOURCE, PLAIN], TEXTS) == "evaluation-2"
    assert replaced("evaluation", tmp_path, [SOURCE, PLAIN], TEXTS) == [SCRATCH]
    assert replaced("evaluation", tmp_path, models, TEXTS[:3]) == ["xnli in qab"]
    outcome((SOURCE,), languages=("qab",)).write(tmp_path / "evaluations/evaluation-2")
    assert free_name(tmp_path, [PLAIN], TEXTS) == "evaluation-3"
    (tmp_path / "evaluations/evaluation/scores.json").write_text("{")
    assert free_name(tmp_path, [PLAIN], TEXTS) == "evaluation"  # nothing that can be read is lost


def test_an_unnamed_evaluation_leaves_the_one_before_and_a_named_one_says_so(
    house: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "qaa.jsonl"
    text.write_text("".join(json.dumps({"text": f"the ban of the {n}"}) + "\n" for n in range(8)))
    one, other = (str(house / "models" / name) for name in ("e0", "e1"))
    first = tongues.evaluate(one, tmp_path, text=text, page=False)
    assert first.name == "evaluation" and capsys.readouterr().err.count("evaluation`") == 0
    second = tongues.evaluate(other, tmp_path, text=text, page=False)
    assert second.name == "evaluation-2"
    said = "the result is `evaluation-2`: `evaluation` has scores of other models or texts"
    assert said in capsys.readouterr().err
    assert tongues.evaluate(other, tmp_path, text=text, page=False).name == "evaluation-2"
    for name, model in (("evaluation", one), ("evaluation-2", other)):
        kept = read_evaluation(tmp_path / "evaluations" / name)
        assert [of.name for of in kept.models] == [model] and kept.name == name
    capsys.readouterr()
    tongues.evaluate(one, tmp_path, text=text, page=False, name="evaluation-2")
    said = f"`evaluation-2` is replaced, with its scores of `{other}`"
    assert said in capsys.readouterr().err
    assert evaluation_folder(tmp_path, "evaluation-2").name == "evaluation-2"
    with pytest.raises(UserError, match="is an evaluation") as caught:
        tongues.report(tmp_path / "evaluations/evaluation-2")
    assert f"{tmp_path}/reports/evaluation-2/index.html" in caught.value.hint
