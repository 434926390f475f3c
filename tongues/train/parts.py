"""The weights that a run trains: all of them, a part, or low-rank updates of matrices.

The others are the base's, bit for bit: they have no gradient, no moments and no place in
checkpoints. A finished model is whole again, with its updates added to its matrices.
"""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.core.files import whole_directory
from tongues.core.randomness import derive_seed
from tongues.models import Anatomy, Shape
from tongues.models.anatomy import count_products, embedding_matrices
from tongues.models.folders import read_config, stores_bfloat16
from tongues.models.huggingface import build_model, load_model, open_layout
from tongues.recipe import LowRank, Train
from tongues.runs.record import read_run
from tongues.train.base import base_fingerprint, find_base, model_folder
from tongues.train.checkpoint import load_weights
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import decoder_layers
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import gather_model, is_sharded

if TYPE_CHECKING:
    from peft import PeftModel


_FEED_FORWARD = ("mlp", "feed_forward", "block_sparse_moe")  # as transformers calls them
_ROUTERS = ("gate", "router")
_ALPHA = 2  # times an update counts


def select_parts(model: PreTrainedModel, settings: Train) -> "PeftModel | None":
    """Freeze what the run does not train, and put its low-rank updates into the layers, in place.

    Returns the model as peft has it, or None without low-rank updates.
    """
    trainable, layers = settings.trainable, decoder_layers(model)
    if trainable == "all":
        return None
    model.requires_grad_(False)
    adapter = None
    if isinstance(trainable, LowRank):
        seed = derive_seed(settings.seed, "updates")
        adapter = _add_updates(model, layers, trainable.lora.rank, seed)
    elif trainable != "embeddings":
        parts = [part for layer in layers for part in _parts(layer, trainable)]
        if not parts:
            name, hint = trainable.replace("_", "-"), "leave it out, or train with `lora`"
            what = f"the base's layers have no {name} that are known by their names"
            raise UserError(what, where="train.trainable", hint=hint)
        for part in parts:
            part.requires_grad_(True)
    if settings.trains_embeddings:
        for ends in (model.get_input_embeddings(), model.get_output_embeddings()):
            if ends is not None:
                ends.requires_grad_(True)
    return adapter


def narrow_frozen(model: PreTrainedModel) -> None:
    """Hold what is not trained in bfloat16: exactly, of a base that is stored in it."""
    for weight in model.parameters():
        if weight.dtype == torch.float32 and not weight.requires_grad:
            weight.data = weight.data.to(torch.bfloat16)


def _parts(layer: nn.Module, kind: str) -> list[nn.Module]:
    """The feed-forward matrices of a layer, or the routers of its experts."""
    if kind == "routers":
        sparse = [module for module in layer.modules() if hasattr(module, "experts")]
        return [getattr(one, name) for one in sparse for name in _ROUTERS if hasattr(one, name)]
    return [module for name, module in layer.named_children() if name in _FEED_FORWARD]


def _add_updates(
    model: PreTrainedModel, layers: list[nn.Module], rank: int, seed: int
) -> "PeftModel":
    require("peft", "train.trainable")
    from peft import LoraConfig, get_peft_model

    names = {id(module): name for name, module in model.named_modules()}
    matrices, experts = [], []
    for module in (module for layer in layers for module in layer.modules()):
        name = names[id(module)]
        if isinstance(module, nn.Linear | Conv1D):
            matrices.append(name)
        else:  # the matrices of all experts in one
            own = module.named_parameters(recurse=False)
            experts += [f"{name}.{part}" for part, weight in own if weight.ndim == 3]
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=rank,
        lora_alpha=_ALPHA * rank,
        target_modules=matrices,
        target_parameters=experts or None,
    )
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it decides itself
        torch.manual_seed(seed)
        try:
            adapter: Any = get_peft_model(model, config)
        except ValueError as error:
            reason = str(error).strip().splitlines()[0]
            what = f"peft cannot update this base: {reason}"
            hint = "train whole matrices: leave `trainable` out"
            raise UserError(what, where="train.trainable.lora", hint=hint) from None
    return adapter


