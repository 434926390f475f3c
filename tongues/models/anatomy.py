"""What a model is made of, and exactly what it counts: parameters, operations, bytes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongues.core.quantities import show_count
from tongues.models.folders import read_config, stored_shapes
from tongues.models.shapes import Shape
from tongues.runs.record import Parameters

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


_MULTIPLE = 64  # of rows: whole tiles of GPU matrix products, as NVIDIA advises and nanoGPT pads
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_CHANGED_LOGITS = ("final_logit_softcapping", "logit_scale", "logits_scaling")
# Families that mix documents packed into one sample although none of their layers is recurrent or a
# convolution, or only by another name: of all in transformers 5.23 that could be built small.
_MIXING = ("afmoe", "biogpt", "bloom", "falcon", "gpt_oss", "minimax", "mpt", "openai-gpt", "opt")
_MIXING += ("roformer", "rwkv", "xglm", "xlstm")
_MET = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_k", "moe_top_k")


@dataclass(frozen=True, slots=True)
class Anatomy:
    """A decoder's parts, as far as parameters, operations and memory depend on them."""

    name: str  # of the shape, or family and size
    family: str  # transformers' `model_type`
    vocabulary: int  # rows of the embedding: never fewer than the tokenizer's tokens
    tied_embeddings: bool
    parameters: Parameters
    products: int  # weights that each token is multiplied by, the output matrix included
    hidden: int
    heads: int
    head_width: int
    windows: tuple[int | None, ...]  # of each layer with attention: tokens it sees; None: all
    layers: int
    positions: int | None  # the longest context; None: any
    whole_logits: bool = False  # capped or scaled, so that no part of them gives a loss
    trained: int | None = None  # parameters that a run trains; None: all
    updates: int = 0  # weights of low-rank updates, which are no parameters of the model
    merged: int = 0  # weights of experts that are kept once more, with their updates added
    frozen_products: int = 0  # of `products`, weights that have no gradient
    frozen_width: int = 4  # bytes of a weight on a GPU that is not trained
    packs: bool = True  # documents in one sample can be kept apart, by positions that begin again

    def flops_per_token(self, context: int) -> int:
        """Operations of one training step, per token: matrix products, forward and backward.

        Counts 2 a multiplication-addition and backward as twice forward: the layers' matrices
        (of experts those a token meets), the output matrix and causal attention at the length a
        position sees on average, (context + 1) / 2 where no window cuts it. Norms, softmax,
        rotations, scans and the input look-up are left out, and the gradients of frozen weights.
        The short rule is 6 x parameters.
        """
        seen = 0.0  # twice the tokens that a position sees on average, itself included
        for window in self.windows:
            reach = min(context, window or context)
            seen += 2 * reach - reach * (reach - 1) / context
        products = 6 * self.products - 2 * self.frozen_products
        return products + round(6 * self.heads * self.head_width * seen)


def of_shape(shape: Shape, vocabulary: int, tied_embeddings: bool = False) -> Anatomy:
    """The Llama-2 style decoder of one of our shapes."""
    width = shape.heads * shape.head_width
    matrices = shape.layers * (4 * shape.hidden * width + 3 * shape.hidden * shape.feed_forward)
    non_embedding = matrices + (2 * shape.layers + 1) * shape.hidden
    embedding = vocabulary * shape.hidden * (1 if tied_embeddings else 2)
    total = non_embedding + embedding
    counts = Parameters(total=total, embedding=embedding, non_embedding=non_embedding)
    return Anatomy(
        name=shape.name,
        family="llama",
        vocabulary=vocabulary,
        tied_embeddings=tied_embeddings,
        parameters=counts,
        products=matrices + vocabulary * shape.hidden,
        hidden=shape.hidden,
        heads=shape.heads,
        head_width=shape.head_width,
        windows=(None,) * shape.layers,
        layers=shape.layers,
        positions=None,
    )


