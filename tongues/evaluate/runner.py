"""Runs an evaluation, model after model; each result is kept, and scored only once."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tongues.core.errors import Caution, UserError
from tongues.core.files import file_name, fingerprint, read_json, remove_directory, write_json
from tongues.core.jsonable import from_plain, to_plain
from tongues.core.launch import Launcher, run_ranks
from tongues.core.ranks import Rank, Say
from tongues.evaluate.evaluation import EvaluatedModel, Trained
from tongues.evaluate.harness import HarnessScores, HarnessTask, score_harness
from tongues.evaluate.losses import DocumentLosses, Policy, resolved
from tongues.evaluate.rows import Tell
from tongues.evaluate.tasks import FewShotTask, ItemFault
from tongues.evaluate.tasks.score import Answers, score_task
from tongues.evaluate.texts import routed_losses
from tongues.experts.ensemble.model import Model, open_models
from tongues.experts.ensemble.places import (
    find_model,
    model_roles,
    place_of,
    resolve_model,
    stored_base,
)
from tongues.runs.record import read_run
from tongues.text import Document

_MEMORY = 3 * 2**30  # chosen; bytes of a rank for PyTorch and a batch, besides the weights

Result: TypeAlias = DocumentLosses | Answers | HarnessScores


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """A model on a text or a task in a language, with one draw of demonstrations."""

    model: str
    name: str  # the text's or the task's
    language: str
    num_fewshot: int | None = None  # None: a text
    draw: int = 0

    def path(self, folder: Path) -> Path:
        """Its file in an evaluation's folder."""
        draw = "" if self.num_fewshot is None else f".k{self.num_fewshot}.d{self.draw}"
        place = folder / "units" / file_name(self.model) / file_name(self.name)
        return place / f"{file_name(self.language)}{draw}.json"


def write_unit(folder: Path, unit: Unit, key: str, result: Result) -> None:
    """Keep a unit's result; key: the fingerprint of all that it depends on."""
    path = unit.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"fingerprint": key, "unit": to_plain(unit), "result": to_plain(result)})


def read_unit(folder: Path, unit: Unit, key: str) -> Result | None:
    """A unit's result, or None where it is still to be scored or has another fingerprint."""
    path = unit.path(folder)
    try:
        content = read_json(path) if path.is_file() else {}
        if content.get("fingerprint") != key:
            return None
        plain = content["result"]
        if unit.num_fewshot is None:
            return DocumentLosses.from_json(plain)
        return from_plain(HarnessScores if "metrics" in plain else Answers, plain)
    except (ValueError, TypeError, KeyError):  # damaged, or of another version's fields
        return None


@dataclass(frozen=True, slots=True)
class EvalSpec:
    """What models are evaluated on: texts and tasks by name and language."""

    texts: Mapping[str, Mapping[str, Sequence[Document]]] = field(default_factory=dict)
    tasks: Mapping[str, Mapping[str, FewShotTask]] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    faults: Sequence[ItemFault] = ()  # documents that cannot be read, and broken models
    cautions: Mapping[str, Sequence[Caution]] = field(default_factory=dict)  # about texts
    unknown: Mapping[str, Collection[str]] = field(default_factory=dict)  # languages, by model
    harness: Mapping[str, Mapping[str, HarnessTask]] = field(default_factory=dict)  # of lm-eval

    def units(self, model: str) -> list[Unit]:
        """All units of one model."""
        unknown = self.unknown.get(model, ())
        texts = ((name, lang) for name, by in self.texts.items() for lang in by)
        units = [Unit(model, *text) for text in texts if text[1] not in unknown]
        units += [
            Unit(model, name, lang, len(demonstrations), draw)
            for name, by in self.tasks.items()
            for lang, fewshot in by.items()
            for draw, demonstrations in enumerate(fewshot.demonstrations)
        ]
        return units + [
            Unit(model, name, lang, task.num_fewshot or 0)
            for name, by in self.harness.items()
            for lang, task in by.items()
        ]

    def fingerprint(self, model: Model, unit: Unit) -> str:
        """Of all that a unit's numbers depend on."""
        parts = [model.fingerprint, unit.language]
        if model.ensemble.models.placement.dtype.itemsize < 4:
            parts.append(str(model.ensemble.models.placement.dtype))
        if unit.name in self.harness:
            task = self.harness[unit.name][unit.language]
            return fingerprint([*parts, str(model.routing), task.fingerprint()])
        if unit.num_fewshot is not None:
            fewshot = self.tasks[unit.name][unit.language]
            return fingerprint([*parts, fewshot.fingerprint(unit.draw)])
        documents = self.texts[unit.name][unit.language]
        read = [(document.id, document.group, document.text) for document in documents]
        return fingerprint([*parts, asdict(self.policy), read])


