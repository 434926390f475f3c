import json
from collections.abc import Iterator

import pytest
import torch

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tests.models.families import save_tiny, tiny
from tests.serve.serving import Server, serving
from tongues.experts.ensemble.model import Model, open_model

TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    """An ensemble `small/small` of three experts, and a folder `hub` that takes conversations."""
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("served")
    tokenizer = make_tokenizer(place / "tokenizer")
    folders = [make_expert(place / f"models/e{n}", tokenizer, seed=n) for n in range(3)]
    make_ensemble(place, folders, tokenizer)
    save_tiny(tiny("gpt-neox", 300), place / "hub", tokenizer)
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
