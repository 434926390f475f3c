"""Tasks of lm-eval scored as units: its own scores, paired item by item."""

import importlib
import importlib.util
import json
import math
import re
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import tongues
from tests.golden import inputs
from tongues.core.errors import UserError
from tongues.core.pages import page_as_html
from tongues.core.significance import paired_accuracy
from tongues.evaluate.harness import (
    HARNESS,
    harness_tasks,
    item_keys,
    item_values,
    name_and_language,
    score_harness,
)
from tongues.evaluate.outcome import build_evaluation
from tongues.evaluate.runner import EvalSpec, Unit, evaluate
from tongues.experts.ensemble.model import open_model
from tongues.languages.catalogue import catalogue_tag, languages
from tongues.report.evaluation.view import card_section, evaluation_page

REASON = "lm-eval is not installed: pip install 'tongues[eval]'"
harness: Any = pytest.importorskip("lm_eval", reason=REASON)
metrics: Any = importlib.import_module("lm_eval.api.metrics")
sacrebleu: Any = pytest.importorskip("sacrebleu", reason=REASON)

WORDS = ("the ban of", "a mal is", "an art and", "so on we go", "to the end", "all that is")
KINDS: dict[str, dict[str, Any]] = inputs("lm-eval-tasks")
MODELS = ("models/e0", "models/e1")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A YAML file of lm-eval for each kind of task, on twenty-four rows of six passages."""
    folder = tmp_path_factory.mktemp("harness")
    rows = [
        {"said": WORDS[n % 6], "one": WORDS[(n + 1) % 6], "two": f"{WORDS[(n + 2) % 6]} art"}
        | {"label": int(n % 3 == 0), "passage": f"passage {n // 2}"}
        for n in range(24)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {"data_files": {"test": str(folder / "rows.jsonl")}, "cache_dir": str(folder / "cache")}
    same = {"dataset_path": "json", "dataset_kwargs": data, "test_split": "test"}
    for name, kind in KINDS.items():
        (folder / f"{name}.yaml").write_text(json.dumps({"task": name, **same, **kind}))
    return {name: str(folder / f"{name}.yaml") for name in KINDS}


def test_scores_are_lm_evals_own(
    house: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lm_eval.evaluator.add_env_info", lambda storage: None)
    monkeypatch.chdir(house)
    model = open_model("models/e0", house)
    adapter = importlib.import_module("tongues.evaluate.lm_eval").LmEvalModel(model)
    manager = importlib.import_module("lm_eval.tasks").TaskManager(include_defaults=False)
    for name, file in files.items():
        own = harness.simple_evaluate(
            model=adapter, tasks=[file], task_manager=manager, bootstrap_iters=0
        )["results"][name]
        ((task,),) = (by.values() for by in harness_tasks(f"{HARNESS}{file}").values())
        scores = score_harness(model, task)
        assert len(scores.metrics) == 2
        for metric in scores.metrics:
            assert np.mean([x for x in metric.values if x is not None]) == pytest.approx(
                own[f"{metric.name},none"], rel=1e-9
            )
        better = {metric.name: metric.higher_is_better for metric in scores.metrics}
        assert better[scores.metrics[-1].name] is (name == "toy_sw")
        assert (len(scores.ids), len(set(scores.groups))) == (24, 12)
        assert (scores.keys[1] == "1") is (name == "toy_sw")  # others with a mark of the target


def test_they_are_units_that_are_paired_and_on_the_page(
    house: Path, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(house)
    tasks = {
        name: by
        for file in files.values()
        for name, by in harness_tasks(f"{HARNESS}{file}").items()
    }
    assert [(name, list(by)) for name, by in tasks.items()] == [
        ("lm-eval:toy", ["sw"]),
        ("lm-eval:roll", ["und"]),
        ("lm-eval:write", ["und"]),
    ]
    spec = EvalSpec(harness=tasks)
    results = evaluate(MODELS, spec, house, tmp_path)
    evaluation = build_evaluation(results)
    assert len(evaluation.tasks) == 6
    accuracy = evaluation.tasks["lm-eval:toy acc"]
    of = accuracy.accuracies["models/e0"]["sw"]
    assert accuracy.num_fewshot == 0  # lm-eval's own; we add none
    assert of.chance is not None and of.chance.level == 0.5
    assert (of.majority, of.items, of.groups) == (pytest.approx(2 / 3), 24, 12)
    roll = evaluation.tasks["lm-eval:roll word_perplexity"]
    assert (roll.lower_is_better, roll.share, roll.chance) == (True, False, None)
    (compared,) = roll.compared
    own, other = (
        results.harness[Unit(model, "lm-eval:roll", "und", 0)].metrics for model in MODELS[::-1]
    )
    number = [metric.name for metric in own].index("word_perplexity")
    values = [np.array([of[number].values]) for of in (own, other)]
    assert compared.overall.p == paired_accuracy(values[0], values[1]).p is not None
    assert compared.overall.among == 1
    best = accuracy.best["models/e0"].alone + accuracy.best["models/e1"].alone
    assert best in (0, 1)
    card = card_section(evaluation, "models/e1")
    assert "### lm-eval:roll word_perplexity" in card and "lower is better" in card
    assert "Accuracy" not in card and "50.0 ± " in card and "66.7" in card
    page = page_as_html(evaluation_page(evaluation, "all"))
    assert "lm-eval:write chrf" in page
    runner = importlib.import_module("tongues.evaluate.runner")
    monkeypatch.setattr(runner, "score_harness", None)  # all is kept
    assert build_evaluation(evaluate(MODELS, spec, house, tmp_path)) == evaluation


def test_a_mean_is_of_the_items_themselves() -> None:
    assert item_values([1.0, 0.0, True], metrics.mean) == ((1.0, 0.0, 1.0), ())


def test_values_of_a_corpus_metric_have_its_score_and_its_bootstrap_error() -> None:
    random = np.random.default_rng(0)
    words = ["ban", "mal", "artful", "ending", "here", "that", "going", "on"]
    refs = [" ".join(random.choice(words, random.integers(3, 12))) for _ in range(60)]
    noisy = [
        [" ".join(w for w in ref.split() if random.random() > lost) or "x" for ref in refs]
        for lost in (0.3, 0.36)
    ]
    values, blocks = list[np.ndarray](), tuple[int, ...]()
    for texts in noisy:
        own, blocks = item_values(list(zip(refs, texts, strict=True)), metrics.chrf)
        assert np.mean(own) == pytest.approx(sacrebleu.corpus_chrf(texts, [refs]).score)
        assert len(set(blocks)) == 50
        values.append(np.array([own]))
    groups = [str(block) for block in blocks]
    difference = paired_accuracy(values[0], values[1], groups)
    resampled = []
    for _ in range(60):
        rows = random.integers(0, 60, 60)
        resampled.append(
            np.subtract(
                *(
                    sacrebleu.corpus_chrf([t[n] for n in rows], [[refs[n] for n in rows]]).score
                    for t in noisy
                )
            )
        )
    assert difference.low is not None and difference.high is not None
    half = 1.96 * np.std(resampled)
    assert difference.high - difference.low == pytest.approx(2 * half, rel=0.35)


def test_of_a_perplexity_the_jackknife_has_the_error_of_the_delta_method() -> None:
    random = np.random.default_rng(1)
    sizes = random.integers(5, 60, 400)
    nats = sizes * random.normal(-2.0, 0.2, 400)
    pairs = list(zip(nats.tolist(), sizes.tolist(), strict=True))
    values, blocks = item_values(pairs, metrics.weighted_perplexity)
    rate = nats.sum() / sizes.sum()
    assert np.mean(values) == pytest.approx(np.exp(-rate))
    error = np.exp(-rate) * np.sqrt(((nats - rate * sizes) ** 2).sum()) / sizes.sum()
    groups = [str(block) for block in blocks]
    estimate = paired_accuracy(np.array([values]), np.zeros((1, 400)), groups)
    assert estimate.low is not None and estimate.high is not None
    assert (estimate.high - estimate.low) / 2 / 2.01 == pytest.approx(error, rel=0.25)


def test_items_have_the_keys_that_their_translations_have() -> None:
    def keys(*docs: Mapping[str, Any], rows: bool = False) -> tuple[str, ...]:
        samples = [{"doc_id": n, "doc": doc, "target": 8} for n, doc in enumerate(docs)]
        return item_keys(samples, rows=rows)

    assert keys({"link": "a", "question_number": 1}, {"link": "a", "question_number": 2}) == (
        "a 1",
        "a 2",
    )
    assert keys({"idx": 0}, {"idx": 1}) == ("0", "1")
    assert keys({"id": 5}, {"id": 5}, rows=True) == keys({}, {}, rows=True) == ("0", "1")
    (one, _), (same, _) = keys({}, {}), keys({}, {"id": 3})
    assert one == same and one.startswith("0 ")


def test_results_are_of_what_was_read(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "tasks").mkdir()
    rows = (Path(files["toy_sw"]).parent / "rows.jsonl").read_text().splitlines()
    data, module = tmp_path / "data/rows.jsonl", tmp_path / "tasks/own.py"
    task = json.loads(Path(files["toy_sw"]).read_text())
    task["dataset_kwargs"] = {"data_files": {"test": str(data)}, "cache_dir": str(tmp_path / "x")}
    written = json.dumps(task)[:-1] + ', "process_results": !function own.results}'
    (tmp_path / "tasks/toy_sw.yaml").write_text(written)

    def found(code: str = "", count: int = 20, limit: int | None = None) -> str:
        module.write_text(f"def results(doc, results):\n    return {{}}['acc']{code}\n")
        data.write_text("\n".join(rows[:count]))
        words = f"{HARNESS}{tmp_path / 'tasks/toy_sw.yaml'}"
        return harness_tasks(words, limit=limit)["lm-eval:toy"]["sw"].fingerprint()

    first = found()
    (tmp_path / "tasks/eval.log").write_text("grows")
    assert found() == first
    assert found(count=21) != first
    assert found(code="  # of another kind") != first
    assert found(limit=5) == found(limit=5, count=21) != first


def test_a_fault_of_a_tasks_own_code_is_a_user_error(
    house: Path, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(house)
    (tmp_path / "own.py").write_text("def results(doc, results):\n    return {}['acc']\n")
    written = Path(files["toy_sw"]).read_text()[:-1] + ', "process_results": !function own.results}'
    (tmp_path / "toy_sw.yaml").write_text(written)
    task = harness_tasks(f"{HARNESS}{tmp_path / 'toy_sw.yaml'}")["lm-eval:toy"]["sw"]
    with pytest.raises(UserError, match="lm-eval ended: KeyError: 'acc'") as caught:
        score_harness(open_model("models/e0", house), task)
    assert caught.value.where == "lm-eval:toy_sw"


def test_a_metric_without_a_number_is_left_out(
    house: Path, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(house)
    task = json.loads(Path(files["roll"]).read_text()) | {"task": "long_th"}
    letters = "".join(chr(ord("a") + 7 * n % 26) for n in range(900))
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps({'said': letters, 'one': letters})}\n" * 3)
    data = {"data_files": {"test": str(tmp_path / "rows.jsonl")}, "cache_dir": str(tmp_path)}
    task |= {"dataset_kwargs": data, "doc_to_target": "{{said}}"}
    (tmp_path / "long_th.yaml").write_text(json.dumps(task))
    spec = EvalSpec(harness=harness_tasks(f"{HARNESS}{tmp_path / 'long_th.yaml'}"))
    evaluation = build_evaluation(evaluate(MODELS[:1], spec, house, tmp_path))
    assert [*evaluation.tasks] == ["lm-eval:long bits_per_byte"]
    (line,) = evaluation.left_out
    assert line == "`lm-eval:long` word_perplexity in `th`: no item with a value of every model"
    broken = shutil.copytree(house / "models/e0", tmp_path / "broken")
    weights = load_file(broken / "model.safetensors")
    nan = {name: torch.full_like(of, math.nan) for name, of in weights.items()}
    save_file(nan, broken / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match="produces NaN"):  # and is no metric without a number
        evaluate([str(broken)], spec, house, tmp_path)


def test_two_codes_of_a_language_are_two_tasks(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = importlib.import_module("tongues.evaluate.harness")
    (task,) = own._load(files["toy_sw"]).values()
    both = {"sib_aka_prompt_1": task, "sib_twi_prompt_1": task}
    monkeypatch.setattr(own, "_load", lambda source: both)
    tasks = harness_tasks(f"{HARNESS}sib:ak")
    assert {name: [*by] for name, by in tasks.items()} == {
        "lm-eval:sib_prompt_1": ["ak"],
        "lm-eval:sib_twi_prompt_1": ["ak"],
    }


def test_what_cannot_be_loaded_is_a_user_error(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where `datasets` looks for files that nobody named
    with pytest.raises(UserError, match="has none of these languages"):
        harness_tasks(f"{HARNESS}{files['toy_sw']}:tr")
    assert list(harness_tasks(f"{HARNESS}{files['toy_sw']}:swh")) == ["lm-eval:toy"]
    (tmp_path / "wrong.yaml").write_text(json.dumps({"task": "wrong", "dataset_path": "json"}))
    with pytest.raises(UserError, match="lm-eval cannot load this task"):
        harness_tasks(f"{HARNESS}{tmp_path / 'wrong.yaml'}")


def test_a_hub_that_does_not_answer_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def refuse(*_: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    for place in ("huggingface_hub.constants", "datasets.config"):
        monkeypatch.setattr(f"{place}.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", waits.append)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    away = {"task": "away", "dataset_path": "some/items", "doc_to_text": "", "doc_to_target": ""}
    (tmp_path / "away.yaml").write_text(json.dumps(away))
    with pytest.raises(UserError, match="the hub does not answer") as caught:
        harness_tasks(f"{HARNESS}{tmp_path / 'away.yaml'}")
    assert not waits and "--data FOLDER" in caught.value.hint
    assert not importlib.import_module("huggingface_hub.constants").HF_HUB_OFFLINE


def test_a_line_says_that_lm_eval_is_read_before_it_takes_seconds(
    house: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert importlib.import_module("lm_eval.tasks").TaskManager.all_tasks  # takes seconds to know
    own = importlib.import_module("tongues.evaluate.harness")
    monkeypatch.setattr(own, "_manager", lambda defaults: SimpleNamespace(all_tasks=["xcopa"]))
    with pytest.raises(UserError, match="lm-eval has no task `xcopaa`"):
        tongues.evaluate(str(house / MODELS[0]), house, tasks="lm-eval:xcopaa")
    assert "lm-eval reads `xcopaa`\n" in capsys.readouterr().err


def test_every_benchmark_of_the_catalogue_is_found_by_its_tags() -> None:
    package = importlib.util.find_spec("lm_eval")
    if package is None or package.origin is None:
        pytest.skip("lm-eval is not installed: pip install 'tongues[eval]'")
    folder = Path(package.origin).parent / "tasks"
    for benchmark, pattern in inputs("lm-eval-places").items():
        texts = [path.read_text("utf-8") for path in folder.glob(pattern)]
        names = [name for text in texts for name in re.findall(r"^\"?task\"?: (\w+)$", text, re.M)]
        there = {name_and_language(name)[1] for name in names}
        wanted = {of.tag for of in languages() if benchmark in of.tasks}
        assert wanted - there <= {"ff"}, benchmark  # lm-eval has Nigerian Fulfulde, `fuv`


@pytest.mark.parametrize(
    ("task", "name", "language"),
    inputs("lm-eval-names"),
)
def test_a_name_is_parted(task: str, name: str, language: str) -> None:
    assert name_and_language(task) == (name, language)


def test_languages_are_found_by_any_of_their_codes() -> None:
    said = ["swh", "Swahili", "no", "zh-Hans", "zho_Hant", "nonsense"]
    assert [catalogue_tag(of) for of in said] == ["sw", "sw", "nb", "zh", "zh-Hant", "nonsense"]
