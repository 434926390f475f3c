from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.experts.ensemble.making import CONTEXT, score, texts
from tongues.experts.ensemble import parse_routing
from tongues.experts.ensemble.ensemble import Ensemble, expert_log_probs, mixed
from tongues.experts.ensemble.mapped import map_model
from tongues.models import scorer


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


def test_windows_may_be_shorter_and_never_longer_than_experts_see(ensemble: Ensemble) -> None:
    found = score(ensemble, documents(), parse_routing("tfidf"), context=32)
    assert all(len(one.nats) == len(text) for one, text in zip(found, documents(), strict=True))
    with pytest.raises(ValueError, match="experts see"):
        score(ensemble, documents(), parse_routing("tfidf"), context=CONTEXT + 1)


@pytest.mark.filterwarnings("error")
def test_what_no_expert_can_tell_is_no_number_without_a_warning() -> None:
    weights = np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]])
    likely = np.array([[-1.0, np.nan], [-2.0, np.nan], [-np.inf, -np.inf]])
    found = mixed(weights, likely)
    assert found[1] == -2.0  # the broken one does not count there
    assert np.isnan(found[0]) and found[2] == -np.inf
