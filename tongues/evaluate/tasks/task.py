"""Tasks: their items, prompts and correct choices.

A task is an open kind. Each built-in one is a YAML file in `library/`; another package adds a task
by an entry point of the group `tongues.tasks`, whose value is a `Task` or a `TaskFile`.
"""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from tongues.errors import UserError, nearest
from tongues.evaluate.tasks.templates import check_template
from tongues.recipe.base import RecipeSection, readable_name
from tongues.recipe.loading import load_section
from tongues.registry import Registry

Normalisation: TypeAlias = Literal["token", "character", "byte", "sum"]


class OnHub(RecipeSection):
    """A task's data set on the hub; `{language}` is replaced by the language."""

    dataset: str
    subset: str | None = None
    split: str = "test"
    demonstrations: str | None = None  # their split; None: among the items


class InFiles(RecipeSection):
    """A task's files in a folder, packed or not; `{language}` is replaced by the language."""

    demonstrations: str | None = None  # None: among the items

    @field_validator("demonstrations")
    @classmethod
    def _inside(cls, path: str | None) -> str | None:
        if path is not None and (path.startswith("/") or path.count("{language}") != 1):
            raise ValueError(f"`{path}` is not a path in a folder with `{{language}}` in it once")
        return path


class Task(RecipeSection):
    """Items of several choices, of which the one with the highest score is the answer.

    `choices` are scored behind `prompt`.
    """

    name: str
    about: str = ""
    languages: list[str] = Field(default=[])  # of the data set on the hub
    hub: OnHub | None = None
    files: InFiles = InFiles()
    id: str | None = None  # a field; None: an item is known by its row's number
    group: str | None = None  # a template; items with the same text are not independent
    prompt: str
    choices: str | list[str]  # a template each, or the field with a list of them
    separator: str = " "  # between a prompt and a choice
    label: str | None = "label"  # the field of the right choice; None: the first is right
    labels: list[str | int | bool] | None = None  # its values, one a choice; None: 0, 1, 2, …
    words: dict[str, dict[str, str]] = Field(default={})  # tables of words for a field's values
    normalisation: Normalisation = "token"

    _named = field_validator("name")(readable_name)

    @property
    def summary(self) -> str:
        """What the items ask."""
        return self.about

    def load(self) -> "Task":
        """The task itself: a registered task is one, or a file of one."""
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> "Task":
        if not isinstance(self.choices, str):
            if len(self.choices) < 2:
                raise ValueError("a list of choices has two of them or more")
            if self.labels is not None and len(self.labels) != len(self.choices):
                what = f"`labels` has {len(self.labels)} values for {len(self.choices)} choices"
                raise ValueError(f"{what}; give one for each")
        choices = [self.choices] if isinstance(self.choices, str) else self.choices
        for template in (self.prompt, *choices):
            check_template(template, self.words)
        check_template(self.group or "", {})
        return self


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
