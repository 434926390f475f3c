"""Shapes, exact counts, and Hugging Face models in and out.

`tongues.models.huggingface` is imported by name where it is needed, since it brings torch.
"""

from tongues.models.anatomy import Anatomy, of_folder, of_shape
from tongues.models.shapes import SHAPES, SMALL, TABLE, Shape, find_shape

__all__ = ["SHAPES", "SMALL", "TABLE", "Anatomy", "Shape", "find_shape", "of_folder", "of_shape"]
