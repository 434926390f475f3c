import json
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.command import run_command
from tongues.core.errors import Stopped, UserError
from tongues.core.terminal import hint_command
from tongues.recipe import load_recipe
from tongues.verbs.main import command, main


@pytest.mark.parametrize(
    ("words", "longest"),
    [(["-m", "tongues", "--help"], 0.3), (["-c", "import tongues; print('demo')"], 0.2)],
    ids=["help", "import"],
)
def test_help_and_import_take_no_time(words: list[str], longest: float) -> None:
    """By the processor's clock, which does not see what else is running."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
        assert "demo" in done.stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < longest


def test_help_lists_every_verb_by_the_order_of_work_on_a_line_of_its_own() -> None:
    lines = run_command(["--help"]).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith("...") for line in lines[1:])
    sections = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert sections[1:] == ["Plan:", "Prepare:", "Train:", "Evaluate:", "Use:", "Look:"]
    for name in command.commands:
        assert sum(line.split()[:1] == [name] for line in lines) == 1


def walk(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name, verb in group.commands.items():
        if isinstance(verb, click.Group):
            yield from walk(verb, f"{path} {name}")
        else:
            yield f"{path} {name}", verb


def test_the_help_of_every_verb_has_an_example_that_can_be_parsed() -> None:
    for path, verb in walk(command, "tongues"):
        example = next(x for x in (verb.epilog or "").splitlines() if x.startswith("Example: "))
        words = shlex.split(example.removeprefix("Example: "))
        assert " ".join(words).startswith(path)
        verb.make_context(path, words[len(path.split()) :])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UserError("wrong"), 2),
        (UserError("diverged", code="spike"), 1),
        (UserError("one of the runs", code="runs_failed"), 1),
        (click.UsageError("no such option"), 2),
        (OSError(28, "No space left on device", "/full"), 1),
        (KeyboardInterrupt(), 130),
        (Stopped("stopped"), 130),
    ],
)
def test_exit_codes_tell_failure_wrong_use_and_interruption(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
) -> None:
    def fail(folder: Path, **options: object) -> None:
        raise error

    monkeypatch.setattr("tongues.report", fail)  # before the place that it is read from
    monkeypatch.setattr("tongues.verbs.actions.pages.report", fail)
    monkeypatch.setattr(sys, "argv", ["tongues", "report", "some where"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    last = "stopped; run it again to resume: tongues report 'some where'\n"
    assert capsys.readouterr().err.endswith(last) == (code == 130)


def test_quiet_leaves_nothing_on_standard_error(recipe_file: Path, tmp_path: Path) -> None:
    arguments = ["prepare", str(recipe_file), "--workspace", str(tmp_path)]
    assert "→ tongues train" in CliRunner().invoke(command, arguments).stderr
    assert CliRunner().invoke(command, [*arguments, "--quiet"]).stderr == ""


def test_check_prints_a_recipe_that_reads_back_and_what_it_takes(
    recipe_file: Path, tmp_path: Path
) -> None:
    done = run_command(["check", recipe_file, "--workspace", tmp_path])
    assert done.returncode == 0, done.stderr
    resolved, _, numbers = done.stdout.partition("\n\n")
    again = tmp_path / "again.yaml"
    again.write_text(resolved)
    assert load_recipe(again) == load_recipe(recipe_file)
    assert "140,016" in numbers  # parameters of 0.1M with 400 pieces
    assert "disk, about:" in numbers
    done = run_command(["check", recipe_file, "--json", "--workspace", tmp_path])
    as_json = json.loads(done.stdout)
    assert as_json["runs"][0]["parameters"]["total"] == 140_016
    assert as_json["runs"][0]["steps"] == round(20_000 / 512)
    assert as_json["recipe"]["name"] == "small"


def test_what_was_written_is_printed_as_json(recipe_file: Path, workspace: Path) -> None:
    done = run_command(["prepare", recipe_file, "--json", "--workspace", workspace])
    assert json.loads(done.stdout) == {"paths": [str(workspace / "tokens/small")]}


def test_check_names_what_comes_next(recipe_file: Path, workspace: Path, tmp_path: Path) -> None:
    for folder, verb in ((tmp_path / "empty", "prepare"), (workspace, "train")):
        done = CliRunner().invoke(command, ["check", str(recipe_file), "--workspace", str(folder)])
        assert done.stderr.splitlines()[-1] == (
            f"→ tongues {verb} {recipe_file} --workspace {folder}"
        )


def test_a_hint_names_the_program_as_it_was_called() -> None:
    words = [sys.executable, "-m", "tongues", "--workspace", "somewhere", "ls"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "as in `python -m tongues ls --workspace …`" in done.stderr


def test_what_comes_next_is_quoted_and_in_the_same_workspace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "a b"
    place.mkdir()
    written = tmp_path / "my sw.yaml"
    words = ["new", "SmolLM2-135M", "--language", "sw", "-o", str(written)]
    done = CliRunner().invoke(command, words)
    assert done.stderr.splitlines()[-1] == f"→ tongues check '{written}'"
    done = CliRunner().invoke(command, ["doctor", "-w", str(place)])
    assert done.stderr.splitlines()[-1] == f"→ tongues next '{place}'"
    with click.Context(click.Command("v"), info_name="v") as context:
        context.params["workspace"] = place
        hint_command("tongues", "generate", "my model")
    line = capsys.readouterr().err
    assert line == f"→ tongues generate 'my model' --workspace '{place}'\n"
