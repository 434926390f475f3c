import math
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.experts.ensemble.making import make_expert
from tongues.errors import UserError
from tongues.experts.ensemble.mapped import map_model
from tongues.export.average import average_experts


def test_the_average_is_a_model_with_the_mean_of_all_weights(
    folders: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "mean").mkdir()
    (tmp_path / "weighted").mkdir()
    average_experts(folders, tmp_path / "mean")
    average_experts(folders, tmp_path / "weighted", [1, 0, 3])
    mean = AutoModelForCausalLM.from_pretrained(tmp_path / "mean")
    weighted = AutoModelForCausalLM.from_pretrained(tmp_path / "weighted")
    each = [dict(map_model(folder).named_parameters()) for folder in folders]
    for name, weight in mean.named_parameters():
        torch.testing.assert_close(weight, sum(one[name] for one in each) / 3)
    for name, weight in weighted.named_parameters():
        torch.testing.assert_close(weight, (each[0][name] + 3 * each[2][name]) / 4)
    assert AutoTokenizer.from_pretrained(tmp_path / "mean").vocab_size


def test_copies_average_to_themselves(folders: list[Path], tmp_path: Path) -> None:
    average_experts([folders[1]] * 2, tmp_path)
    own = dict(map_model(folders[1]).named_parameters())
    for name, weight in map_model(tmp_path).named_parameters():
        assert torch.equal(weight, own[name])


def test_other_shapes_and_weights_are_refused(
    folders: list[Path], tokenizer: Path, tmp_path: Path
) -> None:
    wide = make_expert(tmp_path / "wide", tokenizer, seed=1, shape="0.1M")
    with pytest.raises(UserError, match="is another one than in"):
        average_experts([folders[0], wide], tmp_path)
    for weights in ([1.0, -1.0], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]):
        with pytest.raises(UserError, match="numbers of 0 or more"):
            average_experts(folders[:2], tmp_path, weights)
    with pytest.raises(UserError, match="1 of them for 2 experts"):
        average_experts(folders[:2], tmp_path, [1.0])
