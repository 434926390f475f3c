"""Build hook of the documentation site: the reference pages come from the code."""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from pydantic import TypeAdapter

import tongues
from tongues.core.quantities import Amount, Budget, Bytes, Seconds, Share, Tokens
from tongues.core.registry import registry
from tongues.recipe import Clean, Optimizer, PartitionSettings, Recipe, Schedule
from tongues.recipe.base import RecipeSection
from tongues.verbs.main import command

CITED_TABLE = re.compile(r"\]\((\.\./[\w./-]+\.txt)\)(?:(?!\n\n)[^|])*\n\n((?:\|.*\n)+)")
DECIMAL = re.compile(r"\d+\.\d+")
RESULT_ROW = re.compile(r"^(\|.*)\| `([\w-]+\.txt)` \|$", re.MULTILINE)
UPWARDS = re.compile(r"\[([^\]]+)\]\((\.\./[\w./-]+)(?: \"([^\"]+)\")?\)")
UNITS = {Tokens: "tokens", Bytes: "size", Seconds: "time", Share: "share", Amount: "amount"}
UNITS |= {Budget: "budget"}
WORDS = {str: "text", int: "integer", float: "number", bool: "true, false"}
# Sections whose kind is chosen by name: the registry, the section and the key of the name.
CHOSEN = {"schedule": (Schedule, "name"), "partition": (PartitionSettings, "by")}
CHOSEN |= {"optimizer": (Optimizer, "name")}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages; check the README, which is not a page."""
    check_readme(Path(config.config_file_path).resolve().parent)
    for name, text in (("commands", commands()), ("api", api()), ("recipe", recipe())):
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Check every number that is cited from a result file.

    `[4.2%](../benchmarks/NAME.txt "8 documents, normal")` is a citation: a line of that file with
    these words must hold the number. Where the paragraph before a table links to a result
    file, every decimal number of the table must be in that file. On the site a link to a file
    outside `docs/` becomes its text, with the file's name under the pointer.
    """
    root = Path(config.config_file_path).resolve().parent
    docs = Path(config.docs_dir).resolve()

    def check(link: re.Match[str]) -> str:
        text, target, words = link.groups()
        file = (docs / page.file.src_uri).parent.joinpath(target).resolve()
        if file.is_relative_to(docs):
            return link[0]
        path = file.relative_to(root).as_posix()
        if not (root / path).exists():
            raise PluginError(f"{page.file.src_uri}: there is no file {path}")
        if words:
            lines = (root / path).read_text(encoding="utf-8").splitlines()
            if not any(words in line and text in line for line in lines):
                raise PluginError(f"{page.file.src_uri}: `{text}` is not with `{words}` in {path}")
        return f'<abbr title="{path}">{text}</abbr>'

    for target, table in CITED_TABLE.findall(markdown):
        file = (docs / page.file.src_uri).parent.joinpath(target).resolve()
        results = set(DECIMAL.findall(file.read_text(encoding="utf-8")))
        if stale := sorted(set(DECIMAL.findall(table)) - results):
            raise PluginError(f"{page.file.src_uri}: {file.name} does not have {', '.join(stale)}")
    markdown = markdown.replace("```console varies", "```console")  # a word for the tests
    return UPWARDS.sub(check, markdown)


def check_readme(root: Path) -> None:
    """Every decimal number of a row whose last cell is a result file must be in that file."""
    for row, name in RESULT_ROW.findall((root / "README.md").read_text(encoding="utf-8")):
        results = (root / "benchmarks" / name).read_text(encoding="utf-8")
        if stale := sorted(set(DECIMAL.findall(row)) - set(DECIMAL.findall(results))):
            raise PluginError(f"README.md: {name} does not have {', '.join(stale)}")


def commands() -> str:
    """Every command with its options, as `--help` shows them."""
    parts = ["# Commands\n"]
    for path, one in walk("tongues", command):
        context = click.Context(one, info_name=path)
        usage = one.get_usage(context).removeprefix("Usage: ")
        about = (one.epilog or "").removeprefix("\b\n").replace("\n", "  \n")
        parts.append(f"## `{path}`\n\n```text\n{usage}\n```\n\n{one.help or ''}\n\n{about}\n")
        rows = [option.get_help_record(context) for option in one.params]
        lines = [f"| <code>{cell(row[0])}</code> | {cell(row[1])} |" for row in rows if row]
        if lines:
            parts.append("\n".join(["| option | meaning |", "|---|---|", *lines]) + "\n")
    return "\n".join(parts)


