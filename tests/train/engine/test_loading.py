"""The first layers of a model, of every kind, as a trial of ways to train takes them."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig

from tests.models.families import tiny
from tongues.models.huggingface import load_model, open_layout
from tongues.models.sources import FolderWeights
from tongues.train.engine.loading import fill_weights, first_layers
from tongues.train.engine.processes import Processes

ROWS = 300
CPU = torch.device("cpu")


@pytest.mark.parametrize(("name", "count"), [("llama", 2), ("gemma3", 2)])
def test_the_first_layers_are_those_of_the_model(name: str, count: int, tmp_path: Path) -> None:
    tiny(name, ROWS).save_pretrained(tmp_path)
    source = FolderWeights(tmp_path, open_layout(tmp_path), None)
    few = first_layers(source.model)
    assert few.config is not source.model.config
    fill_weights(few, few, source, CPU, Processes(), "here")
    state = load_model(tmp_path).state_dict()
    assert {n.split(".")[2] for n in few.state_dict() if ".layers." in n} == set(
        map(str, range(count))
    )
    assert all(torch.equal(weight, state[name]) for name, weight in few.state_dict().items())
    assert few(input_ids=torch.arange(9)[None]).logits.isfinite().all()


def test_layers_of_every_kind_are_among_the_first(tmp_path: Path) -> None:
    tiny("gemma3", ROWS).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    kinds = ["sliding_attention"] * 3 + ["full_attention", "sliding_attention"]
    config |= {"num_hidden_layers": 5, "layer_types": kinds}
    model = type(load_model(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(config))
    with torch.device("meta"):
        five = model(AutoConfig.from_pretrained(tmp_path))
    assert {n.split(".")[2] for n in first_layers(five).state_dict() if ".layers." in n} == {
        *"0123"
    }
