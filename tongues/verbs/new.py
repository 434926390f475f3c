"""The verb new: a recipe and its plan."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING

from tongues.core.terminal import echo
from tongues.verbs.options import AS_JSON, COUNT, OUT_FILE, PATH, one_thread
from tongues.verbs.settings import Verb, argument, command, function, option, settings
from tongues.verbs.shared import listed

if TYPE_CHECKING:
    from tongues.verbs.actions.results import Draft


@settings
class New(Verb["Draft"]):
    """Write a recipe that continues BASE, and its plan; or list bases.

    BASE is a name of the list, a run or a folder; `--from` takes that of another trainer's recipe.
    """

    work = "new:draft"
    base: str | None = argument(required=False, default=None)
    language: str | Sequence[str] = option(
        "To learn, such as sw.", metavar="TAG", many=True, default=()
    )
    out: Path | str | None = option(
        "Write it to this file, its plan next to it.", OUT_FILE, names=("-o", "--out"), default=None
    )
    _: KW_ONLY
    text: Path | str | None = option(
        "Folder with its text, such as sw/ and en/ (hub).", PATH, default=None
    )
    budget: str | None = option(
        "`40B tokens`, `7 days`, `5000 US$`, … (100M tokens, or 5 times a short text).",
        default=None,
    )
    other: Path | str | None = option(
        "Recipe of axolotl or LLaMA-Factory, to begin with.", PATH, names=("--from",), default=None
    )
    gpu: str | None = option(
        "GPU type, such as h100; days and money need it.", metavar="NAME", default=None
    )
    gpus: int | None = option("Number of GPUs (1).", COUNT, default=None)


@command(New, AS_JSON)
def _new(asked: New, *, as_json: bool) -> None:
    one_thread()
    from tongues.core.terminal import hint_command, print_json, print_table, say
    from tongues.plan import known_bases
    from tongues.plan.steps import free_place

    tags = listed(asked.language)
    base: str | None = asked.base  # may be left out on the command line
    if base is None and asked.other is None:
        rows = [one.row() for one in known_bases().values()]
        if as_json:
            print_json({"bases": rows})
            return
        print_table(rows, optional=("first token", "vocabulary", "languages"))
        words = ["--language", *(tags[:1] or ["sw"])]
        words += ["--text", str(asked.text)] if asked.text else []
        out = asked.out or free_place(Path("recipe.yaml"))
        hint_command("tongues", "new", "SmolLM2-135M", *words, "-o", out)
        return
    draft, out = asked.run(), asked.out
    if as_json:
        path = str(out) if out else None
        print_json({"recipe": draft.recipe, "path": path} | draft.to_json())
        return
    echo(draft.recipe if out is None else out)
    for line in draft.lines:
        say(line)
    if out:
        machine = ("--gpu", asked.gpu, "--gpus", asked.gpus or 1) if asked.gpu else ()
        hint_command("tongues", "check", out, *machine)


new = function(New)
