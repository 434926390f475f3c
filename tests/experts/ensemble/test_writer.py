from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.experts.ensemble.making import generate, score, texts
from tongues.core.errors import UserError
from tongues.experts.ensemble import parse_routing
from tongues.experts.ensemble.ensemble import Ensemble, map_model
from tongues.experts.ensemble.request import Request, Sampling, Token
from tongues.experts.ensemble.writer import RunningText, Writer

GREEDY = Sampling(temperature=0)
PROMPTS = [text.astype(np.int64) for text in texts(6, 30)]


def finish(writer: Writer) -> dict[RunningText, list[Token]]:
    found: dict[RunningText, list[Token]] = {}
    while writer.running:
        for text, token in writer.step():
            found.setdefault(text, []).append(token)
    return found


def alone(
    ensemble: Ensemble, prompt: np.ndarray, way: str, most: int, sampling: Sampling = GREEDY
) -> list[int]:
    found = generate(ensemble, [prompt], parse_routing(way), most=most, sampling=sampling, stop=())
    return found[0].tokens.tolist()


def ask(prompt: np.ndarray, most: int, way: str = "tfidf", **more: Any) -> Request:
    """A text that ends at its length alone, of the likeliest tokens if `more` says nothing else."""
    how = {"sampling": GREEDY, "stops": frozenset[int]()} | more
    return Request(prompt, parse_routing(way), max_tokens=most, **how)


@pytest.mark.parametrize("way", ["tfidf", "tfidf:1", "filter:1"])
def test_a_scored_prompt_is_what_scoring_finds(ensemble: Ensemble, way: str) -> None:
    routing, prompt = parse_routing(way), PROMPTS[0]
    writer = Writer(ensemble, pace=16)
    first = writer.add(ask(prompt, 4, way, score_prompt=True, alternatives=3))
    only = writer.add(ask(prompt, 0, way, score_prompt=True))
    found = finish(writer)
    expected = score(ensemble, [prompt], routing)[0]
    for text in (first, only):
        told = [each for each in found[text] if each.given]
        assert [each.id for each in told] == prompt.tolist()
        np.testing.assert_allclose([-each.log_prob for each in told], expected.nats, atol=1e-4)
        np.testing.assert_allclose([each.weights for each in told], expected.weights, atol=1e-5)
    assert [each.ended for each in found[only]][-1] == "length"
    written = [each.id for each in found[first] if not each.given]
    assert written == alone(ensemble, prompt, way, 4)


def test_alternatives_are_the_likeliest_of_the_model(copies: Ensemble, folders: list[Path]) -> None:
    writer = Writer(copies)
    text = writer.add(ask(PROMPTS[0], 1, alternatives=5))
    (told,) = finish(writer)[text]
    with torch.no_grad():
        logits = map_model(folders[1])(torch.tensor([[0, *PROMPTS[0]]])).logits[0, -1]
    likely = logits.log_softmax(0).topk(5)
    assert [token for token, _ in told.alternatives] == likely.indices.tolist()
    np.testing.assert_allclose([log for _, log in told.alternatives], likely.values, atol=1e-4)
    assert told.log_prob == pytest.approx(told.alternatives[0][1])


def test_biases_change_what_is_drawn(copies: Ensemble) -> None:
    def written(sampling: Sampling) -> list[int]:
        return alone(copies, PROMPTS[0], "tfidf", 30, sampling)

    free = written(GREEDY)
    assert len(set(free)) < 30
    assert set(written(Sampling(temperature=0, bias={7: 1000.0}))) == {7}
    assert free[0] not in written(Sampling(bias={free[0]: -1000.0}))
    assert written(Sampling(temperature=1e-30)) == written(Sampling(temperature=1e-50)) == free
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(UserError):
            Sampling(bias={7: wrong})


def test_a_model_of_no_numbers_ends_its_own_texts_alone(ensemble: Ensemble) -> None:
    head: Any = ensemble.models[0].get_output_embeddings()
    head.weight = torch.nn.Parameter(torch.full_like(head.weight, float("nan")))
    writer = Writer(ensemble)

    def add(language: str, *, scored: bool = False) -> RunningText:
        about = {"language": language, "score_prompt": scored}
        return writer.add(ask(PROMPTS[0], 5, "language", **about))

    lost, kept, scored = add("qaa"), add("qab"), add("qaa", scored=True)
    found = finish(writer)
    assert [told.ended for told in found[lost]] == ["broken"]
    assert found[scored][-1].ended == "broken"
    assert [told.ended for told in found[kept]] == [None] * 4 + ["length"]
    with pytest.raises(UserError, match="not a number"):
        generate(ensemble, PROMPTS[:1], parse_routing("language"), languages=["qaa"], most=5)


def test_a_given_token_that_is_the_likeliest_has_its_value(ensemble: Ensemble) -> None:
    best = alone(ensemble, PROMPTS[0], "tfidf", 40)
    writer, whole = Writer(ensemble), np.concatenate([PROMPTS[0], best])
    text = writer.add(ask(whole, 0, score_prompt=True, alternatives=1))
    for told in finish(writer)[text][len(PROMPTS[0]) :]:
        assert told.alternatives == ((told.id, told.log_prob),)


def test_a_long_prompt_is_read_beside_a_text_that_changes_its_expert(ensemble: Ensemble) -> None:
    writer = Writer(ensemble, pace=8)
    older = writer.add(ask(PROMPTS[1], 60, "tfidf:1", sampling=Sampling()))
    for _ in range(10):
        writer.step()
    text = writer.add(ask(np.tile(PROMPTS[0], 2)[:50], 2))
    for _ in range(16):
        writer.step()
    assert text.written
    assert len(older.written) < 60


def test_ids_that_the_tokenizer_lacks_are_never_written(ensemble: Ensemble) -> None:
    fewer = replace(ensemble, vocabulary=40)
    for sampling in (GREEDY, Sampling(seed=1), Sampling(top_k=50), Sampling(top_p=0.9)):
        writer = Writer(fewer)
        text = writer.add(ask(PROMPTS[0], 30, sampling=sampling, alternatives=40))
        found = finish(writer)[text]
        assert max(text.written) < 40
        assert all(token < 40 for told in found for token, _ in told.alternatives)
