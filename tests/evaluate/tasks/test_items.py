"""Items from files and the hub, and a name for whatever is none."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.text.corpora import write_rows
from tongues.core.errors import UserError
from tongues.evaluate.tasks import TASKS, Task, count_faults, find_languages, read_items

DATA = Path(__file__).parents[3] / "../shared/data/eval"
COPA: dict[str, Any] = {
    "premise": "It rained.",
    "choice1": "We stayed.",
    "choice2": "We left.",
    "question": "effect",
    "label": 0,
}
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared benchmarks are not here")


def copa(number: int, **named: Any) -> bytes:
    row = {**COPA, "idx": number, **named}
    kept = {key: value for key, value in row.items() if value is not ...}
    return json.dumps(kept, ensure_ascii=True).encode() + b"\n"


def placed(file: Path, content: bytes) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    return file


BAD = [
    (copa(1, premise=...), "field missing", "`premise`"),
    (copa(1, idx=...), "field missing", "`idx`"),
    (copa(1, label=...), "field missing", "`label`"),
    (copa(1, premise=["It"]), "field is not text", "`premise`"),
    (copa(1, choice2=" "), "empty choice", "`choice2`"),
    (copa(1, choice2="We stayed."), "choices alike", "we stayed."),
    (copa(1, label=2), "label out of range", "`2` is none of 0, 1"),
    (copa(1, label="yes"), "label out of range", "`yes`"),
    (copa(1, label=True), "label out of range", "`True`"),
    (copa(1, question="reason"), "word unknown", "`reason`"),
    (copa(0), "id twice", "`0`"),
    (copa(1, choice1="half a pair \ud83d"), "bad encoding", ""),
    ('{"premise": "Grüße"}\n'.encode("latin-1"), "bad encoding", ""),
    (b"{premise: 1}\n", "not JSON", "{premise"),
    (b"[1, 2]\n", "no text", "[1, 2]"),
    (b'{"premise": "It ra', "cut off", '{"premise"'),
]


@pytest.mark.parametrize(("line", "reason", "says"), BAD, ids=[str(n) for n in range(len(BAD))])
def test_what_is_no_item_is_named_counted_and_passed_over(
    tmp_path: Path, line: bytes, reason: str, says: str
) -> None:
    file = placed(tmp_path / "xcopa/en.jsonl", copa(0) + b"\n" + line)
    read = read_items(TASKS.find("xcopa"), "en", tmp_path)
    assert [item.id for item in read.items] == ["0"]
    [fault] = read.faults
    assert (fault.source, fault.place, fault.reason) == (str(file), "line 3", reason)
    assert says in fault.sample
    [told] = count_faults(read.faults)
    assert told.startswith(f"1 left out: {reason} (first {file}, line 3: ")


def test_a_file_without_items_is_an_error_that_says_why(tmp_path: Path) -> None:
    placed(tmp_path / "xcopa/en.jsonl", copa(0, label=9) + copa(1, label=9) + b"!")
    with pytest.raises(UserError, match="holds no item of `xcopa`") as caught:
        read_items(TASKS.find("xcopa"), "en", tmp_path)
    assert "2 left out: label out of range" in caught.value.hint
    assert "1 left out: cut off" in caught.value.hint


def test_a_damaged_archive_gives_what_came_before(tmp_path: Path) -> None:
    placed(tmp_path / "xcopa/en.jsonl.gz", gzip.compress(copa(0) + copa(1))[:-6])
    read = read_items(TASKS.find("xcopa"), "en", tmp_path)
    assert [item.id for item in read.items] == ["0", "1"]
    assert [fault.reason for fault in read.faults] == ["archive cut off"]


def test_labels_are_the_same_as_text_and_as_numbers(tmp_path: Path) -> None:
    placed(
        tmp_path / "xcopa/en.jsonl",
        b"".join(copa(n, label=x) for n, x in enumerate((1, "1", 1.0, " 1"))),
    )
    assert {item.label for item in read_items(TASKS.find("xcopa"), "en", tmp_path).items} == {1}


def test_a_sentence_that_ends_without_a_mark_loses_no_letter(tmp_path: Path) -> None:
    rows = (copa(0, premise="ฝนตก", choice1="ก", choice2="ข"), copa(1, premise="下雨了。"))
    placed(tmp_path / "xcopa/th.jsonl", b"".join(rows))
    read = read_items(TASKS.find("xcopa"), "th", tmp_path)
    assert [item.prompt for item in read.items] == ["ฝนตก therefore", "下雨了 therefore"]


def test_the_languages_of_a_folder_are_those_of_its_files(tmp_path: Path) -> None:
    task = TASKS.find("paws-x")
    for name in ("sw.jsonl", "fr.jsonl.gz", "notes.txt", "ja.jsonl", "no language.jsonl"):
        placed(tmp_path / "paws-x" / name, b"")
    placed(tmp_path / "pt-BR.jsonl", b"")
    assert find_languages(task, tmp_path) == ["fr", "ja", "sw"]
    assert find_languages(task, "hub") == ["de", "en", "es", "fr", "ja", "ko", "zh"]


def test_a_missing_file_is_told_with_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "sw.txt").touch()
    with pytest.raises(UserError, match=r"there is no `xcopa/sw\.jsonl`") as caught:
        read_items(TASKS.find("xcopa"), "sw", tmp_path)
    assert "sw.txt" in caught.value.hint


def test_items_come_from_the_hub(tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("datasets", reason="needs the package datasets: pip install 'tongues[hub]'")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    task = TASKS.find("xcopa")
    folder = tmp_path / "copa"
    card = "configs:\n- config_name: sw\n  data_files: [{split: test, path: sw/*.jsonl}]\n"
    (folder / "sw").mkdir(parents=True)
    (folder / "README.md").write_text(f"---\n{card}---\n")
    (folder / "sw/test.jsonl").write_bytes(copa(0) + copa(1, label=5) + copa(2))
    assert task.hub is not None
    task = replace(task, hub=replace(task.hub, dataset=str(folder)))
    with pytest.raises(UserError, match="has no items in `de`"):
        read_items(task, "de", "hub")
    read = read_items(task, "sw", "hub")
    assert [item.id for item in read.items] == ["0", "2"]
    assert [(fault.place, fault.reason) for fault in read.faults] == [
        ("row 2", "label out of range")
    ]
    assert read.source == f"{folder}/sw/test"


@needs_data
@pytest.mark.parametrize(
    ("folder", "name", "rows"),
    [("xcopa", "xcopa", 500), ("xcopa_val", "xcopa", 100), ("pawsx_dev", "paws-x", 2000)],
)
def test_every_row_of_the_real_files_is_an_item(folder: str, name: str, rows: int) -> None:
    task = replace(TASKS.find(name), name=folder)
    for file in sorted((DATA / folder).glob("*.jsonl")):
        read = read_items(task, file.stem, DATA)
        assert (len(read.items), read.faults) == (rows, ())
        labels = [json.loads(line)["label"] for line in file.read_text().splitlines()]
        assert [item.label for item in read.items] == labels


def test_items_of_one_passage_are_of_one_group(tmp_path: Path) -> None:
    rows = [
        {"premise": f"It rains {n // 3}.", "hypothesis": f"It is {n}.", "label": n % 3}
        for n in range(6)
    ]
    for name in ("xnli", "lone", "wrong"):
        write_rows(tmp_path / name / "en.jsonl", rows)
    groups = [item.group for item in read_items(TASKS.find("xnli"), "en", tmp_path).items]
    assert groups == [groups[0]] * 3 + [groups[3]] * 3 and groups[0] != groups[3]
    lone = Task("lone", "", "", ("{premise}", "{hypothesis}"), label=None)
    items = read_items(lone, "en", tmp_path).items
    assert [(item.group, item.label) for item in items] == [("", 0)] * 6
    wrong = Task("wrong", "", "", ("{premise}", "b"), label=None, group="passage")
    with pytest.raises(UserError, match="holds no item") as caught:
        read_items(wrong, "en", tmp_path)
    assert "6 left out: field missing" in caught.value.hint and "`passage`" in caught.value.hint


@needs_data
def test_pairs_of_one_sentence_are_of_one_group() -> None:
    task = replace(TASKS.find("paws-x"), name="pawsx_dev")
    items = read_items(task, "en", DATA).items
    assert (len(items), len({item.group for item in items})) == (2000, 1758)
