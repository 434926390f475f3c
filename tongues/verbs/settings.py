"""What a verb takes, declared once: a frozen object of which its arguments and options follow.

`@settings` makes the class, with a field for each word: `argument` for those by place, `option` for
those by name. Its `run` does the work and returns what it made. `function` is the verb for Python,
with the same names and defaults; `command` is the verb on the command line.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar, dataclass_transform

import click

from tongues.core.beside import read_beside
from tongues.core.errors import UserError

Arguments = ParamSpec("Arguments")
Class = TypeVar("Class")
Result = TypeVar("Result", covariant=True)
Kind = click.ParamType | type | None
_WORD = "word"  # the key of a field's metadata
_HELP: dict[str, dict[str, str]] = read_beside(__file__, "help.toml")
COMMANDS: dict[str, click.Command] = {}  # by name


class Verb(Generic[Result]):
    """Settings of a verb, which give a result."""

    work: ClassVar[str]  # what does it: `module:function` of `tongues.verbs.actions`

    def run(self) -> Result:
        """Do the work; its module is imported now."""
        module, name = self.work.split(":")
        return getattr(import_module(f"tongues.verbs.actions.{module}"), name)(self)


def argument(
    kind: Kind = None,
    *,
    metavar: str | None = None,
    many: bool = False,
    required: bool = True,
    default: Any = MISSING,
) -> Any:
    """A word by its place. many: any number of them. required: on the command line."""
    given = {"type": kind, "metavar": metavar, "required": required, "nargs": -1 if many else 1}
    if not required and not many:
        given |= {"default": None if default is MISSING else default}
    return field(default=default, metadata={_WORD: partial(_argument, given)})


def option(
    kind: Kind = None,
    *,
    about: str = "",
    names: tuple[str, ...] = (),
    metavar: str | None = None,
    many: bool = False,
    cls: type[click.Option] = click.Option,
    shown: Any = MISSING,
    default: Any = MISSING,
) -> Any:
    """A word by its name, such as `--max-tokens` of the field `max_tokens`.

    about: what it is for, where `help.toml` does not say it. names: its names where these are
    others. default: none where it must be given. many: it may be repeated. shown: the default on
    the command line, where it is another one.
    """
    given: dict[str, Any] = {"help": about, "metavar": metavar, "type": kind, "cls": cls}
    if isinstance(default, bool):
        given |= {"is_flag": True}
    elif many:
        given |= {"multiple": True}
    elif default is MISSING:
        given |= {"required": True}
    else:
        given |= {"default": default if shown is MISSING else shown}
        given |= {"show_default": False} if default == "" else {}
    return field(default=default, metadata={_WORD: partial(_option, given, names)})


def _argument(given: dict[str, Any], name: str) -> click.Parameter:
    return click.Argument([name], **given)


def _option(given: dict[str, Any], names: tuple[str, ...], name: str) -> click.Parameter:
    more = {key: value for key, value in given.items() if key != "cls"}
    return given["cls"]([*(names or [f"--{name.replace('_', '-')}"]), name], **more)


@dataclass_transform(frozen_default=True, field_specifiers=(argument, option))
def settings(kind: type[Class]) -> type[Class]:
    """The class of a verb's settings: frozen, a field for each word, options with their help."""
    made: Any = dataclass(frozen=True)(kind)
    for one in fields(made):
        if text := _HELP.get(kind.__name__, {}).get(one.name):
            one.metadata[_WORD].args[0]["help"] = text
    return made


def function(
    kind: Callable[Arguments, Verb[Result]], name: str = ""
) -> Callable[Arguments, Result]:
    """The verb for Python: makes the settings of its arguments, and does the work.

    name: where it is not that of the class in small letters.
    """

    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        try:
            shown.bind(*arguments, **keywords)
        except TypeError as error:  # else it would name the settings' class
            raise TypeError(f"{call.__qualname__}: {error}") from None
        return kind(*arguments, **keywords).run()

    spelt = re.sub(r"(?<=.)([A-Z])", r"_\1", kind.__name__).lower()
    call.__name__ = call.__qualname__ = name or spelt
    call.__module__ = kind.__module__
    call.__doc__ = "\n".join([inspect.getdoc(kind) or "", "", *_described(kind)])
    shown = inspect.signature(kind).replace(return_annotation=inspect.Signature.empty)
    setattr(call, "__signature__", shown)  # noqa: B010 - no attribute to pyright
    return call


def _described(kind: Any) -> Iterator[str]:
    """A line for each argument that says more than its name."""
    for one in fields(kind):
        if about := _WORD in one.metadata and one.metadata[_WORD].args[0].get("help"):
            yield f"{one.name}: {about}"


def command(
    kind: type, *more: Callable[[Any], Any], name: str = "", of: click.Group | None = None
) -> Callable[[Callable[..., None]], click.Command]:
    """The verb on the command line, by the function that prints what came of its settings.

    more: click's options that only the command line has; the function takes them by name. name:
    where it is not that of the function. of: the group of verbs that it belongs to.
    """

    def decorate(show: Callable[..., None]) -> click.Command:
        words = _words(kind)

        def call(**values: Any) -> None:
            own = {word.name: values.pop(word.name) for word in words}
            with _overrides_named(own.get("overrides", ())):
                show(kind(**own), **values)

        call.__doc__ = inspect.getdoc(kind)
        made = click.command(name or show.__name__.strip("_"))(_with(more, call))
        made.params = [*words, *made.params]
        if of is None:
            COMMANDS[made.name or ""] = made
        else:
            of.add_command(made)
        return made

    return decorate


def _words(kind: type) -> list[click.Parameter]:
    """Of the settings: arguments, own options, and those that it shares with other verbs."""
    fields_by_name = {one.name: one for one in fields(kind)}
    order = [name for base in kind.__mro__ for name in inspect.get_annotations(base)]
    metadata = [(name, fields_by_name[name].metadata) for name in order if name in fields_by_name]
    words = [of[_WORD](name) for name, of in metadata if _WORD in of]
    return sorted(words, key=lambda word: isinstance(word, click.Option))


@contextmanager
def _overrides_named(overrides: Sequence[str]) -> Iterator[None]:
    """While entered, a mistake in the values of a recipe's overrides is located in them."""
    try:
        yield
    except UserError as error:
        keys = [override.partition("=")[0] for override in overrides]
        at, inside = f"{error.where}.", "." in error.where
        if any(at.startswith(f"{x}.") or (inside and x.startswith(at)) for x in keys):
            error.where = f"override {error.where}"
        raise


def _with(options: tuple[Callable[[Any], Any], ...], call: Callable[..., None]) -> Any:
    for one in reversed(options):
        call = one(call)
    return call
