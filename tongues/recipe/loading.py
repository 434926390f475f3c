"""Recipes in and out: YAML 1.2, `key=value` overrides, mistakes with file, line and key."""

import io
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from tongues.core.beside import read_beside
from tongues.core.errors import UserError, nearest
from tongues.core.removed import instead_of_key
from tongues.recipe.base import UNKNOWN, RecipeSection
from tongues.recipe.foreign import ForeignRecipe, read_foreign
from tongues.recipe.recipe import Recipe, TextRecipe

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


T = TypeVar("T", bound=RecipeSection)

RecipeSource = Path | str | Mapping[str, Any] | TextRecipe  # a YAML file, its content, or a recipe
# `section.key=value` with the value in YAML, or values by `section.key`.
Overrides = str | Sequence[str] | Mapping[str, Any]

# What to write where a key is missing.
_MISSING = {"train": "`tongues new` writes a whole recipe; `prepare` alone needs no `train`"}
_Layer = tuple[Mapping[str, Any], Path]
_EXTENDS = "such as `extends: base.yaml`; that file may extend another"

_SLIPS = read_beside(__file__, "slips.toml")["slips"]

# Chosen; no recipe comes near these. The first is of a file, the others with aliases written out.
_CHARACTERS, _VALUES, _DEPTH = 200_000, 20_000, 50
_DEEP = re.compile(r"(?:[\[{][^\[\]{}]*+){500}")  # opened and not closed: seconds for the parser

# Where several kinds may stand.
_KIND = re.compile(r"^(function-|(literal|list|dict)\[|constrained-|(LowRank|int|float|str|bool)$)")


def load_recipe(source: RecipeSource, overrides: Overrides = ()) -> Recipe:
    """The recipe of a YAML file, of a mapping like one, or the recipe given, with overrides.

    A file that `extends` another takes its sections key by key: a key of its own replaces the
    other's whole value, and `null` removes it. Any mistake is a UserError with the file, line and
    key, and the nearest valid word.
    """
    if isinstance(source, Recipe) and not overrides:
        return source
    return load_section(_values(source), Recipe, "recipe", overrides)


def load_text_recipe(source: RecipeSource, overrides: Overrides = ()) -> TextRecipe:
    """As `load_recipe`, for what reads only the text: `train` may be missing."""
    if isinstance(source, TextRecipe) and not overrides:
        return source
    values = _read_values(_values(source), "recipe", overrides)
    kind = Recipe if values[0].keys() - TextRecipe.model_fields else TextRecipe
    return _validated(kind, *values)


def _values(source: RecipeSource) -> Path | str | Mapping[str, Any]:
    if isinstance(source, TextRecipe):
        return source.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return source


def load_section(
    source: Path | str | Mapping[str, Any], kind: type[T], name: str, overrides: Overrides = ()
) -> T:
    """A section of one kind, which is called `name` in errors; otherwise as a recipe."""
    return _validated(kind, *_read_values(source, name, overrides))


def _read_values(
    source: Path | str | Mapping[str, Any], name: str, overrides: Overrides
) -> tuple[dict[str, Any], list[_Layer], list[str]]:
    """Plain values with the overrides, the files that they were read from, the overrides' keys."""
    layers = _layers(source, name)
    plain = _merged(layers)
    if isinstance(overrides, str | Path):
        overrides = (str(overrides),)
    keys = list[str]()
    if isinstance(overrides, Mapping):
        for key, value in overrides.items():
            _set(plain, key, value, where=key)
        keys, overrides = list(overrides), ()
    for override in map(str, overrides):
        key, equals, value = override.partition("=")
        if not equals or not key:
            hint = "write `section.key=value`; a workspace is `--workspace`, in Python `workspace=`"
            raise UserError("is not an override", where=override, hint=hint)
        _set(plain, key, _parse(value, where=override), where=override)
        keys.append(key)
    if "extends" in plain:
        raise UserError("is a key of a file, not an override", where="extends")
    return plain, layers, keys


def _merged(layers: Sequence[_Layer]) -> dict[str, Any]:
    """What the files say together."""
    plain = dict[str, Any]()
    for raw, _ in reversed(layers):
        plain = _merge(plain, _plain(raw))
    plain.pop("extends", None)
    return plain


def _validated(
    kind: type[T], plain: dict[str, Any], layers: Sequence[_Layer], overrides: Sequence[str]
) -> T:
    try:
        return kind.model_validate(plain)
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
    try:
        kind.model_validate(_merged(layers))
        before = []
    except ValidationError as error:
        before = [mistake["loc"] for mistake in error.errors(include_url=False)]
    raise _explain(mistakes, before, layers, overrides)


