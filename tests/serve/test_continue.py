from collections.abc import Mapping

import pytest

from tongues.errors import UserError
from tongues.experts.ensemble.generate import continue_texts
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.request import Sampling

MODEL = "small/small"


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
