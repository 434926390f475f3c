"""The section on language experts: how the text is divided, and what they branch from."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, SerializeAsAny, field_validator, model_validator

from tongues.errors import UserError
from tongues.recipe.base import RecipeSection, readable_name, refuse
from tongues.registry import registry

__all__ = ["Division", "Experts"]

_TAKEN = ("seed", "before", "grown", "dense")  # what measures and ensembles call other things


class Division(RecipeSection):
    """One way to divide the text into parts, of which each gets an expert.

    Each way (`tongues.experts.partition`) has a subclass, whose fields are its settings.
    """

    by: str  # the way
    name: str | None = None  # what its experts are called after, where two ways would share theirs

    @field_validator("name")
    @classmethod
    def _its_own(cls, value: str | None) -> str | None:
        if value in _TAKEN:
            raise ValueError(f"`{value}` means something else already; take another name")
        return value if value is None else readable_name(value)

    def variant(self) -> Sequence[str]:
        """Words that distinguish it from other partitions by the same way."""
        return ()

    @property
    def label(self) -> str:
        """What its experts are called after, such as `typology-4`."""
        return self.name or "-".join((self.by, *self.variant()))


def _read_division(value: Any) -> Any:
    if isinstance(value, Division):
        return value
    by = value.get("by") if isinstance(value, Mapping) else None
    if not isinstance(by, str):
        raise ValueError("say how the text is divided, such as `{by: languages}`")
    try:
        method = registry("partition").find(by)
    except UserError as error:
        refuse(error.what, error.hint, ("by",), by)
    return method.section.model_validate(value)


class Experts(RecipeSection):
    """Language experts: `train.budget` is that of all experts of a division together.

    They branch from `train.base`, or from the experts of an ensemble that grows.
    """

    partitions: list[Annotated[SerializeAsAny[Division], PlainValidator(_read_division)]] = Field(
        default=[]
    )
    shares: Literal["by text", "equal"] = "by text"  # of a part's languages in its mixture
    seeds: Annotated[list[int], Field(min_length=1)] = Field(default=[1])
    add_to: str | None = None  # an ensemble
    add: dict[str, str] = Field(default={})  # to it: a language, and its donor or how to find one
    shared_expert: bool = False  # one new expert for all that is added and its donors
    workers: int | None = Field(default=None, ge=1)  # runs at a time; by default one per core

    @model_validator(mode="after")
    def _something_to_do(self) -> "Experts":
        if not (self.partitions or self.add):
            raise ValueError("name `partitions`, or languages to `add` to an ensemble that grows")
        if self.add and self.add_to is None:
            raise ValueError("`add` needs an ensemble to add to: name it by `grow`")
        if self.shared_expert and not self.add:
            raise ValueError("`together` is about languages to `add`")
        if self.add and self.partitions:
            raise ValueError("an ensemble grows by `add` or by `partitions`, not by both at once")
        labels = [division.label for division in self.partitions]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise ValueError(f"two partitions would both be called `{twice}`; give one a `name`")
        return self
