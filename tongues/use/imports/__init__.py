"""Runs of other trainers, brought into the store by their logs: a file a trainer."""

from tongues.use.imports import automodel, hugging_face, wandb
from tongues.use.imports.log import TRAINERS

__all__ = ["TRAINERS", "automodel", "hugging_face", "wandb"]
