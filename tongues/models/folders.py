"""A Hugging Face folder, looked at without loading it: nothing in it is run or unpickled."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.files import check_readable
from tongues.core.hub import is_remote, remote_shapes
from tongues.recipe import in_workspace
from tongues.runs.record import RECIPE

INDEX = "model.safetensors.index.json"  # which file has which weight, where there are several
# More than any model has of what is built one by one, which takes hours; by a key's last word.
_COUNTS = {"layer": 512, "layers": 512, "depth": 512, "experts": 4096}
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
# What comes with a model's configuration, weights, tokenizer and card: how to generate, how images
# and sound are prepared, and the terms under which it may be passed on.
_OTHERS = ("generation_config.json", "*processor_config.json", "LICENSE*", "NOTICE*")
_OTHERS += ("USE_POLICY*",)


def read_config(folder: Path) -> dict[str, Any]:
    """`config.json` of a decoder that transformers has itself; a UserError says why it is not."""
    file, where = folder / "config.json", str(folder)
    if not file.is_file():
        hint = "name a folder with config.json, the weights and tokenizer.json; of a run, `model`"
        raise UserError("holds no Hugging Face model (no config.json)", where=where, hint=hint)
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = f"cannot be loaded: config.json cannot be read ({error})"
        raise UserError(what, where=where) from None
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise UserError("cannot be loaded: config.json names no `model_type`", where=where)
    text = config.get("text_config", config)
    if not isinstance(text, dict):
        raise UserError("cannot be loaded: its `text_config` holds no keys", where=where)
    positions = text.get("max_position_embeddings")
    if isinstance(positions, int) and positions < 2:
        what = f"sees {positions} tokens by its settings, and so cannot continue any"
        raise UserError(what, where=where, hint="take the model from another place")
    if "auto_map" in config:
        hint = (
            f"if transformers has `{config['model_type']}` itself, delete `auto_map` from its "
            "config.json and see that it gives the same logits"
        )
        what = "wants its own code run (`auto_map`), which is never done"
        raise UserError(what, where=where, hint=hint)
    for key, value in _entries(config):
        if key.endswith("_implementation") and "/" in str(value):
            what = f"wants code of the hub run (`{key}: {value}`), which is never done"
            raise UserError(what, where=where, hint="delete that key from its config.json")
        most = None if "_per_" in key else _COUNTS.get(key.rpartition("_")[2])
        if most and isinstance(value, int) and value > most:
            what = f"cannot be loaded: `{key}: {value:,}` is more than any model has"
            raise UserError(what, where=where, hint="take the model from another place")
    if config.get("is_encoder_decoder"):
        raise UserError("is an encoder with a decoder; only decoders are trained", where=where)
    if quantized := config.get("quantization_config"):
        method = quantized.get("quant_method") if isinstance(quantized, dict) else None
        what = f"is quantized ({method or 'no method is named'}), which is not supported"
        hint = "take a copy in bfloat16, or make one by the publisher's or transformers' converter"
        raise UserError(what, where=where, hint=hint)
    return config


def _entries(settings: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Keys and values of settings and of what is in them."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _entries(value)
        else:
            yield key, value


def stored_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Name and shape of every stored weight, by the headers of the safetensors files alone.

    Of a model of the hub whose weights are not here yet, by the headers there.
    """
    if is_remote(folder):
        return remote_shapes(folder)
    return {name: shape for name, (_, shape) in stored_headers(folder).items()}


def stores_bfloat16(folder: Path) -> bool:
    """Whether all weights of a folder are stored in bfloat16, by the files' headers.

    Of a model of the hub whose weights are not here yet, as its config.json says.
    """
    if is_remote(folder):
        config = read_config(folder)
        return "bfloat16" in (config.get("dtype"), config.get("torch_dtype"))
    return {kind for kind, _ in stored_headers(folder).values()} == {"BF16"}


def stored_headers(folder: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type, such as `BF16`, and shape of every stored weight of a folder that is here, by name."""
    from safetensors import SafetensorError, safe_open

    found: dict[str, tuple[str, tuple[int, ...]]] = {}
    for file in weight_files(folder):
        check_readable(file)
        try:
            with safe_open(file, framework="numpy") as stored:
                names = stored.keys()
                for name in names:
                    weight = stored.get_slice(name)
                    found[name] = weight.get_dtype(), tuple(weight.get_shape())
        except (OSError, SafetensorError) as error:
            what, hint = f"is damaged ({error})", _made_again(folder)
            raise UserError(what, where=str(file), hint=hint) from None
    return found


def _made_again(folder: Path) -> str:
    """Where a model comes from that is damaged: a run here, or elsewhere."""
    run = folder.parent
    if folder.name == "model" and run.parent.name == "runs" and (run / RECIPE).is_file():
        again = f"tongues train {shlex.quote(str(run / RECIPE))} --overwrite"
        return f"`{again}{in_workspace(run.parent.parent)}` trains it again"
    return "copy it again from where it came"


def other_files(folder: Path) -> list[Path]:
    """The files that come with a model's configuration, weights, tokenizer and card."""
    return [file for form in _OTHERS for file in sorted(folder.glob(form)) if file.is_file()]


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files in order, all that the index names; a UserError if one is missing."""
    whole, index = folder / "model.safetensors", folder / INDEX
    if whole.is_file():
        return [whole]
    if index.is_file():
        try:
            weights = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
            names = sorted(set(weights.values()))
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise UserError(f"cannot be read ({error!r})", where=str(index)) from None
        outside = [name for name in names if Path(name).name != name]
        if outside:
            what = f"names a file outside its folder: `{outside[0]}`"
            raise UserError(what, where=str(index), hint="take the model from another place")
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            what = f"{len(missing)} of {len(names)} files of weights are missing: `{missing[0]}`"
            raise UserError(what, where=str(folder), hint="copy the whole folder")
        return [folder / name for name in names]
    pickled = sorted(file.name for kind in _PICKLED for file in folder.glob(kind))
    if pickled:
        what = f"has its weights pickled (`{pickled[0]}`), which could run code and is never read"
        hint = "load it where you trust it, `save_pretrained` writes safetensors, and name that"
        raise UserError(what, where=str(folder), hint=hint)
    raise UserError("holds no weights (no model.safetensors)", where=str(folder))
