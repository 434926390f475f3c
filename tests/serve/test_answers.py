"""What OpenAI's own client gets, whole and streamed."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from openai import APIError, BadRequestError
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace

from tests.experts.ensemble.making import score
from tests.serve.serving import Server, serving
from tongues.core.errors import UserError
from tongues.experts.ensemble.generate import continue_texts
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.request import Sampling
from tongues.experts.ensemble.routing import parse_routing
from tongues.use.serve.engine import End
from tongues.use.serve.refusal import Limits

MODEL = "small/small"
SAID: dict[str, Any] = {"model": MODEL, "prompt": "the ban", "max_tokens": 12, "temperature": 0}


def near(value: Any) -> Any:
    """The same but for rounding."""
    return value if isinstance(value, str) else pytest.approx(value, abs=1e-5)


def text_of(server: Server, **said: Any) -> str:
    return server.complete(**(SAID | said)).choices[0].text


def test_a_stream_tells_what_a_whole_answer_tells(server: Server) -> None:
    said = SAID | {"n": 2, "logprobs": 2, "echo": True, "temperature": 1, "seed": 3}
    extra = {"weights": True, "routing": "tfidf:2"}
    whole = server.complete(**said, extra_body=extra)
    usage = {"include_usage": True}
    chunks = list(server.complete(**said, stream=True, stream_options=usage, extra_body=extra))
    for choice in whole.choices:
        parts = [part for chunk in chunks for part in chunk.choices if part.index == choice.index]
        assert "".join(part.text for part in parts) == choice.text
        assert [part.finish_reason for part in parts if part.finish_reason] == ["length"]
        for field in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
            told = [each for part in parts for each in getattr(part.logprobs, field)]
            wanted = getattr(choice.logprobs, field)
            assert told == [near(each) for each in wanted]
        asides = [part.model_extra["tongues"] for part in parts]
        aside = choice.model_extra["tongues"]
        rows = [row for each in asides for row in each["weights"]]
        np.testing.assert_allclose(rows, aside["weights"], atol=1e-3)
        assert sum(each["echoed"] for each in asides) == aside["echoed"] == 2
        assert all(abs(sum(row) - 1) < 1e-3 for row in aside["weights"])
        assert aside["nats"] == [-value for value in choice.logprobs.token_logprobs]
    assert whole.choices[0].text != whole.choices[1].text
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].usage == whole.usage and not chunks[-1].choices
    assert whole.usage.prompt_tokens == 2 and whole.usage.completion_tokens == 24
    assert whole.model_extra["tongues"] == {"routing": "tfidf:2", "experts": ["e0", "e1", "e2"]}


def test_the_offsets_are_places_in_the_text(server: Server) -> None:
    answer = server.complete(**(SAID | {"logprobs": 0, "max_tokens": 40}))
    choice = answer.choices[0]
    for token, offset in zip(choice.logprobs.tokens, choice.logprobs.text_offset, strict=True):
        if not token.startswith("bytes:"):
            assert choice.text[offset : offset + len(token)] == token


def test_a_prompt_is_scored_as_documents_are(server: Server, served: Mapping[str, Model]) -> None:
    """So lm-eval asks: prompts in token ids, echoed, one token more written."""
    one, chance = served[MODEL], np.random.default_rng(0)
    prompts = [chance.integers(1, 298, size) for size in (5, 17, 9)]
    said = {"max_tokens": 1, "logprobs": 1, "echo": True, "temperature": 0, "seed": 1234}
    for routing in ("tfidf:2", "filter:1"):
        answer = server.complete(
            model=MODEL,
            prompt=[prompt.tolist() for prompt in prompts],
            **said,
            extra_body={"routing": routing},
        )
        wanted = score(one.ensemble, prompts, parse_routing(routing))
        for choice, prompt, scored in zip(answer.choices, prompts, wanted, strict=True):
            own = choice.logprobs.token_logprobs
            assert len(own) == len(prompt) + 1
            np.testing.assert_allclose(own[:-1], -scored.nats, atol=1e-4)
            tops = choice.logprobs.top_logprobs
            assert all(max(top.values()) >= value for top, value in zip(tops, own, strict=True))
            assert max(tops[-1].values()) == own[-1]  # the likeliest was written


def test_the_token_before_every_text_is_not_put_there_twice(
    server: Server, served: Mapping[str, Model]
) -> None:
    first, prompt = served[MODEL].first, [40, 41, 42]
    said = SAID | {"echo": True, "logprobs": 1, "seed": 1}
    plain = server.complete(**(said | {"prompt": prompt}))
    led = server.complete(**(said | {"prompt": [first, *prompt]}))
    assert led.choices[0].text == plain.choices[0].text
    told, rest = (one.choices[0].logprobs.token_logprobs for one in (led, plain))
    assert told[0] is None and told[1:] == near(rest)
    assert led.choices[0].logprobs.tokens[0] == served[MODEL].token_name(first)
    assert led.choices[0].logprobs.top_logprobs[0] is None
    assert (led.usage.prompt_tokens, plain.usage.prompt_tokens) == (4, 3)


def test_the_end_of_a_text_is_told_as_a_token(server: Server, served: Mapping[str, Model]) -> None:
    """Or the last token of the prompt would be taken for it."""
    end = served[MODEL].ensemble.frame.end
    said = SAID | {"logprobs": 1, "echo": True, "logit_bias": {str(end): 100}}
    choice = server.complete(**said).choices[0]
    assert (choice.text, choice.finish_reason) == ("the ban", "stop")
    assert choice.logprobs.tokens == ["the", " ban", served[MODEL].token_name(end)]


def test_nothing_may_be_written(server: Server) -> None:
    for echo, scored, text in ((True, 1, "the ban"), (True, None, "the ban"), (False, None, "")):
        said = SAID | {"max_tokens": 0, "echo": echo, "logprobs": scored}
        answer = server.complete(**said)
        assert (answer.choices[0].text, answer.choices[0].finish_reason) == (text, "length")
        assert answer.usage.completion_tokens == 0
    assert len(text_of(server, prompt=None)) > 0


def test_a_stop_string_ends_a_text_and_is_no_part_of_it(server: Server) -> None:
    whole = text_of(server)
    at = next(place for place in range(4, len(whole)) if whole[place] != "\ufffd")
    stop = whole[at : at + 2]
    for stream in (False, True):
        answer = server.complete(**SAID, stop=["never", stop], stream=stream)
        chunks = [answer] if not stream else list(answer)
        assert "".join(chunk.choices[0].text for chunk in chunks) == whole[: whole.index(stop)]
        assert chunks[-1].choices[0].finish_reason == "stop"


def test_a_seed_draws_a_text_again_and_none_another(server: Server) -> None:
    drawn = {"temperature": 1.0, "max_tokens": 30}
    assert text_of(server, **drawn, seed=7) == text_of(server, **drawn, seed=7)
    assert text_of(server, **drawn) != text_of(server, **drawn)
    answer = server.complete(**(SAID | drawn), n=3, seed=7)
    assert len({choice.text for choice in answer.choices}) == 3
    answer = server.complete(**(SAID | drawn | {"prompt": ["a", "a"]}), seed=7)
    assert answer.choices[0].text != answer.choices[1].text


def test_what_is_asked_together_is_as_asked_alone(server: Server) -> None:
    prompts = ["the ban of a mal is an art and so on"[:size] for size in range(2, 34, 2)]
    alone = [text_of(server, prompt=prompt) for prompt in prompts]
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda prompt: text_of(server, prompt=prompt), prompts))
    assert together == alone
    answer = server.complete(**(SAID | {"prompt": prompts[:8]}))
    assert [choice.text for choice in answer.choices] == alone[:8]


def test_a_conversation_is_continued(server: Server, hub: str) -> None:
    said: dict[str, Any] = {
        "model": hub,
        "messages": [
            {"role": "developer", "content": "be"},
            {"role": "user", "content": [{"type": "text", "text": "the "}] * 2},
        ],
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 3,
    }
    whole = server.converse(**said, max_completion_tokens=8)
    choice = whole.choices[0]
    assert (choice.message.role, choice.finish_reason) == ("assistant", "length")
    pieces = [bytes(token.bytes) for token in choice.logprobs.content]
    assert b"".join(pieces).decode(errors="replace") == choice.message.content
    for token in choice.logprobs.content:
        assert token.top_logprobs[0].logprob == token.logprob
    chunks = list(server.converse(**said, max_tokens=8, stream=True))
    assert chunks[0].choices[0].delta.role == "assistant"
    told = "".join(chunk.choices[0].delta.content for chunk in chunks)
    assert told == choice.message.content
    rest = server.converse(**said)  # as much as fits
    assert rest.usage.total_tokens == 64
    nothing = {"role": "assistant", "content": None, "type": "message"}
    again = [{"role": "user", "content": "a", "name": "b"}, choice.message, nothing]
    server.converse(**(said | {"messages": again}), max_tokens=1)
    with pytest.raises(BadRequestError, match="no chat template"):
        server.converse(**(said | {"model": MODEL}))


def test_answers_have_the_fields_that_clients_and_the_page_read(server: Server, hub: str) -> None:
    said = SAID | {"logprobs": 2, "n": 2, "weights": True}
    answer = server.http.post("/v1/completions", json=said).json()
    head = {"id", "object", "created", "model", "tongues", "choices", "usage"}
    assert answer.keys() == head and answer["object"] == "text_completion"
    choice = {"index", "finish_reason", "logprobs", "tongues"}
    assert answer["choices"][1].keys() == choice | {"text"}
    aside = {"weights", "nats", "language", "echoed"}
    assert answer["choices"][1]["tongues"].keys() == aside
    chat = {"model": hub, "messages": [{"role": "user", "content": "a"}], "max_tokens": 2}
    chat |= {"logprobs": True, "top_logprobs": 1}
    answer = server.http.post("/v1/chat/completions", json=chat).json()
    assert answer.keys() == head and answer["object"] == "chat.completion"
    assert answer["choices"][0].keys() == choice - {"tongues"} | {"message"}
    assert answer["choices"][0]["message"].keys() == {"role", "content", "refusal"}
    (first, *_) = answer["choices"][0]["logprobs"]["content"]
    assert first.keys() == {"token", "logprob", "bytes", "top_logprobs"}
    models = server.http.get("/v1/models").json()
    assert [model["id"] for model in models["data"]] == [MODEL, hub]
    assert server.openai.models.retrieve(MODEL).id == MODEL


def test_a_text_that_has_begun_has_nothing_before_it(served: Mapping[str, Model], hub: str) -> None:
    """As lm-eval asks models whose tokenizers put nothing before prompts."""
    bare = replace(served[hub], prompted=False)
    prompt = [40, 41, 42, 43]
    with torch.inference_mode():
        wanted = bare.ensemble.models[0](torch.tensor([prompt])).logits[0].log_softmax(1)
    said = {"model": hub, "logprobs": 1, "echo": True, "max_tokens": 1, "temperature": 0}
    with serving({hub: bare}) as server:
        answer = server.complete(**said, prompt=prompt)
        own = answer.choices[0].logprobs
        assert own.token_logprobs[0] is None and own.top_logprobs[0] is None
        pairs = zip(range(3), prompt[1:], strict=True)
        assert own.token_logprobs[1:4] == near([float(wanted[at, token]) for at, token in pairs])
        assert own.token_logprobs[4] == near(float(wanted[3].max()))
        assert len(own.tokens) == 5 and answer.usage.prompt_tokens == 4
        whole = b"".join(map(bare.bytes_of, prompt)).decode(errors="replace")
        assert answer.choices[0].text.startswith(whole)
        (alone,) = server.complete(**(said | {"max_tokens": 0}), prompt=[40]).choices
        assert alone.logprobs.token_logprobs == [None]
        assert len(server.complete(**said, prompt=list(range(40, 104))).choices) == 1
        assert server.complete(**said, prompt="").choices[0].logprobs.token_logprobs[0] < 0


def test_a_space_that_only_the_tokenizer_wrote_is_not_told(
    served: Mapping[str, Model], tmp_path: Path
) -> None:
    letters = [(letter, -9.0) for letter in "\u2581abehnt"]
    pieces = [("<unk>", 0.0), ("\u2581the", -1.0), ("\u2581ban", -1.0), *letters]
    tokenizer = Tokenizer(Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = Metaspace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ensemble = replace(served[MODEL].ensemble, tokenizer=tmp_path)
    model = replace(served[MODEL], tokenizer=tokenizer, ensemble=ensemble)
    said = {"model": MODEL, "echo": True, "max_tokens": 0}
    with serving({MODEL: model}) as server:
        for prompt in ("the ban", " the ban", "ban"):
            for scored in (0, None):
                (choice,) = server.complete(**said, prompt=prompt, logprobs=scored).choices
                assert choice.text == prompt
        (choice,) = server.complete(**said, prompt="the ban", logprobs=0).choices
        assert choice.logprobs.tokens == [" the", " ban"]
        assert choice.logprobs.text_offset == [0, 3]


def test_no_more_is_written_than_the_server_allows(served: Mapping[str, Model], hub: str) -> None:
    with serving(served, Limits(tokens=4)) as server:
        assert server.complete(**(SAID | {"max_tokens": 10**9})).usage.completion_tokens == 4
        chat = {"model": hub, "messages": [{"role": "user", "content": "a"}], "max_tokens": 10**9}
        chat["logit_bias"] = {"0": -100}  # no end before the length
        for beside in ({}, {"logprobs": False, "top_logprobs": 0}):
            assert server.converse(**chat, **beside).usage.completion_tokens == 4


def test_an_answer_that_takes_too_long_is_given_up(served: Mapping[str, Model]) -> None:
    with serving(served, Limits(seconds=0.02)) as server:
        said = {"prompt": "a", "max_tokens": 90, "n": 8, "model": MODEL}
        answer = server.http.post("/v1/completions", json=said)
        assert (answer.status_code, answer.json()["error"]["code"]) == (408, "timeout")
        assert answer.headers["x-should-retry"] == "false"
        with pytest.raises(APIError, match="longer than"):
            for _ in server.complete(**said, stream=True):
                pass


def test_a_model_that_fails_is_told_as_a_problem(
    served: Mapping[str, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(served) as server:
        submit = server.app.engine.submit

        def fail(model: str, request: Any, listener: Any) -> Any:
            return submit(model, request, lambda news: listener([End("failed", "secret")]))

        monkeypatch.setattr(server.app.engine, "submit", fail)
        for stream in (False, True):
            answer = server.http.post("/v1/completions", json=SAID | {"stream": stream})
            assert answer.status_code == 500
            assert "secret" not in answer.text
            assert answer.json()["error"]["code"] == "model_failed"


def test_a_text_ends_before_a_stop_string(served: Mapping[str, Model]) -> None:
    model, how = served[MODEL], {"max_tokens": 30, "sampling": Sampling(temperature=0)}
    (free,) = continue_texts(model, ["the"], model.routing, **how).texts
    stop = free.text[5:8]
    (found,) = continue_texts(model, ["the"], model.routing, **how, stop=[stop]).texts
    assert found.text == free.text[: free.text.index(stop)]
    assert found.stopped
    assert len(found.tokens) == len(found.pieces) == len(found.to_json()["nats"])
    with pytest.raises(UserError, match="at once"):
        continue_texts(model, ["a"], model.routing, max_tokens=3, sampling=Sampling(), stop=[""])
    with pytest.raises(UserError, match="not UTF-8"):
        continue_texts(model, ["\udcff"], model.routing, max_tokens=3)


def test_as_much_is_written_as_there_is_room_for(served: Mapping[str, Model]) -> None:
    model = served[MODEL]
    prompt = "the ban of a mal " * 8
    room = 96 - len(model.encode(prompt))
    assert 0 < room < 64
    unending = Sampling(bias={0: -100})
    (found,) = continue_texts(
        model, [prompt], model.routing, max_tokens=None, sampling=unending
    ).texts
    assert len(found.tokens) == room
    twice = continue_texts(model, ["a", "a"], model.routing, max_tokens=9).texts
    assert twice[0].text != twice[1].text
