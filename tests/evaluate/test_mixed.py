"""Texts that switch between two languages, and the losses of experts on them."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.experts.ensemble.making import Equal, make_ensemble, make_expert, make_tokenizer
from tongues.evaluate.mixed import MixedText, mixed_nats, mixed_scores, mixed_texts
from tongues.experts.ensemble.ensemble import Ensemble, expert_log_probs, open_ensemble
from tongues.experts.ensemble.routing import parse_routing
from tongues.tokens import load_tokenizer

SENTENCE = "the {} of many languages is an art of many. "
TEXTS = {lang: [SENTENCE.format(f"{lang}{n}") * 9 for n in range(6)] for lang in ("ab", "cd", "ef")}


def test_sentences_of_two_languages_follow_each_other(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(make_tokenizer(tmp_path))
    texts = mixed_texts(TEXTS, tokenizer)
    assert len(texts) == 6  # of three languages, one is left out each time
    used: Counter[str] = Counter()
    for text in texts:
        langs = list(dict.fromkeys(text.languages))
        switches = sum(a != b for a, b in zip(text.languages[1:], text.languages, strict=False))
        assert len(langs) == 2 and switches == 3
        assert len(text.tokens) == len(text.languages) <= 4 * 60
        for lang in langs:
            own = text.tokens[np.array(text.languages) == lang]
            read = tokenizer.decode(own.tolist())
            used[min(lang + str(n) for n in range(6) if f"{lang}{n}" in read)] += 1
            assert not any(other in read for other in TEXTS if other != lang)
    assert max(used.values()) == 1  # no document twice
    again, other = mixed_texts(TEXTS, tokenizer), mixed_texts(TEXTS, tokenizer, seed=1)
    assert [t.tokens.tolist() for t in again] == [t.tokens.tolist() for t in texts]
    assert [t.tokens.tolist() for t in other] != [t.tokens.tolist() for t in texts]


def test_one_language_makes_no_mixed_text(tmp_path: Path) -> None:
    assert mixed_texts({"ab": TEXTS["ab"]}, load_tokenizer(make_tokenizer(tmp_path))) == []
    assert mixed_scores([], [], lambda name: pytest.fail(name)) is None


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Ensemble:
    """Two random experts, of `qaa` and `qab`."""
    folder = tmp_path_factory.mktemp("mixed")
    tokenizer = make_tokenizer(folder)
    experts = [make_expert(folder / f"e{n}", tokenizer, seed=n) for n in range(2)]
    return open_ensemble(make_ensemble(folder, experts, tokenizer), folder)


def test_where_the_language_is_given_each_token_is_its_experts(ensemble: Ensemble) -> None:
    chance = np.random.default_rng(0)
    texts = [
        MixedText(chance.integers(1, 300, 40), [*["qaa"] * 15, *["qab"] * 25]) for _ in range(7)
    ]
    ways = {name: parse_routing(name) for name in ("language", "filter:1")}
    ways["equal"] = Equal()
    given, followed, alike = mixed_nats(texts, ensemble, [*ways.values()])
    read = expert_log_probs(ensemble, [text.tokens for text in texts])
    np.testing.assert_allclose(given, [-(x[:15, 0].sum() + x[15:, 1].sum()) for x in read])
    np.testing.assert_allclose(alike, [-np.log(np.exp(x).mean(1)).sum() for x in read])
    assert not np.allclose(given, followed)
    short = mixed_nats(texts, ensemble, [ways["language"]], context=8)[0]
    assert not np.allclose(given, short)
    twice = mixed_scores(texts, [(["one", "other"], ways)], lambda name: ensemble)
    assert twice and (twice.texts, twice.tokens) == (7, 280)
    losses = twice.losses
    assert losses["language"].versus_given is None
    assert losses["equal"].loss.value == pytest.approx(alike.sum() / 280)
    versus = losses["equal"].versus_given
    assert versus and versus.value == pytest.approx((alike - given).sum() / 280)
    assert versus.among == 2 and versus.low is not None
