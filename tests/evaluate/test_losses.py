"""What losses of several models come to."""

import math

import numpy as np
import pytest

from tongues.evaluate.losses import text_scores
from tongues.evaluate.texts import DocumentLosses


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


def test_models_are_paired_on_their_documents(
    found: dict[str, dict[str, DocumentLosses]],
) -> None:
    better, alike = text_scores(found, [("better", "first"), ("alike", "first")], {}).compared
    for difference in (*better.languages.values(), better.overall):
        assert difference.significant == -1
        assert difference.value == pytest.approx(-2 / math.log(2) / 40, rel=0.1)
    assert alike.overall.significant == 0
    assert (better.signs.wins, better.signs.losses) == (2, 0)
    assert {difference.among for difference in better.languages.values()} == {4}  # 2 × 2 models
    assert (better.overall.among, better.signs.among) == (2, 2)
    assert better.signs.translated  # both languages have the same verses


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


def test_a_script_that_a_tokenizer_lacks_is_told() -> None:
    nats = np.linspace(20, 30, 20)
    scores = text_scores({"blind": {"zh": losses(nats, missing=0.3)}}, [], {})
    (caution,) = scores.cautions
    assert "`blind`" in caution
    assert "lacks 30.0% of its letters" in caution


def test_translations_are_no_new_documents(
    found: dict[str, dict[str, DocumentLosses]],
) -> None:
    one, other = found["alike"]["fr"], found["first"]["fr"]
    alone = text_scores({"a": {"fr": one}, "b": {"fr": other}}, [("a", "b")], {})
    twice = text_scores(
        {"a": {"fr": one, "zh": one}, "b": {"fr": other, "zh": other}}, [("a", "b")], {}
    )
    (single,), (double,) = alone.compared, twice.compared
    assert double.overall.value == pytest.approx(single.overall.value)
    assert double.overall.low == pytest.approx(single.overall.low)
    assert double.overall.p == pytest.approx(single.overall.p)
