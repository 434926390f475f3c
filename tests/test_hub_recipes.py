"""A recipe whose text is a data set of the hub, here a folder laid out like one, by command."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command import Done, run_command, start_command
from tests.text.corpora import OFF, contents, text
from tongues.files import read_json
from tongues.tokens import open_tokens

pytest.importorskip("datasets", reason="needs the package datasets: pip install 'tongues[hub]'")

CARD = """---
configs:
- config_name: swh_Latn
  data_files: [{split: train, path: swh_Latn/*.jsonl}]
- config_name: yor_Latn
  data_files: [{split: train, path: yor_Latn/*.jsonl}]
---
"""
ROWS = 22_000  # more than a part of a source holds
SHARDS = 4


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of short rows, two of which are no documents, and a second subset."""
    folder = tmp_path_factory.mktemp("hub") / "web"
    words = np.array(text(1, 3000).split(" "))
    chosen = np.random.default_rng(1).integers(0, len(words), (ROWS, 6))
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
    (folder / "README.md").write_text(CARD)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library keeps what it likes to keep."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def whole(dataset: Path, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which the whole subset was prepared undisturbed."""
    workspace = tmp_path_factory.mktemp("whole")
    done = tongues(home, "prepare", recipe(workspace, dataset), "--workspace", workspace)
    assert done.returncode == 0, done.stderr
    return workspace


def recipe(folder: Path, dataset: Path, at_most: str | None = None, **hub: Any) -> Path:
    """A recipe of the data set's Swahili; JSON is YAML."""
    columns = {"text": "content", "id": "url"}
    named = {"dataset": str(dataset), "subset": "swh_Latn", "columns": columns} | hub
    settings = {
        "name": "web",
        "text": {"hub": {"sw": named | ({"limit": at_most} if at_most else {})}, "clean": OFF},
        "tokens": {"vocab_size": 400, "sample": "50 kB", "held_out": "2000 tokens"},
        "model": {"shape": "0.05M"},
        "train": {"mixture": {"sw": "100%"}, "budget": "20k tokens"},
    }
    path = folder / "web.yaml"
    path.write_text(json.dumps(settings))
    return path


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home)}


def tongues(home: Path, *arguments: str | Path) -> Done:
    return run_command(arguments, environment=environment(home))


def prepared(home: Path, dataset: Path, workspace: Path, at_most: str) -> dict[str, Any]:
    """What `corpus.json` says of the language under a limit."""
    done = tongues(home, "prepare", recipe(workspace, dataset, at_most), "--workspace", workspace)
    assert done.returncode == 0, done.stderr
    return read_json(workspace / "corpus/web/corpus.json")["languages"]["sw"]


def documents(workspace: Path) -> Iterator[tuple[int, ...]]:
    """The tokens of every document on either side of the split."""
    tokens = open_tokens(workspace / "tokens/web")
    for split in ("train", "valid"):
        shard = tokens.shard("sw", split)
        for ids in np.split(shard.tokens, shard.bounds[1:-1]):
            yield tuple(ids.tolist())


@pytest.mark.parametrize("at_most", [None, "100 documents", "20 kB", "5k tokens"])
def test_check_takes_text_whose_size_is_not_known(
    dataset: Path, home: Path, tmp_path: Path, at_most: str | None
) -> None:
    done = tongues(home, "check", recipe(tmp_path, dataset, at_most), "--workspace", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "disk, about:" in done.stdout
    assert "inf" not in done.stdout.split("\n\n", 1)[1]
    assert "nan" not in done.stdout


def test_prepare_reads_every_row_and_counts_what_is_none(whole: Path) -> None:
    about = read_json(whole / "corpus/web/corpus.json")["languages"]["sw"]
    (source,) = about["sources"]
    assert about["read"]["documents"] == ROWS - 2
    assert source["faults"] == {"empty": 1, "no text": 1}
    assert not source["capped"]
    assert len(list(documents(whole))) == about["kept"]["documents"]


def test_a_second_call_has_nothing_to_do(whole: Path, dataset: Path, home: Path) -> None:
    before = contents(whole)
    done = tongues(home, "prepare", recipe(whole, dataset), "--workspace", whole)
    assert done.returncode == 0, done.stderr
    assert "nothing to do" in done.stdout + done.stderr
    assert contents(whole) == before


def test_so_many_documents_are_the_first_ones(dataset: Path, home: Path, tmp_path: Path) -> None:
    about = prepared(home, dataset, tmp_path, "500 documents")
    assert about["read"]["documents"] == about["kept"]["documents"] == 500
    assert about["sources"][0]["capped"]
    assert about["sources"][0]["faults"] == {"empty": 1, "no text": 1}
    assert len(list(documents(tmp_path))) == 500


def test_so_many_bytes_end_with_the_document_that_reaches_them(
    dataset: Path, home: Path, tmp_path: Path
) -> None:
    about = prepared(home, dataset, tmp_path, "30 kB")
    assert 30_000 <= about["kept"]["bytes"] <= 30_100
    assert about["read"] == about["kept"]
    assert about["sources"][0]["capped"]


@pytest.mark.parametrize("most", [5000, 200])  # the latter is less than what is held out
def test_so_many_tokens_bound_what_is_read(
    dataset: Path, home: Path, tmp_path: Path, most: int
) -> None:
    about = prepared(home, dataset, tmp_path, f"{most} tokens")
    counts = open_tokens(tmp_path / "tokens/web").counts["sw"]
    assert most - 100 <= counts["train"]["tokens"] <= most
    assert counts["valid"]["tokens"] >= 2000
    assert about["sources"][0]["capped"]
    assert about["read"]["documents"] < ROWS / 2


def test_a_report_tells_of_the_data_set(whole: Path, home: Path, tmp_path: Path) -> None:
    done = tongues(home, "report", whole / "corpus/web", "--out", tmp_path / "page")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page/index.html").read_text()
    assert "swh_Latn/train" in page
    assert "no text" in page


def test_killed_behind_its_first_part_it_goes_on_there(
    whole: Path, dataset: Path, home: Path, tmp_path: Path
) -> None:
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
    done = tongues(home, "prepare", path, "--workspace", tmp_path)
    assert done.returncode == 0, done.stderr
    assert first.stat().st_mtime_ns == written
    assert mark()["parts"] == [20_000, ROWS - 2 - 20_000]
    assert contents(tmp_path / "tokens") == contents(whole / "tokens")
    assert contents(tmp_path / "corpus") == contents(whole / "corpus")


def test_a_mistake_is_told_and_nothing_is_kept(dataset: Path, home: Path, tmp_path: Path) -> None:
    path = recipe(tmp_path, dataset, columns={"text": "contnet"})
    done = tongues(home, "prepare", path, "--workspace", tmp_path)
    assert done.returncode == 2
    assert "did you mean `content`?" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "tokens").exists()
