"""Documents from files: what is read, what is a fault, and going on after any item."""

import gzip
import json
import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden import inputs
from tongues.core.files import fingerprint
from tongues.recipe import Columns, Files
from tongues.text import Document
from tongues.text.reading import LONGEST, REASONS, Fault, Item, State, read_file

PLAIN = Files(paths=["."])
PARAGRAPHS = Files(paths=["."], documents="paragraphs")
PACK = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


def items(path: Path, files: Files = PLAIN, start: State | None = None) -> list[Item]:
    return list(read_file(path, "de", files, start))


def found(path: Path, files: Files = PLAIN) -> list[str]:
    """The text of each document, the reason of each fault."""
    read = [item for item, _ in items(path, files)]
    return [item.text if isinstance(item, Document) else f"! {item.reason}" for item in read]


def check_goes_on_anywhere(path: Path, files: Files = PLAIN) -> None:
    whole = items(path, files)
    for number, (_, state) in enumerate(whole, start=1):
        assert items(path, files, json.loads(json.dumps(state))) == whole[number:]


def test_a_text_file_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffGrüße\r\nan alle\n".encode())
    [(document, _)] = items(path)
    assert document == Document(str(path), "de", "Grüße\nan alle\n", str(path), str(path))


def test_a_paragraph_is_a_document_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeff\r\n\n eins\r\nund\r\n \t\r\nzwei\n\n\n\ndrei".encode())
    read = [item for item, _ in items(path, PARAGRAPHS)]
    assert [item.text for item in read if isinstance(item, Document)] == [
        " eins\nund",
        "zwei",
        "drei",
    ]
    assert [item.id for item in read if isinstance(item, Document)] == [
        f"{path}:{line}" for line in (3, 6, 10)
    ]
    check_goes_on_anywhere(path, PARAGRAPHS)


