"""Our shapes as Hugging Face models, and any causal model in and out of a folder."""

import logging
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMultimodalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
)
from transformers.utils import logging as transformers_logging

from tongues.core.errors import UserError
from tongues.models.folders import read_config, stored_shapes
from tongues.models.layout import ModelLayout, describe_layout, text_part, write_like
from tongues.models.shapes import Shape
from tongues.models.tensor_file import TensorFile

transformers_logging.disable_progress_bar()

_PROBED = 8  # tokens on which a model must show that it looks back only
_NOISE = 1e-3  # of the logits' spread: what rounding may change


def build_model(
    shape: Shape,
    vocabulary: int,
    context: int,
    *,
    tied_embeddings: bool = False,
    end_id: int = 0,
    seed: int,
) -> PreTrainedModel:
    """A Llama-2 style model of this shape with random weights from `seed`, in float32.

    end_id: the token that ends a document, and so begins the next.
    """
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        head_dim=shape.head_width,
        max_position_embeddings=context,
        rms_norm_eps=1e-5,
        tie_word_embeddings=tied_embeddings,
        bos_token_id=end_id,
        eos_token_id=end_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def open_layout(folder: Path) -> ModelLayout:
    """The model of a Hugging Face folder without memory for its weights, and how it is stored."""
    config, kind = _describe(folder)
    stored_shapes(folder)
    try:
        with torch.device("meta"):
            return describe_layout(folder, kind.from_config(config, dtype=torch.float32))
    except UserError:
        raise
    except Exception as error:  # each family raises its own
        raise _not_loaded(folder, error) from None


def save_model(
    model: PreTrainedModel,
    directory: Path,
    base: Path | None = None,
    groups: Iterable[dict[str, Tensor]] | None = None,
) -> None:
    """Write config.json and weights, in float32: nothing that was learned is rounded.

    base: the folder that the model comes from, whose layout is kept (see `write_like`). groups: the
    weights by name, some at a time, where the model has only a share of each; None: it has them.
    """
    if base is not None:
        groups = [dict(model.state_dict())] if groups is None else groups
        write_like(model, base, open_layout(base), directory, groups)
    elif groups is None:
        model.save_pretrained(directory)
    else:  # one of our shapes
        shapes = {name: (weight.dtype, weight.shape) for name, weight in model.named_parameters()}
        with TensorFile(directory / "model.safetensors", shapes, {"format": "pt"}) as file:
            for group in groups:
                for name, weight in group.items():
                    file.write(name, weight)
        config: Any = deepcopy(model.config)
        config.architectures = [type(model).__name__.removeprefix("FSDP")]
        config.dtype = model.dtype
        config.save_pretrained(directory)
        if model.generation_config is not None:
            model.generation_config.save_pretrained(directory)


def load_model(folder: Path, *, checked: bool = True) -> PreTrainedModel:
    """A causal model from a Hugging Face folder, in float32 and without dropout or noise.

    Of a model that reads more than text, its text part. Every weight must be there and of its
    place's shape; code in the folder is never run and pickled weights are never read.
    checked: whether all are read, to see that they are finite and that the model looks back only;
    else those stored in float32 take no memory until they are used.
    """
    config, kind = _describe(folder)
    stored_shapes(folder)
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(logging.CRITICAL)  # faults are reported below
    try:
        loaded: Any = kind.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    except Exception as error:  # each family raises its own
        raise _not_loaded(folder, error) from None
    finally:
        transformers_logging.set_verbosity(before)
    whole, found = loaded
    _nothing_amiss(folder, found)
    model = text_part(whole)
    for name, weight in model.named_parameters() if checked else ():
        if not weight.isfinite().all():
            what = f"`{name}` holds NaN or infinite values"
            raise UserError(what, where=str(folder), hint="take the model from another place")
    if checked:
        check_causal(folder, model, whole)
    return model


def configure(folder: Path) -> PreTrainedConfig:
    """The configuration of a decoder of text that transformers has itself.

    Without dropout or noise; of a model that reads more than text, that of its text part.
    """
    return _describe(folder)[0].get_text_config()


def _describe(folder: Path) -> tuple[PreTrainedConfig, Any]:
    """The configuration of the whole model, and the automatic class that makes it."""
    settings, where = read_config(folder), str(folder)
    family, causal = settings["model_type"], MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    listed = settings.get("architectures")
    name = str(listed[0]) if isinstance(listed, list) and listed else ""
    hint = "take a decoder such as Llama, Qwen or Gemma"

    def no_decoder(kind: object) -> UserError:
        what = f"is of kind `{kind}`, which is not a causal model of transformers"
        return UserError(what, where=where, hint=hint)

    if family not in CONFIG_MAPPING:
        raise no_decoder(family)
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        text = config.get_text_config()
    except Exception as error:  # each family raises its own
        raise _not_loaded(folder, error) from None
    kind: Any = AutoModelForCausalLM
    if text is not config and name not in (causal.get(family), ""):
        kind = AutoModelForMultimodalLM
        if MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES.get(family) != name:
            what = f"is of kind `{name}`, which transformers cannot load"
            raise UserError(what, where=where, hint=hint)
    if text.model_type not in causal:
        raise no_decoder((name or family) if text is config else text.model_type)
    if text is config and name not in ("", *causal.values()):
        raise no_decoder(name)
    for key, value in text.to_dict().items():
        if ("drop" in key or "jitter" in key) and isinstance(value, float):
            setattr(text, key, 0.0)  # a run is to be the same when it resumes
    return config, kind


def _not_loaded(folder: Path, error: Exception) -> UserError:
    reason = (str(error).strip() or repr(error)).splitlines()[0]
    return UserError(f"cannot be loaded as a causal model: {reason}", where=str(folder))


def _nothing_amiss(folder: Path, found: dict[str, Any]) -> None:
    """Refuse weights that are not exactly those of the configuration."""
    kinds = {
        "mismatched_keys": "of another shape than config.json says",
        "missing_keys": "missing",
        "unexpected_keys": "without a place in the model",
    }
    for kind, wrong in kinds.items():
        names = sorted(key[0] if isinstance(key, tuple) else key for key in found[kind])
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            what = f"its weights are not those of its config.json: `{names[0]}`{more} {wrong}"
            raise UserError(what, where=str(folder), hint="copy both from one place")


@torch.no_grad()
def check_causal(
    folder: Path, model: PreTrainedModel, whole: PreTrainedModel | None = None
) -> None:
    """Refuse a model that needs more than tokens, or whose predictions see what comes after.

    whole: what it is the text part of; it must predict the same.
    """
    size = model.config.get_text_config().vocab_size
    tokens = torch.arange(2 * _PROBED, device=model.device).reshape(2, _PROBED) % size
    tokens[1, :-1] = tokens[0, :-1]
    try:
        logits = model.eval()(input_ids=tokens).logits
        expected = logits if whole in (model, None) else whole.eval()(input_ids=tokens).logits
    except Exception as error:  # each family raises its own
        raise _not_loaded(folder, error) from None
    one, other = logits[:, :-1]
    if logits_differ(one, other):
        raise UserError("looks ahead: it is not a causal model", where=str(folder))
    if logits_differ(logits, expected):
        what = f"its text part alone (`{type(model).__name__}`) predicts otherwise than all of it"
        raise UserError(what, where=str(folder), hint="take a model of text alone")


def logits_differ(one: Tensor, other: Tensor) -> bool:
    """Whether they differ by more than rounding does, as where other rows share a product."""
    return bool((one - other).abs().max() > _NOISE * one.std())
