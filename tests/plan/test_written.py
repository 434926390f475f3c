from pathlib import Path
from typing import Any

import pytest

import tongues
from tongues.check import check_recipe
from tongues.errors import UserError
from tongues.hardware import GPUS, LARGER_MACHINE, Machine
from tongues.laws import Law, preset
from tongues.models import of_shape
from tongues.plan import Known, Plan, ask, gather_laws, make_plan, read_laws, write_recipe
from tongues.recipe import Train, load_recipe
from tongues.runs import read_run
from tongues.train.rules import batch_by_size

CPT = Law("cpt", {"E": 1.0, "A": 30.0, "B": 60.0, "alpha": 0.3, "beta": 0.3, "gamma": 0.02})
SCRATCH = Law("chinchilla", {"E": 1.0, "A": 30.0, "B": 90.0, "alpha": 0.3, "beta": 0.3})

STUDY = """
name: mine
text:
  synthetic:
    size: 1 MB
    languages:
      qaa: {}
      qab: {parent: qaa, divergence: 0.2}
      qac: {parent: qaa, divergence: 0.5}
tokens: {vocab_size: 512, held_out: 8k tokens}
train: {budget: 60k tokens, batch: 512 tokens, context: 64 tokens}
study: {source: qaa, targets: [qab, qac], shapes: [0.05M, 0.1M]}
"""


def plan_of(law: Law, **options: Any) -> Plan:
    strategy = "cpt" if law.form == "cpt" else "scratch"
    return make_plan(gather_laws([Known("law", law, strategy)]), ask(**options))


def written(plan: Plan, path: Path) -> tuple[Train, set[str]]:
    """The settings of a recipe, and what its reader must look after."""
    codes = {caution.code for caution in write_recipe(plan, path)}
    return load_recipe(path).train, codes


def memory(monkeypatch: pytest.MonkeyPatch, size: float) -> None:
    """This machine with so many bytes of it."""
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": size}.get)


@pytest.mark.parametrize("flops", ["3e11", "1e13", "1e17"])
def test_a_recipe_from_scratch_is_one_that_check_accepts(tmp_path: Path, flops: str) -> None:
    path = tmp_path / "recipe.yaml"
    plan = plan_of(SCRATCH, flops=flops)
    assert "placeholder_text" in written(plan, path)[1]
    recipe = load_recipe(path)
    ((run, derived),) = check_recipe(recipe, tmp_path).runs
    assert run.strategy == "scratch"
    assert derived.flops_rule == pytest.approx(float(flops), rel=0.01)
    assert derived.steps >= 100
    planned = plan.recommendation.option.params or 0
    assert run.shape is not None
    found = of_shape(run.shape, recipe.tokens.vocab_size).parameters["total"]
    assert 0.3 < found / planned < 3
    assert f"{found:,}" in path.read_text()


