"""Models scored side by side on texts and tasks."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tongues.core.errors import Caution, UserError, nearest
from tongues.core.extras import EXTRAS
from tongues.core.files import check_writable, remove_directory
from tongues.core.launch import check_ranks, open_launcher
from tongues.core.quantities import show_seconds
from tongues.core.roles import list_languages
from tongues.evaluate.documents import PART, read_texts
from tongues.evaluate.evaluation import SCORES, Evaluation
from tongues.evaluate.harness import HARNESS, HarnessTask, harness_tasks
from tongues.evaluate.kept import free_name, replaced
from tongues.evaluate.losses import Policy
from tongues.evaluate.sizing import Texts, early_parts
from tongues.evaluate.tasks import TASKS, FewShotTask, ItemFault, read_fewshot_tasks
from tongues.evaluate.words import WORDS
from tongues.experts.ensemble.places import lineage_of, place_of, resolve_model, with_bases
from tongues.recipe.base import readable_name
from tongues.runs.record import Run, read_run
from tongues.text import Document
from tongues.train.base import model_folder
from tongues.verbs.models import Evaluate
from tongues.verbs.shared import Voice, evaluation_folder, listed, memory_bytes

_READ_AGAIN = 3.0  # seconds; a kept estimate is there sooner, and says nothing of the time (chosen)
_FEWSHOT_SEEDS = 5  # draws of examples: Blevins et al. 2024


def evaluate(asked: Evaluate) -> Evaluation:
    """Score models on texts and tasks."""
    workspace, voice = Path(asked.workspace), Voice(asked.quiet)
    _check_words(asked)
    named = listed(asked.models)
    everyone = with_bases(named, workspace)
    if not (asked.text or asked.tasks):
        hint = "name `--text tokens/NAME` for losses, or `--tasks xcopa --data FOLDER`"
        raise UserError("nothing to evaluate on", hint=hint)
    check_ranks(asked.launcher, asked.ranks)
    measured = _read(asked, everyone, voice)
    from tongues.core.pages import as_text, write_page
    from tongues.evaluate import runner  # with torch: what is refused above needs no model
    from tongues.evaluate.outcome import build_evaluation
    from tongues.models.placement import choose_placement
    from tongues.report.evaluation.view import evaluation_page, score_blocks

    spec = runner.EvalSpec(
        measured.texts,
        measured.tasks,
        Policy(asked.window),
        faults=measured.faults,
        cautions=measured.cautions,
        harness=measured.harness,
    )
    name = _name(asked.name, workspace, everyone, measured, voice.say)
    folder, scratch = workspace / "evaluations" / name, None
    try:
        check_writable(folder)
    except UserError as error:
        voice.say(WORDS["not_kept"].format(where=error.where))
        asked, scratch = replace(asked, page=False), TemporaryDirectory(ignore_cleanup_errors=True)
        folder = Path(scratch.name) / name
    placed = {"memory": memory_bytes(asked.max_memory), "device": asked.device}
    placed |= {"dtype": asked.dtype}
    if asked.ranks:
        starts = open_launcher(asked.launcher, workers=asked.ranks)
        runner.score_in_ranks(
            everyone,
            spec,
            workspace,
            folder,
            ranks=asked.ranks,
            launcher=starts,
            tell=voice.say,
            **placed,
        )
    places = {model_folder(place_of(model, workspace)[0]) for model in everyone}
    stored = sum(x.stat().st_size for place in places for x in place.rglob("*.safetensors"))
    kind = choose_placement(asked.device, asked.dtype).devices[0].type
    kept = (folder / SCORES).exists()
    for share, texts in early_parts(measured.texts, stored, kind):
        part, place = replace(spec, texts=texts, tasks={}, harness={}), folder / "early"
        began = time.monotonic()
        with voice.progress(f"{name}, {share:.1%} of the text") as show:
            results = runner.evaluate(everyone, part, workspace, place, watch=show, **placed)
        so_far = replace(build_evaluation(results, named), name=name, limit=_most(texts))
        voice.say(WORDS["early"].format(share=share))
        voice.say(as_text(score_blocks(so_far)))
        if (took := time.monotonic() - began) > _READ_AGAIN:
            voice.say(WORDS["whole"].format(time=show_seconds(took / share)))
        if not kept:  # an interruption leaves it
            unfinished = WORDS["unfinished"].format(share=share)
            replace(so_far, left_out=[*so_far.left_out, unfinished]).write(folder)
    with voice.progress(name) as show:
        results = runner.evaluate(everyone, spec, workspace, folder, watch=show, **placed)
    limit = measured.limit or asked.limit or None
    evaluation = replace(build_evaluation(results, named), name=name, limit=limit)
    evaluation.write(folder)
    remove_directory(folder / "early")
    if scratch is not None:
        scratch.cleanup()
    figures = EXTRAS["vl_convert"]
    if asked.page and not figures.is_installed:
        voice.say(WORDS["no_page"].format(purpose=figures.purpose, install=figures.install))
    elif asked.page:
        write_page(evaluation_page(evaluation, name), evaluation_folder(workspace, name))
    return evaluation


def _runs_of(models: Sequence[str], workspace: Path) -> list[Run] | None:
    """The runs that an evaluation is sized to, when one of them is no ensemble."""
    places = [resolve_model(name, workspace)[:2] for name in models]
    runs = [read_run(folder) for kind, folder in places if kind == "run"]
    return None if any(kind == "ensemble" for kind, _ in places) else runs or None


def _most(texts: Texts) -> int:
    """The number of documents of the language that has most."""
    return max(len(documents) for by in texts.values() for documents in by.values())


def _check_words(asked: Evaluate) -> None:
    """Refuse a name that no folder can have, and empty words."""
    try:
        readable_name(asked.name or "evaluation")
    except ValueError as error:
        raise UserError(str(error), where="--name") from None
    data = () if asked.data is None else asked.data
    given = {"--text": asked.text, "--tasks": asked.tasks, "--data": data}
    for name, values in given.items():
        if not all(listed(values)):
            raise UserError("names nothing", where=name, hint="is a shell's variable empty?")


@dataclass(frozen=True, slots=True)
class _Measured:
    """What models are measured on, by name and language, and what is wrong with it."""

    texts: dict[str, dict[str, list[Document]]]
    tasks: dict[str, dict[str, FewShotTask]]
    harness: dict[str, dict[str, HarnessTask]]
    faults: list[ItemFault]
    cautions: dict[str, list[Caution]]

    @property
    def limit(self) -> int | None:
        """Documents of a language that were chosen by the size of the runs; None: all."""
        codes = {doubt.code for doubts in self.cautions.values() for doubt in doubts}
        return _most(self.texts) if PART in codes else None

    @property
    def names(self) -> list[tuple[str, str]]:
        """The name and the language of each text and task."""
        each = (self.texts, self.tasks, self.harness)
        return [(what, lang) for one in each for what, by in one.items() for lang in by]


def _read(asked: Evaluate, models: Sequence[str], voice: Voice) -> _Measured:
    """The texts and tasks that were asked for; held-out text is sized to the runs."""
    workspace, runs = Path(asked.workspace), None
    if asked.limit is None:
        runs = _runs_of(listed(asked.models), workspace)
    about: dict[str, Any] = {
        "limit": asked.limit or runs,
        "lineages": [lineage_of(model, workspace) for model in models],
        "say": voice.say,
    }
    chosen = None if asked.languages is None else _languages(asked.languages, "--languages")
    made = _Measured({}, {}, {}, [], {})
    for what in listed(asked.text):
        doubts = made.cautions.setdefault(what, [])
        if what.partition(":")[0] in TASKS.names() and not Path(what).exists():
            raise UserError(f"`{what}` is a task", where="--text", hint=f"use `--tasks {what}`")
        about |= {"caution": doubts.append, "fault": made.faults.append}
        made.texts[what] = read_texts(what, workspace, languages=chosen, **about)
    for doubt in dict.fromkeys(doubt for doubts in made.cautions.values() for doubt in doubts):
        voice.say(f"caution: {doubt}")
    for what in listed(asked.tasks):
        if what.startswith(HARNESS):
            voice.say(WORDS["lm_eval_reads"].format(name=what.removeprefix(HARNESS)))
            many = {"num_fewshot": asked.num_fewshot, "limit": asked.limit or None}
            found = harness_tasks(what, chosen, **many)
            for own, by in found.items():
                made.harness.setdefault(own, {}).update(by)
        else:
            read = _own_task(what, asked, chosen)
            made.tasks.setdefault(what.partition(":")[0], {}).update(read)
    for by_language in made.tasks.values():
        for fewshot in by_language.values():
            voice.say(fewshot.power)
    return made


def _own_task(
    what: str, asked: Evaluate, languages: Sequence[str] | None
) -> dict[str, FewShotTask]:
    """A task of this package in its languages."""
    task = what.partition(":")[0]
    if task not in TASKS.names():
        there = Path(what).exists() or (Path(asked.workspace) / "tokens" / what).exists()
        known = f"{nearest(task, TASKS.names())}; others are lm-eval's: `{HARNESS}NAME`"
        hint = f"use `--text {what}`" if there else known
        if what.endswith((".yaml", ".yml")):
            hint = f"write it as a task of lm-eval's, and `--tasks {HARNESS}{what}`"
        raise UserError(f"`{task}` is not a task", where="--tasks", hint=hint)
    if asked.data is None:
        hint = f"pass `--data FOLDER` or `--data hub` for `{task}`"
        raise UserError("a task needs its items", where="--tasks", hint=hint)
    return read_fewshot_tasks(
        what,
        languages,
        str(asked.data),
        limit=asked.limit or None,
        num_fewshot=asked.num_fewshot or 0,
        fewshot_seeds=_FEWSHOT_SEEDS if asked.num_fewshot else 1,
        fewshot_language=asked.fewshot_language,
    )


def _name(
    name: str | None,
    workspace: Path,
    models: Sequence[str],
    measured: _Measured,
    say: Callable[[str], None],
) -> str:
    """The name of an evaluation; scores are replaced only under a name that was given."""
    scored = measured.names
    if name is None:
        name = free_name(workspace, models, scored)
        if name != "evaluation":
            say(WORDS["free_name"].format(name=name))
    elif lost := replaced(name, workspace, models, scored):
        say(WORDS["replaced"].format(name=name, lost=list_languages(f"`{each}`" for each in lost)))
    return name


def _languages(words: str | Sequence[str], where: str) -> list[str]:
    tags = [tag.strip() for tag in (words.split(",") if isinstance(words, str) else words)]
    if not any(tags):
        raise UserError("names no language", where=where, hint="such as `sw,tr`")
    return list(dict.fromkeys(filter(None, tags)))
