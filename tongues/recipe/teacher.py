"""The key on the teacher of a run: a model whose predictions are learned with the text."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tongues.quantities import Share
from tongues.recipe.base import RecipeSection

__all__ = ["Teacher", "TeacherChoice"]


class Teacher(RecipeSection):
    """A model whose next-token distribution is learned; a bare name means `{model: NAME}`."""

    model: str
    """An ensemble, run or folder; of experts the text's own, or by a routing: `NAME@filter`."""
    share: Annotated[Share, Field(gt=0)] = 0.5
    """Share of the objective that its distribution has; the tokens of the text have the rest."""
    top: int = Field(default=16, ge=1, le=256)
    """Its most probable tokens that are kept at every place."""
    fingerprint: str | None = None
    """Of the model's files; `tongues train` finds it."""

    @property
    def bytes_per_token(self) -> int:
        """On disk, for a token of text: an id (4) and a probability (2) for each of `top`."""
        return 6 * self.top


def _by_name(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


TeacherChoice = Annotated[Teacher, BeforeValidator(_by_name)]
