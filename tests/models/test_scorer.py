import pytest
import torch

from tests.models.families import tiny
from tongues.models import scorer
from tongues.models.scorer import batch_scorer, chunked_logits, log_probs, probed_scorer


def test_a_log_probability_is_a_log_softmax_in_float32() -> None:
    logits = torch.randn(3, 5, 40, dtype=torch.bfloat16) * 8
    targets = torch.randint(40, (3, 5))
    scores, normalizer = log_probs(logits, targets)
    expected = logits.double().log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores.double(), expected, atol=3e-6, rtol=0)
    torch.testing.assert_close(normalizer.double(), logits.double().logsumexp(-1))


@pytest.mark.parametrize("biased", [False, True])
def test_chunks_are_parts_of_the_whole_product(biased: bool) -> None:
    hidden, weight = torch.randn(10, 4), torch.randn(7, 4)
    bias = torch.randn(7) if biased else None
    parts = list(chunked_logits(hidden, weight, bias, 3 * 7))
    assert [len(logits) for _, logits in parts] == [3, 3, 3, 1]
    whole = torch.nn.functional.linear(hidden, weight, bias)
    torch.testing.assert_close(torch.cat([logits for _, logits in parts]), whole)
    with torch.autocast("cpu", torch.bfloat16):
        for part, logits in chunked_logits(hidden, weight, bias, 21):
            assert logits.dtype == torch.float32
            torch.testing.assert_close(logits, whole[part], atol=0.2, rtol=0.02)


@pytest.mark.parametrize(("family", "headed"), [("llama", True), ("phi", True), ("gemma2", False)])
def test_a_batch_is_scored_as_the_model_does_by_any_way(
    family: str, headed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(family, 60)
    tokens = torch.randint(model.config.vocab_size, (3, 13))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    mask = torch.arange(12) >= torch.tensor([[0], [5], [8]])
    with torch.inference_mode():
        logs = model(inputs).logits.float().log_softmax(-1)
        expected = logs.gather(-1, targets[..., None])[..., 0]
        likeliest = logs.argmax(-1) == targets
        probed = probed_scorer(model, tokens[0].numpy())
        assert (probed.head is not None) == headed
        monkeypatch.setattr(scorer, "_CHUNK", 200)
        monkeypatch.setattr(scorer, "_CPU", (40, 5 * probed.vocabulary, 20_000))
        plain = batch_scorer(model)  # holds the logits of five tokens at a time
        assert plain.fits(5, 12, 1) and plain.fits(1, 12, 5) and not plain.fits(2, 12, 3)
        for way in (probed, plain):
            scores, best = way.score(inputs, targets, mask)
            torch.testing.assert_close(scores[mask], expected[mask], atol=1e-4, rtol=0)
            assert (best[mask] == likeliest[mask]).all()
