"""The verbs from Python: the page's script, the same results as the command, the same arguments."""

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import tongues
from tests.golden import inputs
from tongues.recipe import load_recipe
from tongues.verbs.main import command

PAGE = Path(__file__).parents[1] / "docs/how-to/python.md"

# Options by which the command alone shows, or keeps, what the function returns.
SHOWN = {"as_json", "figures"}
OF_COMMAND = {
    "languages": {"limit", "out"},
    "fit": {"out"},
    "generate": {"experts"},
    "plan": {"out", "why"},
    "evaluate": {"compare"},
}
# Arguments that the command always gives, or never needs.
OF_FUNCTION = {"ready", "page", "bytes_per_token"}
FUNCTIONS = {
    "import": (tongues.import_run,),
    "next": (tongues.next_steps,),
    "experts partition": (tongues.experts.partition, tongues.experts.partition_languages),
    "experts train": (tongues.experts.train,),
    "experts measure": (tongues.experts.measure,),
    "experts show": (tongues.experts.show,),
}


def commands() -> dict[str, click.Command]:
    """Every command by its words; `demo` is of others."""
    found = {}
    for name, verb in command.commands.items():
        if isinstance(verb, click.Group):
            found |= {f"{name} {own}": one for own, one in verb.commands.items()}
        elif name != "demo":
            found[name] = verb
    return found


def script() -> str:
    (found,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return found


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The script of the page, run as a script in a folder; what it said on both streams."""
    folder = tmp_path_factory.mktemp("script")
    (folder / "script.py").write_text(script())
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout, done.stderr


@pytest.mark.long
def test_a_short_script_goes_from_text_to_a_law_and_a_plan(study: tuple[Path, str, str]) -> None:
    folder, out, told = study
    assert len(script().splitlines()) <= 25
    assert "12 runs to train" in told
    assert len(list((folder / "runs/first").glob("*/run.json"))) == 12
    assert "chinchilla" in out
    assert "Train a model from scratch" in out
    assert "Law(" not in out and "Plan(" not in out
    assert len(out) < 6000
    page, reason = out.splitlines()[-2:]
    assert Path(folder / page).is_file() and "train more, and fit again" in reason


@pytest.mark.parametrize("name", commands())
def test_a_verb_takes_the_arguments_of_its_command(name: str) -> None:
    functions = FUNCTIONS.get(name) or (getattr(tongues, name),)
    arguments: dict[str, inspect.Parameter] = {}
    for function in functions:
        assert inspect.getdoc(function)
        arguments |= inspect.signature(function).parameters
    options = {one.name: one for one in commands()[name].params}
    assert set(options) - SHOWN - OF_COMMAND.get(name, set()) == set(arguments) - OF_FUNCTION
    for option in options.values():
        if isinstance(option, click.Option) and option.name in arguments and not option.multiple:
            default = arguments[option.name].default
            if default is not inspect.Parameter.empty and option.name != "workspace":
                assert default == option.to_info_dict()["default"], option.name


def test_every_verb_answers_in_json() -> None:
    for name, verb in commands().items():
        flags = [flag for option in verb.params for flag in option.opts]
        assert ("--json" in flags) == (name not in ("serve", "watch")), name


def test_a_name_is_what_the_type_checker_sees_and_what_is_not_there_is_named() -> None:
    assert {*tongues.__all__} <= {*dir(tongues)}
    assert all(getattr(tongues, name) is getattr(tongues, name) for name in tongues.__all__)
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = tongues.trian  # pyright: ignore[reportAttributeAccessIssue]


def test_importing_brings_nothing_and_a_package_does_not_take_a_verbs_name() -> None:
    code: str = inputs("programs")["IMPORTS"]
    subprocess.run([sys.executable, "-c", code], check=True)


def asked(*words: str | Path) -> str:
    done = CliRunner().invoke(command, list(map(str, words)), catch_exceptions=False)
    return done.stdout


@pytest.mark.long
def test_library_and_command_say_the_same(study: tuple[Path, str, str], tmp_path: Path) -> None:
    folder = study[0]
    runs = folder / "runs/first"
    scratch, held = "strategy == 'scratch'", ("--fix", "alpha=0.34", "--bootstrap", "20", "--json")
    fitted = tongues.fit(runs, "chinchilla", where=scratch, fix={"alpha": 0.34}, draws=20)
    said = json.loads(asked("fit", runs, "--law", "chinchilla", "--where", scratch, *held))
    assert said == json.loads(json.dumps(fitted.to_json(draws=False)))
    fitted.write(tmp_path / "law.json")
    plan = tongues.plan(fitted, budget="1e11 FLOPs")
    words = ("--budget", "1e11 FLOPs", "--json")
    told = json.loads(asked("plan", "--law", tmp_path / "law.json", *words))
    mine = json.loads(json.dumps(plan.to_json()))
    assert [one["params"] for one in mine["options"]] == [one["params"] for one in told["options"]]
    assert mine["decision"]["option"] == told["decision"]["option"]
    states, ensembles = tongues.ls(runs)
    listed = json.loads(asked("ls", runs, "--json"))
    assert [one["run"] for one in listed["runs"]] == [one.run for one in states]
    assert listed["ensembles"] == ensembles == []


def test_a_recipe_is_a_file_a_mapping_or_itself(recipe_file: Path, tmp_path: Path) -> None:
    recipe = load_recipe(recipe_file)
    plain = recipe.model_dump(mode="json", exclude_none=True)
    assert tongues.load_recipe(recipe) is recipe
    assert tongues.load_recipe(plain) == recipe
    changed = [
        tongues.load_recipe(recipe_file, ["train.seed=7"]),
        tongues.load_recipe(plain, "train.seed=7"),
        tongues.load_recipe(recipe, {"train.seed": 7}),
    ]
    assert {one.train.seed for one in changed} == {7}
    assert changed[0] == changed[1] == changed[2]
    assert plain["train"].get("seed") != 7  # the mapping given stays as it was
    mine = tongues.check(plain, workspace=tmp_path)
    said = json.loads(asked("check", recipe_file, "--json", "--workspace", tmp_path))
    assert said["runs"] == json.loads(json.dumps(mine.to_json()))["runs"]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda path: tongues.check({"name": "x"}), "is missing"),
        (lambda path: tongues.generate("none", "a", max_memory="2 apples"), "apples"),
        (lambda path: tongues.serve(["a", "a"]), "named twice"),
        (lambda path: tongues.check(path, gpus=8), "--gpus says nothing"),
        (lambda path: tongues.prepare(path, path.parent), "not an override"),
        (lambda path: tongues.train(path, "demo"), "not an override"),
    ],
)
def test_mistakes_are_user_errors(
    call: Callable[[Path], object], what: str, recipe_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recipe_file.parent)
    with pytest.raises(tongues.UserError, match=what):
        call(recipe_file)


def test_a_disk_that_fills_in_training_is_named_with_what_the_run_takes(
    recipe_file: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(import_module("tongues.train.run"), "train", full)
    with pytest.raises(OSError, match=r"the run takes about [\d.]+ MB with its tokens") as caught:
        tongues.train(recipe_file, workspace=workspace, quiet=True)
    assert caught.value.filename == str(workspace / "runs/small")


def test_progress_is_told_on_standard_error_or_not_at_all(
    recipe_file: Path, workspace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tongues.prepare(recipe_file, workspace=workspace)
    assert "nothing to do" in capfd.readouterr().err
    tongues.prepare(recipe_file, workspace=workspace, quiet=True)
    assert tongues.train(recipe_file, workspace=workspace, quiet=True) == workspace / "runs/small"
    assert capfd.readouterr() == ("", "")
