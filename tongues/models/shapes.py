"""Shapes of Llama-2 style decoders, by name.

`TABLE` holds the 42 shapes of the continual pre-training study (Zheng et al. 2024, appendix),
named by the size its authors report, which is not an exact count: see `counts`. `SMALL`
continues the table downwards by its own rule, named by non-embedding parameters (both are in
files of this folder):

- layers = heads, as in the narrowest row of each width of the table;
- the feed-forward width is the next multiple of a unit above 16/3 of the width; the unit is
  512 in the table, and the width itself below 512 (so six times the width, as at 512).
"""

import csv
import math
import re
from dataclasses import dataclass
from importlib.resources import files

from tongues.core.errors import UserError, nearest


@dataclass(frozen=True, slots=True)
class Shape:
    """Widths and depth of a decoder."""

    name: str
    hidden: int
    feed_forward: int
    heads: int
    head_width: int
    layers: int
    note: str = ""


def _read(file: str) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    text = (files("tongues.models") / file).read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        hidden, heads, note = int(row["hidden_size"]), int(row["heads"]), ""
        if hidden % heads:  # one row; every other shape of its width class has heads of 128
            note = f"{heads} heads as printed do not divide {hidden}; {hidden // 128} of 128 here"
            heads = hidden // 128
        name = f"{row['reported_millions']}M"
        feed_forward, layers = int(row["intermediate_size"]), int(row["layers"])
        shapes[name] = Shape(name, hidden, feed_forward, heads, hidden // heads, layers, note)
    return shapes


SMALL, TABLE = _read("small_shapes.csv"), _read("llama2_shapes.csv")
SHAPES = SMALL | TABLE


def find_shape(name: str, where: str = "model.shape") -> Shape:
    """The shape of that name, or a UserError with the nearest one."""
    if name not in SHAPES:
        hint = _nearest_size(name) or nearest(name, SHAPES)
        raise UserError(f"no shape is called `{name}`", where=where, hint=hint)
    return SHAPES[name]


def _nearest_size(name: str) -> str:
    """The shape that is nearest in size to a count such as `1B`; empty for anything else."""
    match = re.fullmatch(r"(\d+\.?\d*) ?([kMB])", name)
    if match is None or not float(match[1]):
        return ""
    millions = math.log(float(match[1]) * {"k": 1e-3, "M": 1.0, "B": 1e3}[match[2]])
    near = min(SHAPES, key=lambda shape: abs(math.log(float(shape[:-1])) - millions))
    return f"the nearest in size is `{near}`"
