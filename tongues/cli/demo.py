"""The verb demo: what this project does, on synthetic languages, in minutes."""

import shlex
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.cli import options
from tongues.errors import UserError

if TYPE_CHECKING:
    from tongues.recipe import Recipe

__all__ = ["demo"]

_BEGUN = 12  # tokens


@click.command()
@click.option(
    "-w", "--workspace", type=options.FOLDER, default=Path("demo"), help="Folder for all of it."
)
@click.option("--experts", is_flag=True, help="Language experts, to be served, instead of laws.")
@click.option("--real", metavar="LANG", help="A real base on a real language, in ten minutes.")
@click.option("--text", type=options.PATH, help="For --real: folder of its text and of English.")
@click.option("--base", metavar="BASE", help="For --real: a folder or hub id (SmolLM2-135M).")
@options.overrides
@options.overwrite
def demo(
    workspace: Path,
    experts: bool,
    real: str | None,
    text: Path | None,
    base: str | None,
    overrides: tuple[str, ...],
    overwrite: bool,
) -> None:
    """Run it all on small synthetic languages, in minutes."""
    import tongues
    from tongues.files import read_json
    from tongues.pages import Items, as_text
    from tongues.steps import DEMO, demo_begun, step_of_runs
    from tongues.terminal import hint
    from tongues.text import describe_synthetic
    from tongues.tokens import load_tokenizer, open_tokens

    for name, given in (("--text", text), ("--base", base)):
        if given and not real:
            raise UserError("is for `--real` alone", where=name, hint="such as `--real sw`")
    if real and experts:
        raise UserError("has no experts", where="--real", hint="leave out `--experts`")
    if real:
        from tongues.verbs.demo import demo_real

        page = demo_real(
            real, workspace, text=text, base=base, overrides=overrides, overwrite=overwrite
        )
        topics = read_json(page.with_name("report.json"))["topics"]
        click.echo("\n" + "\n".join(f"{name}: {line}" for name, line in topics.items()))
        click.echo(f"\nthe page: {page}")
        options.hint_runs(workspace / "runs" / page.parent.name, workspace)
        return
    words = ["--experts"] * experts + [*overrides] + ["--overwrite"] * overwrite
    with demo_begun(workspace, *words):
        if not experts:
            recipe = _recipe("tongues.study", "demo.yaml", overrides)
            tongues.prepare(recipe, workspace=workspace, overwrite=overwrite)
            runs = tongues.study(recipe, workspace=workspace, overwrite=overwrite)
            page = tongues.report(runs, workspace / "reports" / recipe.name)
            sentences = read_json(page.with_name("report.json"))["advice"]
            kept = [one for one in overrides if not one.startswith("study.shapes=")]
            again = shlex.join(["tongues", "demo", *kept])
            again += "" if workspace == DEMO else f" --workspace {shlex.quote(str(workspace))}"
            then = step_of_runs(runs, workspace, train=again).command
            last = f"\n\nthe page: {page}"
        else:
            recipe = _recipe("tongues.experts", "demo/seed.yaml", overrides)
            folder = tongues.prepare(recipe, workspace=workspace, overwrite=overwrite)
            tongues.train(recipe, workspace=workspace, overwrite=overwrite)
            branched = _recipe("tongues.experts", "demo/experts.yaml", overrides)
            (ensemble,) = tongues.experts.train(branched, workspace=workspace, overwrite=overwrite)
            tokens, tokenizer = open_tokens(folder), load_tokenizer(folder)
            begun = {
                lang: tokenizer.decode(tokens.shard(lang, "valid").tokens[:_BEGUN].tolist())
                for lang in tokens.languages
            }
            sentences = [
                f"a text in `{x}` begins, for instance: {text}" for x, text in begun.items()
            ]
            words = ["tongues", "serve", str(ensemble.relative_to(workspace / "ensembles"))]
            words += [] if workspace == Path() else ["--workspace", str(workspace)]
            then, last = shlex.join(words), ""
    families = describe_synthetic(recipe.text.synthetic) if recipe.text.synthetic else []
    click.echo(f"\n{as_text([Items([*families, *sentences])])}{last}")
    hint(then)


def _recipe(package: str, name: str, overrides: tuple[str, ...]) -> "Recipe":
    from tongues.recipe import load_recipe

    with as_file(files(package).joinpath(name)) as path:
        return load_recipe(path, overrides)
