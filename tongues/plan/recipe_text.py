"""The text of a plan's recipe: of a recipe there is, of the language planned for, or synthetic."""

import math
from dataclasses import dataclass
from typing import Any

from tongues.errors import UserError, nearest
from tongues.languages import find_language
from tongues.plan.options import Option
from tongues.plan.question import Question
from tongues.plan.ready import hub_text, text_limit
from tongues.recipe import Ancestry, Recipe, Synthetic, Text

_READINGS = 500  # times that placeholder text is read
_MADE_TEXT = (
    "Text: synthetic text ({languages}) takes the place of yours. List your own files under "
    "`text.files` and write their tags into `train.mixture`: `{target}` is the language to learn."
)
_HUB_TEXT = (
    "Text: of {languages}, public text of the hub. For your own, write `{first}: [FOLDER]` under "
    "`text.files`, and take `{first}` out of `text.hub`."
)


@dataclass(frozen=True, slots=True)
class RecipeText:
    """Text, and the roles of its languages.

    learned: the language to learn. others: the rest, the one that the base knows first.
    made: whether it is synthetic, for text that nobody named. remark: what to know of it.
    """

    text: Text
    learned: str
    others: tuple[str, ...]
    made: bool = False
    remark: str = ""


def recipe_text(
    option: Option,
    question: Question,
    replay: float,
    tokens: int,
    like: Recipe | None,
    target: str | None,
) -> RecipeText:
    """The text of a run on that many tokens, a share of them replay.

    like: a recipe whose text is taken. target: the language to learn, where it has several.
    """
    if like is not None:
        return _of_recipe(like, target)
    if question.language:
        return _of_language(option, question, replay, tokens)
    languages = {"qaa": Ancestry()}
    if option.way.strategy == "cpt":
        languages["qab"] = Ancestry(parent="qaa", divergence=0.2)
    size = f"{max(1, math.ceil(tokens / _READINGS / 1e6))} MB"
    text = Text(synthetic=Synthetic.model_validate({"size": size, "languages": languages}))
    *others, learned = languages
    remark = _MADE_TEXT.format(languages=" and ".join(languages), target=learned)
    return RecipeText(text, learned, tuple(others), True, remark)


def _of_language(option: Option, question: Question, replay: float, tokens: int) -> RecipeText:
    """The user's own text where a plan was given it, and the hub's for the rest."""
    learned, others = find_language(question.language).tag, ()
    if option.way.strategy == "cpt":
        known = option.way.base.languages if option.way.base else ()
        others = (next((lang for lang in known or ("en",) if lang != learned), "en"),)
    needed = {learned: min((1.0 - replay) * tokens, option.way.unique)}
    needed |= dict.fromkeys(others, replay * tokens)
    files = {learned: question.text_place} if question.text_place else {}
    limits = {lang: text_limit(n) for lang, n in needed.items()}
    if size := question.text:
        each = size / question.unique(option.way.base)
        limits[learned] = text_limit(needed[learned], each, most=size)
    hub = {lang: hub_text(lang, limit) for lang, limit in limits.items() if lang not in files}
    found: dict[str, Any] = {name: of for name, of in (("files", files), ("hub", hub)) if of}
    languages = " and ".join(f"`{lang}`" for lang in hub)
    remark = _HUB_TEXT.format(languages=languages, first=next(iter(hub), "")) if hub else ""
    return RecipeText(Text.model_validate(found), learned, others, remark=remark)


def _of_recipe(like: Recipe, target: str | None) -> RecipeText:
    text, study, mixture = like.text, like.study, like.train.shares
    targets = study.targets if study else list(mixture) or list(text.languages[:1])
    if target is None and len(targets) > 1:
        hint = f"choose one by `--target`: {', '.join(targets)}"
        raise UserError("the recipe has several targets", where="--for", hint=hint)
    learned = target or targets[0]
    if learned not in text.languages:
        hint = nearest(learned, text.languages)
        what = f"language `{learned}` has no text in the recipe"
        raise UserError(what, where="--target", hint=hint)
    source = [study.source] if study else [*like.train.replay, *mixture]
    others = tuple(lang for lang in (*source, *text.languages) if lang != learned)
    return RecipeText(text, learned, others)
