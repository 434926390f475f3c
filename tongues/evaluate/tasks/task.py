"""Tasks: their items, prompts and correct choices.

A task is an open kind. Each built-in one is a YAML file in `library/`; another package adds a task
by an entry point of the group `tongues.tasks`, whose value is a `Task` or a `TaskFile`.
"""

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pydantic import Field, field_validator, model_validator

from tongues.errors import UserError, nearest
from tongues.evaluate.tasks.templates import check_template
from tongues.recipe.base import RecipeSection, readable_name
from tongues.recipe.loading import load_section
from tongues.registry import Registry

__all__ = [
    "NORMALISATIONS",
    "TASKS",
    "Normalisation",
    "PromptTemplate",
    "Task",
    "TaskFile",
    "load_task",
]

Normalisation: TypeAlias = Literal["token", "character", "byte", "sum"]
NORMALISATIONS: tuple[Normalisation, ...] = get_args(Normalisation)

Tables: TypeAlias = dict[str, dict[str, str]]


class OnHub(RecipeSection):
    """A task's data set on the hub; `{language}` is replaced by the language's name there."""

    dataset: str
    subset: str | None = None
    split: str = "test"
    demonstrations: str | None = None  # their split; None: among the items


class InFiles(RecipeSection):
    """A task's files in a folder, packed or not; `{language}` is replaced by the language."""

    items: str | None = None  # None: `NAME/{language}.jsonl`
    demonstrations: str | None = None  # None: among the items

    @field_validator("items", "demonstrations")
    @classmethod
    def _inside(cls, path: str | None) -> str | None:
        if path is not None and (path.startswith("/") or path.count("{language}") != 1):
            raise ValueError(f"`{path}` is not a path in a folder with `{{language}}` in it once")
        return path


class Translation(RecipeSection):
    """The prompt, choices and words of a language, where they differ from the task's."""

    prompt: str | list[str] | None = None
    choices: str | list[str] | None = None
    words: Tables = Field(default={})


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The templates of prompts and choices, and the tables of words they use."""

    prompt: str | list[str]
    choices: str | list[str]
    words: Tables


class Task(RecipeSection):
    """Items of several choices, of which the one with the highest score is the answer.

    `choices` are scored behind `prompt`; with a list of prompts, the one choice behind each.
    """

    name: str
    about: str = ""
    languages: list[str] | dict[str, str] = Field(default=[])  # tags, with their names on the hub
    hub: OnHub | None = None
    files: InFiles = InFiles()
    id: str | None = None  # a field; None: an item is known by its row's number
    group: str | None = None  # a template; items with the same text are not independent
    prompt: str | list[str]
    choices: str | list[str]
    separator: str = " "  # between a prompt and a choice
    label: str | None = "label"  # the field of the right choice; None: the first is right
    labels: list[str | int | bool] | None = None  # its values, one a choice; None: 0, 1, 2, …
    words: Tables = Field(default={})
    replace: dict[str, str] = Field(default={})  # regular expressions, in what has been filled in
    demonstrations_end: str = "\n\n"  # what ends each of them
    normalisation: Normalisation = "token"
    translated: dict[str, Translation] = Field(default={})

    _named = field_validator("name")(readable_name)

    @property
    def summary(self) -> str:
        """What the items ask."""
        return self.about

    @property
    def names(self) -> dict[str, str]:
        """What the task's data call its languages."""
        named = self.languages
        return named if isinstance(named, dict) else dict(zip(named, named, strict=True))

    def load(self) -> "Task":
        """The task itself: a registered task is one, or a file of one."""
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> "Task":
        for translation in (None, *self.translated):
            prompt_template = self.prompt_template(translation or "en", "translated")
            lists = [
                x
                for x in (prompt_template.prompt, prompt_template.choices)
                if not isinstance(x, str)
            ]
            if len(lists) > 1:
                raise ValueError("give several prompts or several choices, not both")
            for listed in lists:
                if len(listed) < 2:
                    raise ValueError("a list of prompts or choices has two of them or more")
                if self.labels is not None and len(self.labels) != len(listed):
                    what = f"`labels` has {len(self.labels)} values for {len(listed)} choices"
                    raise ValueError(f"{what}; give one for each")
            for texts in (prompt_template.prompt, prompt_template.choices):
                for template in [texts] if isinstance(texts, str) else texts:
                    check_template(template, prompt_template.words)
        check_template(self.group or "", {})
        for pattern in self.replace:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"`{pattern}` is not a regular expression ({error})") from None
        return self

    def prompt_template(self, language: str, templates: str = "english") -> PromptTemplate:
        """The prompt, choices and words of a language: the task's own, or `translated` ones."""
        english = templates == "english" or language.partition("-")[0] == "en"
        if not english and language not in self.translated:
            there = ", ".join(f"`{tag}`" for tag in self.translated) or "none"
            what = f"has no templates in `{language}`; there are {there}"
            hint = "use the English ones, or add yours under `translated`"
            raise UserError(what, where=self.name, hint=hint)
        other = Translation() if english else self.translated[language]
        return PromptTemplate(
            self.prompt if other.prompt is None else other.prompt,
            self.choices if other.choices is None else other.choices,
            {**self.words, **other.words},
        )

    def hub_name(self, language: str) -> str:
        """What the data set on the hub calls a language."""
        if self.names and language not in self.names:
            hint = nearest(language, self.names)
            raise UserError(f"has no items in `{language}`", where=self.name, hint=hint)
        return self.names.get(language, language)


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task in a YAML file, which is read when the task is used."""

    path: Path

    @property
    def name(self) -> str:
        """That of the file."""
        return self.path.stem

    @property
    def summary(self) -> str:
        """What the items ask."""
        return self.load().summary

    def load(self) -> Task:
        """The task; a UserError where the file is wrong."""
        return load_section(self.path, Task, "task")


TASKS: Registry[Task | TaskFile] = Registry("task", "tongues.tasks")
for _path in sorted(Path(str(resources.files("tongues.evaluate.tasks"))).glob("library/*.yaml")):
    TASKS.add(TaskFile(_path))


def load_task(name: str | Path) -> Task:
    """A registered task by its name, or one of the user's by its file's path."""
    path = Path(name)
    if str(name) in TASKS.names():
        return TASKS.find(str(name)).load()
    if path.suffix not in (".yaml", ".yml") and not path.is_file():
        hint = f"{nearest(str(name), TASKS.names())}; name your own by its file, such as"
        raise UserError(f"there is no task `{name}`", hint=f"{hint} `mine.yaml`")
    return TaskFile(path).load()
