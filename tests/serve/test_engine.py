import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tests.pretended import pretended_gpu
from tongues.core.errors import UserError
from tongues.experts.ensemble.caches import Caches, TokenSequence
from tongues.experts.ensemble.model import Model, open_model
from tongues.experts.ensemble.request import Request, Sampling, Token
from tongues.experts.ensemble.routing import parse_routing
from tongues.use.serve.engine import End, Engine, Full

MODEL = "small/small"
GREEDY = Sampling(temperature=0)
UNENDING = replace(GREEDY, bias={0: -1000.0})  # no end before the length


class Asked:
    """A text that was asked for, and all that was reported of it."""

    def __init__(self, engine: Engine, model: Model, prompt: str, **options: Any) -> None:
        self.news: list[Token | End] = []
        self.done = threading.Event()
        self.job = engine.submit(model.name, request(model, prompt, **options), self._hear)

    def _hear(self, news: Sequence[Token | End]) -> None:
        self.news += news
        if isinstance(news[-1], End):
            self.done.set()

    @property
    def end(self) -> End:
        assert self.done.wait(30)
        end = self.news[-1]
        assert isinstance(end, End)
        return end

    @property
    def ids(self) -> list[int]:
        assert self.end
        return [each.id for each in self.news if isinstance(each, Token)]


def request(model: Model, prompt: str, max_tokens: int = 20, **options: Any) -> Request:
    return model.request(model.read(prompt), max_tokens, **{"sampling": GREEDY, **options})


@pytest.fixture
def engine(served: Mapping[str, Model]) -> Iterator[Engine]:
    engine = Engine(served, running=3, queued=4)
    engine.start()
    yield engine
    engine.close()


def test_texts_of_several_models_are_those_written_alone(
    engine: Engine, served: Mapping[str, Model]
) -> None:
    prompts = ["the ban", "of a mal is", "an art"]
    alone = {
        (name, prompt): Asked(engine, model, prompt).ids
        for name, model in served.items()
        for prompt in prompts
    }
    together = {key: Asked(engine, served[key[0]], key[1]) for key in alone}
    for key, asked in together.items():
        assert asked.ids == alone[key]
    assert engine.counts.running == engine.counts.queued == 0


def test_more_than_may_wait_are_refused_and_the_rest_ends(
    engine: Engine, served: Mapping[str, Model]
) -> None:
    held, going = threading.Event(), threading.Event()

    def hold(news: Sequence[Token | End]) -> None:
        held.set()
        assert going.wait(30)

    engine.submit(MODEL, request(served[MODEL], "the ban", 3), hold)
    assert held.wait(30)  # the engine is busy with telling
    asked = [Asked(engine, served[MODEL], "the ban") for _ in range(6)]  # 2 places, 4 that wait
    with pytest.raises(Full):
        Asked(engine, served[MODEL], "the ban")
    going.set()
    assert {each.end.reason for each in asked} <= {"length", "stop"}


def test_a_cancelled_text_ends_at_once_waiting_or_written(
    engine: Engine, served: Mapping[str, Model]
) -> None:
    long: dict[str, Any] = {"max_tokens": 85, "sampling": UNENDING}
    asked = [Asked(engine, served[MODEL], "the ban", **long) for _ in range(5)]
    for each in asked:
        engine.cancel(each.job)
        engine.cancel(each.job)
    assert [each.end.reason for each in asked] == ["cancelled"] * 5
    assert sum(isinstance(news, End) for each in asked for news in each.news) == len(asked)


def test_the_language_found_is_the_most_probable_one(served: Mapping[str, Model]) -> None:
    router = served[MODEL].ensemble.router
    assert router is not None
    named = replace(router, languages=("qaa", "qab", ""))
    for state, name in enumerate(("qaa", "qab", None, "unknown")):
        belief = np.full((2, 4), 0.05)
        belief[:, state] = 0.35
        assert named.language(belief) == name
        unnamed = None if state < 3 else "unknown"
        assert replace(router, languages=()).language(belief) == unnamed
    assert named.language(np.array([[0.2, 0.3, 0.1, 0.1], [0.2, 0.0, 0.1, 0.0]])) is None


def test_what_fails_is_told_to_its_own_asker_alone(
    engine: Engine, served: Mapping[str, Model], hub: str
) -> None:
    def broken(news: Sequence[Token | End]) -> None:
        raise RuntimeError("gone")

    engine.submit(MODEL, request(served[MODEL], "the ban"), broken)
    assert Asked(engine, served[hub], "the ban").end.reason in ("length", "stop")
    assert engine.alive


