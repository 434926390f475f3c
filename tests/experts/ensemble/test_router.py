from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from tests.experts.ensemble.making import VOCABULARY, WIDTH, make_router, make_terms, texts
from tongues.core.errors import UserError
from tongues.experts.ensemble.router import (
    Router,
    distance_weights,
    fit_router,
    fit_to_text,
    load_router,
    save_router,
)
from tongues.experts.ensemble.routing import ROUTINGS, RoutingContext


def from_scratch(router: Router, before: np.ndarray) -> np.ndarray:
    """Weights by counting the terms of the whole text before, as TF-IDF is told in books."""
    idf, projection = make_terms()
    row = np.bincount(before.astype(np.int64), minlength=VOCABULARY) * idf
    if not row.any():
        return router.prior
    row /= np.linalg.norm(row)
    embedding = row @ projection
    embedding /= np.linalg.norm(embedding)
    distances = np.linalg.norm(embedding - router.centres, axis=1) ** 2
    weights = np.exp(-distances / router.temperature)
    return np.array([weights[router.owners == e].sum() for e in range(router.k)]) / weights.sum()


@settings(max_examples=30, deadline=None)
@given(
    owners=st.sampled_from([[0], [0, 1, 2], [0, 0, 1, 2, 2], [1, 0, 1, 0], [0, 0]]),
    temperature=st.sampled_from([0.02, 0.1, 2.0]),
    tokens=st.lists(st.integers(0, VOCABULARY - 1), max_size=40),
)
def test_one_token_at_a_time_is_a_recount_at_every_position(
    owners: list[int], temperature: float, tokens: list[int]
) -> None:
    router = make_router(max(owners) + 1, temperature=temperature, owners=owners)
    text = np.array(tokens, dtype=np.int64)
    whole = router.document_weights(text)
    sums = router.sum(text[:0])
    for place, token in enumerate(tokens):
        expected = from_scratch(router, text[:place])
        np.testing.assert_allclose(router.weights(sums), expected, atol=1e-6)
        np.testing.assert_allclose(whole[place], expected, atol=1e-6)
        sums += router.vectors[token]
    np.testing.assert_allclose(router.weights(sums), from_scratch(router, text), atol=1e-6)
    np.testing.assert_allclose(sums, router.sum(text), atol=1e-4)
    assert router.weights(sums).sum() == pytest.approx(1)


def test_long_documents_are_weighed_in_blocks() -> None:
    router, text = make_router(3), texts(1, 20_000)[0]
    found = router.document_weights(text)
    for place in (0, 1, 4095, 4096, 4097, len(text) - 1):
        np.testing.assert_allclose(found[place], from_scratch(router, text[:place]), atol=1e-6)


def test_texts_side_by_side_are_as_alone() -> None:
    router, given_texts = make_router(4), [text[:20] for text in texts(5, 40)]
    sums = np.array([router.sum(text) for text in given_texts])
    for found, text in zip(router.weights(sums), given_texts, strict=True):
        np.testing.assert_allclose(found, from_scratch(router, text), atol=1e-6)


def test_far_and_near_are_told_apart_at_any_temperature() -> None:
    near = distance_weights(np.array([0.2, 0.3]), 1e-6)
    np.testing.assert_array_equal(near, [1, 0])
    even = distance_weights(np.array([0.2, 0.3]), 1e6)
    np.testing.assert_allclose(even, [0.5, 0.5], atol=1e-6)


def test_without_a_word_the_prior_counts() -> None:
    router = make_router(3)
    nothing = router.sum(np.empty(0, np.int64))
    np.testing.assert_array_equal(router.weights(nothing), router.prior)
    np.testing.assert_array_equal(router.weights(np.stack([nothing] * 2)), [router.prior] * 2)
    router.vectors[7] = 0.0
    np.testing.assert_array_equal(router.weights(router.sum(np.array([7]))), router.prior)


def test_centres_are_the_means_of_the_experts_documents() -> None:
    idf, projection = make_terms()
    samples = [texts(10, 30, seed=1), texts(7, 30, seed=2), texts(5, 30, seed=3)]
    router = fit_router(idf, projection, [samples[:1], samples[1:]], prior=[3, 1])
    for centre, sample in zip(router.centres, samples, strict=True):
        rows = [np.bincount(text, minlength=VOCABULARY) * idf for text in sample]
        embedded = [row @ projection / np.linalg.norm(row @ projection) for row in rows]
        np.testing.assert_allclose(centre, np.mean(embedded, axis=0), atol=1e-6)
    assert router.prior.tolist() == [0.75, 0.25]
    assert (router.k, router.owners.tolist()) == (2, [0, 1, 1])
    assert router.centres.shape == (3, WIDTH)


