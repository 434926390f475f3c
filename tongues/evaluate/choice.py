"""Which models to take by an evaluation: on each text and task, and in all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

from tongues.core.roles import Role
from tongues.evaluate.evaluation import Evaluation, TaskScores, TextScores

LanguageRoles: TypeAlias = dict[str, tuple[Role, ...]]


@dataclass(frozen=True, slots=True)
class Choice:
    """By one text or task.

    roles: of every language, none where roles do not matter. counted: the languages that count,
    target and base languages if there are both. untested: of these, the ones where a difference
    has too few documents or items to be significant. models: those that no other is significantly
    better than on any counted language; none where a difference that decides is not tested.
    """

    roles: Mapping[str, tuple[Role, ...]]
    counted: Sequence[str]
    untested: Sequence[str]
    models: Sequence[str]

    @classmethod
    def of(cls, evaluation: Evaluation, scores: TextScores | TaskScores) -> Self:
        """What the scores on a text or a task of an evaluation say."""
        roles: LanguageRoles = dict.fromkeys(scores.languages, ())
        own = differing_roles(evaluation, scores.languages)
        if ("base",) in own.values():  # of models that nothing was continued from, none counts
            roles |= own
        counted = [lang for lang in roles if roles[lang] != ("other",)] or list(roles)
        compared = (*scores.versus_base, *scores.versus_first)
        untested = [
            lang
            for lang in counted
            if (len(evaluation.models) > 1 and lang not in scores.leaders)
            or any(lang in of.languages and of.languages[lang].reason for of in compared)
        ]
        choice = cls(roles, counted, untested, [])
        names = [model.name for model in evaluation.models] * choice.decided
        leaders = {lang: scores.leaders.get(lang, names) for lang in counted}
        best = [name for name in names if all(name in leaders[lang] for lang in counted)]
        return cls(roles, counted, untested, best)

    @property
    def decided(self) -> bool:
        """Whether the differences on target languages, or on all, could be tested."""
        return not any(self.roles[lang] in (("target",), ()) for lang in self.untested)


def roles_by_language(evaluation: Evaluation, languages: Sequence[str]) -> LanguageRoles:
    """What languages are to the models that have a base, or else to all; several if these differ.

    A language that is nothing to one model is what it is to the others.
    """
    each = [model.roles for model in evaluation.models if model.roles]
    each = [roles for roles in each if roles.base_languages] or each
    by_language: LanguageRoles = {}
    for lang in languages:
        own: dict[Role, None] = dict.fromkeys(roles.role(lang) for roles in each)
        if len(own) > 1:
            own.pop("other", None)
        by_language[lang] = tuple(own)
    return by_language


def differing_roles(evaluation: Evaluation, languages: Sequence[str]) -> LanguageRoles:
    """As `roles_by_language`; empty where all languages have one and the same role."""
    roles = roles_by_language(evaluation, languages)
    alike = len(set(roles.values())) == 1 and all(len(of) < 2 for of in roles.values())
    return {} if alike else roles


def chosen_models(evaluation: Evaluation) -> list[str]:
    """The models that every text and task says to take; none where that is not decided."""
    names = [model.name for model in evaluation.models]
    choices = [choice.models for choice in _choices(evaluation)]
    best = [name for name in names if all(name in models for models in choices)]
    return best if len(names) == 1 or len(best) < len(names) else []


def is_tested(evaluation: Evaluation) -> bool:
    """Whether every text and task has enough documents or items to choose a model by."""
    return all(choice.decided for choice in _choices(evaluation))


def _choices(evaluation: Evaluation) -> list[Choice]:
    scores = (*evaluation.texts.values(), *evaluation.tasks.values())
    return [Choice.of(evaluation, each) for each in scores]
