"""The keys that say which weights of a base a run trains."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from tongues.recipe.base import RecipeSection

_PARTS = ("all", "embeddings", "feed_forward", "routers")


class Lora(RecipeSection):
    """Low-rank updates of the layers' matrices (LoRA), by `peft`."""

    rank: int = Field(default=128, ge=1)
    """Rank of each update, which counts twice."""


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


Trainable = Annotated[
    Literal["all", "embeddings", "feed_forward", "routers"] | LowRank, BeforeValidator(_trainable)
]