def trained_anatomy(
    anatomy: Anatomy, settings: Train, base: Path | None, shape: Shape | None
) -> Anatomy:
    """A base's anatomy with what the run trains of it.

    base: a run's directory or a Hugging Face folder; of one to come, `shape` is known.
    """
    width = 4
    with torch.device("meta"):
        if base is not None:
            model = open_layout(model_folder(base)).model
            width = 2 if stores_bfloat16(model_folder(base)) else 4
        else:
            assert shape is not None
            tied = anatomy.tied_embeddings
            model = build_model(shape, anatomy.vocabulary, 1, tied_embeddings=tied, seed=0)
        if len(embedding_matrices(model)[0]) < anatomy.vocabulary:
            model.resize_token_embeddings(anatomy.vocabulary, mean_resizing=False)
        adapter: Any = select_parts(model, settings)
    experts = adapter.peft_config["default"].target_parameters if adapter else None
    merged = [w for w in model.parameters() if w.ndim == 3 and experts]
    return replace(
        anatomy,
        products=count_products(model),
        updates=sum(w.numel() for n, w in model.named_parameters() if ".lora_" in n),
        merged=sum(w.numel() for w in merged),
        frozen_products=count_products(model, frozen=True),
        frozen_width=width,
        trained=sum(weight.numel() for weight in model.parameters() if weight.requires_grad),
    )


def gather_parts(
    scorer: Scorer, adapter: "PeftModel | None", settings: Train, processes: Processes
) -> "tuple[PreTrainedModel | None, PeftModel | None]":
    """The whole model with its updates in the first process, None in the others."""
    if not is_sharded(scorer):
        return scorer.model, adapter
    into = type(scorer.model)(scorer.model.config)
    adapter = select_parts(into, settings)
    return gather_model(scorer, processes, into), adapter


def write_adapter(adapter: "PeftModel", base: str, folder: Path) -> None:
    """Write the updates, and embeddings where they are trained, in peft's own format."""
    from peft import get_peft_model_state_dict

    model: Any = adapter.get_base_model()
    tensors = get_peft_model_state_dict(adapter, save_embedding_layers=False)
    for name, weight in model.named_parameters():
        if weight.requires_grad and ".lora_" not in name:  # embeddings, and an output's bias
            tensors[f"base_model.model.{name}"] = weight.detach()
    config: Any = adapter.peft_config["default"]
    config.base_model_name_or_path, config.inference_mode = base, True
    config.target_modules = sorted(config.target_modules)  # a set has no order
    with whole_directory(folder) as aside:
        config.save_pretrained(str(aside))
        whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
        save_file(whole, aside / "adapter_model.safetensors", {"format": "pt"})


def checkpoint_model(place: Path, workspace: Path) -> PreTrainedModel:
    """The whole model of a run's checkpoint; what it does not hold comes from the base."""
    record = read_run(place.parents[1])
    kept = {key: value for key, value in record.settings.items() if key in Train.model_fields}
    settings = Train.model_validate(kept)
    if not settings.trains_part:
        return load_weights(place)
    base, there = record.base, find_base(record.base_model, workspace)
    assert base is not None
    if there is None or base_fingerprint(there) != base.fingerprint:
        what = f"`{base.model}` is not the base that the run continued from"
        hint = "put that one back: the checkpoint holds only what was trained"
        raise UserError(what, where=str(place), hint=hint)
    model, rows = load_model(model_folder(there)), read_config(place)["vocab_size"]
    if len(embedding_matrices(model)[0]) < rows:
        model.resize_token_embeddings(rows, mean_resizing=False)
    adapter: Any = select_parts(model, settings)
    load_weights(place, model)
    return adapter.merge_and_unload() if adapter else model
