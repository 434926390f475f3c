"""The runs of a study: every shape, strategy, target, replay ratio and seed."""

from collections.abc import Iterator

from tongues.errors import UserError
from tongues.models import Shape, find_shape
from tongues.recipe import Recipe, Study, Train
from tongues.train import RunPlan, run_of_recipe

__all__ = ["plan_runs"]


def plan_runs(recipe: Recipe) -> list[RunPlan]:
    """The runs of a recipe, parents before children; a single one without a `study` section.

    A continued run starts from the source model of its own shape and seed, which is trained once.
    """
    if recipe.study is None:
        return [run_of_recipe(recipe)]
    study = recipe.study
    train = recipe.train
    named = (train.mixture, train.replay, train.init_from, train.run, train.evaluate)
    if recipe.model.shape or any(named):
        raise UserError(
            "a study sets shape, mixture, replay, init_from, run and evaluate of its runs itself",
            where="study",
            hint="take them out of `model` and `train`",
        )
    if study.source in study.targets:
        raise UserError(f"`{study.source}` is source and target at once", where="study.targets")
    runs: dict[str, RunPlan] = {}
    for shape_name in study.shapes:
        shape = find_shape(shape_name, where="study.shapes")
        for seed in study.seeds:
            for run in _family(recipe, study, shape, train.model_copy(update={"seed": seed})):
                runs[run.name] = run
    return list(runs.values())


def _family(recipe: Recipe, study: Study, shape: Shape, settings: Train) -> Iterator[RunPlan]:
    """The runs of one shape and seed."""

    def run(name: str, strategy: str, lang: str, replay: float = 0.0) -> RunPlan:
        continued = strategy == "cpt"
        budget = study.source_budget if strategy == "source" else None
        changes = {"mixture": {lang: 1.0}, "budget": budget or settings.budget}
        changes["replay"] = {study.source: replay} if replay else {}
        changes["evaluate"] = [lang, *([study.source] if continued else [])]
        parent = f"{recipe.name}/{_name(study.source, 'source')}" if continued else None
        return RunPlan(
            name=f"{recipe.name}/{name}",
            strategy=strategy,
            target=lang,
            source=study.source if continued else None,
            replay=replay,
            parent=parent,
            tokens=recipe.name,
            shape=shape,
            tied_embeddings=recipe.model.tied_embeddings,
            new_embeddings=recipe.model.new_embeddings,
            settings=settings.model_copy(update=changes | {"init_from": parent}),
        )

    def _name(lang: str, strategy: str) -> str:
        return f"{lang}-{strategy}-{shape.name}-s{settings.seed}"

    if "cpt" in study.strategies:
        yield run(_name(study.source, "source"), "source", study.source)
    for target in study.targets:
        if "scratch" in study.strategies:
            yield run(_name(target, "scratch"), "scratch", target)
        if "cpt" in study.strategies:
            for replay in study.replay:
                kind = f"cpt-replay{replay * 100:g}" if replay else "cpt"
                yield run(_name(target, kind), "cpt", target, replay)