@pytest.mark.parametrize("owners", [[0, 1, 2], [0, 1, 2, 1]])
def test_the_temperature_fits_what_made_the_text(owners: list[int]) -> None:
    """Experts that tell texts apart by their centres want a low one; useless weights a high one."""
    router = make_router(3, owners=owners)
    documents = texts(30, 60)
    chance = np.random.default_rng(1)
    for truth in (0.03, 0.3, 3.0):
        told = make_router(3, temperature=truth, owners=owners)
        log_probs = []
        for text in documents:  # the expert drawn by the weights finds its token likely
            weights = told.document_weights(text)
            drawn = (weights.cumsum(axis=1) < chance.random((len(text), 1))).sum(axis=1)
            log_probs.append(np.log(np.where(np.arange(3) == drawn[:, None], 0.9, 1e-3)))
        fitted = fit_to_text(router, documents, log_probs)
        assert fitted.temperature == pytest.approx(truth, rel=0.3)


def test_a_relative_elsewhere_does_not_draw_a_language_from_its_expert() -> None:
    """Its expert's other language is far off; the mean of the two would lie behind the relative."""
    idf, projection = np.ones(4), np.eye(4)
    german, russian, bulgarian = [np.array([0])], [np.array([1, 1, 1, 2])], [np.array([1, 2, 2])]
    text = np.array([1, 1, 2, 1])
    of_means = fit_router(idf, projection, [[german + russian], [bulgarian]])
    of_languages = fit_router(idf, projection, [[german, russian], [bulgarian]])
    assert of_means.document_weights(text)[-1].argmax() == 1
    assert of_languages.document_weights(text)[-1].argmax() == 0


def test_a_router_comes_back_from_its_file(tmp_path: Path) -> None:
    router = make_router(3, temperature=0.37, owners=[0, 1, 2, 1])
    save_router(router, tmp_path / "router.safetensors")
    found = load_router(tmp_path / "router.safetensors")
    assert found.temperature == router.temperature
    text = texts(1, 50)[0]
    np.testing.assert_array_equal(found.document_weights(text), router.document_weights(text))
    np.testing.assert_array_equal(found.filter.beliefs(text), router.filter.beliefs(text))


def test_a_router_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "router.safetensors"
    with pytest.raises(UserError, match="not there"):
        load_router(file)
    file.write_bytes(b"no router")
    with pytest.raises(UserError, match="not a router"):
        load_router(file)
    save_file({"vectors": make_router(2).vectors}, file)
    with pytest.raises(UserError, match="centres") as refused:
        load_router(file)
    assert "fits it again" in str(refused.value.hint)


def test_text_of_none_of_the_languages_is_the_bases_or_everyones() -> None:
    idf, projection = make_terms()
    learned = [[np.tile(np.arange(100 * n, 100 * n + 100), 30)] for n in (0, 1)]
    router = fit_router(idf, projection, [[own] for own in learned], languages=("de", "hi"))
    based, foreign = replace(router, fallback=True), np.arange(200, 260)
    for one in (router, based):
        assert one.language(one.filter.read(foreign)) == "unknown"
        assert one.language(one.filter.read(learned[1][0][:60])) == "hi"
        assert one.language(one.filter.start) is None
    way = ROUTINGS.find("filter")
    for one, width in ((router, 2), (based, 3)):
        weights = way.weights(foreign, RoutingContext(width, one))
        np.testing.assert_allclose(weights.sum(1), 1)
        np.testing.assert_allclose(weights[-1], [[0.5, 0.5], [0, 0, 1]][width - 2], atol=0.02)
    np.testing.assert_array_equal(
        based.document_weights(foreign)[:, :2], router.document_weights(foreign)
    )
    assert not based.document_weights(foreign)[:, 2].any()
    one_or_two = replace(way, m=2).weights(foreign, RoutingContext(3, based)) > 0
    assert one_or_two[-1].tolist() == [False, False, True]
    assert one_or_two.sum(1).max() == 2
    topics = replace(router, languages=())
    assert topics.language(topics.filter.read(foreign)) == "unknown"
    assert topics.language(topics.filter.read(learned[0][0][:60])) is None