def test_neighbouring_paragraphs_are_a_group(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(("x" * 998 + "\n\n") * 600)
    groups = [item.group for item, _ in items(path, PARAGRAPHS) if isinstance(item, Document)]
    assert groups == sorted(groups)
    assert [groups.count(group) for group in sorted(set(groups))] == [250, 250, 100]


def test_text_without_a_blank_line_is_read_in_stretches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: one fault of 11 MB."""
    monkeypatch.setattr("tongues.text.reading.kinds.LONGEST", 1_000_000)
    path = tmp_path / "a.txt"
    lines = [f"Satz {n:07}.\n" for n in range(80_000)]
    long = "x" * 900_000 + "\n"
    path.write_text("".join(lines) + long)
    read = [item for item, _ in items(path, PARAGRAPHS)]
    texts = [item.text for item in read if isinstance(item, Document)]
    assert len(texts) == len(read) and "\n".join(texts) == "".join([*lines, long])[:-1]
    assert max(map(len, texts[:-1])) < 250_020
    (_, state) = items(path, PARAGRAPHS)[3]
    assert [item for item, _ in items(path, PARAGRAPHS, state)] == read[4:]


def test_a_line_of_json_is_a_document(tmp_path: Path) -> None:
    rows = [
        '{"text": "eins"}',
        '{"text": "zwei", "id": 7, "group": NaN}',
        "",
        '{"text": "drei", "id": "c", "group": 5, "rest": {"deep": [NaN, 1e999]}}',
        '\ufeff{"text": "\\ud83d\\ude00", "id": null}\r',
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(rows))
    read = [item for item, _ in items(path) if isinstance(item, Document)]
    assert [(item.id, item.text, item.group) for item in read] == [
        (f"{path}:1", "eins", fingerprint("eins")),
        ("7", "zwei", fingerprint("zwei")),
        ("c", "drei", "5"),
        (f"{path}:5", "😀", fingerprint("😀")),
    ]


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"content": "eins", "url": "u", "book": "b", "id": 1, "text": "-"}\n')
    columns = Columns(text="content", id="url", group="book")
    [(document, _)] = items(path, Files(paths=["."], columns=columns))
    assert document == Document("u", "de", "eins", "b", str(path))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *inputs("broken-lines"),
        ("[" * 100_000, "not JSON"),
        ('{"text": "zwei", "n": ' + "9" * 5000 + "}", "not JSON"),
        ('{"text": "' + "zwei " * (LONGEST // 4) + '"}', "too long"),
    ],
    ids=lambda value: value[:30],
)
def test_a_broken_line_is_a_fault_and_costs_no_other(
    tmp_path: Path, line: str, reason: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "eins"}}\n{line}\n{{"text": "drei"}}\n', encoding="latin-1")
    assert found(path) == ["eins", f"! {reason}", "drei"]
    assert reason in REASONS
    fault = items(path)[1][0]
    assert isinstance(fault, Fault)
    assert fault.source == str(path) and 17 <= fault.place < 30
    assert fault.sample.isprintable() and len(fault.sample) <= 200
    json.dumps(fault.sample, ensure_ascii=False).encode()
    check_goes_on_anywhere(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf \n", "empty"),
        ("fünf".encode("latin1"), "bad encoding"),
        (b"eins\0zwei", "NUL bytes"),
        (b"x" * (LONGEST + 1), "too long"),
    ],
    ids=lambda value: value[:30],
)
def test_a_broken_text_file_is_a_fault(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    assert found(path) == [f"! {reason}"]
    check_goes_on_anywhere(path)
    path.write_bytes(b"eins\n\n" + content + b"\n\nzwei")
    nothing = reason == "empty" and not content
    assert found(path, PARAGRAPHS) == ["eins", *([] if nothing else [f"! {reason}"]), "zwei"]


@pytest.mark.parametrize("pack", PACK)
def test_a_half_line_is_cut_off_and_a_whole_one_is_not(tmp_path: Path, pack: str) -> None:
    path = tmp_path / f"a.jsonl{pack}"
    line = '{"text": "grüße"}'.encode()
    path.write_bytes(PACK[pack](line + b"\n" + line))
    assert found(path) == ["grüße", "grüße"]
    for cut in (5, 13, 16):  # after a bracket, inside a letter, before the end
        path.write_bytes(PACK[pack](line + b"\n" + line[:cut]))
        assert found(path) == ["grüße", "! cut off"]
        fault = items(path)[1][0]
        assert isinstance(fault, Fault)
        assert fault.place == 20 and fault.sample.startswith('{"tex')


@pytest.mark.parametrize("pack", [".gz", ".zst"])
def test_a_cut_archive_is_read_as_far_as_it_goes(tmp_path: Path, pack: str) -> None:
    rows = [f"{n * n}" * 20 for n in range(8_000)]
    packed = PACK[pack]("".join(json.dumps({"text": row}) + "\n" for row in rows).encode())
    path = tmp_path / f"a.jsonl{pack}"
    path.write_bytes(packed[: len(packed) // 2])
    *documents, half, archive = found(path)
    assert documents == rows[: len(documents)] and len(documents) > 2000
    assert (half, archive) == ("! cut off", "! archive cut off")
    for item in (-4, -3, -2, -1):
        whole = items(path)
        assert items(path, PLAIN, whole[item][1]) == whole[item + 1 :][: -item - 1]
    whole_text = tmp_path / f"a.txt{pack}"
    whole_text.write_bytes(packed[: len(packed) // 2])
    assert found(whole_text) == ["! archive cut off"]


def test_a_file_that_cannot_be_opened_is_a_fault(tmp_path: Path) -> None:
    for name in ("a.txt", "a.jsonl", "a.parquet", "a.jsonl.gz"):
        assert found(tmp_path / name) == ["! unreadable"]
        assert found(tmp_path / name, PARAGRAPHS) == ["! unreadable"]


ROW = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(ROW, min_size=1, max_size=20),
    damage=st.binary(max_size=30),
    where=st.floats(0, 1),
    lost=st.integers(0, 30),
    name=st.sampled_from(["a.jsonl", "a.jsonl.gz", "a.txt.zst", "a.txt"]),
)
def test_damage_loses_no_other_line_and_reading_goes_on_anywhere(
    place: Path, rows: list[str], damage: bytes, where: float, lost: int, name: str
) -> None:
    numbered = [f"{number}: {row}" for number, row in enumerate(rows)]
    written = [json.dumps({"text": row}, ensure_ascii=False).encode() + b"\n" for row in numbered]
    data = b"".join(written)
    begin = int(where * len(data))
    path = place / name
    pack = PACK.get(path.suffix, bytes)
    path.write_bytes(pack(data[:begin] + damage + data[begin + lost :]))
    check_goes_on_anywhere(path, PARAGRAPHS)
    if ".jsonl" in name:
        ends = [sum(map(len, written[: n + 1])) for n in range(len(written))]
        untouched = [
            row
            for row, line, end in zip(numbered, written, ends, strict=True)
            if end <= begin or end - len(line) > begin + lost
        ]
        texts = found(path)
        assert [text for text in texts if text in set(untouched)] == untouched


@pytest.mark.parametrize("kind", [".txt", ".jsonl", ".parquet", ".txt.gz"])
def test_a_name_that_is_no_utf8_is_escaped(tmp_path: Path, kind: str) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9" + kind.encode())
    path.write_text('{"text": "eins"}\n{"text": 2}\n')
    [*read] = [item for item, _ in items(path)]
    assert read
    assert {item.source for item in read} == {f"{tmp_path}/caf\\xe9{kind}"}
    names = [f"{item.id}{item.group}" for item in read if isinstance(item, Document)]
    assert all(name.encode() for name in names)


def test_whole_numbers_of_tables_with_gaps_are_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "id": 7.0, "group": 1.0}\n{"text": "b", "group": 1.5}\n')
    read = [item for item, _ in items(path) if isinstance(item, Document)]
    assert [(item.id, item.group) for item in read] == [("7", "1"), (f"{path}:2", "1.5")]
