"""What losses and answers of several models come to."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.report.evaluation.scored import MIXED, PLAIN, SCRATCH, SOURCE, changed, outcome
from tongues.core.roles import Role, Roles
from tongues.evaluate.answers import task_scores
from tongues.evaluate.choice import Choice, chosen_models, differing_roles
from tongues.evaluate.comparing import text_scores
from tongues.evaluate.losses import DocumentLosses
from tongues.evaluate.tasks import ItemScore


def losses(nats: np.ndarray, *, tokens: int = 10, missing: float = 0.0) -> DocumentLosses:
    count = len(nats)
    return DocumentLosses(
        ids=tuple(map(str, range(count))),
        nats=nats,
        tokens=np.full(count, tokens),
        bytes=np.full(count, 40),
        segments=tuple(f"verse {n}" for n in range(count)),
        missing=np.full(count, missing),
    )


@pytest.fixture
def found() -> dict[str, dict[str, DocumentLosses]]:
    chance = np.random.default_rng(0)
    base = {lang: chance.uniform(20, 40, 50) for lang in ("fr", "zh")}
    noise = {lang: chance.normal(0, 0.5, 50) for lang in base}
    return {
        "first": {lang: losses(nats) for lang, nats in base.items()},
        "better": {lang: losses(nats - 2 + noise[lang]) for lang, nats in base.items()},
        "alike": {lang: losses(nats + noise[lang]) for lang, nats in base.items()},
    }


def test_sums_are_over_sums(found: dict[str, dict[str, DocumentLosses]]) -> None:
    scores = text_scores(found, [], {})
    loss = scores.losses["first"]["fr"]
    total = found["first"]["fr"].nats.sum()
    assert loss.nats_per_token == pytest.approx(total / 500)
    assert loss.perplexity == pytest.approx(math.exp(total / 500))
    assert loss.bits_per_byte.value == pytest.approx(total / math.log(2) / 2000)
    assert scores.segments == 50
    assert scores.bits_per_segment["first"]["fr"] == pytest.approx(total / math.log(2) / 50)


def test_models_are_paired_on_their_documents(found: dict[str, dict[str, DocumentLosses]]) -> None:
    better, alike = text_scores(found, [("better", "first"), ("alike", "first")], {}).compared
    for difference in (*better.languages.values(), better.overall):
        assert difference.significant == -1
        assert difference.value == pytest.approx(-2 / math.log(2) / 40, rel=0.1)
    assert alike.overall.significant == 0
    assert {difference.among for difference in better.languages.values()} == {4}  # 2 × 2 models
    assert better.overall.among == 2


def test_forgetting_is_told_against_what_a_model_began_with(
    found: dict[str, dict[str, DocumentLosses]],
) -> None:
    (forgot,) = text_scores(found, [], {"first": "better"}).forgotten
    assert (forgot.model, forgot.other) == ("first", "better")
    assert forgot.overall.significant == 1


def test_a_perplexity_that_no_number_holds_is_none() -> None:
    scores = text_scores({"broken": {"fr": losses(np.full(20, 8000.0))}}, [], {})
    loss = scores.losses["broken"]["fr"]
    assert (loss.nats_per_token, loss.perplexity) == (800.0, None)
    assert loss.bits_per_byte.value == pytest.approx(200 / math.log(2))


def test_equal_models_lead_together_also_where_luck_tells_one_pair() -> None:
    random = np.random.default_rng(4)
    base = random.uniform(20, 40, 60)
    found = {f"m{n}": {"fr": losses(base + random.normal(0, 1, 60))} for n in range(5)}
    found["worse"] = {"fr": losses(base + 3)}
    assert text_scores(found, [], {}).leaders["fr"] == [f"m{n}" for n in range(5)]


def test_a_script_missing_from_a_tokenizer_is_a_caution() -> None:
    nats = np.linspace(20, 30, 20)
    scores = text_scores({"blind": {"zh": losses(nats, missing=0.3)}}, [], {})
    (caution,) = scores.cautions
    assert "`blind`" in caution
    assert "loses 30.0% of its letters" in caution


def test_translations_are_no_new_documents(found: dict[str, dict[str, DocumentLosses]]) -> None:
    one, other = found["alike"]["fr"], found["first"]["fr"]
    alone = text_scores({"a": {"fr": one}, "b": {"fr": other}}, [("a", "b")], {})
    twice = text_scores(
        {"a": {"fr": one, "zh": one}, "b": {"fr": other, "zh": other}}, [("a", "b")], {}
    )
    (single,), (double,) = alone.compared, twice.compared
    assert double.overall.value == pytest.approx(single.overall.value)
    assert double.overall.low == pytest.approx(single.overall.low)
    assert double.overall.p == pytest.approx(single.overall.p)


def test_bits_per_segment_need_documents_that_are_translations(
    found: dict[str, dict[str, DocumentLosses]],
) -> None:
    one = found["alike"]["fr"]
    apart = replace(one, segments=(one.segments[0], *(f"z{x}" for x in one.segments[1:])))
    of = text_scores({"a": {"fr": one, "zh": one}}, [], {})
    assert of.segments > 1 and of.bits_per_segment
    of = text_scores({"a": {"fr": one, "zh": apart}}, [], {})  # one text in both, such as a notice
    assert (of.segments, of.bits_per_segment) == (0, {})


def item_score(name: str, right: bool, label: int = 0, group: str = "") -> ItemScore:
    """An answer to an item of two choices."""
    sums = (-1.0, -2.0) if right == (label == 0) else (-2.0, -1.0)
    return ItemScore(name, label, sums, (1, 1), (1, 1), group)


def answers(right: np.ndarray, ids: list[str] | None = None) -> list[list[ItemScore]]:
    """Answers [draws, items] of two choices each, right where said so."""
    names = ids or [f"item {number}" for number in range(right.shape[1])]
    return [
        [item_score(name, bool(told)) for name, told in zip(names, row, strict=True)]
        for row in right
    ]


def test_items_of_one_group_count_as_one() -> None:
    right = np.repeat(drawn(0.7, items=100), 4, axis=1)
    grouped = [
        [replace(score, group=str(n // 4)) for n, score in enumerate(row)] for row in answers(right)
    ]
    scores = task_scores({"a": {"fr": grouped}}, [], "sum", 0)
    once = task_scores({"a": {"fr": answers(right[:, ::4])}}, [], "sum", 0)
    of, single = scores.accuracies["a"]["fr"], once.accuracies["a"]["fr"]
    assert (of.items, of.groups, of.chance) == (400, 100, single.chance)
    assert (of.worth, single.worth) == (None, None)
    large = [[replace(score, group="0") for score in row[:200]] + row[200:] for row in grouped]
    (few,) = task_scores({"a": {"fr": large}}, [], "sum", 0).accuracies["a"].values()
    assert (few.groups, few.worth) == (51, pytest.approx(400**2 / (200**2 + 50 * 4**2)))
    assert of.share.low == pytest.approx(single.share.low)
    assert scores.mean["a"].low == pytest.approx(single.share.low)
    both = {"a": {"fr": grouped, "sw": grouped}, "b": {"fr": answers(~right), "sw": grouped}}
    (compared,) = task_scores(both, [("b", "a")], "sum", 0).compared
    halves = np.repeat(right[:, ::4] ^ True, 1, axis=1)
    alone = {"a": {"fr": answers(right[:, ::4])}, "b": {"fr": answers(halves)}}
    (plain,) = task_scores(alone, [("b", "a")], "sum", 0).compared
    assert compared.languages["sw"].p == 1.0
    assert plain.languages["fr"].value == pytest.approx(compared.languages["fr"].value)


def test_the_majority_answer_stands_next_to_chance() -> None:
    found = answers(drawn(0.7, items=100))
    mixed = [
        [replace(score, label=int(score.id.split()[1]) % 5 == 0) for score in row] for row in found
    ]
    of = task_scores({"a": {"fr": mixed}}, [], "sum", 0).accuracies["a"]["fr"]
    assert (of.majority, of.guessing) == (0.8, 0.8)
    always = task_scores({"a": {"fr": found}}, [], "sum", 0).accuracies["a"]["fr"]
    assert (always.majority, always.guessing) == (None, 0.5)


def drawn(share: float, draws: int = 1, items: int = 400, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((draws, items)) < share


def test_accuracies_stand_beside_chance() -> None:
    right = drawn(0.8)
    scores = task_scores({"model": {"fr": answers(right)}}, [], "sum", 0)
    of = scores.accuracies["model"]["fr"]
    assert of.share.value == pytest.approx(right.mean())
    assert of.share.low is not None
    assert of.chance is not None
    assert of.share.low > of.chance.level == 0.5
    assert of.chance.error == pytest.approx(0.025)
    assert (of.items, of.fewshot_seeds) == (400, 1)


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
    assert (of.items, of.fewshot_seeds) == (45, 3)
    assert of.share.value == pytest.approx(right[:, 5:].mean())


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


def test_it_is_said_what_there_are_too_few_of() -> None:
    right = drawn(0.6, items=7)
    found = {"fr": answers(right), "zh": answers(right[:, :5])}
    mean = task_scores({"model": found}, [], "sum", 0).mean["model"]
    assert mean.reason == (
        "10 items that are not translations of each other are needed, there are 7"
    )
    apart = {lang: answers(right, [f"{lang}{n}" for n in range(7)]) for lang in ("fr", "zh")}
    mean = task_scores({"model": apart}, [], "sum", 0).mean["model"]
    assert mean.reason == "10 items of each language are needed, there are 7 of one"


def test_items_are_paired_by_their_ids() -> None:
    ids, one, other = [str(n) for n in range(400)], drawn(0.8), drawn(0.6, seed=1)
    turned = answers(other[:, ::-1], ids[::-1])
    plain, same = (
        task_scores({"a": {"fr": answers(one, ids)}, "b": {"fr": of}}, [("a", "b")], "sum", 0)
        for of in (answers(other, ids), turned)
    )
    assert plain.compared == same.compared


def test_a_model_is_chosen_where_every_text_and_task_takes_it() -> None:
    assert chosen_models(outcome((PLAIN, SCRATCH), languages=("qab",))) == [PLAIN]
    assert chosen_models(outcome((SCRATCH, PLAIN), languages=("qab",))) == [PLAIN]
    level = outcome((PLAIN, MIXED), languages=("qab",))
    for kind, name in (("texts", "study"), ("tasks", "xnli")):
        level = changed(level, [PLAIN, MIXED], kind, name, "leaders", "qab")
    assert chosen_models(level) == []  # none is better
    assert chosen_models(outcome((SOURCE, PLAIN))) == []  # each is better in one language
    assert chosen_models(outcome((PLAIN,))) == [PLAIN]
    undecided = outcome((PLAIN, SCRATCH), languages=("qab",), documents=4)
    assert not Choice.of(undecided, undecided.texts["study"]).decided
    assert chosen_models(undecided) == []


def test_a_base_language_that_is_not_tested_leaves_the_choice_decided() -> None:
    roles: dict[str, tuple[Role, ...]] = {"qaa": ("base",), "qab": ("target",)}
    assert Choice(roles, ["qaa", "qab"], ["qaa"], []).decided
    assert not Choice(roles, ["qaa", "qab"], ["qab"], []).decided
    assert not Choice({"qaa": (), "qab": ()}, ["qaa", "qab"], ["qaa"], []).decided
    each = outcome((SCRATCH, MIXED), languages=("qaa", "qab"))
    each = replace(
        changed(each, "too few", "texts", "study", "compared", 0, "languages", "qaa", "reason"),
        tasks={},
    )
    choice = Choice.of(each, each.texts["study"])
    assert choice.untested == ["qaa"] and choice.models == [MIXED]


def test_nothing_is_chosen_where_the_leaders_cannot_be_tested() -> None:
    four = outcome((PLAIN, SCRATCH, MIXED, SOURCE), languages=("qab",), documents=7)
    scores = four.texts["study"]
    assert not any(of.languages["qab"].reason for of in scores.compared)  # three comparisons
    assert "qab" not in scores.leaders  # six pairs
    choice = Choice.of(four, scores)
    assert choice.untested == ["qab"] and not choice.decided and not choice.models


def test_a_language_that_an_ensemble_learned_is_its_target() -> None:
    evaluation = outcome((SOURCE, PLAIN))
    plain, added = Roles(("qab",), ("qaa",)), Roles(("qab", "qac"), ("qaa",))
    ensembles = [
        replace(model, kind="ensemble", trained=None, experts_roles=roles)
        for model, roles in zip(evaluation.models, (plain, added), strict=True)
    ]
    both = replace(evaluation, models=ensembles)
    expected: dict[str, tuple[Role, ...]]
    expected = {"qaa": ("base",), "qab": ("target",), "qac": ("target",)}
    assert differing_roles(both, ["qaa", "qab", "qac"]) == expected  # nothing to one, a target here
    alone = changed(both, None, "models", 1, "experts_roles")
    assert differing_roles(alone, ["qaa", "qab", "qac"]) == expected | {"qac": ("other",)}
