import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tongues.core.errors import UserError
from tongues.core.files import file_hash
from tongues.experts.ensemble.ensemble import open_ensemble
from tongues.experts.ensemble.lineage import best_experts, ensemble_states, read_lineage, state_rows
from tongues.verbs.main import command


@pytest.fixture
def own(workspace: Path, folders: list[Path], tokenizer: Path, tmp_path: Path) -> Path:
    """An ensemble of two experts that may be spoiled."""
    places = []
    for number, folder in enumerate(folders[:2]):
        place = tmp_path / f"runs/e{number}/model"
        shutil.copytree(folder, place)
        places.append(place)
    return make_ensemble(tmp_path, places, tokenizer)


def test_an_ensemble_says_what_it_is_made_of(own: Path, tmp_path: Path) -> None:
    lineage = read_lineage(own)
    assert [expert.folder for expert in lineage.experts] == ["runs/e0/model", "runs/e1/model"]
    for expert in lineage.experts:
        for name, digest in expert.sha256.items():
            assert file_hash(tmp_path / expert.folder / name) == digest
        assert set(expert.sha256) == {"config.json", "model.safetensors"}
    assert lineage.number_of("qab") == 1
    assert best_experts(lineage.experts) == {"qaa": "e0", "qab": "e1"}
    assert lineage == read_lineage(own)


def test_an_ensemble_moves_with_its_workspace(own: Path, tmp_path: Path) -> None:
    moved = tmp_path.with_name(f"{tmp_path.name}-moved")
    shutil.copytree(tmp_path, moved)
    shutil.rmtree(tmp_path / "runs")
    assert open_ensemble(moved / own.relative_to(tmp_path)).k == 2
    with pytest.raises(UserError, match="expert `e0` is gone"):
        open_ensemble(own)
    assert open_ensemble(own, moved).k == 2


def test_a_changed_byte_or_configuration_is_found(own: Path, tmp_path: Path) -> None:
    file = tmp_path / "runs/e1/model/model.safetensors"
    content = bytearray(file.read_bytes())
    content[-7] ^= 1
    file.write_bytes(content)
    with pytest.raises(UserError, match=r"`e1` is not what it was: `model.safetensors`"):
        open_ensemble(own)
    file = tmp_path / "runs/e0/model/config.json"
    file.write_text(file.read_text().replace('"rms_norm_eps": 1e-05', '"rms_norm_eps": 1e-06'))
    with pytest.raises(UserError, match=r"`e0` is not what it was: `config.json`"):
        open_ensemble(own)


def test_lost_files_are_named(own: Path, tmp_path: Path) -> None:
    router = own / "router.safetensors"
    content = router.read_bytes()
    router.unlink()
    with pytest.raises(UserError, match="the router is gone"):
        open_ensemble(own)
    router.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(UserError, match="the router is not what it was"):
        open_ensemble(own)
    router.write_bytes(content)
    (tmp_path / "runs/e1/model/model.safetensors").unlink()
    with pytest.raises(UserError, match=r"`e1` has no `model.safetensors`"):
        open_ensemble(own)


def test_a_foreign_tokenizer_is_refused(own: Path, tmp_path: Path) -> None:
    other = make_tokenizer(tmp_path / "other", "um dois feijao com arroz " * 3)
    file = tmp_path / "runs/e1/model/tokenizer.json"
    file.write_bytes(other.read_bytes())
    with pytest.raises(UserError, match="`e1` has another tokenizer"):
        open_ensemble(own)
    file.unlink()
    with pytest.raises(UserError, match="`e1` has no tokenizer"):
        open_ensemble(own)


def test_vocabularies_of_other_sizes_are_refused(
    folders: list[Path], tokenizer: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM

    make_expert(tmp_path / "small", tokenizer, seed=5)
    model = AutoModelForCausalLM.from_pretrained(folders[0])
    model.resize_token_embeddings(320, mean_resizing=False)
    model.save_pretrained(tmp_path / "wide")
    shutil.copyfile(tokenizer, tmp_path / "wide/tokenizer.json")
    own = make_ensemble(tmp_path, [tmp_path / "small", tmp_path / "wide"], tokenizer)
    with pytest.raises(UserError, match="`e0` has 300 rows and `e1` has 320"):
        open_ensemble(own)


def test_what_is_no_ensemble_is_refused(own: Path) -> None:
    with pytest.raises(UserError, match="there is no ensemble"):
        open_ensemble(own.parent / "smal")
    for text, said in (
        ('{"experts":\n[', "line 2"),
        ('{"router": null}', "written by another version .*missing .*experts"),
        ('{"router": null, "experts": [3]}', "written by another version"),
    ):
        (own / "ensemble.json").write_text(text)
        with pytest.raises(UserError, match=said) as caught:
            open_ensemble(own)
        assert "Error" not in str(caught.value)


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
