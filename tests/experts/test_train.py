"""Runs of experts that fail beside whole ones, and growing seed by seed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copy, copytree

import numpy as np
import pytest

from tests.conftest import MakeRecipe
from tongues.core.errors import UserError
from tongues.core.files import read_json, write_json
from tongues.core.launch import Job, Local, open_launcher
from tongues.experts.ensemble.ensemble import open_ensemble
from tongues.experts.ensemble.lineage import read_lineage
from tongues.experts.ensemble.router import Router, fit_router
from tongues.experts.plans import Round, expert_runs, plan_rounds, seed_cautions
from tongues.experts.train import train_experts, with_new_tokens
from tongues.models import find_shape
from tongues.models.huggingface import build_model, save_model
from tongues.recipe import Recipe
from tongues.runs.record import read_run
from tongues.text.tokens import load_tokenizer, open_tokens, prepare_tokens
from tongues.text.tokens.tokenizer import save_tokenizer
from tongues.train.transplant import transplanted
from tongues.train.work import open_work

SAME = ("model/model.safetensors", "metrics.jsonl", "evals.jsonl")

Ask = Callable[..., Recipe]


@pytest.fixture(scope="module")
def seed_model(tokens: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What experts branch from: a model that knows nothing yet."""
    folder, prepared = tmp_path_factory.mktemp("seed"), open_tokens(tokens)
    save_model(build_model(find_shape("0.05M"), prepared.vocabulary_size, 64, seed=1), folder)
    copy(prepared.tokenizer_path, folder)
    return folder


@pytest.fixture(scope="module")
def ask(make_recipe: MakeRecipe, seed_model: Path) -> Ask:
    """A recipe of experts, each of the same small model."""

    def asked(experts: str, *overrides: str) -> Recipe:
        base = f"train.base={{model: {seed_model}, languages: [qaa]}}"
        start = () if "add_to" in experts else (base,)
        train = ("train.mixture={}", "train.budget=4k tokens", "train.num_evals=1")
        return make_recipe("model={}", *train, *start, *overrides, f"experts={experts}")

    return asked


def planned(recipe: Recipe, workspace: Path) -> list[Round]:
    return plan_rounds(open_work(recipe, workspace), make=True)


def bytes_of(workspace: Path, rounds: list[Round]) -> dict[str, bytes]:
    runs = [f"runs/{run.name}/{name}" for made in rounds for run in made.runs for name in SAME]
    whole = [f"ensembles/{made.name}/router.safetensors" for made in rounds]
    whole += [f"ensembles/{made.name}/ensemble.json" for made in rounds]
    return {name: (workspace / name).read_bytes() for name in (*runs, *whole)}


class Failing(Local):
    """This machine, on which one run always fails."""

    def __init__(self, run: str) -> None:
        super().__init__()
        self._run = run
        self._failed: dict[str, str] = {}

    def start(self, job: Job) -> None:
        if job.name == self._run:
            self._failed[job.name] = "its machine burnt"
        else:
            super().start(job)

    def ended(self, seconds: float) -> dict[str, str]:
        failed, self._failed = self._failed, {}
        return failed or super().ended(seconds)


