"""What comes next, from real folders in every stage of the work."""

import json
import os
import shutil
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

import tongues
from tests.printed import DOCS
from tests.report.evaluation.scored import PLAIN, SCRATCH, changed, outcome
from tests.report.experts.measured import compared
from tongues.core.errors import UserError
from tongues.core.files import write_json
from tongues.evaluate import kept
from tongues.evaluate.evaluation import Evaluation
from tongues.plan.steps import step_of_evaluation, step_of_recipe
from tongues.plan.steps.step import COMMAND_OF, REASONS, State
from tongues.runs.record import FAILURE, read_run, write_run
from tongues.text.tokens import check_tokens
from tongues.verbs.main import command


@pytest.fixture
def workspace(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(project, tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path / "w"


def first() -> str:
    return tongues.next_steps()[0].command


def steps() -> dict[str, str]:
    """The next command of every place."""
    return {step.place: step.command for step in tongues.next_steps()}


def page(name: str) -> None:
    Path("reports", name).mkdir(parents=True, exist_ok=True)
    Path("reports", name, "index.html").write_text("<!doctype html>")


def evaluate(name: str, *others: str, place: int = 0) -> Evaluation:
    """Keep an evaluation of made scores; the run is the one at that place."""
    run, evaluation = read_run(Path("runs", name)), outcome((PLAIN, *others), languages=("qab",))
    for key in ("run", "fingerprint"):
        evaluation = changed(evaluation, getattr(run, key), "models", place, "trained", key)
    evaluation.write(Path("evaluations/e"))
    return evaluation


def test_every_state_has_a_command_and_a_reason() -> None:
    states = {state for group in get_args(State) for state in get_args(group) or (group,)}
    assert states == COMMAND_OF.keys() == REASONS.keys()


def test_an_empty_folder_begins_with_a_recipe(tmp_path: Path) -> None:
    (step,) = tongues.next_steps(tmp_path)
    assert step.command == "tongues new"
    (tmp_path / "a.yaml").touch()
    for name, hint in (("gone", "runs"), ("a.yaml", f"runs, such as `{tmp_path}`")):
        with pytest.raises(UserError, match="is not a folder") as caught:
            command(["next", str(tmp_path / name)], standalone_mode=False)
        assert caught.value.hint == f"name the folder of the recipes and {hint}"


def test_a_recipe_goes_from_text_to_a_model_that_is_used(workspace: Path) -> None:
    shutil.move("runs", "aside")
    shutil.move("tokens", "tokens-aside")
    assert first() == "tongues prepare small.yaml"
    shutil.move("tokens-aside", "tokens")
    assert first() == "tongues train small.yaml"
    shutil.move("aside", "runs")
    assert first() == "tongues report runs/small"
    page("small")
    assert first() == "tongues evaluate small --text small --compare"
    Path("evaluations/e").mkdir(parents=True)
    for other in ([], {"models": [1]}, {"models": [{"name": "other", "trained": None}]}):
        write_json(Path("evaluations/e/scores.json"), other)
        assert first().startswith("tongues evaluate small")
    evaluate("small")
    assert first() == "tongues export small -o exports/small"
    shutil.copytree("runs/small/model", "exports/small")
    assert first() == "tongues generate exports/small"
    away = tongues.next_steps(workspace.parent / "w")
    os.utime("exports/small/README.md", (1, 1))  # of the weights before these
    command = f"tongues export small -o {workspace}/exports/small-2 --workspace {workspace}"
    assert away[0].command.startswith("tongues generate ")
    assert tongues.next_steps(workspace)[0].command == command
    write_run(Path("runs/small"), replace(read_run(Path("runs/small")), fingerprint="again"))
    page("small")
    assert first() == "tongues evaluate small --text small --compare"


def test_what_comes_after_an_evaluation_follows_from_its_choice(workspace: Path) -> None:
    page("small")
    for place, expected in (
        (0, "tongues export small -o exports/small"),  # it is the better one
        (1, "tongues generate small"),
    ):
        evaluation = evaluate("small", SCRATCH, place=place)
        assert first() == expected
    evaluation = changed(evaluation, SCRATCH, "models", 0, "name")
    evaluation = changed(evaluation, "small", "models", 1, "name")
    evaluation = changed(evaluation, ["small"], "texts", "study", "leaders", "qab")
    evaluation = changed(evaluation, ["small"], "tasks", "xnli", "leaders", "qab")
    chosen = step_of_evaluation(evaluation, Path())  # the second model that was named
    assert chosen.command == "tongues export small -o exports/small"
    few = ("texts", "study", "compared", 0, "languages", "qab", "reason")
    undecided = changed(evaluation, "6 documents are needed", *few)
    undecided = changed(undecided, "small", "models", 0, "name")
    step = step_of_evaluation(undecided, Path())
    assert step.command == "tongues generate small"
    limited = step_of_evaluation(replace(undecided, limit=6), Path())
    assert limited.command == "tongues evaluate small --text small --limit 0 --compare"
    assert "`--limit 6`, too little" in limited.reason


def test_a_run_whose_text_is_gone_is_exported_unscored(workspace: Path) -> None:
    page("small")
    shutil.move("small.yaml", "tokens")
    shutil.move("tokens", "aside")
    (step,) = tongues.next_steps()
    assert step.command == "tongues export small -o exports/small"
    assert step.reason == "small has no text here to be evaluated on"


def test_evaluations_are_read_once_for_all_runs(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        shutil.copytree("runs/small", f"runs/other-{number}")
        Path(f"evaluations/e{number}").mkdir(parents=True)
        write_json(Path(f"evaluations/e{number}/scores.json"), {"models": []})
    read, names = kept.read_evaluation, list[str]()
    monkeypatch.setattr(
        kept, "read_evaluation", lambda place: (names.append(place.name), read(place))[1]
    )
    assert len(tongues.next_steps()) == 6
    assert sorted(names) == [f"e{number}" for number in range(5)]


def test_a_page_older_than_its_run_is_written_again(workspace: Path) -> None:
    page("small")
    os.utime("reports/small/index.html", (1, 1))
    assert first() == "tongues report runs/small"


def test_what_failed_or_stopped_comes_first(workspace: Path) -> None:
    run, record = Path("runs/small"), read_run(Path("runs/small"))
    write_run(run, replace(record, status="running"))
    step = tongues.next_steps()[0]
    assert step.command == "tongues train small.yaml"
    assert step.reason == "small stopped at step 0 of 39"
    (run / "checkpoints/step-00000020").mkdir(parents=True)
    assert tongues.next_steps()[0].reason == "small stopped at step 20 of 39"
    write_run(run, replace(record, status="failed"))
    (run / FAILURE).write_text("Traceback\nOSError: the disk is full\n")
    Path("other.yaml").write_text(Path("small.yaml").read_text().replace("small", "other"))
    assert list(steps()) == ["small.yaml", "other.yaml"]
    assert tongues.next_steps()[0].reason == "small failed: OSError: the disk is full"
    assert steps()["other.yaml"] == "tongues prepare other.yaml"


def test_a_recipe_with_a_mistake_is_checked_and_other_yaml_is_left_alone(workspace: Path) -> None:
    Path("site.yml").write_text("nav: [a]\n")
    Path("wrong.yaml").write_text("name: wrong\ntrain: {bugdet: 1M tokens}\ntext: {}\n")
    assert list(steps()) == ["small.yaml", "wrong.yaml"]
    assert steps()["wrong.yaml"] == "tongues check wrong.yaml"
    assert tongues.next_steps()[1].reason == "wrong.yaml:2: train.bugdet: unknown key `bugdet`"
    Path("wrong.yaml").write_text("text: {\n")
    Path("empty.yaml").touch()
    reasons = {step.place: step.reason for step in tongues.next_steps()}
    assert "is not YAML: " in reasons["wrong.yaml"] and "empty.yaml" not in reasons


def test_a_recipe_of_text_alone_ends_with_the_page_of_its_corpus(workspace: Path) -> None:
    Path("text.yaml").write_text("extends: small.yaml\ntrain: null\nmodel: null\n")
    Path("small.yaml").rename("base.yml")
    shutil.rmtree("runs")
    assert steps()["text.yaml"].startswith("tongues check text.yaml")  # its base was renamed
    Path("base.yml").rename("small.yaml")
    assert steps() == {
        "small.yaml": "tongues train small.yaml",
        "text.yaml": "tongues report corpus/small",
    }


def test_measured_experts_are_used_by_the_best_partition(workspace: Path) -> None:
    Path("runs/small").rename("runs/seed")
    Path("small.yaml").rename("base.yml")
    Path("small.yaml").write_text(
        "extends: base.yml\nmodel: null\ntrain: {base: {model: seed, languages: [qaa]}}\n"
        "experts: {partitions: [{by: languages}, {by: dense}]}\n"
    )

    def command_of(words: tuple[str, ...] = ("small.yaml",)) -> str:
        return step_of_recipe(tongues.load_recipe(words[0], words[1:]), words, Path()).command

    assert command_of() == "tongues experts train small.yaml"
    for name in ("dense-s1", "typology-2-s1"):
        assert command_of() == "tongues experts train small.yaml"  # killed between ensembles
        Path("ensembles/small", name).mkdir(parents=True)
        Path("ensembles/small", name, "ensemble.json").write_text("{}")
    assert command_of(("small.yaml", "train.seed=2")) == (
        "tongues experts measure small.yaml train.seed=2"
    )
    for less in (-0.005, 0.05):  # the first difference to dense is not significant
        Evaluation.from_json(compared(less)).write(Path("evaluations/small-experts"))
        assert command_of() == "tongues export small/typology-2-s1 -o exports/small-typology-2-s1"
        reason = step_of_recipe(tongues.load_recipe("small.yaml"), ("small.yaml",), Path()).reason
        assert ("without a significant difference to dense" in reason) == (less < 0)
    measured = Evaluation.from_json(compared(-0.05))
    measured.write(Path("evaluations/small-experts"))
    assert command_of() == "tongues export small/dense-s1 -o exports/small-dense-s1"
    write_run(Path("runs/seed"), replace(read_run(Path("runs/seed")), run="seed"))
    page("seed")
    with_base = replace(evaluate("seed"), experts=measured.experts)
    with_base.write(Path("evaluations/e"))  # the base is measured with its experts
    assert steps()["runs/seed"] == "tongues evaluate seed --text small --compare"
    for folder, file, title in (
        ("a-mean", "config.json", "small/dense-s1, as one model"),
        ("here", "ensemble.json", "small/dense-s1"),
    ):
        assert command_of() == "tongues export small/dense-s1 -o exports/small-dense-s1"
        Path("exports", folder).mkdir(parents=True)
        Path("exports", folder, file).write_text("{}")
        Path("exports", folder, "README.md").write_text(f"# {title}\n")
    assert command_of() == "tongues generate exports/here"
    shutil.rmtree("ensembles/small/dense-s1")
    assert command_of() == "tongues ls ensembles/small"


def test_other_settings_mean_other_tokens(workspace: Path) -> None:
    recipe = tongues.load_recipe("small.yaml", ["tokens.vocab_size=300"])
    shutil.rmtree("runs")  # which would keep their tokens
    step = step_of_recipe(recipe, ["small.yaml", "tokens.vocab_size=300"], Path())
    assert step.command == "tongues prepare small.yaml tokens.vocab_size=300 --overwrite"
    with pytest.raises(UserError, match="made from other settings") as caught:
        check_tokens(recipe, Path())
    assert "`tongues prepare --overwrite`" in caught.value.hint
    assert "made from other settings" in step.reason and "vocab_size" in step.reason


def test_a_study_goes_from_its_page_to_a_law_and_a_plan(workspace: Path) -> None:
    Path("small.yaml").unlink()
    assert first() == "tongues report runs/small"
    Path("runs/many").mkdir()
    shutil.move("runs/small", "runs/many/one")
    write_json(Path("runs/many/.plans.json"), {})
    assert first() == "tongues report runs/many"
    page("many")
    more = "tongues study RECIPE 'study.shapes=[…]' 'study.budgets=[…]'"
    assert first() == more  # no law can be fitted to one size
    shutil.copytree("runs/many/one", "runs/many/two")
    larger = replace(read_run(Path("runs/many/two")), run="many/two", shape="0.2M")
    larger.params["total"] *= 2
    write_run(Path("runs/many/two"), larger)
    page("many")
    assert first() == "tongues fit runs/many -o law.json"
    shutil.copytree("runs/many", "runs/more")
    page("more")
    fits = {step.command for step in tongues.next_steps()}
    assert fits == {f"tongues fit runs/{name} -o law-{name}.json" for name in ("many", "more")}
    shutil.rmtree("runs/more")
    write_json(Path("notes.json"), {"a": 1})
    write_json(Path("law.json"), {"law": "chinchilla", "tables": ["runs/other"]})
    assert first() == "tongues fit runs/many -o law-many.json"  # that law is of another study
    for where, step in (
        ("", "tongues plan --law law-many.json --budget '5e22 FLOPs'"),
        ("1e8", more),
    ):
        chosen = "strategy == 'scratch'" + f" and params < {where}" * bool(where)
        law = tongues.fit(DOCS / "examples/runs.csv", where=chosen, draws=60)
        replace(law, places=("runs/many",)).write(Path("law-many.json"))
        assert first() == step
    with chdir(".."):  # by the names that the law has
        (there,) = tongues.next_steps(workspace.name)
    assert there.command.startswith(f"tongues study RECIPE --workspace {workspace.name} ")
    os.utime("law-many.json", (0, 0))  # runs were added since
    assert first() == "tongues fit runs/many -o law-many-2.json"


def test_a_run_made_with_overrides_is_resumed_with_them(workspace: Path) -> None:
    tongues.train("small.yaml", ["train.run=other", "train.seed=5"], quiet=True)
    run = Path("runs/other")
    assert tongues.load_recipe(run / "recipe.yaml").train.seed == 5
    write_run(run, replace(read_run(run), status="running"))
    step = tongues.next_steps()[0]
    assert step.command == "tongues train runs/other/recipe.yaml" and step.place == str(run)
    tongues.train(run / "recipe.yaml", quiet=True)  # which is the same run: nothing is refused
    assert read_run(run).status == "finished"
    run = Path("runs/small")
    tongues.train("small.yaml", ["train.learning_rate=0.002"], overwrite=True, quiet=True)
    write_run(run, replace(read_run(run), status="running"))
    assert first() == "tongues train runs/small/recipe.yaml"


def test_a_recipe_changed_after_its_run_gets_another_name(workspace: Path) -> None:
    edited = Path("small.yaml").read_text().replace("20k tokens", "30k tokens")
    Path("small.yaml").write_text(edited)
    os.utime("runs/small/run.json", (1, 1))
    assert steps()["small.yaml"] == "tongues train small.yaml train.run=small-2"
    assert steps()["runs/small"] == "tongues report runs/small"
    Path("small.yaml").write_text(edited.replace("30k", "20k") + "  checkpoint_every: 9 hours\n")
    assert first() == "tongues report runs/small"  # by which nothing changes


def test_a_recipe_whose_base_is_to_be_named_is_checked_first(workspace: Path) -> None:
    Path("next.yaml").write_text(
        "extends: small.yaml\nname: next\nmodel: null\n"
        "train: {base: {model: PUT-YOUR-BASE-HERE, languages: [qab]}}\n"
    )
    step = next(step for step in tongues.next_steps() if step.place == "next.yaml")
    assert step.command == "tongues check next.yaml" and "to be named" in step.reason
    with pytest.raises(UserError) as caught:
        tongues.check("next.yaml")
    assert caught.value.hint.startswith("write the base in its place")


def test_text_that_is_missing_is_named_and_not_prepared(workspace: Path) -> None:
    Path("more.yaml").write_text("name: more\ntext: {files: {sw: [texts/sw]}}\n")
    step = next(step for step in tongues.next_steps() if step.place == "more.yaml")
    assert step.command == "tongues prepare more.yaml"  # `check` is for what trains
    assert step.reason == "text.files.sw: there is no file `texts/sw`"


def test_verbs_and_next_agree_and_a_workspace_is_named(workspace: Path, tmp_path: Path) -> None:
    own = "train.seed=" + str(tongues.load_recipe("small.yaml").train.seed)
    for override, step in {
        "train.seed=7": "train small.yaml train.seed=7 train.run=small-2",
        own: "report runs/small",
    }.items():
        done = CliRunner().invoke(command, ["check", "small.yaml", override])
        assert done.stderr.splitlines()[-1] == f"→ tongues {step}"
    words = ["small.yaml", "train.seed=7", "train.run=small"]
    step = step_of_recipe(tongues.load_recipe(words[0], words[1:]), words, Path())
    assert step.command == "tongues train small.yaml train.seed=7 train.run=small-2"
    away = ["check", "small.yaml", "train.batch=256 tokens", "--workspace", str(tmp_path / "e f")]
    last = CliRunner().invoke(command, away).stderr.splitlines()[-1]
    assert (
        last
        == f"→ tongues prepare small.yaml 'train.batch=256 tokens' --workspace '{tmp_path}/e f'"
    )
    done = CliRunner().invoke(command, ["next", "--json"])
    assert json.loads(done.stdout)["steps"][0]["command"] == "tongues report runs/small"
    shown = CliRunner().invoke(command, ["next"])
    assert shown.stderr == "→ tongues report runs/small\n"
    assert "its page is not written" in shown.stdout


def test_what_is_no_file_is_passed_over_and_names_are_quoted(workspace: Path) -> None:
    Path(".#small.yaml").symlink_to("nowhere")
    Path("conf.yaml").mkdir()
    Path("small.yaml").rename("my small.yaml")
    Path("my small.yaml").write_text("train: {bugdet: 1M tokens}\n")
    assert steps()["my small.yaml"] == "tongues check 'my small.yaml'"
