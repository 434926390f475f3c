"""What every section of a recipe is: strict, frozen, without unknown keys."""

import re

from pydantic import BaseModel, ConfigDict

__all__ = ["Section", "readable_name"]

_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")


def readable_name(name: str) -> str:
    """The name, when it is fit for a folder."""
    if not _NAME.match(name):
        raise ValueError("a name is made of letters, digits, dot, dash and underscore")
    return name


class Section(BaseModel):
    """A part of a recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