def _layers(source: Path | str | Mapping[str, Any], name: str) -> list[_Layer]:
    """A recipe's content and file, then those of what it extends."""
    if isinstance(source, Mapping):
        layers = [(source, Path(name))]
    else:
        layers = [(_read_mapping(Path(source), name), Path(source))]
    while (base := layers[-1][0].get("extends")) is not None:
        raw, path = layers[-1]
        where = f"{path}{_line(raw, ['extends'])}: extends"
        if not isinstance(base, str):
            raise UserError("one file is extended, by its path", where=where, hint=_EXTENDS)
        files = [file for _, file in layers] + [path.parent / base]
        if files[-1].resolve() in [file.resolve() for file in files[:-1]]:
            raise UserError(f"is a loop: {' → '.join(map(str, files))}", where=where)
        try:
            layers.append((_read_mapping(files[-1], name), files[-1]))
        except UserError as error:
            if error.where != str(files[-1]):  # its content, with a line of its own
                raise
            raise UserError(f"`{base}`: {error.what}", where=where, hint=error.hint) from None
    return layers


def read_other(path: Path) -> ForeignRecipe:
    """The recipe of another trainer in a file."""
    raw = _parse(_read(path, "recipe"), where=str(path))
    found = read_foreign(_plain(raw)) if isinstance(raw, Mapping) else None
    if found is None:
        hint = "axolotl's and LLaMA-Factory's YAML are read: they name a base"
        raise UserError("is not a known recipe of another trainer", where=str(path), hint=hint)
    return found


def _read_mapping(path: Path, name: str) -> Mapping[str, Any]:
    raw = _parse(_read(path, name), where=str(path))
    if raw is None:
        hint = "`tongues new` writes one" if name == "recipe" else ""
        raise UserError("is empty", where=str(path), hint=hint)
    if not isinstance(raw, Mapping):
        raise UserError(f"a {name} is a YAML mapping of keys", where=str(path))
    if found := read_foreign(_plain(raw)):
        hint = f"`tongues new --from {path} --language TAG` makes a recipe of it"
        raise UserError(f"is a recipe of {found.trainer}", where=str(path), hint=hint)
    return raw