def of_folder(folder: Path, vocabulary: int = 0, *, exact: bool = False) -> Anatomy:
    """The decoder of a Hugging Face folder, with at least `vocabulary` tokens; exact: with those.

    Of a model that reads more than text, its text part. Brings torch and builds the model without
    memory for its weights, which are not read either; a UserError where it could not be trained or
    written back: see `read_config`, `stored_shapes` and `describe_layout`.
    """
    read_config(folder)  # the commonest mistakes at once, before torch is brought
    stored_shapes(folder)
    from tongues.models.huggingface import open_layout

    model = open_layout(folder).model
    rows = len(embedding_matrices(model)[0])
    if exact or (rows < vocabulary and _new_tokens(folder, vocabulary)):
        model.resize_token_embeddings(padded_rows(vocabulary), mean_resizing=False)
    config: Any = model.config
    config.allow_global_per_layer_attribute_access = True  # where widths differ by layer: the usual
    matrices = embedding_matrices(model)
    total, embedding = model.num_parameters(), sum(matrix.numel() for matrix in matrices)
    heads = getattr(config, "num_attention_heads", None) or 0
    width = (getattr(config, "head_dim", None) or config.hidden_size // heads) if heads else 0
    keys = getattr(config, "qk_head_dim", None) or width
    values = getattr(config, "v_head_dim", None) or width
    return Anatomy(
        name=f"{config.model_type}-{show_count(total)}",
        family=config.model_type,
        vocabulary=len(matrices[0]),
        tied_embeddings=len(matrices) == 1,
        parameters=Parameters(total=total, embedding=embedding, non_embedding=total - embedding),
        products=count_products(model),
        hidden=config.hidden_size,
        heads=heads,
        head_width=(keys + values) // 2,
        windows=_windows(config) if heads else (),
        layers=config.num_hidden_layers,
        positions=getattr(config, "max_position_embeddings", None),
        whole_logits=any((getattr(config, key, None) or 1.0) != 1.0 for key in _CHANGED_LOGITS),
        packs=_packs(model),
    )


def padded_rows(vocabulary: int) -> int:
    """Rows of a matrix that is made for a vocabulary: a multiple of 64, for fast products."""
    return math.ceil(vocabulary / _MULTIPLE) * _MULTIPLE


def _new_tokens(folder: Path, vocabulary: int) -> bool:
    """Whether a tokenizer of that size has more tokens than the folder's own.

    A model may have fewer rows than its tokenizer ids, by special tokens that text never has.
    """
    from tongues.text.tokens.tokenizer import load_tokenizer, vocabulary_size

    own = folder / "tokenizer.json"
    return not own.is_file() or vocabulary_size(load_tokenizer(own)) < vocabulary


def embedding_matrices(model: "PreTrainedModel") -> "Sequence[Tensor]":
    """The input matrix, and the output matrix where it is another one."""
    layers = (model.get_input_embeddings(), model.get_output_embeddings())
    weights = [layer.get_parameter("weight") for layer in layers if layer is not None]
    return weights[:1] if weights[0] is weights[-1] else weights


def count_products(model: "PreTrainedModel", *, frozen: bool = False) -> int:
    """Weights of all matrices that are not looked up; of experts, those that a token meets.

    frozen: only of those that have no gradient.
    """
    from torch import nn

    experts, met = (
        next((n for name in names if (n := getattr(model.config, name, None))), 0)
        for names in (_EXPERTS, _MET)
    )
    count = 0
    for module in model.modules():
        for matrix in module.parameters(recurse=False):
            if frozen and matrix.requires_grad:
                continue
            if matrix.ndim == 2 and not isinstance(module, nn.Embedding):
                count += matrix.numel()
            elif matrix.ndim == 3 and len(matrix) == experts:
                count += matrix.numel() // experts * met
    return count


def _packs(model: "PreTrainedModel") -> bool:
    """Whether the model's family keeps packed documents apart, as far as its layers show."""
    from torch import nn

    carried = any(isinstance(module, nn.Conv1d) for module in model.modules())
    return not carried and model.config.model_type not in _MIXING


def _windows(config: Any) -> tuple[int | None, ...]:
    """Of each layer with attention, the tokens it sees; None where it sees all."""
    window = getattr(config, "sliding_window", None)
    window = window if getattr(config, "use_sliding_window", True) else None
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        return (window,) * config.num_hidden_layers
    chunk = getattr(config, "attention_chunk_size", None)
    reach = {"full_attention": None, "sliding_attention": window, "chunked_attention": chunk}
    return tuple(reach[kind] for kind in kinds if kind in reach)