def test_the_settings_of_the_published_sizes_are_the_published_ones(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    settings, _ = written(plan_of(preset("zheng2024-scratch"), flops="1e20"), path)
    assert (settings.learning_rate, settings.context) == (4.7e-4, 2048)
    assert (load_recipe(path).tokens.vocab_size, settings.batch) == (36_152, "by size")


def test_continuing_needs_a_base_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    settings, codes = written(plan_of(CPT, flops="1e13", replay="10%"), path)
    assert "placeholder_base" in codes
    assert (settings.mixture, settings.replay) == ({"qab": 1.0}, {"qaa": 0.1})
    assert settings.base_model == "PUT-YOUR-BASE-HERE"
    with pytest.raises(UserError, match="is neither a run"):
        check_recipe(load_recipe(path), tmp_path)


def test_text_and_tokens_come_from_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/mine").mkdir(parents=True)  # its base is still to be trained
    (tmp_path / "study.yaml").write_text(STUDY)
    study = load_recipe(tmp_path / "study.yaml")
    plan = plan_of(CPT, flops="1e13", replay="10%", bases=["mine/qaa-source=300k@6M"])
    path = tmp_path / "recipe.yaml"
    write_recipe(plan, path, study, target="qac")
    recipe = load_recipe(path)
    assert (recipe.name, recipe.text, recipe.tokens) == (study.name, study.text, study.tokens)
    assert (recipe.train.mixture, recipe.train.replay) == ({"qac": 1.0}, {"qaa": 0.1})
    assert recipe.train.run == "mine-plan"  # runs/mine is the study's folder
    assert recipe.train.base_model == "mine/qaa-source"
    other = tmp_path / "other.yaml"
    with pytest.raises(UserError, match="several targets"):
        write_recipe(plan, other, study)
    with pytest.raises(UserError, match="has no text"):
        write_recipe(plan, other, study, target="qad")
    assert not other.exists()


def test_a_base_that_is_there_gives_shape_tokenizer_and_settings(
    trained: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    path = workspace / "of_run.yaml"
    _, codes = written(plan_of(CPT, flops="1e12", bases=["small=300k@6M"]), path)
    assert codes == {"placeholder_text"}
    ((run, derived),) = check_recipe(load_recipe(path), workspace).runs
    assert (run.base, derived.parameters) == ("small", read_run(trained).params)
    assert derived.batch == read_run(trained).batch
    path, folder = workspace / "of_folder.yaml", "runs/small/model"
    plan = plan_of(CPT, flops="1e12", bases=[folder])
    assert written(plan, path)[1] == {"placeholder_text"}
    recipe = load_recipe(path)
    assert (recipe.tokens.base, recipe.model.shape) == (folder, None)
    ((_, derived),) = check_recipe(recipe, workspace).runs
    assert derived.flops_rule == pytest.approx(1e12, rel=0.05)
    (workspace / "study.yaml").write_text(STUDY)
    path = workspace / "of_study.yaml"
    write_recipe(plan, path, load_recipe(workspace / "study.yaml"), target="qac")
    tokens = load_recipe(path).tokens
    assert (tokens.base, tokens.held_out) == (folder, 8000)


def test_a_base_of_the_hub_is_named_by_its_id_and_not_by_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    plan = plan_of(CPT, flops="1e22", bases=["llama-3.1-8b"])
    assert written(plan, path)[1] == {"placeholder_text"}
    recipe, name = load_recipe(path), "meta-llama/Llama-3.1-8B"
    assert (recipe.train.base_model, recipe.tokens.base, recipe.model.shape) == (name, name, None)
    planned = plan.recommendation.option.tokens or 0
    assert recipe.train.budget.tokens(1, 1.0) == pytest.approx(planned, rel=1e-3)


def test_a_base_that_nobody_has_keeps_the_tokens_of_the_plan(tmp_path: Path) -> None:
    plan = plan_of(CPT, flops="1e22", bases=["mine=8.03B@1T"])
    settings, codes = written(plan, tmp_path / "recipe.yaml")
    assert "placeholder_base" in codes
    planned = plan.recommendation.option.tokens or 0
    assert settings.budget.tokens(1, 1.0) == pytest.approx(planned, rel=1e-3)


def test_replay_needs_text_of_the_source(tmp_path: Path) -> None:
    alone = STUDY.replace("      qab: {parent: qaa, divergence: 0.2}\n", "")
    alone = alone.replace("      qac: {parent: qaa, divergence: 0.5}\n", "").split("study:")[0]
    (tmp_path / "one.yaml").write_text(alone)
    plan = plan_of(CPT, flops="1e13", replay="10%")
    with pytest.raises(UserError, match="one language only"):
        write_recipe(plan, tmp_path / "recipe.yaml", load_recipe(tmp_path / "one.yaml"))


def test_the_batch_is_the_one_by_size_whatever_this_machine_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(preset("hoffmann2022-full"), params="83M", tokens="2B")
    memory(monkeypatch, 25e9)
    path = tmp_path / "x.yaml"
    settings, codes = written(plan, path)
    assert settings.batch == "by size" and not {"smaller_batch", "larger_machine"} & codes
    ((_, derived),) = check_recipe(load_recipe(path), tmp_path).runs
    assert derived.batch == batch_by_size(derived.parameters["total"], settings.context)
    assert derived.steps > 1000
    micro_batch = settings.micro_batch or 0
    assert 0 < micro_batch < derived.batch
    memory(monkeypatch, 25e12)
    settings, _ = written(plan, tmp_path / "roomy.yaml")
    assert (settings.batch, settings.micro_batch) == ("by size", None)
    memory(monkeypatch, 1e9)
    settings, codes = written(plan, tmp_path / "tight.yaml")
    assert settings.batch == "by size" and "larger_machine" in codes


def test_a_recipe_that_no_sample_fits_here_is_one_for_a_larger_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory(monkeypatch, 25e9)
    path = tmp_path / "x.yaml"
    settings, codes = written(plan_of(preset("hoffmann2022-full"), flops="5e22"), path)
    assert settings.micro_batch and "larger_machine" in codes
    gpu, count = LARGER_MACHINE
    machine = Machine.of_gpus(GPUS[gpu], count)
    assert check_recipe(load_recipe(path), tmp_path, machine=machine).memory < machine.memory


def test_a_plan_for_gpus_is_a_recipe_that_check_accepts_for_them_alone(tmp_path: Path) -> None:
    plan = plan_of(preset("hoffmann2022-full"), gpus="8", gpu="a100", hours="48")
    path = tmp_path / "next.yaml"
    settings, codes = written(plan, path)
    assert settings.micro_batch and "larger_machine" not in codes
    recipe = load_recipe(path)
    checked = check_recipe(recipe, tmp_path, machine=Machine.of_gpus(GPUS["a100"], 8))
    assert checked.memory < 80e9
    with pytest.raises(UserError, match="this machine has") as refused:
        check_recipe(recipe, tmp_path)
    assert "--gpu" in refused.value.hint


def test_a_short_run_gets_a_smaller_batch(tmp_path: Path) -> None:
    plan = plan_of(preset("hoffmann2022-full"), params="45M", tokens="10M")
    settings, codes = written(plan, tmp_path / "short.yaml")
    assert settings.batch == 98_304 and "smaller_batch" in codes


@pytest.mark.parametrize("params", ["1.1M", "12M"])
def test_eight_gpus_divide_a_batch_that_was_planned_for_no_machine(
    params: str, tmp_path: Path
) -> None:
    plan = plan_of(preset("hoffmann2022-full"), params=params, tokens="1B")
    settings, codes = written(plan, path := tmp_path / "x.yaml")
    assert "smaller_batch" not in codes
    machine = Machine.of_gpus(GPUS["a100"], 8)
    ((_, derived),) = check_recipe(load_recipe(path), tmp_path, machine=machine).runs
    assert derived.batch // settings.context % 8 == 0


def test_the_advised_replay_is_written(tmp_path: Path) -> None:
    settings, _ = written(plan_of(CPT, flops="1e13"), tmp_path / "advised.yaml")
    assert settings.replay == {"qaa": 0.25}
    none, _ = written(plan_of(CPT, flops="1e13", replay="0"), tmp_path / "none.yaml")
    assert none.replay == {}


def test_the_recipe_of_a_plan_for_one_gpu_fits_it(tmp_path: Path) -> None:
    machine = Machine.of_gpus(GPUS["h100"], 1)
    plan = plan_of(preset("hoffmann2022-full"), gpu="h100", hours="8000")
    tight = plan_of(preset("hoffmann2022-full"), gpu="h100", params="3.6B", tokens="1B")
    for number, made in enumerate((plan, tight)):
        path = tmp_path / f"{number}.yaml"
        _, codes = written(made, path)
        assert "larger_machine" not in codes
        checked = check_recipe(load_recipe(path), tmp_path, machine=machine)
        assert checked.memory < machine.memory
    plan = plan_of(preset("hoffmann2022-full"), gpu="h100", params="6.7M", tokens="1B")
    settings, _ = written(plan, path := tmp_path / "small.yaml")
    assert settings.batch == "by size" and "GPUs" not in path.read_text()  # it is not shared


def test_a_smaller_shape_does_not_read_the_text_more_often(tmp_path: Path) -> None:
    asked = {"flops": "1e16", "available_tokens": "10M"}
    plan = plan_of(preset("hoffmann2022-full"), **asked)
    most = plan.recommendation.option.way.most_tokens
    settings, _ = written(plan, tmp_path / "x.yaml")
    assert settings.budget.amount == pytest.approx(most) == plan.recommendation.option.tokens


def test_text_of_the_hub_is_limited_to_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    asked = {"bases": ["SmolLM2-135M"], "available_text": "3GB", "laws": ["zheng2024-cpt"]}
    tongues.plan(language="sw", gpu="h100", hours=20, write=path, **asked)
    limit = load_recipe(path).text.hub["sw"].limit
    assert limit
    assert limit.number == 3e9


@pytest.mark.parametrize("params", ["1T", "1k"])
def test_a_size_far_from_every_shape_is_refused(tmp_path: Path, params: str) -> None:
    plan = plan_of(SCRATCH, flops="1e21", params=params)
    with pytest.raises(UserError, match="no_such_shape"):
        write_recipe(plan, tmp_path / "new.yaml")


def test_what_is_not_decided_is_not_written(tmp_path: Path) -> None:
    plan = make_plan(read_laws(()), ask(flops="1e20"))
    with pytest.raises(UserError, match="not_decided") as refused:
        write_recipe(plan, tmp_path / "new.yaml")
    for name in ("zheng2024-scratch", "zheng2024-cpt"):
        assert f"only `--law {name}`" in refused.value.hint
    own = gather_laws([Known("a.json cpt", CPT, "cpt"), *read_laws(["zheng2024-scratch"]).known])
    with pytest.raises(UserError, match="not_decided") as refused:
        write_recipe(make_plan(own, ask(flops="1e20")), tmp_path / "new.yaml")
    assert "only a file of `a.json cpt`" in refused.value.hint


def test_a_base_that_knows_the_language_is_measured_first(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="knows `fr` already") as refused:
        tongues.plan(language="fr", bases=["Llama-3.1-8B"], flops=1e20, write=tmp_path / "new.yaml")
    assert "`--base-loss`, in bits per byte" in refused.value.hint


def test_a_law_of_the_pair_is_at_the_level_of_the_language(tmp_path: Path) -> None:
    both = {option.name: option.loss for option in tongues.plan(language="yo", flops=1e18).options}
    for name, loss in both.items():
        path = tmp_path / f"{name}.yaml"
        plan = tongues.plan(f"zheng2024-{name}", language="yo", flops=1e18, write=path)
        assert plan.recommendation.option.loss == pytest.approx(loss)
        assert "placeholder_text" not in {caution.code for caution in plan.warnings}
        recipe = load_recipe(path)
        assert recipe.train.mixture == {"yo": 1.0}
        assert recipe.text.hub["yo"].dataset == "HuggingFaceFW/fineweb-2"
        assert list(recipe.text.hub) == ["yo", "en"][: 1 + (name == "cpt")]
        assert "`yo: [FOLDER]` under" in " ".join(path.read_text().split())


def test_own_text_of_a_plan_is_that_of_its_recipe(tmp_path: Path) -> None:
    text, path = tmp_path / "text", tmp_path / "new.yaml"
    text.mkdir()
    (text / "a.txt").write_text("Habari ya asubuhi, rafiki yangu. " * 20_000)
    tongues.plan(
        "zheng2024-cpt",
        language="sw",
        bases=["SmolLM2-135M"],
        flops=1e18,
        available_text=text,
        write=path,
    )
    recipe = load_recipe(path)
    assert recipe.text.files["sw"].paths == [str(text)]
    assert recipe.train.base and recipe.train.base.languages == list(recipe.text.hub) == ["en"]


def test_nothing_is_overwritten_and_no_size_is_made_up(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("mine")
    with pytest.raises(UserError, match="there already"):
        write_recipe(plan_of(SCRATCH, flops="1e13"), path)
    assert path.read_text() == "mine"
    with pytest.raises(UserError, match="no_size"):
        write_recipe(plan_of(preset("zheng2024-scratch-compute"), flops="1e20"), tmp_path / "new")