def _merge(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Sections key by key; `null` removes. Values within a section are replaced whole."""
    merged = dict(base)
    for key, value in own.items():
        under = merged.get(key)
        if isinstance(value, dict) and isinstance(under, dict):
            value = {k: v for k, v in (under | value).items() if v is not None or k not in under}
        merged[key] = value
    return {k: v for k, v in merged.items() if v is not None or k not in base}


def show_recipe(recipe: TextRecipe, *, short: bool = False) -> str:
    """The recipe as YAML that `load_recipe` reads back to the same; short: what it names alone."""
    from ruamel.yaml import YAML

    out = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.dump(recipe.model_dump(mode="json", exclude_none=True, exclude_unset=short), out)
    return out.getvalue()


def _read(path: Path, name: str) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_CHARACTERS + 1)
        if len(text) > _CHARACTERS:
            raise UserError(f"is too long for a {name}: over 200 kB", where=str(path))
        return text
    except FileNotFoundError:
        beside = [p.name for p in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
        hint = nearest(path.name, beside) if beside else "`tongues new` writes a recipe"
        raise UserError(f"there is no such {name}", where=str(path), hint=hint) from None
    except IsADirectoryError:
        files = sorted(p.name for p in path.glob("*.y*ml"))
        hint = f"name a file: {nearest(name, (f'{path}/{file}' for file in files))}"
        hint = hint if files else f"there is no YAML file in it; `tongues ls {path}` shows runs"
        raise UserError(f"is a folder, not a {name}", where=str(path), hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read as UTF-8 text ({error})", where=str(path)) from None


def _parse(text: str, where: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        if _DEEP.search(text):
            raise RecursionError
        return _checked(YAML(typ="rt").load(text), where)
    except RecursionError:
        raise UserError(f"is nested more than {_DEPTH} deep", where=where) from None
    except (YAMLError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        line, problem, hint = "", str(error), ""
        if isinstance(error, MarkedYAMLError):
            line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
            problem = (error.problem or problem).splitlines()[0]
            opened = error.context_mark.line + 1 if error.context_mark else ""
            slips = (slip for slip in _SLIPS if re.search(slip[0], problem))
            _, problem, hint = next(slips, ("", problem, ""))
            hint = hint.format(line=opened)
        raise UserError(f"is not YAML: {problem}", where=f"{where}{line}", hint=hint) from None


def _checked(whole: Any, where: str) -> Any:
    """Refuse nesting and aliases of aliases that would become too much once they are copied."""
    stack, count = [(whole, 0)], 0
    while stack:
        value, depth = stack.pop()
        count += 1
        if depth > _DEPTH:
            raise UserError(f"is nested more than {_DEPTH} deep", where=where)
        if count > _VALUES:
            what = f"holds more than {_VALUES:,} values with its aliases written out"
            raise UserError(what, where=where)
        inside = value.values() if isinstance(value, Mapping) else value
        if isinstance(inside, Collection) and not isinstance(inside, str | bytes):
            stack.extend((item, depth + 1) for item in inside)
    return whole


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str | Path):  # half a letter, as YAML can spell, is none
        return str(value).encode(errors="replace").decode()
    return next((kind(value) for kind in (bool, int, float) if isinstance(value, kind)), value)


def _set(plain: dict[str, Any], key: str, value: Any, where: str) -> None:
    *sections, last = key.split(".")
    for section in sections:
        plain = plain.setdefault(section, {})
        if not isinstance(plain, dict):
            raise UserError(f"`{section}` holds a value, not a section", where=where)
    plain[last] = _plain(value)


def _explain(
    problems: Sequence["ErrorDetails"],
    before: Sequence[tuple[int | str, ...]],
    layers: Sequence[_Layer],
    overrides: Sequence[str],
) -> UserError:
    """The first mistake; before: the places of mistakes that the files have without overrides."""
    problem = min(problems, key=lambda p: p["type"] != UNKNOWN)  # the cause of others
    keys = [str(part) for part in problem["loc"] if not _KIND.match(str(part))]
    where = str(layers[0][1])
    if keys:  # in the first of the files that has the key
        depths = [_depth(raw, keys) for raw, _ in layers]
        raw, path = layers[depths.index(max(depths))]
        where = f"{path}{_line(raw, keys)}: {'.'.join(keys)}"
        within = [override for override in overrides if override.split(".")[: len(keys)] == keys]
        if any(_sets(override.split("."), keys, max(depths)) for override in overrides):
            where = f"override {'.'.join(keys)}"
        elif within and problem["loc"] not in before:  # a mistake of several values together
            where = f"override {', '.join(within)}"
    kind, reason = problem["type"], problem["msg"].removeprefix("Value error, ")
    if kind == UNKNOWN and (instead := instead_of_key(keys)):
        return UserError(f"`{keys[-1]}` is gone: {instead}", where=where)
    if kind == UNKNOWN:
        return UserError(reason, where=where, hint=problem.get("ctx", {})["hint"])
    if kind == "missing":
        return UserError(f"`{keys[-1]}` is missing", where=where, hint=_MISSING.get(keys[-1], ""))
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", str(problem.get("ctx", {}).get("expected", "")))
        hint = nearest(str(problem["input"]), choices)
        return UserError(f"`{problem['input']}` is not known here", where=where, hint=hint)
    if kind == "value_error":
        return UserError(reason, where=where)
    if kind in ("model_type", "dict_type"):
        given = "nothing" if problem["input"] is None else f"`{problem['input']}`"
        return UserError(f"takes keys with values, not {given}", where=where)
    return UserError(f"{reason[0].lower()}{reason[1:]}, not `{problem['input']}`", where=where)


def _sets(override: Sequence[str], keys: Sequence[str], depth: int) -> bool:
    """Whether an override sets the value at these keys, of which files have the first `depth`."""
    shared = min(len(override), len(keys))
    whole = shared == len(override) or depth < len(keys)  # not a part of what a file has
    return override[:shared] == keys[:shared] and whole


def _depth(raw: Any, keys: Sequence[str]) -> int:
    """How many of the keys a file has, one inside the other."""
    for depth, key in enumerate(keys):
        if not isinstance(raw, Mapping) or key not in raw:
            return depth
        raw = raw[key]
    return len(keys)


def _line(raw: Any, keys: Sequence[str]) -> str:
    line = ""
    for key in keys:
        if not isinstance(raw, Mapping) or key not in raw:
            break
        marks = getattr(getattr(raw, "lc", None), "data", None) or {}
        line = f":{marks[key][0] + 1}" if key in marks else line
        raw = raw[key]
    return line
