"""The keys that say which weights of a base a run trains, and how fast its embeddings."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from tongues.recipe.base import RecipeSection

__all__ = ["EmbeddingRate", "LayerSlice", "Lora", "LowRank", "Trainable", "embedding_multiple"]
__all__ += ["slice_layers"]

_SLICE = re.compile(r"^(-?\d*):(-?\d*)$")
_PARTS = ("all", "embeddings", "feed_forward", "routers")
_TIMES = re.compile(r"^(\d+\.?\d*|\.\d+)x$")


class Lora(RecipeSection):
    """Low-rank updates of the layers' matrices (LoRA), by `peft`."""

    rank: int = Field(default=128, ge=1)
    """Rank of each update."""
    alpha: float | None = Field(default=None, gt=0, strict=False)
    """An update counts `alpha / rank` times; default: twice the rank."""
    targets: Literal["all-linear"] | Annotated[list[str], Field(min_length=1)] = "all-linear"
    """Matrices that are updated: all of the layers, or their names, such as `[q_proj, v_proj]`."""
    dora: bool = False
    """Also train the length of each column by itself (DoRA)."""


class LowRank(RecipeSection):
    """Low-rank updates instead of whole matrices; `lora` alone means the defaults."""

    lora: Lora = Field(default_factory=Lora)
    """The updates."""
    embeddings: bool = True
    """Whether input and output embeddings are trained too, whole."""


def _trainable(value: Any) -> Any:
    if value == "lora":
        return LowRank()
    if not isinstance(value, str) or value in _PARTS:
        return value
    names = ", ".join(f"`{part}`" for part in _PARTS)
    what = f"`{value}` names no weights; write {names} or `lora`"
    raise ValueError(f"{what}, or a rank as in `{{lora: {{rank: 64}}}}`")


def _layers(value: Any) -> str:
    if isinstance(value, dict) and list(value.values()) == [None]:
        value = f"{next(iter(value))}:"  # as YAML reads `2:`
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return f":{value}"
    if isinstance(value, str) and (match := _SLICE.match(value)) and any(match.groups()):
        return value
    example = "`8` (the first eight) or `2:-2` (all but the first and the last two)"
    raise ValueError(f"`{value}` names no layers; write {example}")


def _embedding_rate(value: Any) -> Any:
    if isinstance(value, str) and (match := _TIMES.match(value)) and float(match[1]) > 0:
        return value
    if isinstance(value, float | int) and not isinstance(value, bool) and 0 < value < 1:
        return float(value)
    what = f"`{value}` is not a learning rate; write one such as `5e-5`"
    raise ValueError(f"{what}, or a multiple of `learning_rate` such as `0.2x`")


Trainable = Annotated[
    Literal["all", "embeddings", "feed_forward", "routers"] | LowRank, BeforeValidator(_trainable)
]
LayerSlice = Annotated[str, BeforeValidator(_layers)]
EmbeddingRate = Annotated[float | str, BeforeValidator(_embedding_rate)]


def slice_layers(layers: str | None, count: int) -> range:
    """The numbers of the layers that a slice such as `2:-2` names, of `count`, from 0."""
    if layers is None:
        return range(0)
    first, last = (int(part) if part else None for part in layers.split(":"))
    return range(count)[first:last]


def embedding_multiple(value: float | str | None, rate: float) -> float:
    """How many times the peak rate of the other weights that of the embeddings is."""
    if value is None:
        return 1.0
    return float(value[:-1]) if isinstance(value, str) else value / rate
