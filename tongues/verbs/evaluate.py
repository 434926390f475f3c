"""Models scored side by side on texts and tasks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tongues.errors import UserError, nearest
from tongues.evaluate.conduct import Suite, score_apart, with_bases
from tongues.evaluate.conduct import evaluate as ask
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.losses import Policy
from tongues.evaluate.outcome import put_together
from tongues.evaluate.tasks import (
    TASKS,
    Exam,
    ItemFault,
    Normalisation,
    Unfitting,
    is_task,
    joined_exams,
    set_exams,
)
from tongues.evaluate.texts import read_texts
from tongues.experts.ensemble.model import lineage_of
from tongues.launch import check_ranks, open_launcher
from tongues.recipe.base import readable_name
from tongues.report.evaluation import write_cards, write_evaluation_report
from tongues.text import Document
from tongues.text.reading import Fault
from tongues.verbs.shared import Voice, listed, memory_bytes

__all__ = ["evaluate"]

_DRAWS = 5  # of demonstrations, where nobody says how many


def evaluate(
    models: str | Sequence[str],
    on: str | Sequence[str],
    workspace: Path | str = ".",
    *,
    data: str | Sequence[str] = (),
    languages: str | Sequence[str] | None = None,
    most: int | None = None,
    shots: int = 0,
    draws: int | None = None,
    demonstrations: str | None = None,
    templates: Literal["english", "translated"] = "english",
    normalisation: Normalisation | None = None,
    window: int | None = None,
    stride: int | None = None,
    unfit: Unfitting = "skip",
    seed: int = 0,
    memory: int | str | None = None,
    name: str = "evaluation",
    page: bool = True,
    ranks: int | None = None,
    launcher: str = "local",
    partition: str | None = None,
    time: str | None = None,
    quiet: bool = False,
) -> Evaluation:
    """Score models on texts and tasks, side by side; every model is compared with the first.

    The base of a run or ensemble is scored too, for what was forgotten. Writes
    `evaluations/NAME`. Safe to interrupt; call it again to resume.

    models: runs, ensembles (`NAME@tfidf:2` by a routing) or Hugging Face folders.
    on: prepared tokens, files, or tasks; `xcopa:sw,tr` for some languages of a task.
    data: folders of the tasks' items, or `hub`.
    languages: of texts and tasks; None: all.
    most: items, and documents, of a language.
    shots: demonstrations before every item. draws: how often they are drawn; None: 5.
    demonstrations: their language; None: the items' own.
    normalisation: how choices are compared; None: the task's own.
    window, stride: tokens of text seen at once, and scored in a window.
    unfit: whether items that cannot be asked are skipped, or stop it.
    memory: for experts' weights, in bytes or as `2GB`.
    page: whether to write the page `reports/NAME-evaluation`.
    ranks: processes that share the work; None: this one alone.
    launcher: what starts them, such as `local`, `ray` or `slurm`. partition, time: of a cluster.
    """
    workspace, voice = Path(workspace), Voice(quiet)
    try:
        readable_name(name)
    except ValueError as error:
        raise UserError(str(error), where="--name") from None
    named, whats, places = listed(models), listed(on), listed(data)
    everyone = with_bases(named, workspace)
    if draws is not None and not shots:
        what, hint = "without demonstrations there is nothing to draw", "say how many by `--shots`"
        raise UserError(what, where="--draws", hint=f"{hint}, such as 8")
    if not all((*whats, *places)):
        where = "--data" if all(whats) else "--on"
        raise UserError("names nothing", where=where, hint="is a shell's variable empty?")
    wanted = None if languages is None else _languages(languages, "--languages")
    check_ranks(launcher, ranks)
    faults: list[ItemFault] = []
    texts: dict[str, dict[str, list[Document]]] = {}
    exams: dict[str, dict[str, Exam]] = {}
    for what in whats:
        task, colon, own = what.partition(":")
        if not is_task(task):
            texts[what] = _texts(what, everyone, workspace, wanted, most, faults)
            continue
        if not places:
            hint = "name their folder by `--data`, or `--data hub`"
            raise UserError(f"where do the items of `{task}` lie?", where="--on", hint=hint)
        exams = joined_exams(
            exams,
            set_exams(
                task,
                _languages(own, what) if colon else wanted,
                places,
                most=most,
                shots=shots,
                draws=(draws or _DRAWS) if shots else 1,
                demonstrations_language=demonstrations,
                templates=templates,
                seed=seed,
                unfit=unfit,
            ),
        )
    suite = Suite(texts, exams, Policy(window, stride), normalisation, unfit, faults)
    folder, held = workspace / "evaluations" / name, memory_bytes(memory)
    if ranks:
        starts = open_launcher(launcher, workers=ranks, partition=partition, time=time)
        score_apart(
            everyone,
            suite,
            workspace,
            folder,
            ranks=ranks,
            launcher=starts,
            memory=held,
            tell=voice.say,
        )
    with voice.progress(name) as show:
        done = ask(everyone, suite, workspace, folder, memory=held, watch=show)
    evaluation = put_together(done, named)
    evaluation.write(folder)
    write_cards(evaluation, folder / "cards")
    if page:
        write_evaluation_report(evaluation, workspace / "reports" / f"{name}-evaluation")
    return evaluation


def _texts(
    what: str,
    models: Sequence[str],
    workspace: Path,
    languages: Sequence[str] | None,
    most: int | None,
    faults: list[ItemFault],
) -> dict[str, list[Document]]:
    """The documents of a text by language; what is no document joins the faults."""

    def note(one: Fault) -> None:
        faults.append(ItemFault(one.source, f"at {one.place:,}", one.reason, one.sample))

    hint = nearest(what.partition(":")[0], TASKS.names())
    there = Path(what).exists() or (workspace / "tokens" / what).exists()
    if not there and hint.startswith("did you mean"):
        raise UserError(f"there is no task and no text `{what}`", where="--on", hint=hint)
    lineages = [lineage_of(model, workspace) for model in models]
    return read_texts(
        what, workspace, languages=languages, most=most, lineages=lineages, fault=note
    )


def _languages(words: str | Sequence[str], where: str) -> list[str]:
    """The languages that are named, each once."""
    tags = [tag.strip() for tag in (words.split(",") if isinstance(words, str) else words)]
    if not any(tags):
        raise UserError("names no language", where=where, hint="such as `sw,tr`")
    return list(dict.fromkeys(filter(None, tags)))
