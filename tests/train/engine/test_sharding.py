import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed
from torch.distributed.device_mesh import DeviceMesh
from transformers import AutoConfig

from tests.models.families import tiny
from tests.train.engine.together import (
    STEPS,
    backward,
    course,
    halve,
    make_scorer,
    weights,
)
from tongues.models.huggingface import load_model, open_layout
from tongues.models.sources import FolderWeights
from tongues.train.checkpoint import load_weights
from tongues.train.engine.loading import fill_weights, first_layers
from tongues.train.engine.processes import Processes
from tongues.train.engine.sharding import full_tensor, make_mesh, shard, synchronize

Two = tuple[Path, list[dict[str, Any]]]


def test_alone_nothing_is_shared_out() -> None:
    scorer = make_scorer()
    kind = type(scorer)
    assert make_mesh(Processes(), "cpu") is None
    shard(scorer, None, bfloat16=True)
    synchronize(scorer, now=False)
    assert type(scorer) is kind
    weight = torch.ones(2)
    assert full_tensor(weight) is weight


@pytest.mark.parametrize("case", ["untied", "tied", "compiled", "copies", "offloaded", "rows"])
def test_gradients_and_their_norm_are_those_of_one_process(two: Two, case: str) -> None:
    for found in two[1]:
        assert max(found[case]) < 1e-6


def test_in_bfloat16_the_loss_is_that_of_one_process(two: Two) -> None:
    for found in two[1]:
        shared, by_one = found["narrow"]
        assert shared == pytest.approx(by_one, rel=1e-4)


def test_two_learn_what_one_learns(two: Two, alone: dict[str, Any]) -> None:
    first, second = (found["from-none"]["losses"] for found in two[1])
    assert first == second
    assert len(first) == STEPS
    assert first == pytest.approx(alone["losses"], rel=1e-6)


def test_resumed_by_two_from_two_the_weights_are_the_same_bytes(two: Two) -> None:
    undisturbed, resumed = (two[1][0][name] for name in ("from-none", "from-several"))
    assert resumed["losses"] == undisturbed["losses"][STEPS // 2 :]
    assert resumed["weights"] == undisturbed["weights"]


def test_resumed_by_another_number_the_losses_are_equal_within_rounding(
    two: Two, alone: dict[str, Any], tmp_path: Path
) -> None:
    later = alone["losses"][STEPS // 2 :]
    assert two[1][0]["from-one"]["losses"] == pytest.approx(later, rel=1e-6)
    halve(two[0] / "from-none", tmp_path / "by-two")
    assert course(make_scorer(), Processes(), tmp_path / "by-two") == pytest.approx(later, rel=1e-6)


def test_one_process_opens_what_two_wrote(two: Two) -> None:
    place = two[0] / "from-none" / f"milestone-{STEPS:08d}"
    assert len(list(place.glob("*.safetensors"))) == 2
    opened = [
        weight.numpy(force=True).tobytes().hex() for weight in load_weights(place).parameters()
    ]
    assert opened == two[1][0]["from-none"]["weights"]
    assert two[1][1]["from-none"]["weights"] == []


def test_a_folder_is_read_in_shares_and_written_layer_by_layer_with_the_same_bytes(
    two: Two,
) -> None:
    whole = [weight.numpy(force=True) for weight in make_scorer(tied=True).parameters()]
    assert two[1][0]["loaded"] == [weight.tobytes().hex() for weight in whole]
    assert two[1][1]["loaded"] == []
    base, left = (two[0] / name / "model.safetensors" for name in ("base", "left"))
    assert left.read_bytes() == base.read_bytes()


def test_a_course_ends_with_the_same_bytes_each_time(alone: dict[str, Any], tmp_path: Path) -> None:
    halve(alone["folder"], tmp_path / "resumed")
    scorer = make_scorer()
    assert course(scorer, Processes(), tmp_path / "resumed") == alone["losses"][STEPS // 2 :]
    assert weights(scorer, Processes()) == weights(alone["scorer"], Processes())


@pytest.fixture
def one() -> Iterator[DeviceMesh]:
    """As a process has it that is alone with a GPU; on a processor it is for `offload`."""
    mesh = make_mesh(Processes(), "cpu", offload=True)
    assert mesh is not None
    yield mesh
    distributed.destroy_process_group()


def test_a_mesh_of_one_computes_what_no_mesh_does(one: DeviceMesh) -> None:
    alone, shared = make_scorer(tied=True), make_scorer(tied=True)
    shard(shared, one, bfloat16=False)
    for scorer in (alone, shared):
        backward(scorer, 0, Processes(), parts=2)
    for found, expected in zip(shared.parameters(), alone.parameters(), strict=True):
        assert found.grad is not None
        assert expected.grad is not None
        torch.testing.assert_close(full_tensor(found.grad), expected.grad)


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
