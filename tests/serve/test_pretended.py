"""The engine's thread on a pretended GPU."""

from pathlib import Path

import torch

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tests.pretended import pretended_gpu
from tests.serve.test_engine import UNENDING, Asked
from tongues.experts.ensemble.model import open_model
from tongues.serve.engine import Engine


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