def walk(path: str, one: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Every command below a group, with the words that call it."""
    if not isinstance(one, click.Group):
        yield path, one
        return
    for name, below in one.commands.items():
        yield from walk(f"{path} {name}", below)


def cell(text: str) -> str:
    """Text as a table's cell holds it."""
    return text.replace("|", "&#124;").replace("\n", " ")


def recipe() -> str:
    """Every section and key of a recipe, from the docstrings of its attributes."""
    about = "How a recipe is written and overridden: [Recipes](../how-to/recipe.md).\n"
    return "\n".join(["# Recipe keys\n", about, *sections("", Recipe)])


def sections(path: str, section: type[RecipeSection]) -> Iterator[str]:
    """A section's heading and table, then those of the sections in it."""
    if path:
        yield f"## `{path}`\n\n{inspect.getdoc(section)}\n"
    hints = get_type_hints(section, include_extras=True)
    if section.model_fields:
        yield "| key | value | default | meaning |\n|---|---|---|---|"
    for key, field in section.model_fields.items():
        shown = "required" if field.is_required() else ""
        if not field.is_required() and field.default_factory is None:
            kept = TypeAdapter(hints[key]).dump_python(field.default, mode="json")
            shown = "" if kept is None or isinstance(kept, dict) else f"`{json.dumps(kept)}`"
        cells = (f"`{key}`", kind(hints[key]), shown.replace('"', ""), field.description or "")
        yield f"| {' | '.join(map(cell, cells))} |"
    if section is Clean:
        yield "| signal | default | drops a document by |\n|---|---|---|"
        for signal in (signal for signal in registry("signal") if signal.key):
            cells = (f"`{signal.key}`", f"`{signal.rule.default}`", signal.summary)
            yield f"| {' | '.join(map(cell, cells))} |"
    yield ""
    for key, hint in ((key, hints[key]) for key in section.model_fields):
        for below in sections_in(hint):
            place = f"{path}.{key}".strip(".")
            yield from sections(place, below)
            for chosen, (name, choices) in CHOSEN.items():
                for one in registry(chosen) if below is name else ():
                    yield f"### `{choices}: {one.name}`\n\n{one.summary.capitalize()}.\n"
                    yield from sections("", getattr(one, "section", one))


def sections_in(hint: Any) -> Iterator[type[RecipeSection]]:
    """The sections that a value's type names."""
    if isinstance(hint, type) and issubclass(hint, RecipeSection):
        yield hint
    for part in get_args(hint):
        yield from sections_in(part)


def kind(hint: Any) -> str:
    """What a value may be, in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in UNITS:
        return UNITS[hint]
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin is Annotated:
        return kind(parts[0])
    if origin is dict:
        return f"map to {kind(parts[1])}"
    if origin is list:
        return f"list of {kind(parts[0])}"
    if parts:
        return " or ".join(kind(part) for part in parts if part is not NoneType)
    return "section" if next(sections_in(hint), None) else WORDS[hint]


def api() -> str:
    """Every public function with its signature and docstring."""
    parts = ["# Python API\n"]
    for name in tongues.__all__:
        thing = getattr(tongues, name)
        if inspect.isfunction(thing):
            parts.append(entry(f"tongues.{name}", thing))
        elif inspect.ismodule(thing):
            parts += [entry(f"tongues.{name}.{one.__name__}", one) for one in functions_of(thing)]
    return "\n".join(parts)


def functions_of(module: Any) -> list[Any]:
    """The functions that a module defines for others."""
    defined = (one for one in vars(module).values() if inspect.isfunction(one))
    return [
        one
        for one in defined
        if one.__module__ == module.__name__ and not one.__name__.startswith("_")
    ]


def entry(name: str, function: Any) -> str:
    """A function's part of the page."""
    signature = inspect.signature(function)
    plain = str(signature).replace("tongues.", "").replace("pathlib._local.", "")
    call = f"{name}{plain}"
    if len(call) > 90:
        parameters = "".join(f"    {one},\n" for one in map(str, signature.parameters.values()))
        call = f"{name}(\n{parameters})"
    return f"## `{name}`\n\n```python\n{call}\n```\n\n{inspect.getdoc(function) or ''}\n"
