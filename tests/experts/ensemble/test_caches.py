"""How much keys and values take: never above the limit, and given back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.experts.ensemble.making import CONTEXT, generate, texts
from tests.models.families import FAMILIES, tiny
from tongues.experts.ensemble.caches import Caches, TokenSequence, kept_bytes
from tongues.experts.ensemble.ensemble import ExpertModels
from tongues.experts.ensemble.model import Model, open_model
from tongues.experts.ensemble.request import Request, Sampling
from tongues.experts.ensemble.routing import parse_routing
from tongues.experts.ensemble.writer import RunningText

PROMPTS = [text.astype(np.int64) for text in texts(6, 60)]
GREEDY = Sampling(temperature=0)


@pytest.fixture(scope="module")
def model(workspace: Path, folder: Path) -> Model:
    return open_model(str(folder), workspace)


def asked(size: int, most: int, way: str, *, number: int = 0, scored: bool = False) -> Request:
    return Request(
        PROMPTS[number][:size],
        parse_routing(way),
        max_tokens=most,
        sampling=GREEDY,
        stops=frozenset(),
        score_prompt=scored,
    )


@given(
    requests=st.lists(
        st.builds(
            asked,
            st.integers(1, 60),
            st.integers(1, CONTEXT - 60),
            st.sampled_from(["filter:1", "tfidf:1", "tfidf:2", "filter"]),
            number=st.integers(0, len(PROMPTS) - 1),
            scored=st.booleans(),
        ),
        min_size=2,
        max_size=6,
    ),
    pace=st.sampled_from([None, 7, 64]),
    limited=st.booleans(),
    given_up=st.sets(st.integers(0, 5), max_size=2),
)
@settings(max_examples=12)
def test_texts_that_join_and_leave_keep_to_the_limit_and_are_those_written_alone(
    model: Model, requests: list[Request], pace: int | None, limited: bool, given_up: set[int]
) -> None:
    most = max(model.cache_need([request]) for request in requests) * 5 // 4
    limit = most if limited else None
    writer, waiting = model.writer(limit, pace=pace), [*requests]
    begun = list[RunningText]()
    for _ in range(2000):
        others = [text.request for text in writer.running]
        if waiting and (limit is None or model.cache_need([*others, waiting[0]]) <= limit):
            begun.append(writer.add(waiting.pop(0)))
        elif not others:
            break
        writer.step()
        assert limit is None or writer.bytes <= limit
        if begun[-1] in writer.running and len(begun) - 1 in given_up:
            writer.drop(begun[-1])
    assert len(begun) == len(requests) and writer.bytes == 0
    for number, text in enumerate(begun):
        whole = alone(model, replace(text.request, score_prompt=False))
        assert text.written == (whole[: len(text.written)] if number in given_up else whole)


def alone(model: Model, request: Request) -> list[int]:
    given = [request.prompt], request.routing
    found = generate(
        model.ensemble, *given, most=request.max_tokens, sampling=GREEDY, stop=frozenset()
    )
    return found[0].tokens.tolist()


def test_a_text_of_one_expert_needs_the_room_of_one(model: Model) -> None:
    one, every = asked(20, 10, "filter:1"), asked(20, 10, "tfidf")
    assert model.cache_need([asked(20, 10, "language")]) == model.cache_need([one])
    assert model.cache_need([every]) == model.ensemble.k * model.cache_need([one])


def test_the_room_of_a_long_text_is_given_back_when_it_ends(model: Model) -> None:
    writer = model.writer(None)
    long = writer.add(asked(60, 30, "tfidf"))
    short = [writer.add(asked(4, 12, "tfidf", number=number)) for number in range(6)]
    writer.step()
    held = writer.bytes
    writer.drop(long)
    assert writer.bytes <= held // 3
    while writer.running:
        writer.step()
    assert [text.written for text in short] == [alone(model, text.request) for text in short]
    assert writer.bytes == 0


def test_experts_without_a_weight_forget_only_where_the_limit_wants_it(model: Model) -> None:
    expert = model.ensemble.models
    for limit, kept in ((None, 3), (40 * model.cache_bytes, 1)):
        caches = Caches(expert, limit)
        text = TokenSequence([0, *PROMPTS[0][:30].tolist()], 40)
        for number in range(3):
            text.experts = [number]
            caches.logits(number, [text])
        assert [caches.behind(number, text) for number in range(3)].count(0) == kept


@pytest.mark.parametrize("name", FAMILIES)
def test_keys_and_values_of_a_token_take_what_the_configuration_says(
    name: str, tmp_path: Path
) -> None:
    tiny(name, 300).save_pretrained(tmp_path)
    caches = Caches(ExpertModels([tmp_path]))
    network = caches.models[0]
    with torch.inference_mode():
        caches.logits(0, [TokenSequence([1, 2, 3, 4, 5], 10)])
    each = kept_bytes(network.config.get_text_config(), network.dtype)
    assert caches.bytes == 10 * each
