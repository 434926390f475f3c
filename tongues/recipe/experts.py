"""The section on language experts: how the text is divided, and what they branch from."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from tongues.recipe.base import Section, readable_name

__all__ = ["Division", "Experts"]

_TAKEN = ("seed", "before", "grown", "dense")  # what measures and ensembles call other things


class Division(Section):
    """One way to divide the text into parts, of which each gets an expert."""

    by: Literal["typology", "kinship", "topics", "languages", "file", "dense"]
    k: int | None = Field(default=None, ge=1, le=1000)  # how many parts
    distances: str | None = None  # typology: a file of distances or features, not lang2vec's
    preset: Literal["xelm"] = "xelm"  # typology: how features become distances
    terms: Literal["pieces", "words", "characters"] = "pieces"  # topics: what documents are told by
    balance: Literal["documents", "tokens"] = "documents"  # topics: what parts have equally many of
    file: str | None = None  # the languages of each part
    name: str | None = None  # what its experts are called after, where two ways would share theirs

    @field_validator("name")
    @classmethod
    def _its_own(cls, value: str | None) -> str | None:
        if value in _TAKEN:
            raise ValueError(f"`{value}` means something else already; take another name")
        return value if value is None else readable_name(value)

    @model_validator(mode="after")
    def _as_its_way_asks(self) -> "Division":
        counted = self.by in ("typology", "kinship", "topics")
        if counted and self.k is None:
            raise ValueError(f"a division by {self.by} asks for `k`, how many parts")
        if not counted and self.k is not None:
            raise ValueError(f"a division by {self.by} has as many parts as follow from it; no `k`")
        if self.by == "dense" and self.name:
            raise ValueError("the dense model is found by its own name; it takes no other")
        if (self.by == "file") != (self.file is not None):
            raise ValueError("`file` names the languages of each part; it goes with `by: file`")
        return self

    @property
    def label(self) -> str:
        """What its experts are called after, such as `typology-4`."""
        if self.name:
            return self.name
        parts = [self.by, *([str(self.k)] if self.k else [])]
        parts += [self.terms] if self.terms != "pieces" else []
        parts += ["tokens"] if self.balance == "tokens" else []
        return "-".join(parts)


class Experts(Section):
    """Language experts: `train.budget` is that of all experts of a division together.

    They branch from `train.base`, or from the experts of an ensemble that grows.
    """

    divisions: list[Division] = Field(default=[])
    shares: Literal["by text", "equal"] = "by text"  # of a part's languages in its mixture
    seeds: Annotated[list[int], Field(min_length=1)] = Field(default=[1])
    grow: str | None = None  # an ensemble
    add: dict[str, str] = Field(default={})  # to it: a language, and its donor or how to find one
    together: bool = False  # one new expert for all that is added and its donors
    power: Literal[2, 4] | None = None  # of the distance in routing; 2, or as what grows has it
    workers: int | None = Field(default=None, ge=1)  # runs at a time; by default one per core

    @model_validator(mode="after")
    def _something_to_do(self) -> "Experts":
        if not (self.divisions or self.add):
            raise ValueError("name `divisions`, or languages to `add` to an ensemble that grows")
        if self.add and self.grow is None:
            raise ValueError("`add` needs an ensemble to add to: name it by `grow`")
        if self.together and not self.add:
            raise ValueError("`together` is about languages to `add`")
        if self.add and self.divisions:
            raise ValueError("an ensemble grows by `add` or by `divisions`, not by both at once")
        labels = [division.label for division in self.divisions]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise ValueError(f"two divisions would both be called `{twice}`; give one a `name`")
        return self
