"""A recipe whose text is a data set of the hub, here a folder laid out like one, by command."""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command import Done, run_command, start_command
from tests.text.corpora import HUB_CARD, OFF, contents, text
from tongues.core.files import read_json
from tongues.text.tokens import open_tokens

pytest.importorskip("datasets", reason="needs the package datasets: pip install 'tongues[hub]'")

ROWS = 8_000
MANY = 22_000  # more than a part of a source holds
SHARDS = 4
LIMITS = {"sw": "500 documents", "yo": "30 kB", "ha": "5k tokens", "zu": "200 tokens"}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dataset(tmp_path_factory.mktemp("hub") / "web", ROWS)


def write_dataset(folder: Path, rows: int) -> Path:
    """Shards of short rows, two of which are no documents, and a second subset."""
    words = np.array(text(1, 3000).split(" "))
    chosen = np.random.default_rng(1).integers(0, len(words), (rows, 6))
    lines = [
        json.dumps({"content": " ".join(words[row]), "url": f"u{number}"})
        for number, row in enumerate(chosen)
    ]
    lines[3] = json.dumps({"content": " ", "url": "u3"})
    lines[30] = json.dumps({"content": None, "url": "u30"})
    for subset, own in (("swh_Latn", lines), ("yor_Latn", lines[:100])):
        (folder / subset).mkdir(parents=True)
        for shard, part in enumerate(np.array_split(np.array(own, dtype=object), SHARDS)):
            (folder / subset / f"train-{shard}.jsonl").write_text("\n".join(part) + "\n")
    (folder / "README.md").write_text(HUB_CARD)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library keeps what it likes to keep."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def whole(dataset: Path, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which the whole subset was prepared undisturbed."""
    workspace = tmp_path_factory.mktemp("whole")
    tongues(home, "prepare", recipe(workspace, dataset), "--workspace", workspace)
    return workspace


def recipe(folder: Path, dataset: Path, limits: dict[str, str] | None = None) -> Path:
    """A recipe of the data set's Swahili, or of languages that each have its rows to a limit."""
    columns = {"text": "content", "id": "url"}
    named = {"dataset": str(dataset), "subset": "swh_Latn", "columns": columns}
    by_language = {lang: named | {"limit": most} for lang, most in (limits or {}).items()}
    settings = {
        "name": "web",
        "text": {"hub": by_language or {"sw": named}, "clean": OFF},
        "tokens": {"vocab_size": 400, "sample": "50 kB", "held_out": "2000 tokens"},
        "model": {"shape": "0.05M"},
        "train": {"mixture": {"sw": "100%"}, "budget": "20k tokens"},
    }
    path = folder / "web.yaml"
    path.write_text(json.dumps(settings))  # JSON is YAML
    return path


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home)}


def tongues(home: Path, *arguments: str | Path) -> Done:
    done = run_command(arguments, environment=environment(home))
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("limits", [None, LIMITS])
def test_check_takes_text_whose_size_is_not_known(
    dataset: Path, home: Path, tmp_path: Path, limits: dict[str, str] | None
) -> None:
    done = tongues(home, "check", recipe(tmp_path, dataset, limits), "--workspace", tmp_path)
    assert "disk, about:" in done.stdout
    assert "inf" not in done.stdout.split("\n\n", 1)[1]
    assert "nan" not in done.stdout


def test_every_row_is_read_once_and_what_is_none_is_counted(
    whole: Path, dataset: Path, home: Path, tmp_path: Path
) -> None:
    about = read_json(whole / "corpus/web/corpus.json")["languages"]["sw"]
    (source,) = about["sources"]
    assert about["read"]["documents"] == ROWS - 2
    assert source["faults"] == {"empty": 1, "no text": 1}
    assert not source["capped"]
    before = contents(whole)
    done = tongues(home, "prepare", recipe(whole, dataset), "--workspace", whole)
    assert "nothing to do" in done.stdout + done.stderr
    assert contents(whole) == before
    tongues(home, "report", whole / "corpus/web", "--out", tmp_path / "page")
    page = (tmp_path / "page/index.html").read_text()
    assert "swh_Latn/train" in page
    assert "no text" in page


def test_limits_bound_what_is_read(dataset: Path, home: Path, tmp_path: Path) -> None:
    """Documents, bytes and tokens; the last is less than what is held out."""
    tongues(home, "prepare", recipe(tmp_path, dataset, LIMITS), "--workspace", tmp_path)
    about = read_json(tmp_path / "corpus/web/corpus.json")["languages"]
    counts = open_tokens(tmp_path / "tokens/web").counts
    assert all(each["sources"][0]["capped"] for each in about.values())
    assert all(each["read"]["documents"] < ROWS / 2 for each in about.values())
    assert about["sw"]["read"]["documents"] == about["sw"]["kept"]["documents"] == 500
    assert about["sw"]["sources"][0]["faults"] == {"empty": 1, "no text": 1}
    assert sum(split["documents"] for split in counts["sw"].values()) == 500
    assert 30_000 <= about["yo"]["read"]["bytes"] <= 30_100
    for lang, most in (("ha", 5000), ("zu", 200)):
        assert most - 100 <= counts[lang]["train"]["tokens"] <= most
        assert counts[lang]["valid"]["tokens"] >= 2000


@pytest.mark.long
def test_killed_behind_its_first_part_it_goes_on_there(home: Path, tmp_path: Path) -> None:
    dataset, whole = write_dataset(tmp_path / "web", MANY), tmp_path / "whole"
    whole.mkdir()
    tongues(home, "prepare", recipe(whole, dataset), "--workspace", whole)
    path = recipe(tmp_path, dataset)
    words = ["prepare", path, "--workspace", tmp_path]
    started = start_command(words, environment=environment(home))

    def mark() -> dict[str, Any]:
        (place,) = list(tmp_path.glob("corpus/web/sw/*/source.json")) or [None]
        return read_json(place) if place else {"parts": [], "complete": False}

    while started.process.is_alive() and not mark()["parts"]:
        time.sleep(0.01)
    started.process.kill()
    started.wait()
    assert mark()["parts"] == [20_000]
    assert not mark()["complete"]
    (first,) = tmp_path.glob("corpus/web/sw/*/*.parquet")
    written = first.stat().st_mtime_ns
    tongues(home, "prepare", path, "--workspace", tmp_path)
    assert first.stat().st_mtime_ns == written
    assert mark()["parts"] == [20_000, MANY - 2 - 20_000]
    assert contents(tmp_path / "tokens") == contents(whole / "tokens")
    assert contents(tmp_path / "corpus") == contents(whole / "corpus")
