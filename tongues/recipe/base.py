"""What every section of a recipe is: strict, frozen, without unknown keys."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SerializationInfo,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from tongues.core.errors import UserError, nearest
from tongues.core.registry import registry

UNKNOWN = "unknown_word"  # the type of an error whose context has a `hint`
NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")


def _number_as_text(value: Any) -> Any:
    """A size without its unit is no shape's name; its refusal then names the shape meant."""
    return str(value) if type(value) in (int, float) else value


ShapeName = Annotated[str, BeforeValidator(_number_as_text)]


def readable_name(name: str) -> str:
    """The name, when it is fit for a folder."""
    if not NAME.match(name):
        raise ValueError("a name is made of letters, digits, dot, dash and underscore")
    return name


class RecipeSection(BaseModel):
    """A part of a recipe."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        keys = value if isinstance(value, Mapping) else {}
        for key in keys:
            if key not in cls.model_fields:
                refuse(f"unknown key `{key}`", nearest(key, cls.model_fields), (key,), keys[key])
        return value


@dataclass(frozen=True, slots=True)
class Chosen:
    """Marks a field whose section is that of an object from a registry, chosen by name.

    The object is a subclass of `RecipeSection`; its fields are its settings. A name alone
    means the object with its defaults: `schedule: wsd` is `schedule: {name: wsd}`.
    """

    kind: str  # of the registry, such as `schedule`
    key: str  # of the name in the section, such as `name`

    def read(self, value: Any) -> Any:
        """The section of a recipe's value."""
        if isinstance(value, RecipeSection):
            return value
        settings = {self.key: value} if isinstance(value, str) else value
        if not isinstance(settings, Mapping) or not isinstance(settings.get(self.key), str):
            raise ValueError(f"name the {self.kind}, as in `{{{self.key}: ...}}`")
        try:
            section = registry(self.kind).find(settings[self.key])
        except UserError as error:
            place = () if isinstance(value, str) else (self.key,)
            refuse(error.what, error.hint, place, settings[self.key])
        return section.model_validate({k: v for k, v in settings.items() if k != self.key})

    def show(self, section: RecipeSection, info: SerializationInfo) -> str | dict[str, Any]:
        """The value that `read` takes; a name alone where there are no settings."""
        name = type(section).name  # type: ignore[attr-defined]
        settings = section.model_dump(
            mode="json", exclude_none=info.exclude_none, exclude_unset=info.exclude_unset
        )
        return {self.key: name, **settings} if type(section).model_fields else name

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        show = core_schema.plain_serializer_function_ser_schema(self.show, info_arg=True)
        return core_schema.no_info_plain_validator_function(self.read, serialization=show)


def refuse(what: str, hint: str, place: tuple[str, ...], value: Any) -> NoReturn:
    """Raise the error of a word that is not known; `place`: its keys, within the section."""
    error = PydanticCustomError(UNKNOWN, "{what}", {"what": what, "hint": hint})
    details = InitErrorDetails(type=error, loc=place, input=value)
    raise ValidationError.from_exception_data(what, [details])
