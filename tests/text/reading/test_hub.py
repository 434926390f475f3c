"""Documents from a folder laid out like a data set of the hub, without the network."""

import json
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from tests.golden import cases, golden
from tests.text.corpora import HUB_CARD
from tongues.core.errors import UserError
from tongues.recipe import Columns, Hub
from tongues.text import Document
from tongues.text.reading import Fault, Item, State, read_hub

pytest.importorskip("datasets", reason="needs the package datasets: pip install 'tongues[hub]'")

COLUMNS = Columns(text="content", id="url")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def write_shards(folder: Path, write: Callable[[Path, list[dict[str, object]]], None]) -> None:
    folder.mkdir(parents=True)
    for shard in range(3):
        rows = [{"content": f"Neno {shard} {n}", "url": n, "score": 0.5} for n in range(20)]
        rows[5]["content"] = " "
        write(folder / f"train-{shard}", rows)


def write_json(path: Path, rows: list[dict[str, object]]) -> None:
    path.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_parquet(path: Path, rows: list[dict[str, object]]) -> None:
    table = pyarrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(table, path.with_suffix(".parquet"), row_group_size=8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    for subset in ("swh_Latn", "yor_Latn"):
        write_shards(folder / subset, write_json)
    (folder / "README.md").write_text(HUB_CARD)
    return folder


def settings(folder: Path, **named: object) -> Hub:
    plain = {"dataset": str(folder), "subset": "swh_Latn", "columns": COLUMNS}
    return Hub.model_validate(plain | named)


def items(hub: Hub, start: State | None = None) -> list[Item]:
    return list(read_hub(hub, "sw", start))


def read(found: list[Item]) -> list[Document | Fault]:
    """Without the states: the library words equal ones differently."""
    return [item for item, _ in found]


def test_rows_of_all_shards_are_documents_in_order(folder: Path) -> None:
    found = read(items(settings(folder)))
    texts = [item.text for item in found if isinstance(item, Document)]
    assert texts == [f"Neno {s} {n}" for s in range(3) for n in range(20) if n != 5]
    source = f"{folder}/swh_Latn/train"
    assert {item.source for item in found} == {source}
    faults = [item for item in found if isinstance(item, Fault)]
    assert [(fault.place, fault.reason) for fault in faults] == [
        (place, "empty") for place in (5, 25, 45)
    ]
    assert isinstance(found[1], Document) and found[1].id == "1"


@pytest.mark.parametrize("write", [write_json, write_parquet])
def test_reading_goes_on_after_any_row(tmp_path: Path, write: Callable[..., None]) -> None:
    write_shards(tmp_path / "plain", write)
    hub = settings(tmp_path / "plain", subset=None)
    whole = items(hub)
    for number in (1, 5, 6, 8, 19, 20, 21, 40, 59, 60):
        state = json.loads(json.dumps(whole[number - 1][1]))
        rest = items(hub, state)
        assert read(rest) == read(whole[number:])
        if number < 50:  # and once more, from a state that a resumed stream gave
            assert read(items(hub, rest[8][1])) == read(whole[number + 9 :])


def test_damage_costs_no_more_than_its_shard(folder: Path) -> None:
    path = folder / "swh_Latn" / "train-1.jsonl"
    path.write_text(path.read_text() + "{broken\n")
    whole = items(settings(folder))
    texts = [item.text for item, _ in whole if isinstance(item, Document)]
    assert {f"Neno {s} {n}" for s in (0, 2) for n in range(20) if n != 5} <= set(texts)
    reasons = [item.reason if isinstance(item, Fault) else "" for item, _ in whole]
    assert reasons.count("damaged") == 1
    place = reasons.index("damaged")
    assert read(items(settings(folder), whole[place][1])) == read(whole[place + 1 :])


@pytest.mark.parametrize("named", cases("refused-sets"))
def test_what_is_not_there_is_told_with_what_is(folder: Path, named: str) -> None:
    with pytest.raises(UserError) as error:
        items(settings(folder, **json.loads(named)))
    told = re.sub(r"\(Cannot .*?\) ", "", str(error.value))  # in the library's words
    golden(f"refused-sets/{named}", told.replace(str(folder), "FOLDER"))


def test_a_hub_that_does_not_answer_is_asked_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def refuse(*_: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", waits.append)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(UserError, match="the hub does not answer") as error:
        items(settings(folder, dataset="some/web"))
    assert error.value.where == "text.hub.sw.dataset" and not waits
    assert "hf download some/web --repo-type dataset --include README.md" in error.value.hint
    assert "--local-dir data/web`" in error.value.hint and "'*swh_Latn*'" in error.value.hint


def test_a_missing_package_is_told_with_how_to_install_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"pip install 'tongues\[hub\]'"):
        items(settings(folder))
