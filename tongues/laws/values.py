"""Values by name: parameters and variables, numbers or arrays."""

from collections.abc import Mapping

import numpy as np

__all__ = ["Values"]

Values = Mapping[str, float] | Mapping[str, np.ndarray]
