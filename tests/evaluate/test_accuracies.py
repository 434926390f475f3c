"""What answers of several models come to."""

import numpy as np
import pytest

from tongues.evaluate.accuracies import task_scores
from tongues.evaluate.tasks import ItemScore


def answers(right: np.ndarray, ids: list[str] | None = None) -> list[list[ItemScore]]:
    """Answers [draws, items] of two choices each, right where said so."""
    return [
        [
            ItemScore(
                id=ids[item] if ids else str(item),
                label=0,
                sums=(-1.0, -2.0) if told else (-2.0, -1.0),
                tokens=(1, 1),
                characters=(1, 1),
                bytes=(1, 1),
            )
            for item, told in enumerate(row)
        ]
        for row in right
    ]


def drawn(share: float, draws: int = 1, items: int = 400, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((draws, items)) < share


def test_accuracies_stand_beside_chance() -> None:
    right = drawn(0.8)
    scores = task_scores({"model": {"fr": answers(right)}}, [], "sum", 0)
    of = scores.accuracies["model"]["fr"]
    assert of.share.value == pytest.approx(right.mean())
    assert of.share.low is not None
    assert of.share.low > of.chance.level == 0.5
    assert of.chance.error == pytest.approx(0.025)
    assert (of.items, of.draws) == (400, 1)


def test_only_items_that_both_answered_are_compared() -> None:
    right = drawn(0.9, items=100)
    other = ~right[:, :60]  # wrong where the first is right
    found = {"first": {"fr": answers(right)}, "second": {"fr": answers(other)}}
    (compared,) = task_scores(found, [("second", "first")], "sum", 0).compared
    own, theirs = other.mean(), right[:, :60].mean()
    assert compared.overall.value == pytest.approx(own - theirs)
    assert compared.languages["fr"].significant == -1


def test_an_item_counts_where_every_draw_answered_it() -> None:
    right = drawn(0.7, draws=3, items=50)
    found = answers(right)
    found[1] = found[1][5:]
    scores = task_scores({"model": {"fr": found}}, [], "sum", 8)
    of = scores.accuracies["model"]["fr"]
    assert (of.items, of.draws) == (45, 3)
    assert of.share.value == pytest.approx(right[:, 5:].mean())


def test_translations_are_no_new_items() -> None:
    right = drawn(0.7, items=200)
    copies = {lang: answers(right) for lang in ("fr", "zh", "sw", "tr")}
    apart = {
        lang: answers(right, [f"{lang}{n}" for n in range(200)])
        for lang in ("fr", "zh", "sw", "tr")
    }
    translated = task_scores({"model": copies}, [], "sum", 0).mean["model"]
    independent = task_scores({"model": apart}, [], "sum", 0).mean["model"]
    assert translated.value == independent.value
    assert translated.high is not None and translated.low is not None
    assert independent.high is not None and independent.low is not None
    assert translated.high - translated.low > 1.7 * (independent.high - independent.low)


def test_the_best_is_the_best_of_the_same_items() -> None:
    right = np.array([[True] * 50 + [False] * 50])
    easy = answers(right[:, :60])  # the hard ones it could not be asked
    scores = task_scores({"all": {"fr": answers(right)}, "few": {"fr": easy}}, [], "sum", 0)
    assert scores.best["all"].shared == scores.best["few"].shared == 1
    assert scores.accuracies["few"]["fr"].share.value == pytest.approx(5 / 6)


def test_the_mean_is_that_of_the_languages_also_where_items_lack() -> None:
    right = drawn(0.6, items=40)
    found = {"model": {"fr": answers(right), "zh": answers(right[:, :31])}}
    scores = task_scores(found, [], "sum", 0)
    each = [of.share.value for of in scores.accuracies["model"].values()]
    assert scores.mean["model"].value == pytest.approx(np.mean(np.array(each, dtype=float)))


def test_translated_items_make_counts_of_languages_tell_nothing() -> None:
    right, langs = drawn(0.7, items=60), [f"q{n}" for n in range(8)]
    better = right | drawn(0.2, items=60, seed=1)
    found = {
        "first": {lang: answers(right) for lang in langs},
        "better": {lang: answers(better) for lang in langs},
    }
    (compared,) = task_scores(found, [("better", "first")], "sum", 0).compared
    assert compared.signs.wins == 8 and compared.signs.p is None


def test_it_is_said_what_there_are_too_few_of() -> None:
    right = drawn(0.6, items=7)
    found = {"fr": answers(right), "zh": answers(right[:, :5])}
    mean = task_scores({"model": found}, [], "sum", 0).mean["model"]
    assert mean.reason == (
        "10 items that are no translations of each other are needed, there are 7"
    )
    apart = {lang: answers(right, [f"{lang}{n}" for n in range(7)]) for lang in ("fr", "zh")}
    mean = task_scores({"model": apart}, [], "sum", 0).mean["model"]
    assert mean.reason == "10 items of each language are needed, there are 7 of one"
