import numpy as np
import pytest

from tests.experts.ensemble.making import make_router, texts
from tongues.errors import UserError
from tongues.experts.ensemble import ROUTINGS, Routing, parse_routing
from tongues.experts.ensemble.router import Router
from tongues.experts.ensemble.routing import RoutingContext, check_experts, sparse


def weighed(routing: Routing, text: np.ndarray, router: Router | None) -> np.ndarray:
    return routing.weights(text, about(router))


def about(router: Router | None = None) -> RoutingContext:
    return RoutingContext(3, router, 1)


def test_routings_are_read_and_said() -> None:
    assert parse_routing("tfidf") == ROUTINGS.find("tfidf")
    assert parse_routing("tfidf:2").m == 2
    assert parse_routing("tfidf:2") != parse_routing("tfidf")
    for said in ("filter:1", "tfidf:2", "language"):
        assert str(parse_routing(said)) == said


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("tfdif", "there is no routing"),
        ("tfidf:0", "not a valid number of experts"),
        ("tfidf:", "not a valid number of experts"),
        ("language:2", "takes no number"),
        ("text", "the routing `text` is gone: use `filter:1`"),
        ("posterior:2", "the routing `posterior` is gone: use `filter` or `tfidf`"),
    ],
)
def test_other_routings_are_refused(said: str, match: str) -> None:
    with pytest.raises(UserError, match=match):
        parse_routing(said)


@pytest.mark.parametrize(
    ("said", "k", "hint"),
    [
        ("tfidf:3", 2, "`tfidf:2`, or `tfidf` for all"),
        ("tfidf:3", 1, "leave it out"),
        ("tfidf", 1, "leave it out"),
    ],
)
def test_more_experts_than_there_are_are_refused(said: str, k: int, hint: str) -> None:
    check_experts(parse_routing(said), 3)
    with pytest.raises(UserError) as refused:
        check_experts(parse_routing(said), k)
    assert refused.value.hint == hint


def test_the_largest_weights_are_kept() -> None:
    weights = np.array([[0.5, 0.2, 0.3], [0.25, 0.5, 0.25]])
    np.testing.assert_allclose(sparse(weights, 1), [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(sparse(weights, 2), [[0.625, 0, 0.375], [1 / 3, 2 / 3, 0]])
    np.testing.assert_array_equal(sparse(weights, 3), weights)
    np.testing.assert_allclose(sparse(weights[0], 2), [0.625, 0, 0.375])


def test_weights_of_a_document_add_up_to_one_and_say_what_they_mean() -> None:
    router, text = make_router(3), texts(1, 200)[0]
    for said in ("filter", "filter:1", "language", "tfidf", "tfidf:2"):
        found = weighed(parse_routing(said), text, router)
        assert found.shape == (len(text), 3)
        np.testing.assert_allclose(found.sum(axis=1), 1)
    assert weighed(parse_routing("language"), text, None)[:, 1].all()


def test_the_temperature_is_the_routers() -> None:
    router, text = make_router(3, temperature=0.2), texts(1, 60)[0]
    found = weighed(parse_routing("tfidf"), text, router)
    np.testing.assert_array_equal(found, router.document_weights(text))
    with pytest.raises(UserError, match="needs a router"):
        weighed(parse_routing("tfidf"), text, None)


@pytest.mark.parametrize("said", ["filter", "tfidf:2"])
def test_weights_that_are_computed_again_are_those_of_the_quicker_guide(said: str) -> None:
    routing, text = parse_routing(said), texts(1, 30)[0]
    given = about(make_router(3))
    plain, quick = Routing.guide(routing, text[:10], given), routing.guide(text[:10], given)
    for token in text[10:].tolist():
        np.testing.assert_allclose(plain.weights(), quick.weights())
        plain.push(token)
        quick.push(token)


def test_menus_and_comparisons_offer_what_makes_a_difference() -> None:
    variants = ROUTINGS.find("tfidf").variants
    assert [str(one) for one in variants(2)] == ["tfidf:1", "tfidf"]
    assert [str(one) for one in variants(6)] == ["tfidf:1", "tfidf:2", "tfidf:4", "tfidf"]
    assert all(routing.title and routing.summary for routing in ROUTINGS)
