"""How ensembles are listed and found, through the verbs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tongues.cli.main import command
from tongues.errors import UserError
from tongues.experts.ensemble.lineage import ensemble_states, state_rows


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a whole ensemble of nine languages, one without its router, one damaged."""
    folder = tmp_path_factory.mktemp("standing")
    tokenizer = make_tokenizer(folder / "tokens")
    expert = make_expert(folder / "runs/e0/model", tokenizer, seed=0)
    for name in ("whole-s1", "lost-s1", "odd-s1"):
        make_ensemble(folder, [expert], tokenizer, name=name)
    (folder / "ensembles/small/lost-s1/router.safetensors").unlink()
    (folder / "ensembles/small/odd-s1/ensemble.json").write_text("{")
    file = folder / "ensembles/small/whole-s1/ensemble.json"
    lineage = json.loads(file.read_text())
    many = lineage | {"languages": {f"qa{letter}": "e0" for letter in "abcdefghi"}}
    file.write_text(json.dumps(many))
    return folder


def ask(place: Path, *words: str, piped: str = "") -> Result:
    return CliRunner().invoke(command, [*words, "--workspace", str(place)], input=piped)


def test_ensembles_are_told_with_what_they_lack(place: Path) -> None:
    lost, odd, whole = ensemble_states([place / "ensembles"], place)
    assert (lost.ensemble, lost.experts, lost.languages) == ("small/lost-s1", 1, ("qaa",))
    assert (lost.complete, lost.reason) == (False, "the router is gone")
    assert not odd.complete and "is damaged" in odd.reason
    assert whole.complete
    (row,) = state_rows([whole])
    assert row["languages"] == "qaa qab qac qad qae qaf qag qah +1"
    assert "why" not in row
    assert state_rows([lost])[0]["why"] == "the router is gone"


def test_ls_shows_ensembles_below_the_runs_and_without_any(place: Path) -> None:
    shown = ask(place, "ls").stdout
    assert shown.splitlines()[0].split() == ["ensemble", "experts", "languages", "state", "why"]
    found = json.loads(ask(place, "ls", "--json").stdout)
    assert [one["complete"] for one in found["ensembles"]] == [False, False, True]
    assert found["runs"] == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("small/whole-s2", "did you mean `small/whole-s1`"),
        ("e1", "choose from `e0`, `small/"),
        ("e0", ""),
    ],
)
def test_what_is_not_there_to_generate_is_answered_with_the_nearest(
    place: Path, name: str, said: str
) -> None:
    (place / "runs/e0/run.json").write_text("{}")
    (place / "runs/e0/model").rename(place / "runs/e0/away")
    try:
        done = ask(place, "generate", name)
    finally:
        (place / "runs/e0/away").rename(place / "runs/e0/model")
        (place / "runs/e0/run.json").unlink()
    assert isinstance(done.exception, UserError)
    assert said in done.exception.hint
    assert done.exception.what.endswith(f"model folder `{name}`" if said else "has no model yet")
    assert done.exception.where != "."


def test_what_is_piped_in_is_the_prompt_where_none_is_given(place: Path) -> None:
    asked = ("generate", "small/whole-s1", "--max-tokens", "2", "--json")
    for given, piped, prompt in (((), "ba be\n", "ba be"), (("bo",), "ba", "bo"), ((), "", "")):
        done = ask(place, *asked, *given, piped=piped)
        (text,) = json.loads(done.stdout)["texts"]
        assert text["prompt"] == prompt


def test_a_limit_of_memory_is_an_amount_of_bytes(place: Path) -> None:
    asked = ("generate", "small/whole-s1", "--max-tokens", "2", "--max-memory")
    told = ask(place, *asked, "2").exception
    assert isinstance(told, UserError) and "has no unit of size" in told.what
    assert ask(place, *asked, "2GB").exception is None


def test_a_run_shown_as_an_ensemble_is_told_to_be_a_run(tmp_path: Path) -> None:
    (tmp_path / "runs/one").mkdir(parents=True)
    (tmp_path / "runs/one/run.json").touch()
    done = ask(tmp_path, "experts", "show", "one")
    assert isinstance(done.exception, UserError)
    assert "`one` is a run" in done.exception.hint and "`tongues ls`" in done.exception.hint
