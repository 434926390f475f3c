import errno
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors import SafetensorError

from tests.conftest import MakeRecipe
from tests.records import make_run
from tongues.core.errors import UserError
from tongues.core.files import write_json
from tongues.core.quantities import show_count
from tongues.core.roles import Roles
from tongues.runs.record import Base
from tongues.text.tokens import open_tokens
from tongues.text.tokens.store import read_manifest
from tongues.train import run_of_recipe
from tongues.train.card import data_section
from tongues.train.export import copy_model, new_folder
from tongues.train.run import train
from tongues.train.work import open_work


def part_from_their_corpus(workspace: Path) -> None:
    """The workspace gets tokens of its own, with no corpus beside them."""
    place = workspace / "tokens" / "small"
    source = place.resolve()
    place.unlink()
    shutil.copytree(source, place)


def test_a_card_tells_the_data_as_far_as_it_is_known(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    part_from_their_corpus(workspace)
    plan = replace(run_of_recipe(open_work(make_recipe("train.budget=5k tokens"))), name="small")
    directory = train(plan, workspace)
    counts = open_tokens(workspace / "tokens" / "small").counts["qaa"]
    card = (directory / "model" / "README.md").read_text()
    assert "## Recipe\n\nBy tongues " in card
    row = f"| {counts['train']['documents']:,} | {show_count(counts['train']['tokens'])} |"
    assert row in card
    held = f"Held out: {counts['valid']['documents']:,} documents"
    assert f"- qaa: a synthetic language (seed 1). {held}" in card
    assert "of the text as it was read is no longer known" in card  # there is no corpus beside it
    roles = Roles(("qaa",), ("qaa",))
    after = replace(plan, name="after", strategy="cpt", base="small", roles=roles)
    grown = train(after, workspace)
    card = (grown / "model" / "README.md").read_text()
    assert "Before, `small` read 5.12k tokens (100.0% qaa)." in card
    (directory / "model" / "README.md").write_text("# of an older version\n")
    (grown / "model" / "README.md").unlink()
    for name, run in {"one": directory, "two": grown}.items():
        with new_folder(tmp_path / name) as folder:
            copy_model(run, tmp_path / "elsewhere", folder)
        assert "The tokens that it read are gone" in (tmp_path / name / "README.md").read_text()
    assert "What its base `small`" in (tmp_path / "two" / "README.md").read_text()


def test_what_was_dropped_is_told_with_its_reasons(workspace: Path) -> None:
    part_from_their_corpus(workspace)
    manifest = read_manifest(workspace / "tokens" / "small")
    about = {
        "read": {"documents": 4000},
        "kept": {"documents": 3000},
        "dropped": {"copy": {"documents": 900}, "near copy": {"documents": 100}},
        "sources": [{"faults": {"empty": 2, "not JSON": 1}}],
    }
    folder = workspace / "corpus" / "small"
    folder.mkdir(parents=True)
    write_json(folder / "corpus.json", {"languages": {"qaa": about, "qab": about}})
    record = make_run(
        tokens_fingerprint=manifest["fingerprint"],
        base=Base("/models/some", ("qab",), "p"),
        targets=("qaa",),
        shares={"qaa": 1.0},
        epochs={"qaa": 2.0},
        foreign={"qaa": {"qab": 0.12, "qac": 0.001}},
        tokens=1000,
    )
    said = data_section(record, workspace)
    assert "Of 4,000 documents 3,000 were kept; dropped: copy 900, near copy 100;" in said
    assert "could not be read: 3 places." in said and "Also contains: 12% qab." in said
    assert "What its base `some` was trained on is not known here." in said
    about["kept"] = {"documents": 1}  # a corpus that these tokens were not made of
    write_json(folder / "corpus.json", {"languages": {"qaa": about, "qab": about}})
    assert "Of 4,000" not in data_section(record, workspace)
    assert "no longer known" in data_section(record, workspace)


def test_a_folder_in_the_way_or_a_full_disk_is_told_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = SafetensorError("I/O error: No space left on device (os error 28)")
    for error in (full, OSError(errno.ENOSPC, "No space left on device", "aside")):
        with pytest.raises(OSError, match="No space left") as caught, new_folder(tmp_path / "out"):
            raise error
        assert caught.value.filename == str(tmp_path / "out")
    assert not list(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="the folder you are in"), new_folder(Path()):
        pass
    with new_folder(Path("out")) as aside:
        (aside / "file").touch()
    with pytest.raises(UserError, match="is there already"), new_folder(Path("out/file")):
        pass
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "file"]
