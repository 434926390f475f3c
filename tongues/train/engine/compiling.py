"""Decoder layers compiled for this machine, where that pays back its start."""

import os
from contextlib import AbstractContextManager

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer

__all__ = ["compile_blocks", "decoder_layers", "uncompiled"]


def decoder_layers(model: PreTrainedModel) -> list[nn.Module]:
    """The decoder's layers, in order."""
    return [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]


def compile_blocks(model: PreTrainedModel) -> str | None:
    """Compile each layer in place, in this process; or leave all and return the reason."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # no workers that outlive a killed run
    try:
        torch.compile(torch.sin)(torch.ones(64, device=model.device))
    except Exception as error:  # a compiler, its headers, a place for its cache: all may lack
        return str(error).strip().splitlines()[0]
    for block in decoder_layers(model):
        block.compile(dynamic=False)
    return None


def uncompiled() -> AbstractContextManager[None]:
    """Compute as written for a while: shapes that come seldom are not worth compiling for."""
    return torch.compiler.set_stance("force_eager")
