"""A router with added languages: new tokens get a direction, and what was known stays as it was."""

from dataclasses import replace

import numpy as np

from tongues.experts.ensemble.router import Router, fit_router
from tongues.experts.train import with_new_tokens


def old_router() -> Router:
    chance = np.random.default_rng(0)
    vectors = chance.normal(size=(12, 3)).astype(np.float32)
    vectors[8:] = 0  # a script that no text had
    logs, common = np.log(chance.dirichlet(np.ones(12), 2).T), np.full(12, 1 / 12)
    centres = chance.normal(size=(2, 3))
    return Router(vectors, centres, np.arange(2), np.array([0.6, 0.4]), logs, common)


def test_what_was_known_keeps_its_weights() -> None:
    old, text = old_router(), np.array([0, 3, 5, 1, 7])
    new = with_new_tokens(old, [[np.array([8, 9, 9])]])
    np.testing.assert_allclose(new.document_weights(text), old.document_weights(text))


def test_text_in_a_new_script_finds_its_expert() -> None:
    old, texts = old_router(), [np.array([8, 9, 10]), np.array([9, 9, 11])]
    np.testing.assert_allclose(old.document_weights(texts[0])[1:], [old.prior, old.prior])
    new = with_new_tokens(old, [texts])
    fitted = fit_router(np.ones(12), new.vectors, [[texts]])
    centres = np.concatenate([new.centres, fitted.centres])
    logs = np.pad(new.logs, ((0, 0), (0, 1)))
    added = replace(new, centres=centres, owners=np.arange(3), prior=np.full(3, 1 / 3), logs=logs)
    assert (added.document_weights(np.array([10, 8, 9]))[1:].argmax(axis=1) == 2).all()
