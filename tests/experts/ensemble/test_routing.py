from dataclasses import replace

import numpy as np
import pytest

from tests.experts.ensemble.making import make_router, texts
from tongues.errors import UserError
from tongues.experts.ensemble import Router, Routing, parse_routing
from tongues.experts.ensemble.routing import guide, posterior_weights, sparse, weigh


def weighed(routing: Routing, text: np.ndarray, router: Router | None, seed: int = 0) -> np.ndarray:
    found = weigh(routing, text, k=3, router=router, expert=1, seed=seed)
    assert found is not None
    return found


def test_routings_are_read_and_said() -> None:
    assert parse_routing("tfidf") == Routing("tfidf")
    assert parse_routing("tfidf:2", power=4, temperature=0.3) == Routing("tfidf", 2, 4, 0.3)
    for said in ("tfidf:2", "language", "text", "posterior", "uniform", "random"):
        assert str(parse_routing(said)) == said


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("tfdif", "no routing is called"),
        ("tfidf:0", "no number of experts"),
        ("tfidf:", "no number of experts"),
        ("posterior:2", "takes no number"),
    ],
)
def test_other_routings_are_refused(said: str, match: str) -> None:
    with pytest.raises(UserError, match=match):
        parse_routing(said)
    with pytest.raises(UserError, match="above 0"):
        parse_routing("tfidf", temperature=0)


def test_the_largest_weights_are_kept() -> None:
    weights = np.array([[0.5, 0.2, 0.3], [0.25, 0.5, 0.25]])
    np.testing.assert_allclose(sparse(weights, 1), [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(sparse(weights, 2), [[0.625, 0, 0.375], [1 / 3, 2 / 3, 0]])
    np.testing.assert_array_equal(sparse(weights, 3), weights)
    np.testing.assert_allclose(sparse(weights[0], 2), [0.625, 0, 0.375])


def test_weights_of_a_document_add_up_to_one_and_say_what_they_mean() -> None:
    router, text = make_router(3), texts(1, 200)[0]
    for said in ("language", "text", "tfidf", "tfidf:2", "uniform", "random"):
        found = weighed(parse_routing(said), text, router)
        assert found.shape == (len(text), 3)
        np.testing.assert_allclose(found.sum(axis=1), 1)
    assert weighed(Routing("language"), text, None)[:, 1].all()
    state = router.start()
    for token in text[:128].tolist():
        router.push(state, token)
    nearest = int(router.weights(state).argmax())
    found = weighed(Routing("text"), text, router)
    assert found[128:, nearest].all()
    begun = weighed(parse_routing("tfidf:1"), text, router)
    np.testing.assert_array_equal(found[:128], begun[:128])  # no token is routed by itself
    drawn = [weighed(Routing("random"), text, None, seed)[0].argmax() for seed in range(40)]
    assert set(drawn) == {0, 1, 2}
    assert weigh(Routing("posterior"), text, k=3, router=None, expert=None, seed=0) is None


def test_power_and_temperature_may_be_others_than_the_routers() -> None:
    router, text = make_router(3, temperature=0.5), texts(1, 60)[0]
    found = weighed(Routing("tfidf", power=4, temperature=0.2), text, router)
    expected = replace(router, power=4, temperature=0.2).document_weights(text)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(UserError, match="fitted for the distance to the power 2"):
        weighed(Routing("tfidf", power=4), text, router)
    with pytest.raises(UserError, match="needs a router"):
        weighed(Routing("tfidf"), text, None)


def test_the_posterior_is_bayes_rule() -> None:
    chance = np.random.default_rng(0)
    log_probs, prior = np.log(chance.uniform(0.01, 1, (30, 3))), np.array([0.5, 0.3, 0.2])
    found = posterior_weights(log_probs, prior)
    belief = prior
    for weights, row in zip(found, log_probs, strict=True):
        np.testing.assert_allclose(weights, belief)
        belief = belief * np.exp(row) / (belief * np.exp(row)).sum()
    guided = guide(
        Routing("posterior"),
        np.empty(0),
        k=3,
        router=None,
        expert=None,
        prior=prior,
        seed=0,
    )
    for place in range(30):
        np.testing.assert_allclose(guided.weights(), found[place])
        guided.push(0, log_probs[place])
