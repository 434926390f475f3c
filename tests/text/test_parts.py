"""A part on disk: every signal of every document, whatever they stood beside."""

from pathlib import Path

import pyarrow
import pytest

from tests.text.corpora import text
from tongues.errors import UserError
from tongues.text import Document, corpus, hash64
from tongues.text.corpus import part_path, read_columns, table_of, write_part
from tongues.text.signals import BANDS, NEAR, SIGNALS, SIGNATURE, load_benchmarks, load_identifier

TEXTS = [
    "The rain fell all night on the roofs of the town and nobody came to the door.",
    "Der Regen fiel die ganze Nacht auf die Dächer der Stadt, und niemand kam zur Tür.",
    "Дождь шёл всю ночь на крыши города, и никто не подошёл к двери.",
    "夜通し町の屋根に雨が降り、戸口には誰も来なかった。",
    "1 2 3",
    "…",
    "a\n\na\na",
]
DOCUMENTS = [Document(str(i), "de", each, f"group {i // 2}", "x") for i, each in enumerate(TEXTS)]


def measured(documents: list[Document]) -> pyarrow.Table:
    return table_of(documents, load_identifier(None), load_benchmarks([]), SIGNALS.built_in)


def test_signals_are_what_the_text_says() -> None:
    table = measured(DOCUMENTS)
    assert table["text"].to_pylist() == TEXTS
    assert table["id"].to_pylist() == [d.id for d in DOCUMENTS]
    assert table["bytes"].to_numpy().tolist() == [len(each.encode()) for each in TEXTS]
    assert table["characters"].to_numpy().tolist() == [len(each) for each in TEXTS]
    assert table["exact"].to_numpy().tolist() == [hash64(each) for each in TEXTS]
    assert table["group_hash"].to_numpy().tolist() == [hash64(d.group) for d in DOCUMENTS]
    assert table["label"].to_pylist()[:4] == ["en", "de", "ru", "ja"]
    assert table["script"].to_pylist()[:3] == ["Latn", "Latn", "Cyrl"]
    assert table["language_share"].to_numpy()[:3].tolist() == [0.0, 1.0, 0.0]
    assert table["benchmark"].to_numpy().tolist() == [0] * len(TEXTS)
    for signal in SIGNALS.built_in:
        if signal is not NEAR:
            assert str(table[signal.name].to_numpy().dtype) == signal.dtype
    for name in ("letters", "digits", "symbols", "script_share", "repetition", "repeated_lines"):
        assert ((table[name].to_numpy() >= 0) & (table[name].to_numpy() <= 1)).all()
    assert table["repeated_lines"].to_numpy()[6] > 0.5
    assert [name for name in table.column_names if name.startswith("band_")] == [
        f"band_{number:02}" for number in range(BANDS)
    ]
    assert table["signature"].type.byte_width == 2 * SIGNATURE


def test_a_language_that_cannot_be_told_has_no_share_of_it() -> None:
    table = measured([Document("0", "qaa", text(1), "0", "x")])
    assert str(table["language_share"].to_numpy()[0]) == "nan"


def test_signals_do_not_depend_on_what_is_measured_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = measured(DOCUMENTS)
    monkeypatch.setattr(corpus, "_BATCH", 60)
    apart = measured(DOCUMENTS)
    for name in together.column_names:
        if name != "language_score":  # a product of matrices: the last digit goes with their size
            assert apart[name].equals(together[name]), name


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    table, path = measured(DOCUMENTS), part_path(tmp_path, 12)
    write_part(path, table)
    assert path.name == "00012.parquet"
    assert read_columns(path, table.column_names).to_pylist() == table.to_pylist()
    before = path.read_bytes()
    write_part(path, table)
    assert path.read_bytes() == before


@pytest.mark.parametrize("how", ["gone", "cut", "flipped"])
def test_a_damaged_part_is_named_with_the_cure(tmp_path: Path, how: str) -> None:
    path = part_path(tmp_path / "source", 0)
    write_part(path, measured(DOCUMENTS))
    content = bytearray(path.read_bytes())
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[:-100])
    else:
        content[20:60] = bytes(40)
        path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_columns(path, ["id", "text"])
    assert error.value.where == str(path)
    assert f"remove `{path.parent}`" in error.value.hint
