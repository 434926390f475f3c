"""Items of lm-eval's tasks in several languages, which may be translations of each other."""

from dataclasses import replace

import numpy as np
import pytest

from tests.evaluate.test_comparing import item_score
from tongues.core.estimate import Estimate
from tongues.evaluate.answers import metric_scores, task_scores
from tongues.evaluate.evaluation import TaskScores
from tongues.evaluate.harness import HarnessScores, Metric
from tongues.evaluate.tasks import ItemScore

LANGUAGES = [f"q{letter}a" for letter in "abcdefgh"]
LABELS = tuple(np.random.default_rng(7).integers(0, 2, 100).tolist())


def items(
    language: str, right: np.ndarray, *, labels: tuple[int, ...] = LABELS, name: str = "acc"
) -> HarnessScores:
    count = len(right)
    return HarnessScores(
        ids=tuple(f"xcopa_{language} {n}" for n in range(count)),
        groups=tuple(map(str, range(count))),
        choices=(2 if name == "acc" else 0,) * count,
        labels=labels[:count],
        metrics=(Metric(name, True, True, tuple(right.astype(float).tolist()), ()),),
        shots=0,
        example="",
        keys=tuple(map(str, range(count))),
    )


def drawn(random: np.random.Generator, difficulty: np.ndarray) -> np.ndarray:
    return random.normal(size=len(difficulty)) > difficulty


def compared(random: np.random.Generator, count: int = 100) -> TaskScores:
    """Two models that are equally good, each at items of its own, in all languages."""
    results = {}
    for model in ("one", "other"):
        difficulty = 1.5 * random.normal(size=count)
        results[model] = {lang: items(lang, drawn(random, difficulty)) for lang in LANGUAGES}
    return metric_scores(results, [("one", "other")])["acc"]


def test_equal_models_are_rarely_different_over_translated_languages() -> None:
    random = np.random.default_rng(0)
    found = [compared(random) for _ in range(60)]
    wrong = [bool(of.compared[0].overall.significant) for of in found]
    assert np.mean(wrong) < 0.12  # 0.05 is wanted; items counted once a language give 0.4
    assert all(of.translated for of in found)


def test_rows_are_translations_where_their_right_choices_agree() -> None:
    random = np.random.default_rng(0)
    right, others = drawn(random, np.zeros(100)), tuple(random.integers(0, 2, 100).tolist())
    mended = (1 - LABELS[0], *LABELS[1:])

    def translated(
        labels: tuple[int, ...], own: tuple[int, ...] = LABELS, name: str = "acc"
    ) -> bool:
        by = {"sw": items("sw", right, labels=own, name=name)}
        by |= {"tr": items("tr", right, labels=labels, name=name)}
        return metric_scores({"model": by}, [])[name].translated

    assert translated(LABELS) and translated(mended)
    assert not translated(others)
    assert not translated((0,) * 100, (0,) * 100)  # the right one is first in all pairs
    assert translated((-1,) * 100, (-1,) * 100, "exact_match")  # keys with the answers


@pytest.mark.parametrize("shared", [True, False])
def test_an_item_is_one_of_its_translations(shared: bool) -> None:
    random = np.random.default_rng(0)
    labels = LABELS if shared else tuple(random.integers(0, 2, 100).tolist())
    right = drawn(random, np.zeros(100))
    by = {"sw": items("sw", right), "tr": items("tr", right, labels=labels)}
    scores = metric_scores({"model": by}, [])["acc"]
    mean, alone = scores.mean["model"], scores.accuracies["model"]["sw"].share
    assert mean.value == alone.value
    assert _width(mean) / _width(alone) == pytest.approx(1.0 if shared else 0.7, abs=0.05)


def test_languages_without_a_value_of_every_model_are_named() -> None:
    right = np.array([1.0, 0.0, 1.0, 1.0])

    def model(*counted: int) -> dict[str, HarnessScores]:
        thai = items("th", right)
        values = tuple(float(right[n]) if n in counted else None for n in range(4))
        further = Metric("f1", True, True, (0.5,) * 4, ())
        thai = replace(thai, metrics=(further, replace(thai.metrics[0], values=values)))
        return {"sw": items("sw", right), "th": thai}

    gaps: list[tuple[str, str]] = []
    scores = metric_scores({"one": model(0, 1), "other": model()}, [], gaps.append)
    assert gaps == [("acc", "th")]
    assert [*scores["acc"].accuracies["one"]] == ["sw"]
    assert [*scores["f1"].accuracies["one"]] == ["th"]  # metrics are found by their names
    metric_scores({"one": model(0, 1), "other": model(2)}, [], gaps.append)
    assert gaps[1:] == [("acc", "th")]


def answered(right: np.ndarray, labels: np.ndarray, group: int = 1) -> list[ItemScore]:
    """Items named by their rows, with two choices, as a task without ids has them."""
    pairs = zip(right, labels, strict=True)
    return [
        item_score(str(n), told, int(label), str(n // group))
        for n, (told, label) in enumerate(pairs)
    ]


@pytest.mark.parametrize("shared", [True, False])
def test_rows_of_unrelated_items_are_no_translations(shared: bool) -> None:
    random, labels = np.random.default_rng(0), np.array(LABELS)
    right = drawn(random, np.zeros(100))
    by = {"sw": [answered(right, labels)]}
    theirs = labels if shared else random.integers(0, 2, 100)
    by["tr"] = [answered(right, theirs)]
    scores = task_scores({"one": by, "two": by}, [("one", "two")], "sum", 0)
    mean, alone = scores.mean["one"], scores.accuracies["one"]["sw"].share
    assert scores.translated is shared
    assert scores.accuracies["one"]["sw"].items == 100
    assert _width(mean) / _width(alone) == pytest.approx(1.0 if shared else 0.7, abs=0.05)


def test_translations_have_the_groups_of_every_language() -> None:
    random, labels = np.random.default_rng(0), np.array(LABELS)
    right = np.repeat(drawn(random, np.zeros(20)), 5)
    alone, grouped = answered(right, labels), answered(right, labels, 5)
    widths = [
        _width(task_scores({"one": {"sw": [one], "tr": [two]}}, [], "sum", 0).mean["one"])
        for one, two in ((grouped, grouped), (alone, grouped), (grouped, alone))
    ]
    assert widths[0] == widths[1] == widths[2]


def _width(estimate: Estimate) -> float:
    assert estimate.low is not None and estimate.high is not None
    return estimate.high - estimate.low
