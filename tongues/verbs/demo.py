"""The verb demo: what this project does, on synthetic languages, in minutes."""

import shlex
from dataclasses import KW_ONLY
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from tongues.core.errors import UserError
from tongues.core.terminal import echo
from tongues.verbs.hints import hint_runs
from tongues.verbs.options import FOLDER, PATH
from tongues.verbs.settings import argument, command, option, settings
from tongues.verbs.shared import KEYS

if TYPE_CHECKING:
    from tongues.recipe import Recipe


_BEGUN = 12  # tokens of a text that can be typed in


@settings
class Demo:
    """Run it all in minutes, on synthetic languages or on yours."""

    overrides: tuple[str, ...] = argument(metavar=KEYS, many=True, required=False, default=())
    _: KW_ONLY
    workspace: Path = option(FOLDER, names=("-w", "--workspace"), default=Path("demo"))
    experts: bool = option(default=False)
    real: str | None = option(metavar="LANG", default=None)
    text: Path | None = option(PATH, default=None)


@command(Demo)
def _demo(asked: Demo) -> None:
    workspace, real, text, overrides = asked.workspace, asked.real, asked.text, asked.overrides
    if text and not real:
        raise UserError("is for `--real` alone", where="--text", hint="such as `--real sw`")
    if real and asked.experts:
        raise UserError("has no experts", where="--real", hint="leave out `--experts`")
    if real:
        _real(real, workspace, text, overrides)
    elif asked.experts:
        _experts(workspace, overrides)
    else:
        _study(workspace, overrides)


def _real(language: str, workspace: Path, text: Path | None, overrides: tuple[str, ...]) -> None:
    """A real base on a real language: what came of it, and the page of the folder."""
    import tongues
    from tongues.verbs.actions.demo import demo_real

    run, topics = demo_real(language, workspace, text=text, overrides=overrides)
    page = tongues.report(workspace=workspace)
    echo("\n" + "\n".join(f"{name}: {line}" for name, line in topics.items()))
    echo(f"\nthe page: {page}")
    hint_runs(run, workspace)


def _study(workspace: Path, overrides: tuple[str, ...]) -> None:
    """A study of synthetic languages: its advice and its page."""
    import tongues
    from tongues.core.files import read_json

    recipe = _recipe("tongues.train.study", "demo.yaml", overrides)
    tongues.prepare(recipe, workspace=workspace)
    runs = tongues.study(recipe, workspace=workspace)
    page = tongues.report(runs, workspace / "reports" / recipe.name)
    _show(recipe, read_json(page.with_name("report.json"))["advice"])
    echo(f"\nthe page: {page}")
    hint_runs(runs, workspace)


def _experts(workspace: Path, overrides: tuple[str, ...]) -> None:
    """A model of four synthetic languages and an expert of each."""
    import tongues
    from tongues.core.files import write_text
    from tongues.core.terminal import hint
    from tongues.recipe import in_workspace
    from tongues.recipe.loading import show_recipe
    from tongues.text.tokens import load_tokenizer, open_tokens

    recipe = _recipe("tongues.experts", "demo/seed.yaml", overrides)
    folder = tongues.prepare(recipe, workspace=workspace)
    tongues.train(recipe, workspace=workspace)
    branched = _recipe("tongues.experts", "demo/experts.yaml", overrides)
    (ensemble,) = tongues.experts.train(branched, workspace=workspace)
    write_text(workspace / "experts.yaml", show_recipe(branched, short=True))  # to measure them
    tokens, tokenizer = open_tokens(folder), load_tokenizer(folder)
    begun = {x: tokens.shard(x, "valid").tokens[:_BEGUN].tolist() for x in tokens.languages}
    said = "a text in `{}` begins, for instance: {}"
    _show(recipe, [said.format(lang, tokenizer.decode(ids)) for lang, ids in begun.items()])
    name = shlex.quote(str(ensemble.relative_to(workspace / "ensembles")))
    hint(f"tongues serve {name}{in_workspace(workspace)}")


def _show(recipe: "Recipe", sentences: list[str]) -> None:
    """Say what the languages are, and what came of them."""
    from tongues.core.pages import Items, as_text
    from tongues.text import describe_synthetic

    families = describe_synthetic(recipe.text.synthetic) if recipe.text.synthetic else []
    echo(f"\n{as_text([Items([*families, *sentences])])}")


def _recipe(package: str, name: str, overrides: tuple[str, ...]) -> "Recipe":
    from tongues.recipe import load_recipe

    with as_file(files(package).joinpath(name)) as path:
        return load_recipe(path, overrides)