@pytest.mark.long
def test_experts_begun_before_a_fault_and_finished_after_it_are_the_same(
    ask: Ask, workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    recipe = ask("{partitions: [{by: languages}]}")
    undisturbed = tmp_path_factory.mktemp("undisturbed")
    (undisturbed / "tokens").symlink_to(workspace / "tokens", target_is_directory=True)
    rounds = planned(recipe, undisturbed)
    train_experts(recipe, undisturbed, rounds, launcher=open_launcher())
    with pytest.raises(UserError, match="its machine burnt"):
        train_experts(recipe, workspace, rounds, launcher=Failing(rounds[0].runs[-1].name))
    (made,) = train_experts(recipe, workspace, rounds, launcher=open_launcher())
    assert bytes_of(workspace, rounds) == bytes_of(undisturbed, rounds)
    ensemble = open_ensemble(made, workspace)
    assert ensemble.router and ensemble.k == 2


def test_what_is_whole_is_put_together_beside_a_run_that_failed(ask: Ask, workspace: Path) -> None:
    recipe = ask("{partitions: [{by: dense}, {by: languages}]}")
    rounds, told = planned(recipe, workspace), []
    bad = rounds[1].runs[0].name
    with pytest.raises(UserError, match="1 of 3 runs failed; the first: its machine burnt") as why:
        train_experts(recipe, workspace, rounds, launcher=Failing(bad), tell=told.append)
    assert why.value.where == bad
    whole = workspace / "ensembles" / rounds[0].name
    assert f"{whole} is whole all the same" in told
    assert open_ensemble(whole, workspace).k == 1
    assert not (workspace / "ensembles" / rounds[1].name).exists()


def test_a_run_of_other_settings_is_not_taken_for_an_expert(ask: Ask, workspace: Path) -> None:
    first = ask("{partitions: [{by: dense}]}")
    (made,) = train_experts(first, workspace, planned(first, workspace), launcher=open_launcher())
    (made / "ensemble.json").unlink()
    other = ask("{partitions: [{by: dense}]}", "train.budget=5k tokens")
    with pytest.raises(UserError, match="has other settings"):
        train_experts(other, workspace, planned(other, workspace), launcher=open_launcher())
    assert not (made / "ensemble.json").exists()


def test_an_expert_of_another_tokenizer_is_refused_before_it_joins(
    ask: Ask, workspace: Path
) -> None:
    recipe = ask("{partitions: [{by: languages}]}", "train.budget=1k tokens")
    rounds = planned(recipe, workspace)
    (made,) = train_experts(recipe, workspace, rounds, launcher=open_launcher())
    lineage = read_lineage(made)
    assert lineage.fallback and open_ensemble(made, workspace).width == 3
    tokenizer = workspace / lineage.experts[1].folder / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text() + " ")
    with pytest.raises(UserError, match="has another tokenizer than the ensemble") as refused:
        train_experts(recipe, workspace, rounds, launcher=open_launcher())
    assert refused.value.where == str(tokenizer)


def test_each_seed_grows_from_its_own(ask: Ask, workspace: Path) -> None:
    first = ask("{partitions: [{by: dense}], seeds: [1, 2]}", "train.budget=1k tokens")
    before = planned(first, workspace)
    train_experts(first, workspace, before, launcher=open_launcher())
    (workspace / "tokens/more").symlink_to(workspace / "tokens/small", target_is_directory=True)
    experts = "{add_to: small/dense-s1, partitions: [{by: languages}], seeds: %s}"
    rounds = planned(ask(experts % "[1, 2]", "name=more"), workspace)
    assert [{run.base for run in made.runs} for made in rounds] == [
        {"small/dense-e0-s1"},
        {"small/dense-e0-s2"},
    ]
    assert seed_cautions(rounds) == []
    few = planned(ask(experts % "[1, 3]", "name=more"), workspace)
    (caution,) = seed_cautions(few)
    assert "seeds 1 and 3 all branch from" in caution.sentence
    ensemble = workspace / "ensembles/small/dense-s1"
    assert {made.add_to for made in few} == {ensemble}


def test_the_dense_model_takes_as_many_steps_or_as_many_tokens_a_step(
    ask: Ask, workspace: Path
) -> None:
    recipe = ask(
        "{partitions: [{by: languages}, {by: dense}, {by: dense, batch: 2x}]}",
        "train.budget=40k tokens",
    )
    runs = expert_runs(planned(recipe, workspace), workspace)
    assert [run.name.split("/")[1] for run, _ in runs] == [
        *("languages-e0-s1", "languages-e1-s1", "dense-e0-s1", "dense-2x-e0-s1")
    ]
    steps = [derived.steps for _, derived in runs]
    assert steps[2] == pytest.approx(2 * steps[0], abs=1) and abs(steps[3] - steps[0]) <= 1
    assert [run.settings.batch for run, _ in runs] == [512, 512, 512, 1024]
    with pytest.raises(UserError, match="batch"):
        ask("{partitions: [{by: dense, batch: half}]}")