def test_without_memory_to_drop_a_text_its_model_begins_anew(
    served: Mapping[str, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(served)
    begun, cancelled = threading.Event(), threading.Event()
    forget, model = Caches.forget, served[MODEL]

    def without_memory(self: Caches, text: TokenSequence) -> None:
        monkeypatch.setattr(Caches, "forget", forget)
        raise RuntimeError("out of memory")

    def hear(news: Sequence[Token | End]) -> None:
        begun.set()
        cancelled.wait(10)  # neither text ends before

    monkeypatch.setattr(Caches, "forget", without_memory)
    long = {"max_tokens": 85, "sampling": UNENDING}
    job = engine.submit(MODEL, request(model, "the ban", **long), hear)
    other = Asked(engine, model, "the ban", **long)
    engine.start()
    assert begun.wait(10)
    engine.cancel(job)
    cancelled.set()
    assert other.end.reason == "failed"
    assert Asked(engine, model, "the ban").end.reason in ("length", "stop")
    assert engine.alive
    engine.close()


def test_what_cannot_be_written_is_refused_before_it_waits(
    engine: Engine, served: Mapping[str, Model], hub: str
) -> None:
    wrong = [
        {"max_tokens": 10_000},
        {"max_tokens": 0},
        {"routing": parse_routing("tfidf:9")},
        {"routing": parse_routing("language"), "language": "zz"},
    ]
    for said in wrong:
        with pytest.raises(UserError):
            Asked(engine, served[MODEL], "the ban", **said)
    with pytest.raises(UserError):
        Asked(engine, served[hub], "the ban", routing=parse_routing("tfidf:1"))


def test_closing_ends_what_is_written(served: Mapping[str, Model]) -> None:
    engine = Engine(served, running=1, queued=2)
    engine.start()
    asked = [Asked(engine, served[MODEL], "the ban", max_tokens=80) for _ in range(3)]
    engine.close()
    assert {each.end.reason for each in asked} <= {"cancelled", "stop", "length"}
    with pytest.raises(Full):
        Asked(engine, served[MODEL], "the ban")


def watched(engine: Engine, requests: Sequence[Request]) -> tuple[int, int]:
    """The most texts that were written at once, and the most memory they held."""
    running, held, done = list[int](), list[int](), threading.Semaphore(0)

    def look(news: Sequence[Token | End]) -> None:
        running.append(engine.counts.running)
        held.append(engine.counts.held)
        if isinstance(news[-1], End):
            done.release()

    for each in requests:
        engine.submit(MODEL, each, look)
    engine.start()
    assert all(done.acquire(timeout=30) for _ in requests)
    engine.close()
    return max(running), max(held)


def test_texts_wait_until_their_keys_and_values_fit(served: Mapping[str, Model]) -> None:
    model = replace(served[MODEL], routing=parse_routing("filter:1"))  # one expert at a time
    one = (len(model.read("the ban").tokens) + 8) * model.cache_bytes
    engine = Engine(served, memory=len(served) * (2 * one + one // 2))
    with pytest.raises(UserError, match="the server keeps"):
        Asked(engine, model, "the ban", max_tokens=60)
    texts = [request(model, "the ban", 8, copy=copy) for copy in range(5)]
    assert watched(engine, texts)[0] == watched(Engine(served, running=2), texts)[0] == 2


def test_short_texts_with_a_long_one_wait_until_all_fit(served: Mapping[str, Model]) -> None:
    model = replace(served[MODEL], routing=parse_routing("filter:1"))
    most = 3 * 80 * model.cache_bytes
    long = request(model, "the ban", 80 - len(model.read("the ban").tokens), sampling=UNENDING)
    short = [request(model, "the ban", 8, copy=copy) for copy in range(6)]
    running, held = watched(Engine({MODEL: model}, memory=most), [long, *short])
    assert running == 3 and 0 < held <= most


def test_texts_are_generated_together_in_bfloat16(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path / "tokenizer")
    folders = [make_expert(tmp_path / f"models/e{n}", tokenizer, seed=n) for n in range(2)]
    make_ensemble(tmp_path, folders, tokenizer)
    with pretended_gpu() as gpu:
        model = open_model("small/small", tmp_path)
        engine = Engine({model.name: model}, running=2)
        engine.start()
        asked = [
            Asked(engine, model, prompt, max_tokens=5, sampling=UNENDING)
            for prompt in ("the art of", "a mal", "so on we go")
        ]
        ends = [each.end.reason for each in asked]
        engine.close()
    assert gpu.refused == []
    assert ends == ["length"] * 3
    assert {dtype for given in gpu.dtypes("linear") for dtype in given} == {torch.bfloat16}
