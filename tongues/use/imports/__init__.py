"""Runs of other trainers, brought into the store by their logs: a file a trainer."""

from tongues.use.imports import hugging_face
from tongues.use.imports.log import TRAINERS

__all__ = ["TRAINERS", "hugging_face"]