def test_a_language_without_text_is_in_no_expert(ask: Ask, workspace: Path) -> None:
    folder = workspace / "tokens/small"
    prepared = folder.resolve()
    folder.unlink()
    copytree(prepared, folder)
    manifest = read_json(folder / "tokens.json")
    del manifest["languages"]["qab"]  # cleaning left nothing of it
    write_json(folder / "tokens.json", manifest)
    (dense,) = planned(ask("{partitions: [{by: dense}]}"), workspace)
    assert [run.shares for run in dense.runs] == [{"qaa": 1.0}]
    with pytest.raises(UserError, match=r"cluster 1 of languages \(qab\) has no language with"):
        planned(ask("{partitions: [{by: languages}]}"), workspace)


def old_router() -> Router:
    chance = np.random.default_rng(0)
    vectors = chance.normal(size=(12, 3)).astype(np.float32)
    vectors[8:] = 0  # a script that no text had
    logs, common = np.log(chance.dirichlet(np.ones(12), 2).T), np.full(12, 1 / 12)
    centres = chance.normal(size=(2, 3))
    return Router(vectors, centres, np.arange(2), np.array([0.6, 0.4]), logs, common)


def test_what_was_known_keeps_its_weights() -> None:
    old, text = old_router(), np.array([0, 3, 5, 1, 7])
    new = with_new_tokens(old, [[np.array([8, 9, 9])]])
    np.testing.assert_allclose(new.document_weights(text), old.document_weights(text))


def test_text_in_a_new_script_finds_its_expert() -> None:
    old, texts = old_router(), [np.array([8, 9, 10]), np.array([9, 9, 11])]
    np.testing.assert_allclose(old.document_weights(texts[0])[1:], [old.prior, old.prior])
    new = with_new_tokens(old, [texts])
    fitted = fit_router(np.ones(12), new.vectors, [[texts]])
    centres = np.concatenate([new.centres, fitted.centres])
    logs = np.pad(new.logs, ((0, 0), (0, 1)))
    added = replace(new, centres=centres, owners=np.arange(3), prior=np.full(3, 1 / 3), logs=logs)
    assert (added.document_weights(np.array([10, 8, 9]))[1:].argmax(axis=1) == 2).all()


def test_experts_branch_from_a_trimmed_base(make_recipe: MakeRecipe, workspace: Path) -> None:
    wide = open_tokens(workspace / "tokens/small")
    base = workspace / "wide"
    save_model(build_model(find_shape("0.05M"), wide.vocabulary_size, 64, seed=1), base)
    save_tokenizer(load_tokenizer(wide.path), base, wide.path)
    recipe = make_recipe(
        "name=trimmed",
        "model={}",
        f"tokens={{base: {base}, trim: true, sample: 2 kB, held_out: 1000 tokens}}",
        f"train.base={{model: {base}, languages: [qaa]}}",
        "train.mixture={}",
        "train.budget=4k tokens",
        "train.num_evals=1",
        "experts={partitions: [{by: languages}]}",
    )
    prepare_tokens(recipe, workspace, lambda line: None)
    tokens = open_tokens(workspace / "tokens/trimmed")
    assert tokens.vocabulary_size < wide.vocabulary_size
    rounds = plan_rounds(open_work(recipe, workspace), make=True)
    (changed,) = (workspace / "bases").iterdir()
    assert {run.base for run, _ in expert_runs(rounds, workspace)} == {str(changed)}
    assert any("tokens become" in note for note in rounds[0].notes)
    assert any("lost to one dense model" in note for note in rounds[0].notes)
    assert transplanted(changed, tokens, workspace, print) == changed  # which has their tokenizer
    (folder,) = train_experts(recipe, workspace, rounds, launcher=open_launcher())
    assert (folder / "ensemble.json").is_file()
    (runs,) = (made.runs for made in rounds)
    for run in runs:
        record = read_run(workspace / "runs" / run.name)
        assert record.status == "finished"
        assert record.base and record.base.model == str(changed)
    assert [each.name for each in (workspace / "bases").iterdir()] == [changed.name]
