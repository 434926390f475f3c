"""Models scored side by side on texts and tasks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tongues.errors import Caution, UserError, nearest
from tongues.evaluate.documents import read_texts
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.harness import HARNESS, HarnessTask, harness_tasks
from tongues.evaluate.kept import free_name, replaced
from tongues.evaluate.losses import Policy
from tongues.evaluate.tasks import (
    TASKS,
    FewShotTask,
    ItemFault,
    is_task,
    merge_tasks,
    read_named_tasks,
)
from tongues.experts.ensemble.places import lineage_of, resolve_model, with_bases
from tongues.extras import EXTRAS
from tongues.launch import check_ranks, open_launcher
from tongues.recipe.base import readable_name
from tongues.roles import list_languages
from tongues.serve.text_process import TextProcess
from tongues.text import Document
from tongues.verbs.shared import Voice, listed, memory_bytes

_FEWSHOT_SEEDS = 5  # draws of examples: Blevins et al. 2024


def evaluate(asked: Evaluate) -> Evaluation:
    """Score models on texts and tasks."""
    workspace, voice = Path(workspace), Voice(quiet)
    try:
        readable_name(name or "evaluation")
    except ValueError as error:
        raise UserError(str(error), where="--name") from None
    options = {"--text": listed(text), "--tasks": listed(tasks), "--data": listed(data)}
    for option, values in options.items():
        if not all(values):
            raise UserError("names nothing", where=option, hint="is a shell's variable empty?")
    if not (options["--text"] or options["--tasks"]):
        hint = "name `--text tokens/NAME` for losses, or `--tasks xcopa --data FOLDER`"
        raise UserError("nothing to evaluate on", hint=hint)
    named, places = listed(models), options["--data"]
    everyone = with_bases(named, workspace)
    chosen = None if languages is None else _languages(languages, "--languages")
    check_ranks(launcher, ranks)
    faults: list[ItemFault] = []
    cautions: dict[str, list[Caution]] = {what: [] for what in options["--text"]}
    texts = {
        what: _documents(what, everyone, workspace, chosen, limit, faults, doubts, voice.say)
        for what, doubts in cautions.items()
    }
    for doubt in dict.fromkeys(doubt for doubts in cautions.values() for doubt in doubts):
        voice.say(f"caution: {doubt}")
    by_task: dict[str, dict[str, FewShotTask]] = {}
    by_harness: dict[str, dict[str, HarnessTask]] = {}
    for what in options["--tasks"]:
        if what.startswith(HARNESS):
            voice.say(f"lm-eval reads `{what.removeprefix(HARNESS)}`")  # seconds; offline too
            named_tasks = harness_tasks(what, chosen, num_fewshot=num_fewshot, limit=limit)
            for own, by in named_tasks.items():
                by_harness.setdefault(own, {}).update(by)
            continue
        task = what.partition(":")[0]
        if not is_task(task):
            there = Path(what).exists() or (workspace / "tokens" / what).exists()
            known = f"{nearest(task, TASKS.names())}; others are lm-eval's: `{HARNESS}NAME`"
            hint = f"use `--text {what}`" if there else known
            raise UserError(f"`{task}` is not a task", where="--tasks", hint=hint)
        if not places:
            hint = f"pass `--data FOLDER` or `--data hub` for `{task}`"
            raise UserError("a task needs its items", where="--tasks", hint=hint)
        by_task = merge_tasks(
            by_task,
            read_named_tasks(
                what,
                places,
                chosen,
                limit=limit,
                num_fewshot=num_fewshot or 0,
                fewshot_seeds=_FEWSHOT_SEEDS if num_fewshot else 1,
                fewshot_language=fewshot_language,
            ),
        )
    for by_language in by_task.values():
        for fewshot in by_language.values():
            voice.say(fewshot.power)
    _probe_tokenizers(everyone, workspace)
    from tongues.evaluate import runner  # with torch: what is refused above needs no model
    from tongues.evaluate.outcome import build_evaluation
    from tongues.pages import write_page
    from tongues.report.evaluation.view import evaluation_page

    spec = runner.EvalSpec(
        texts, by_task, Policy(window), faults=faults, cautions=cautions, harness=by_harness
    )
    name = _name(name, workspace, everyone, (texts, by_task, by_harness), voice.say)
    folder, held = workspace / "evaluations" / name, memory_bytes(max_memory)
    if ranks:
        starts = open_launcher(launcher, workers=ranks)
        runner.score_in_ranks(
            everyone,
            spec,
            workspace,
            folder,
            ranks=ranks,
            launcher=starts,
            memory=held,
            device=device,
            dtype=dtype,
            tell=voice.say,
        )
    with voice.progress(name) as show:
        results = runner.evaluate(
            everyone, spec, workspace, folder, memory=held, device=device, dtype=dtype, watch=show
        )
    evaluation = replace(build_evaluation(results, named), name=name, limit=limit)
    evaluation.write(folder)
    figures = EXTRAS["vl_convert"]
    if page and not figures.is_installed:
        voice.say(f"no page: {figures.purpose} need `{figures.install}`")
    elif page:
        write_page(evaluation_page(evaluation, name), evaluation_folder(workspace, name))
    return evaluation


def evaluation_folder(workspace: Path, name: str) -> Path:
    """Where the page of an evaluation is."""
    title = name if name.startswith("evaluation") else f"{name}-evaluation"  # the usual name, once
    return workspace / "reports" / title


def _name(
    name: str | None,
    workspace: Path,
    models: Sequence[str],
    measured: Iterable[Mapping[str, Mapping[str, object]]],
    say: Callable[[str], None],
) -> str:
    """The name of an evaluation; scores are replaced only under a name that was given."""
    scored = [(what, lang) for each in measured for what, by in each.items() for lang in by]
    if name is None:
        name = free_name(workspace, models, scored)
        if name != "evaluation":
            say(f"the result is `{name}`: `evaluation` has scores of other models or texts")
    elif lost := replaced(name, workspace, models, scored):
        named = list_languages(f"`{each}`" for each in lost)
        say(f"`{name}` is replaced, with its scores of {named}")
    return name


def _probe_tokenizers(models: Sequence[str], workspace: Path) -> None:
    """Refuse a folder from elsewhere whose tokenizer would hold up or end this process."""
    for name in models:
        kind, folder, _, _ = resolve_model(name, workspace)
        if kind == "folder":
            rules = TextProcess(folder)
            try:
                rules.probe(chat=False)
            finally:
                rules.close()


def _documents(
    text: str,
    models: Sequence[str],
    workspace: Path,
    languages: Sequence[str] | None,
    limit: int | None,
    faults: list[ItemFault],
    doubts: list[Caution],
    say: Callable[[str], None],
) -> dict[str, list[Document]]:
    if is_task(text.partition(":")[0]) and not Path(text).exists():
        raise UserError(f"`{text}` is a task", where="--text", hint=f"use `--tasks {text}`")
    lineages = [lineage_of(model, workspace) for model in models]
    about = {"languages": languages, "limit": limit, "lineages": lineages}
    return read_texts(text, workspace, **about, fault=faults.append, caution=doubts.append, say=say)


def _languages(words: str | Sequence[str], where: str) -> list[str]:
    tags = [tag.strip() for tag in (words.split(",") if isinstance(words, str) else words)]
    if not any(tags):
        raise UserError("names no language", where=where, hint="such as `sw,tr`")
    return list(dict.fromkeys(filter(None, tags)))
