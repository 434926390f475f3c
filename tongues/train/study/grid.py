"""The runs of a study: every shape, strategy, target, replay ratio, budget and seed.

The best learning rate is tried on source models of small shapes, and carried up by rule.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.core.quantities import Budget
from tongues.core.roles import Roles
from tongues.models import find_shape
from tongues.recipe import BaseChoice, Recipe, Study, Train
from tongues.runs.record import run_rows, status_of
from tongues.train import RunPlan, run_of_recipe
from tongues.train.mixture import proxy_mixtures, text_of
from tongues.train.work import Work

_OWN = ("mixture", "replay", "base", "run", "eval_languages", "max_forgetting")
_SCALES = {"G": 1e9, "M": 1e6, "k": 1e3}  # the SI's prefixes


def plan_runs(work: Work, rates: dict[str, float] | None = None) -> list[RunPlan]:
    """The runs of a recipe, bases first; a single one without a `study` section.

    A continued run starts from the source model of its own shape and seed, which is trained once.
    A name says what sets a run apart, so that a study may grow without renaming what is there.
    rates: the best ones of a sweep, by shape; they take the place of the recipe's.
    """
    recipe = work.recipe
    if recipe.study is None:
        return [run_of_recipe(work)]
    study, train = recipe.study, recipe.train
    taken = [f"train.{key}" for key in _OWN if getattr(train, key)]
    taken += ["model.shape"] if recipe.model.shape else []
    if taken:
        what = "a study or a pilot sets it for each of its runs"
        raise UserError(what, where=taken[0], hint="take it out")
    if rates:
        train = train.model_copy(update={"learning_rate": rates})
        recipe = recipe.model_copy(update={"train": train})
    if study.mixtures:
        return list(_mixture_runs(recipe, study, work.workspace))
    runs: dict[str, RunPlan] = {}
    usual_base = (study.source_budgets or [train.budget])[0]
    changes = [{key: getattr(grid, key) for key in grid.model_fields_set} for grid in study.also]
    for grid in (study, *(study.model_copy(update=changed) for changed in changes)):
        if study.source in grid.targets:
            raise UserError(f"`{study.source}` is source and target at once", where="study.targets")
        for run in _runs(recipe, grid, usual_base):
            if runs.setdefault(run.name, run) != run:
                what = f"two runs would both be called `{run.name}`"
                raise UserError(what, where="study", hint="they must differ in four digits")
    return list(runs.values())


def plan_source(
    recipe: Recipe, source: str, shape: str, seed: int, *, name: str, settings: Train
) -> RunPlan:
    """A run of the source language alone, from random weights."""
    alone = {"mixture": {source: 1.0}, "eval_languages": [source], "seed": seed}
    return RunPlan(
        name=name,
        strategy="source",
        roles=Roles((source,)),
        base=None,
        tokens=recipe.name,
        shape=find_shape(shape, where="study.shapes"),
        tied_embeddings=recipe.model.tied_embeddings,
        new_embeddings=recipe.model.new_embeddings,
        settings=settings.model_copy(update=alone),
    )


def _runs(recipe: Recipe, grid: Study, usual_base: Budget) -> Iterator[RunPlan]:
    """The runs of one grid; usual_base: the source models' budget, which no name shows."""
    train, usual, source = recipe.train, recipe.train.budget, grid.source
    budgets, bases = grid.budgets or [usual], grid.source_budgets or [usual]
    for shape, seed in product(grid.shapes, grid.seeds):
        sources = {
            base: plan_source(
                recipe,
                source,
                shape,
                seed,
                name=f"{recipe.name}/{source}-source-{shape}{_label(base, usual_base)}-s{seed}",
                settings=train.model_copy(update={"budget": base}),
            )
            for base in bases
        }
        if "cpt" in grid.strategies:
            yield from sources.values()
        for target, budget in product(grid.targets, budgets):
            shared = {"mixture": {target: 1.0}, "budget": budget, "seed": seed}
            end = f"{shape}{_label(budget, usual)}"
            if "scratch" in grid.strategies:
                yield replace(
                    sources[bases[0]],
                    name=f"{recipe.name}/{target}-scratch-{end}-s{seed}",
                    strategy="scratch",
                    roles=Roles((target,)),
                    settings=train.model_copy(update=shared | {"eval_languages": [target]}),
                )
            for base, share in product(bases if "cpt" in grid.strategies else (), grid.replay):
                kind = f"cpt-replay{share * 100:.4g}" if share else "cpt"
                origin = _label(base, usual_base).replace("-", "-from", 1)
                model, replay = sources[base].name, {source: share} if share else {}
                changes = shared | {"eval_languages": [target, source], "replay": replay}
                changes["base"] = BaseChoice(model=model)
                yield replace(
                    sources[bases[0]],
                    name=f"{recipe.name}/{target}-{kind}-{end}{origin}-s{seed}",
                    strategy="cpt",
                    roles=Roles((target,), (source,), replay),
                    base=model,
                    settings=train.model_copy(update=changes),
                )