@dataclass(frozen=True, slots=True)
class Results:
    """The models, what they were evaluated on, and the result of each unit."""

    models: Sequence[EvaluatedModel]
    spec: EvalSpec
    texts: Mapping[Unit, DocumentLosses]
    answers: Mapping[Unit, Answers]
    harness: Mapping[Unit, HarnessScores] = field(default_factory=dict)


def evaluate(
    models: Sequence[str],
    spec: EvalSpec,
    workspace: Path,
    folder: Path,
    *,
    memory: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    watch: Callable[..., None] = lambda share, *words: None,
) -> Results:
    """Score every model on everything, and keep each result in `folder` as soon as it is there.

    memory: cap on bytes of weights in memory, of an ensemble. device, dtype: see
    `choose_placement`. watch: receives the share done, and
    what is under way in words. Routings of one ensemble that follow each other share one pass of
    its experts. A model that cannot be opened, or whose context is shorter than a window, is a
    UserError before anything is scored. One that produces NaN is left out, and is one of the
    faults; where no other is left, it is a UserError.
    """
    opened = open_models(models, workspace, max_memory=memory, device=device, dtype=dtype)
    for model in opened if spec.texts else ():
        resolved(spec.policy, model.ensemble.context, f"`{model.name}`")
    evaluated = [_describe(model, opened, workspace) for model in opened]
    groups = [list(group) for _, group in groupby(opened, key=lambda model: id(model.ensemble))]
    opened.clear()
    results: dict[Unit, Result] = {}
    broken: dict[str, ItemFault] = {}
    scored = 0
    while groups:
        group = groups.pop(0)  # frees the ensemble once it is scored

        def tell(share: float, *words: str, done: int = scored, count: int = len(group)) -> None:
            watch((done + share * count) / len(models), *words)

        scored += len(group)
        for unit, result in _score_group(group, spec, folder, tell):
            if isinstance(result, ItemFault):
                broken.setdefault(unit.model, result)
            else:
                results[unit] = result
    watch(1.0)
    evaluated = [model for model in evaluated if model.name not in broken]
    if not evaluated:
        fault = next(iter(broken.values()))
        raise UserError(f"{fault.reason}, {fault.place}", where=fault.source, hint=fault.sample)
    return Results(
        evaluated,
        replace(spec, faults=(*spec.faults, *broken.values())),
        {unit: result for unit, result in results.items() if isinstance(result, DocumentLosses)},
        {unit: result for unit, result in results.items() if isinstance(result, Answers)},
        {unit: result for unit, result in results.items() if isinstance(result, HarnessScores)},
    )


def _score_group(
    group: Sequence[Model], spec: EvalSpec, folder: Path, watch: Callable[..., None]
) -> Iterator[tuple[Unit, Result | ItemFault]]:
    """All units of one ensemble by its routings; a fault for a model that produces NaN."""
    named = {model.name: model for model in group}
    units: dict[Unit, list[Unit]] = {}  # by what is the same for all routings
    for unit in (unit for name in named for unit in spec.units(name)):
        units.setdefault(replace(unit, model=""), []).append(unit)
    for number, same in enumerate(units.values()):
        each = [unit for unit in same if unit.model in named]
        if not each:
            continue
        what = f"{each[0].model} {each[0].name} {each[0].language}"

        def tell(share: float, *words: str, done: int = number, what: str = what) -> None:
            watch((done + share) / len(units), what, *words)

        tell(0.0)
        keys = {unit: spec.fingerprint(named[unit.model], unit) for unit in each}
        kept = {unit: read_unit(folder, unit, keys[unit]) for unit in each}
        missing = {unit: named[unit.model] for unit in each if kept[unit] is None}
        new = _score_units(missing, spec, tell) if missing else {}
        for unit in each:
            if unit not in new:
                yield unit, kept[unit] or new[unit]
            elif _finite(new[unit]):
                write_unit(folder, unit, keys[unit], new[unit])
                yield unit, new[unit]
            else:
                del named[unit.model]  # none of its other units is scored
                place, why = f"in `{unit.name}`, `{unit.language}`", "its weights are broken"
                yield unit, ItemFault(unit.model, place, "produces NaN", why)


