import numpy as np
import pytest

from tests.experts.ensemble.making import make_router, texts
from tongues.errors import UserError
from tongues.experts.ensemble import ROUTINGS, Routing, parse_routing
from tongues.experts.ensemble.router import Router
from tongues.experts.ensemble.routing import RoutingContext, sparse


def weighed(routing: Routing, text: np.ndarray, router: Router | None) -> np.ndarray:
    return routing.weights(text, about(router))


def about(router: Router | None = None) -> RoutingContext:
    return RoutingContext(np.full(3, 1 / 3), router, 1)


def test_routings_are_read_and_said() -> None:
    assert parse_routing("tfidf") == ROUTINGS.find("tfidf")
    assert parse_routing("tfidf:2").m == 2
    assert parse_routing("tfidf:2") != parse_routing("tfidf")
    assert parse_routing("uniform") != parse_routing("text")
    for said in ("filter:1", "tfidf:2", "language", "text", "posterior", "uniform"):
        assert str(parse_routing(said)) == said


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("tfdif", "there is no routing"),
        ("tfidf:0", "not a valid number of experts"),
        ("tfidf:", "not a valid number of experts"),
        ("posterior:2", "takes no number"),
    ],
)
def test_other_routings_are_refused(said: str, match: str) -> None:
    with pytest.raises(UserError, match=match):
        parse_routing(said)


def test_the_largest_weights_are_kept() -> None:
    weights = np.array([[0.5, 0.2, 0.3], [0.25, 0.5, 0.25]])
    np.testing.assert_allclose(sparse(weights, 1), [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(sparse(weights, 2), [[0.625, 0, 0.375], [1 / 3, 2 / 3, 0]])
    np.testing.assert_array_equal(sparse(weights, 3), weights)
    np.testing.assert_allclose(sparse(weights[0], 2), [0.625, 0, 0.375])


def test_weights_of_a_document_add_up_to_one_and_say_what_they_mean() -> None:
    router, text = make_router(3), texts(1, 200)[0]
    for said in ("filter", "filter:1", "language", "text", "tfidf", "tfidf:2", "uniform"):
        found = weighed(parse_routing(said), text, router)
        assert found.shape == (len(text), 3)
        np.testing.assert_allclose(found.sum(axis=1), 1)
    assert weighed(parse_routing("language"), text, None)[:, 1].all()
    nearest = int(router.weights(router.sum(text[:128])).argmax())
    found = weighed(parse_routing("text"), text, router)
    assert found[128:, nearest].all()
    begun = weighed(parse_routing("tfidf:1"), text, router)
    np.testing.assert_array_equal(found[:128], begun[:128])  # no token is routed by itself


def test_the_temperature_is_the_routers() -> None:
    router, text = make_router(3, temperature=0.2), texts(1, 60)[0]
    found = weighed(parse_routing("tfidf"), text, router)
    np.testing.assert_array_equal(found, router.document_weights(text))
    with pytest.raises(UserError, match="needs a router"):
        weighed(parse_routing("tfidf"), text, None)


def test_the_posterior_is_bayes_rule() -> None:
    chance = np.random.default_rng(0)
    log_probs, prior = np.log(chance.uniform(0.01, 1, (30, 3))), np.array([0.5, 0.3, 0.2])
    found = parse_routing("posterior").weights(np.zeros(30), RoutingContext(prior), log_probs)
    belief = prior
    for weights, row in zip(found, log_probs, strict=True):
        np.testing.assert_allclose(weights, belief)
        belief = belief * np.exp(row) / (belief * np.exp(row)).sum()
    guided = parse_routing("posterior").guide(np.empty(0), RoutingContext(prior))
    for place in range(30):
        np.testing.assert_allclose(guided.weights(), found[place])
        guided.push(0, log_probs[place])


@pytest.mark.parametrize("said", ["filter", "tfidf:2", "posterior", "uniform"])
def test_weights_that_are_computed_again_are_those_of_the_quicker_guide(said: str) -> None:
    routing, text = parse_routing(said), texts(1, 30)[0]
    chance = np.random.default_rng(0)
    given = about(make_router(3))
    start = 0 if routing.learns else 10
    plain, quick = Routing.guide(routing, text[:10], given), routing.guide(text[:10], given)
    for token in text[start:].tolist():
        np.testing.assert_allclose(plain.weights(), quick.weights())
        row = np.log(chance.uniform(0.01, 1, 3)) if routing.learns else None
        plain.push(token, row)
        quick.push(token, row)


def test_menus_and_comparisons_offer_what_makes_a_difference() -> None:
    variants = ROUTINGS.find("tfidf").variants
    assert [str(one) for one in variants(2)] == ["tfidf:1", "tfidf"]
    assert [str(one) for one in variants(6)] == ["tfidf:1", "tfidf:2", "tfidf:4", "tfidf"]
    assert all(routing.title and routing.summary for routing in ROUTINGS)
