"""Build hook of the documentation site: the reference pages come from the code."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

import tongues
from tongues.cli.main import command

CITED_TABLE = re.compile(r"\]\((\.\./[\w./-]+\.txt)\)(?:(?!\n\n)[^|])*\n\n((?:\|.*\n)+)")
DECIMAL = re.compile(r"\d+\.\d+")
UPWARDS = re.compile(r"\[([^\]]+)\]\((\.\./[\w./-]+)(?: \"([^\"]+)\")?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for name, text in (("commands", commands()), ("api", api())):
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


def commands() -> str:
    """Every command with its options, as `--help` shows them."""
    parts = ["# Commands\n"]
    for path, one in walk("tongues", command):
        context = click.Context(one, info_name=path)
        usage = one.get_usage(context).removeprefix("Usage: ")
        parts.append(f"## `{path}`\n\n```text\n{usage}\n```\n\n{one.help or ''}\n")
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


def api() -> str:
    """Every public function with its signature and docstring."""
    parts = ["# Python API\n"]
    for name in tongues.__all__:
        thing = getattr(tongues, name)
        if inspect.isfunction(thing):
            parts.append(entry(f"tongues.{name}", thing))
        elif inspect.ismodule(thing):
            parts += [entry(f"tongues.{name}.{one}", getattr(thing, one)) for one in thing.__all__]
    return "\n".join(parts)


def entry(name: str, function: Any) -> str:
    """A function's part of the page."""
    signature = inspect.signature(function)
    plain = str(signature).replace("tongues.", "").replace("pathlib._local.", "")
    call = f"{name}{plain}"
    if len(call) > 90:
        parameters = "".join(f"    {one},\n" for one in map(str, signature.parameters.values()))
        call = f"{name}(\n{parameters})"
    return f"## `{name}`\n\n```python\n{call}\n```\n\n{inspect.getdoc(function) or ''}\n"
