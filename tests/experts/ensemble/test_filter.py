"""The belief about a text's language: Bayes' rule, languages that change, and its two settings."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tongues.experts.ensemble.filter import (
    CHANGE,
    FAST,
    PACES,
    LanguageFilter,
    count_tokens,
    fit_filter,
    token_logs,
    unknown_logs,
)

V, C = 12, 3


def make_filter(power: float = 1.0, switch: float = 0.1, seed: int = 0) -> LanguageFilter:
    chance = np.random.default_rng(seed)
    logs = np.log(chance.dirichlet(np.ones(V), C).T)
    return LanguageFilter(logs, np.array([0.5, 0.3, 0.2]), power, switch)


@given(
    tokens=st.lists(st.integers(0, V - 1), max_size=3),
    power=st.sampled_from([0.3, 1.0]),
    switch=st.sampled_from([0.01, 0.4]),
)
def test_the_belief_is_the_sum_over_all_paths(
    tokens: list[int], power: float, switch: float
) -> None:
    model = make_filter(power, switch)
    # from a state, a pace and a language, to a state
    moves = [(1 - s) * np.eye(C) + s * model.prior for s in (switch, FAST)]
    paces = (1 - CHANGE) * np.eye(2) + CHANGE * PACES[:, 0]
    start = np.outer(PACES, model.prior)
    belief = np.zeros((2, C))
    states = list(product(range(2), range(C)))
    for path in product(states, repeat=len(tokens) + 1):
        weight = start[path[0]]
        for token, (pace, lang), (then, other) in zip(tokens, path[:-1], path[1:], strict=True):
            weight *= np.exp(power * model.logs[token, lang])
            weight *= moves[pace][lang, other] * paces[pace, then]
        belief[path[-1]] += weight
    np.testing.assert_allclose(model.read(np.array(tokens, int)), belief / belief.sum())
    beliefs = model.beliefs(np.array(tokens, int))
    now = model.start
    for row, token in zip(beliefs, tokens, strict=True):
        np.testing.assert_allclose(row, now.sum(0))
        now = model.follow(now, token)
    np.testing.assert_allclose(now, model.read(np.array(tokens, int)))


def test_of_a_text_that_often_switches_both_languages_are_believed() -> None:
    documents = languages(400)
    logs, _ = logs_of([[document] for document in documents])
    model = LanguageFilter(logs, np.full(C, 1 / C), 1.0, 0.003)
    turns = [documents[place % 2][4 * place : 4 * place + 4] for place in range(60)]
    assert model.read(np.concatenate(turns)).sum(1)[1] > 0.7
    assert model.read(documents[0]).sum(1)[1] < 0.05


def test_tokens_that_are_rare_everywhere_are_of_no_language() -> None:
    """Also the ones that no language has."""
    logs, common = logs_of([[np.tile(np.arange(4), 500)], [np.tile(np.arange(4, 8), 500)]])
    emission = unknown_logs(common)
    np.testing.assert_allclose(np.exp(emission).sum(), 1, rtol=1e-5)
    model = LanguageFilter(np.hstack([logs, emission]), np.array([0.4, 0.4, 0.2]), 1.0)
    for text, state in ((np.arange(4), 0), (np.arange(4, 8), 1), (np.arange(8, 12), 2)):
        assert model.read(text).sum(0).argmax() == state


def languages(count: int = 200) -> list[np.ndarray]:
    """A document of each of three languages, whose tokens overlap in part."""
    chance = np.random.default_rng(1)
    odds = np.full((C, V), 0.2 / V) + np.repeat(np.eye(C), V // C, axis=1) * 0.8 / (V // C)
    return [chance.choice(V, count, p=row / row.sum()) for row in odds]


def logs_of(samples: list[list[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """What tokens of samples are worth in each of their languages, and in all."""
    counts = count_tokens(samples, V)
    common = (counts.sum(1) + 1) / (counts.sum() + V)
    return token_logs(counts, common), common


def test_a_text_that_changes_its_language_is_followed() -> None:
    documents = languages()
    logs, _ = logs_of([[document] for document in documents])
    model = LanguageFilter(logs, np.full(C, 1 / C))
    mixed = np.concatenate([document[:50] for document in documents])
    right = np.repeat(np.arange(C), 50)
    follows = model.beliefs(mixed).argmax(1) == right
    assert follows.mean() > 0.85
    assert follows[[49, 99, 149]].all()


def test_a_token_that_no_language_has_favours_none() -> None:
    logs, common = logs_of([[np.array([0, 1])], [np.tile([0, 2], 500)]])
    assert logs[5, 0] == logs[5, 1]
    np.testing.assert_allclose(np.exp(logs[:3]).sum(0), 1, atol=2e-2)
    added = token_logs(count_tokens([[np.tile([0, 3], 50)]], V), common, logs)[:, 0]
    assert added[5] == logs[5, 0]  # none of the three has it
    assert added[2] < logs[2, 0] < logs[2, 1]  # of larger samples without it: less likely
    assert added[3] > logs[3, 1]


def test_a_small_sample_is_smoothed_more_than_a_large_one() -> None:
    common = np.full(10, 0.1)
    counts = np.zeros((10, 2))
    counts[0] = 50, 500_000
    logs = np.exp(token_logs(counts, common, np.zeros((10, 1))))
    np.testing.assert_allclose(logs.sum(0), 1, rtol=1e-6)
    # as if 300 tokens of what is common had been read, too
    np.testing.assert_allclose(logs[1], [30 / 350, 30 / 500_300], rtol=1e-5)


def test_settings_are_those_by_which_the_experts_find_the_text_likely() -> None:
    """Texts that switch ask for a filter that does; one expert is right in each language."""
    documents = languages()
    logs, _ = logs_of([[document] for document in documents])
    given = LanguageFilter(logs, np.full(C, 1 / C), 0.5, 1e-9)
    likely = [np.log(np.where(np.eye(C)[n], 0.9, 0.01)) * np.ones((200, 1)) for n in range(C)]
    fitted = fit_filter(given, np.eye(C), documents, likely)
    assert 0.001 <= fitted.switch <= 0.1
    assert fitted.power >= 1.0  # tokens are independent here
    same = fit_filter(given, np.eye(C), [], [])
    assert (same.power, same.switch) == (given.power, given.switch)
