"""The shares of a mixture in a recipe: named by language, or by a rule."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, model_validator

from tongues.core.quantities import Share
from tongues.recipe.base import RecipeSection


class MixtureRule(RecipeSection):
    """Shares of the mixture by each language's text; `auto` means the defaults.

    The mixture has the `targets`, or all languages with text that are not replayed.
    """

    by: Literal["text", "proxies"] = "text"
    """`text`: bytes of content of the training text; `proxies`: also the losses of small runs."""
    power: float = Field(default=0.0, ge=0, le=1, strict=False)
    """Of the bytes of content: 0 gives equal amounts (UniMax), 0.3 is that of mT5, 1 all text."""
    max_epochs: Annotated[float, Field(gt=0, strict=False)] | Literal["off"] = 4.0
    """Most passes over one language's text; the others get the rest. Up to four, repeats are worth
    nearly as much as new text."""
    runs: str | None = None
    """By proxies: the folder in `runs` of a study with `mixtures`."""

    @model_validator(mode="after")
    def _of_proxies(self) -> "MixtureRule":
        if self.by == "proxies" and self.runs is None:
            raise ValueError("name the study of the proxies: `{by: proxies, runs: NAME}`")
        if self.by == "text" and self.runs:
            raise ValueError("`runs` is for `by: proxies`")
        return self


def _mixture(value: Any) -> Any:
    if value == "auto" or isinstance(value, MixtureRule):
        return MixtureRule() if value == "auto" else value
    if isinstance(value, Mapping) and MixtureRule.model_fields.keys() & value.keys():
        if "by" not in value:
            raise ValueError("a rule names what it goes by: `{by: text, power: 0.3}`")
        return MixtureRule.model_validate(value)
    return _SHARES.validate_python(by_language(value))


_SHARES = TypeAdapter(dict[str, Share])


def by_language(value: Any) -> Any:
    """A mapping, or a ValueError that says how amounts by language are written."""
    if not isinstance(value, Mapping):
        what = f"`{value}` names no languages with an amount of each"
        raise ValueError(f"{what}; write them such as `{{sw: 60%, en: 40%}}`")
    return value


MixtureShares = Annotated[dict[str, Share] | MixtureRule, BeforeValidator(_mixture)]
