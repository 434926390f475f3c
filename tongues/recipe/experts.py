"""The section on language experts: how the text is partitioned, and what they branch from."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    SerializeAsAny,
    field_validator,
    model_validator,
)

from tongues.core.errors import UserError
from tongues.core.registry import registry
from tongues.recipe.base import RecipeSection, readable_name, refuse

_TAKEN = ("base", "before", "added", "dense")  # labels with a meaning in evaluations


class PartitionSettings(RecipeSection):
    """A partition of the text, by its method's settings; each cluster gets an expert.

    Each method (`tongues.experts.partition`) has a subclass.
    """

    by: str
    """The method."""
    name: str | None = None
    """Prefix of its experts' names, where two partitions would share theirs."""
    batch: str = Field("1x", pattern=r"^[1-9]\d*x$", exclude_if=lambda value: value == "1x")
    """Times `train.batch`, such as `4x`: with the same budget, a fourth of the steps."""

    @field_validator("name")
    @classmethod
    def _its_own(cls, value: str | None) -> str | None:
        if value in _TAKEN:
            raise ValueError(f"`{value}` means something else already; take another name")
        return value if value is None else readable_name(value)

    def variant(self) -> Sequence[str]:
        """Words that distinguish it from other partitions by the same method."""
        return ()

    @property
    def batch_times(self) -> int:
        """How many times `train.batch` a step of its runs has."""
        return int(self.batch[:-1])

    @property
    def label(self) -> str:
        """What its experts are called after, such as `typology-4`."""
        times = (self.batch,) if self.batch_times > 1 else ()
        return self.name or "-".join((self.by, *self.variant(), *times))


def _read_partition(value: Any) -> Any:
    if isinstance(value, PartitionSettings):
        return value
    by = value.get("by") if isinstance(value, Mapping) else None
    if not isinstance(by, str):
        raise ValueError("name the method, such as `{by: languages}`")
    try:
        method = registry("partition").find(by)
    except UserError as error:
        refuse(error.what, error.hint, ("by",), by)
    return method.section.model_validate(value)


class ExpertBudget(RecipeSection):
    """How the experts of a partition share `train.budget`; a name alone means its defaults."""

    by: Literal["even", "text"] = "even"
    """`even`, or `text`: as much as the cluster's text."""
    max_epochs: Annotated[float, Field(gt=0, strict=False)] | Literal["off"] = "off"
    """Most passes of an expert over its text; the others get the rest."""


def _read_budget(value: Any) -> Any:
    if isinstance(value, str):
        rule = value.removeprefix("by ")
        if rule not in ("even", "text"):
            raise ValueError(f"`{value}` is not a rule; write `even` or `by text`")
        return ExpertBudget.model_validate({"by": rule})
    return value


class Experts(RecipeSection):
    """Language experts: `train.budget` is that of all experts of a partition together.

    They branch from `train.base`, or from the experts of the ensemble `add_to`.
    """

    partitions: list[
        Annotated[SerializeAsAny[PartitionSettings], PlainValidator(_read_partition)]
    ] = Field(default=[])
    """Partitions of the text, each by a method with its settings."""
    shares: Literal["by text", "equal"] | None = None
    """Weights of a cluster's languages: `by text`, or `equal` up to four passes over one's text.
    Default: `by text`; for a `shared_expert` `equal`."""
    budget: Annotated[ExpertBudget, BeforeValidator(_read_budget)] = ExpertBudget()
    """Of each expert: `even` or `by text`, or with a limit: `{by: even, max_epochs: 4}`."""
    seeds: Annotated[list[int], Field(min_length=1)] = Field(default=[1])
    """Random seeds; one ensemble of each partition for each."""
    add_to: str | None = None
    """An ensemble whose experts the new ones branch from."""
    add: dict[str, str] = Field(default={})
    """Languages to add: `{language: donor}`, the donor by name or by `transfer`."""
    shared_expert: bool = False
    """One new expert for all added languages and their donors."""
    workers: int | None = Field(default=None, ge=1)
    """Runs at a time; default: one per core."""

    @model_validator(mode="after")
    def _something_to_do(self) -> "Experts":
        if not (self.partitions or self.add):
            raise ValueError(
                "name `partitions`, or languages to `add` and the ensemble to `add_to`"
            )
        if self.add and self.add_to is None:
            raise ValueError("`add` needs an ensemble: name it in `add_to`")
        if self.shared_expert and not self.add:
            raise ValueError("`shared_expert` is only for languages to `add`")
        if self.add and self.partitions:
            raise ValueError("give `add` or `partitions`, not both")
        labels = [settings.label for settings in self.partitions]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise ValueError(f"two partitions would both be called `{twice}`; give one a `name`")
        return self
