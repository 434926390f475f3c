"""What several verbs share: settings, progress on standard error, arguments as lists, sizes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tongues.core.errors import UserError
from tongues.core.terminal import Show, progress_line, say
from tongues.verbs.options import COUNT, DTYPES, FOLDER, PATH, LauncherOption
from tongues.verbs.settings import argument, option, settings

if TYPE_CHECKING:
    from tongues.recipe import Overrides, RecipeSource


Dtype = Literal["bf16", "fp16", "fp32"]
KEYS = "[SECTION.KEY=VALUE]..."


def in_workspace() -> Any:
    """The folder that a verb works in."""
    names, about = ("-w", "--workspace"), "Folder of all inputs and outputs."
    return option(FOLDER, about=about, names=names, shown=Path(), default=".")


@settings
class OfRecipe:
    """Of verbs that read a recipe."""

    recipe: "RecipeSource" = argument(PATH)
    overrides: "Overrides" = argument(metavar=KEYS, many=True, required=False, default=())
    workspace: Path | str = in_workspace()


@settings
class Overwriting:
    """Of verbs that may find output of other settings."""

    _: KW_ONLY
    overwrite: bool = option(default=False)


@settings
class Together:
    """Of verbs whose runs may have several processes each."""

    _: KW_ONLY
    processes: int | None = option(COUNT, default=None)


@settings
class Launched:
    """Of verbs whose jobs something else may start: `local`, `slurm:partition=gpu`, …."""

    _: KW_ONLY
    launcher: str = option(metavar="NAME", cls=LauncherOption, default="local")


@settings
class Shared:
    """Of verbs whose work several processes may share."""

    _: KW_ONLY
    ranks: int | None = option(COUNT, default=None)


@settings
class Placed:
    """Of verbs that open models."""

    _: KW_ONLY
    max_memory: int | str | None = option(metavar="SIZE", default=None)
    device: str | None = option(metavar="NAME", default=None)
    dtype: Dtype | None = option(DTYPES, default=None)


@settings
class Quietly:
    """Of verbs that say on standard error how they get on."""

    _: KW_ONLY
    quiet: bool = option(names=("-q", "--quiet"), default=False)


@dataclass(frozen=True, slots=True)
class Voice:
    """Lines and live bars on standard error; none of them where it is quiet."""

    quiet: bool = False

    def say(self, line: str) -> None:
        """One line."""
        if not self.quiet:
            say(line)

    @contextmanager
    def progress(self, title: str) -> Iterator[Show]:
        """A live bar: hands out `show(share done, *words)`."""
        if self.quiet:
            yield lambda share, *words: None
            return
        with progress_line(title) as show:
            yield show


def pairs(words: str | Sequence[str] | Mapping[str, object]) -> list[str]:
    """Words such as `E=1.69`, given as such or by name; one alone may be a string."""
    if isinstance(words, str):
        return [words]
    if isinstance(words, Mapping):
        return [f"{name}={value}" for name, value in words.items()]
    return list(words)


def listed(words: Path | str | Sequence[Path | str]) -> list[str]:
    """One word, or several, as a list."""
    return [str(x) for x in ([words] if isinstance(words, Path | str) else words)]


def paths(places: Path | str | Sequence[Path | str]) -> list[Path]:
    """One place, or several, as a list."""
    return [Path(x) for x in ([places] if isinstance(places, Path | str) else places)]


def existing_folder(folder: Path | str) -> Path:
    """A workspace that is only looked at, and so must be there."""
    if not Path(folder).is_dir():
        hint = "name the folder of the recipes and runs"
        if Path(folder).is_file():
            hint = f"{hint}, such as `{Path(folder).parent}`"
        raise UserError("is not a folder", where=str(folder), hint=hint)
    return Path(folder)


def evaluation_folder(workspace: Path, name: str) -> Path:
    """Where the page of an evaluation is."""
    title = name if name.startswith("evaluation") else f"{name}-evaluation"  # the usual name, once
    return workspace / "reports" / title


def where_of(recipe: "RecipeSource") -> str:
    """The place that an error about a recipe names: its file, if it has one."""
    return str(recipe) if isinstance(recipe, Path | str) else "recipe"


def memory_bytes(memory: int | str | None, where: str = "--max-memory") -> int | None:
    """Bytes of what is given as such, or as `2GB`."""
    if memory is None or isinstance(memory, int):
        return memory
    from pydantic import TypeAdapter, ValidationError  # 0.1 s

    from tongues.core.quantities import Bytes

    try:
        return TypeAdapter(Bytes).validate_python(memory)
    except ValidationError as error:
        what = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(what, where=where) from None