def _score_units(units: Mapping[Unit, Model], spec: EvalSpec, tell: Tell) -> dict[Unit, Result]:
    """The results of units of one ensemble that differ by the routing alone."""
    first = next(iter(units))
    if first.num_fewshot is None:
        documents = spec.texts[first.name][first.language]
        losses = routed_losses(list(units.values()), documents, spec.policy, tell=tell)
        return dict(zip(units, losses, strict=True))
    if first.name in spec.harness:
        task = spec.harness[first.name][first.language]
        return {unit: score_harness(model, task) for unit, model in units.items()}
    fewshot = spec.tasks[first.name][first.language]
    return {
        unit: score_task(model, fewshot, first.draw, tell=tell) for unit, model in units.items()
    }


def _finite(result: Result) -> bool:
    if isinstance(result, DocumentLosses):
        return bool(np.isfinite(result.nats).all())
    if isinstance(result, HarnessScores):
        values = [x for metric in result.metrics for x in metric.values if x is not None]
        return bool(np.isfinite(values).all())
    return bool(np.isfinite([total for score in result.scores for total in score.sums]).all())


def _describe(model: Model, models: Sequence[Model], workspace: Path) -> EvaluatedModel:
    ensemble, base, trained, roles = model.ensemble, model.base, None, None
    if base is not None and stored_base(model.name, workspace) is not None:
        place = place_of(base, workspace)  # by the user's name for it if that is evaluated too
        names = (other.name for other in models if place_of(other.name, workspace) == place)
        base = next(names, base)
    if model.kind == "run":
        record = read_run(find_model(model.name, workspace)[1])
        same = ("run", "fingerprint", "strategy", "roles", "shape", "tokens", "seed")
        plain = {name: getattr(record, name) for name in same}
        trained = Trained(params=record.params["total"], **plain)
    elif model.kind == "ensemble":
        _, folder, _, _ = resolve_model(model.name, workspace)
        roles = model_roles("ensemble", folder, workspace)
    return EvaluatedModel(
        name=model.name,
        kind=model.kind,
        base=base,
        routing=str(model.routing) if ensemble.k > 1 else "",
        experts=ensemble.k,
        context=ensemble.context,
        first=model.tokenizer.id_to_token(model.first),
        prompted=model.prompted,
        tokenizer=ensemble.lineage.tokenizer_sha256,
        trained=trained,
        fingerprint=model.fingerprint,
        experts_roles=roles,
    )


def score_in_ranks(
    models: Sequence[str],
    spec: EvalSpec,
    workspace: Path,
    folder: Path,
    *,
    ranks: int,
    launcher: Launcher,
    memory: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    tell: Say = lambda line: None,
) -> None:
    """Score all units in several processes, and keep each result in `folder` for `evaluate`.

    Safe to interrupt; call it again to resume. memory, device and dtype as of `evaluate`, of a
    rank.
    """
    threads = launcher.threads(ranks)
    weights = {place_of(name, workspace)[0] for name in models}
    sizes = (file.stat().st_size for place in weights for file in place.rglob("*.safetensors"))
    units = [str(unit.path(folder)) for name in models for unit in spec.units(name)]
    run_ranks(
        score_share,
        (list(models), spec, workspace, folder, memory, threads, device, dtype),
        ranks,
        tell,
        launcher=launcher,
        name=folder.name,
        folder=folder / "ranks",
        fingerprint=fingerprint([units, ranks]),
        threads=threads,
        memory=_MEMORY + sum(sizes),
        gpus=1,
    )
    remove_directory(folder / "ranks")


def score_share(
    rank: Rank,
    tell: Say,
    models: list[str],
    spec: EvalSpec,
    workspace: Path,
    folder: Path,
    memory: int | None,
    threads: int,
    device: str | None = None,
    dtype: str | None = None,
) -> None:
    """Score a rank's share and keep it: a text or task in a language by one ensemble's routings."""
    import torch

    torch.set_num_threads(threads)
    groups = [list(some) for _, some in groupby(models, lambda name: place_of(name, workspace)[0])]
    empty, parts = replace(spec, texts={}, tasks={}, harness={}), list[EvalSpec]()
    for kind in ("texts", "tasks", "harness"):
        for name, by in getattr(spec, kind).items():
            parts += [replace(empty, **{kind: {name: {lang: by[lang]}}}) for lang in by]
    for names, part in rank.share([(names, part) for names in groups for part in parts]):
        try:
            evaluate(names, part, workspace, folder, memory=memory, device=device, dtype=dtype)
        except UserError as error:  # the process that collects the results raises what matters
            tell(str(error))
