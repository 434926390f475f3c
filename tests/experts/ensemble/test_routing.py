from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.experts.ensemble.making import CONTEXT, make_router, score, texts
from tests.golden import cases, golden
from tongues.core.errors import UserError
from tongues.experts.ensemble import ROUTINGS, Routing, parse_routing
from tongues.experts.ensemble.ensemble import Ensemble, expert_log_probs, map_model, mixed
from tongues.experts.ensemble.router import Router
from tongues.experts.ensemble.routing import RoutingContext, check_experts, sparse
from tongues.models import scorer


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


@pytest.mark.parametrize("said", cases("refused-routings"))
def test_other_routings_are_refused(said: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_routing(said)
    golden(f"refused-routings/{said}", str(caught.value))


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


def documents() -> list[np.ndarray]:
    """Shorter and longer than a window, exactly one, of one token, of none."""
    long = texts(6, 3 * CONTEXT)
    return [*long, long[0][:CONTEXT], long[1][:1], long[2][:0], *texts(3, 20)]


def plain(folder: Path, document: np.ndarray) -> Tensor:
    """Log-probabilities by the model alone, window by window."""
    model, found = map_model(folder), []
    text = torch.tensor([0, *document.tolist()])
    for start in range(0, len(document), CONTEXT):
        window = text[start : start + CONTEXT + 1]
        with torch.no_grad():
            logs = model(window[None, :-1]).logits[0].log_softmax(1)
        found.append(logs.gather(1, window[1:, None])[:, 0])
    return torch.cat(found) if found else torch.zeros(0)


def test_every_expert_is_scored_as_it_scores_itself(
    ensemble: Ensemble, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = expert_log_probs(ensemble, documents())
    monkeypatch.setattr(scorer, "_CPU", (40, 5000, 20_000))  # a few tokens at a time
    apart = expert_log_probs(ensemble, documents())
    for document, whole, parts in zip(documents(), found, apart, strict=True):
        for number, folder in enumerate(folders):
            expected = plain(folder, document)
            np.testing.assert_allclose(whole[:, number], expected, atol=1e-4)
            np.testing.assert_allclose(parts[:, number], expected, atol=1e-4)


def test_the_mixture_is_of_probabilities(ensemble: Ensemble) -> None:
    likely = expert_log_probs(ensemble, documents())
    found = score(ensemble, documents(), parse_routing("tfidf:2"))
    for scored, own in zip(found, likely, strict=True):
        expected = -np.log((scored.weights * np.exp(own)).sum(axis=1))
        np.testing.assert_allclose(scored.nats, expected, atol=1e-6)
        np.testing.assert_allclose(scored.weights.sum(axis=1), 1)


@pytest.mark.filterwarnings("error")
def test_what_no_expert_can_tell_is_no_number_without_a_warning() -> None:
    weights = np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]])
    likely = np.array([[-1.0, np.nan], [-2.0, np.nan], [-np.inf, -np.inf]])
    found = mixed(weights, likely)
    assert found[1] == -2.0  # the broken one does not count there
    assert np.isnan(found[0]) and found[2] == -np.inf
