"""What a layer keeps for its gradient, against PyTorch's own list of saved tensors."""

import pytest
import torch
from torch import Tensor

from tongues.models import find_shape, of_shape
from tongues.models.huggingface import build_model
from tongues.tokens.frame import TextFrame
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.processor import Processor
from tongues.train.rules import layer_bytes

VOCABULARY, SAMPLES = 500, 4


def saved(shape: str, context: int, bfloat16: bool) -> int:
    """Bytes that a forward pass leaves for the backward one, besides the weights."""
    model = build_model(find_shape(shape), VOCABULARY, context, seed=1)
    processor = Processor(torch.device("cpu"), bfloat16, threads=1)
    scorer, _ = fit_scorer(
        model,
        processor,
        context=context,
        frame=TextFrame(0, 0),
        recompute=False,
        compiled=False,
        tell=lambda line: None,
    )
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    held: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in weights:
            held[place] = tensor  # held so that no other takes its place
        return tensor

    windows = torch.randint(VOCABULARY, (SAMPLES, context + 1))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        scorer(windows)
    return sum(tensor.untyped_storage().nbytes() for tensor in held.values())


@pytest.mark.parametrize("bfloat16", [True, False])
@pytest.mark.parametrize(("shape", "context"), [("0.2M", 64), ("1.4M", 256)])
def test_what_layers_keep_is_what_is_counted(shape: str, context: int, bfloat16: bool) -> None:
    anatomy = of_shape(find_shape(shape), VOCABULARY)
    one, two = (
        layer_bytes(anatomy, tokens, context, bfloat16=bfloat16, compiled=False)
        / (1.57 if bfloat16 else 1.4)
        for tokens in (0, SAMPLES * context)
    )
    # The ends' share is mostly of the backward pass.
    assert two - one == pytest.approx(saved(shape, context, bfloat16), rel=0.08)


def test_attention_fused_or_layers_computed_anew_take_less() -> None:
    anatomy = of_shape(find_shape("22M"), VOCABULARY)
    whole, fused = (
        layer_bytes(anatomy, 8192, 512, bfloat16=True, scores=scores) for scores in (True, False)
    )
    anew = layer_bytes(anatomy, 8192, 512, bfloat16=True, recompute=True)
    assert anew < 0.5 * fused < 0.5 * whole
