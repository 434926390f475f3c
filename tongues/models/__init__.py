"""Shapes, exact counts, and Hugging Face models in and out.

`tongues.models.huggingface` is imported by name where it is needed, since it brings torch.
"""

from tongues.models.anatomy import Anatomy, of_folder, of_shape
from tongues.models.counts import count_parameters, flops_per_token, training_bytes
from tongues.models.shapes import SHAPES, SMALL, TABLE, Shape, find_shape

__all__ = [
    "SHAPES",
    "SMALL",
    "TABLE",
    "Anatomy",
    "Shape",
    "count_parameters",
    "find_shape",
    "flops_per_token",
    "of_folder",
    "of_shape",
    "training_bytes",
]
