import json
from collections.abc import Iterator

import pytest

from tests.experts.ensemble.making import make_house
from tests.serve.serving import Server, serving
from tongues.experts.ensemble.model import Model, open_model

TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    """An ensemble `small/small` of three experts, and a folder `hub` that takes conversations."""
    place = make_house(tmp_path_factory.mktemp("served"))
    (place / "hub/chat_template.jinja").write_text(TEMPLATE)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast"}
    (place / "hub/tokenizer_config.json").write_text(json.dumps(settings))
    hub = open_model(str(place / "hub"), place)
    return {"small/small": open_model("small/small", place), hub.name: hub}


@pytest.fixture(scope="session")
def hub(served: dict[str, Model]) -> str:
    """The name of the model that takes conversations."""
    return next(name for name in served if name != "small/small")


@pytest.fixture(scope="session")
def server(served: dict[str, Model]) -> Iterator[Server]:
    """A server of both, for tests that leave it as it is."""
    with serving(served) as found:
        yield found
