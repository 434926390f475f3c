from collections.abc import Mapping

import pytest

from tongues.errors import UserError
from tongues.experts.ensemble.sampling import Sampling
from tongues.serve.served import Served
from tongues.serve.writing import write

MODEL = "small/small"


def test_a_text_ends_before_a_stop_string(served: Mapping[str, Served]) -> None:
    model = served[MODEL]
    (free,) = write(
        model, ["the"], model.routing, most=30, language=None, sampling=Sampling(temperature=0)
    )
    stop = free.text[5:8]
    (found,) = write(
        model,
        ["the"],
        model.routing,
        most=30,
        language=None,
        sampling=Sampling(temperature=0),
        stop=[stop],
    )
    assert found.text == free.text[: free.text.index(stop)]
    assert found.stopped
    assert len(found.tokens) == len(found.nats) == len(found.weights)
    with pytest.raises(UserError, match="at once"):
        write(model, ["a"], model.routing, most=3, language=None, sampling=Sampling(), stop=[""])


def test_as_much_is_written_as_there_is_room_for(served: Mapping[str, Served]) -> None:
    model = served[MODEL]
    prompt = "the ban of a mal " * 8
    room = 96 - len(model.encode(prompt))
    assert 0 < room < 64
    (found,) = write(
        model, [prompt], model.routing, most=None, language=None, sampling=Sampling(bias={0: -100})
    )
    assert len(found.tokens) == room
    twice = write(model, ["a", "a"], model.routing, most=9, language=None, sampling=Sampling())
    assert twice[0].tokens != twice[1].tokens
