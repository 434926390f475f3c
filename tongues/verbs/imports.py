"""The verb import: a run of another trainer, into the store."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path

from tongues.verbs.hints import hint_runs
from tongues.verbs.options import AS_JSON, FOLDER
from tongues.verbs.settings import Verb, argument, command, function, option, settings
from tongues.verbs.shared import Quietly, in_workspace


@settings
class ImportRun(Quietly, Verb[Path]):
    """Bring a run of another trainer into the store, by its log.

    Then `ls`, `report`, `fit` and `evaluate` read it as one of ours. Roles are told, never guessed:
    languages of the mixture that the base does not know are learned, the others replayed.
    Returns the run's directory.
    """

    work = "imports:import_run"
    folder: Path | str = argument(FOLDER)
    _: KW_ONLY
    mixture: Mapping[str, object] | Sequence[str] = option(
        "Share of the run's tokens.", metavar="LANG=SHARE", many=True
    )
    held_out: Path | str = option(
        "Folder with the held-out text, by language.", FOLDER, names=("--held-out",)
    )
    name: str | None = option("Of the run (that of FOLDER).", metavar="NAME", default=None)
    base: str | None = option("Run or folder it continued.", metavar="MODEL", default=None)
    base_languages: Sequence[str] = option(
        "That the base knows.", names=("--base-language",), metavar="LANG", many=True, default=()
    )
    text_of: Mapping[str, object] | Sequence[str] = option(
        "Language of a held-out text that the log names otherwise.",
        metavar="TEXT=LANG",
        many=True,
        default=(),
    )
    batch: str | None = option(
        "Tokens of a step, where the log does not count them.", metavar="AMOUNT", default=None
    )
    context: str = option("Tokens of a sample.", metavar="AMOUNT", default="2048 tokens")
    model: Path | str | None = option(
        "Folder of the trained model, where FOLDER has none.", FOLDER, default=None
    )
    seed: int = option("Of the run; runs of one size and seed are compared.", int, default=1)
    workspace: Path | str = in_workspace()


@command(ImportRun, AS_JSON, name="import")
def _import(asked: ImportRun, *, as_json: bool) -> None:
    from tongues.core.terminal import print_paths

    directory = asked.run()
    print_paths([directory], as_json=as_json)
    hint_runs(directory, Path(asked.workspace))


import_run = function(ImportRun)