def _mixture_runs(recipe: Recipe, study: Study, workspace: Path) -> Iterator[RunPlan]:
    """A run of each mixture, shape, budget and seed, from scratch."""
    texts, targets = text_of(recipe, workspace), study.targets
    for lang in targets:
        if lang not in texts:
            what, hint = f"language `{lang}` has no text", nearest(lang, texts)
            raise UserError(what, where="study.targets", hint=hint)
    mixtures = proxy_mixtures(targets, texts, study.mixtures or 0)
    budgets = study.budgets or [recipe.train.budget]
    for shape, budget, seed in product(study.shapes, budgets, study.seeds):
        end = f"{shape}{_label(budget, recipe.train.budget)}-s{seed}"
        for number, mixture in enumerate(mixtures):
            name = f"{recipe.name}/mixture{number:03d}-{end}"
            first, changes = targets[0], {"mixture": mixture, "budget": budget}
            alone = plan_source(recipe, first, shape, seed, name=name, settings=recipe.train)
            changes |= {"eval_languages": targets, "seed": seed}
            yield replace(
                alone,
                strategy="scratch",
                roles=Roles(tuple(mixture)),
                settings=recipe.train.model_copy(update=changes),
            )


def _label(budget: Budget, usual: Budget) -> str:
    """A budget in a name: `-5tpp`, `-3Mtokens`; empty for the usual one."""
    if budget == usual:
        return ""
    amount, unit = budget.amount, {"tokens per parameter": "tpp"}.get(budget.unit, budget.unit)
    scale = next((s for s in ("G", "M", "k") if amount % _SCALES[s] == 0), "")
    return f"-{amount / _SCALES.get(scale, 1):.12g}{scale}{unit}"


def plan_study(work: Work) -> list[RunPlan]:
    """The runs of a recipe, at the rates that its sweep found, once all of that is done."""
    sweep = plan_sweep(work.recipe)
    done = sweep and not unfinished(sweep, work.workspace)
    return plan_runs(work, best_rates(sweep, work.workspace)[0] if done else None)


def unfinished(plans: Sequence[RunPlan], workspace: Path) -> list[str]:
    """The runs of a sweep that have neither finished nor diverged."""
    done = ("finished", "diverged")
    return [plan.name for plan in plans if status_of(workspace / "runs" / plan.name) not in done]


def plan_sweep(recipe: Recipe) -> list[RunPlan]:
    """A source model of every shape and rate of the sweep, with the study's first seed.

    They have a folder of their own, since no law is to be fitted on them.
    """
    study = recipe.study
    if study is None or study.sweep is None:
        return []
    return [
        plan_source(
            recipe,
            study.source,
            shape,
            study.seeds[0],
            name=f"{recipe.name}-sweep/{shape}-rate{rate:g}",
            settings=recipe.train.model_copy(update={"learning_rate": rate}),
        )
        for shape in study.sweep.shapes
        for rate in study.sweep.learning_rates
    ]


def best_rates(plans: Sequence[RunPlan], workspace: Path) -> tuple[dict[str, float], list[str]]:
    """The best rate of each shape, and cautions about it, from the finished runs of a sweep.

    The lowest point of a parabola in the logarithm of the rate, through the lowest loss and its
    two neighbours; runs that diverged count as worse than any.
    """
    losses: dict[str, dict[float, float]] = {}
    for plan in plans:
        directory, rate = workspace / "runs" / plan.name, plan.settings.learning_rate
        loss = math.inf
        if status_of(directory) == "finished":
            loss = max(run_rows([directory]), key=lambda row: row["step"])["loss"]
        if plan.shape and isinstance(rate, float):
            losses.setdefault(plan.shape.name, {})[rate] = loss
    rates: dict[str, float] = {}
    doubts: list[str] = []
    for shape, of_rate in losses.items():
        tried = sorted(of_rate)
        best = min(range(len(tried)), key=lambda place: of_rate[tried[place]])
        rates[shape] = tried[best]
        if math.isinf(of_rate[tried[best]]):
            what = f"no run of shape {shape} ended with any of the rates"
            raise UserError(what, where="study.sweep.learning_rates", hint="try lower ones")
        if best in (0, len(tried) - 1):
            end = "lowest" if best == 0 else "highest"
            doubts.append(
                f"the best rate of {shape} is the {end} that was tried, {tried[best]:g}: the best "
                "of all may be beyond it"
            )
            continue
        near = tried[best - 1 : best + 2]
        if all(math.isfinite(of_rate[rate]) for rate in near):
            logs, ends = [math.log(rate) for rate in near], [of_rate[rate] for rate in near]
            squared, linear, _ = np.polyfit(logs, ends, 2)
            if squared > 0:
                rates[shape] = math.exp(-linear / (2 * squared))
    return rates, doubts
