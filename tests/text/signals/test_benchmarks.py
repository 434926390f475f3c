import gzip
import json
import unicodedata
from pathlib import Path

import pytest
import zstandard

from tongues.core.errors import UserError
from tongues.text.signals.benchmarks import load_benchmarks
from tongues.text.signals.units import units

PACK = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}
ITEM = {
    "premise": "The item was packaged in bubble wrap.",
    "choices": ["It was fragile.", "It was small and nobody in the house wanted to have it."],
    "idx": 0,
}


def lines(path: Path, *items: object) -> Path:
    text = "".join(json.dumps(item) + "\n" for item in items)
    path.write_bytes(PACK.get(path.suffix, bytes)(text.encode()))
    return path


def hits(path: Path, *texts: str) -> list[int]:
    return load_benchmarks([path]).hits(units(texts)).tolist()


@pytest.mark.parametrize("name", ["some.jsonl", "some.jsonl.gz", "some.jsonl.zst"])
def test_text_of_an_item_is_found_in_any_dress(tmp_path: Path, name: str) -> None:
    path = lines(tmp_path / name, ITEM)
    found = hits(
        path,
        "They say: THE ITEM — was packaged «in bubble wrap»; so what?",
        "He said it was small and nobody in the house wanted to have it.",
        "It was fragile. The item was packaged in paper.",
        "",
    )
    assert found == [1, 5, 0, 0]


def test_short_strings_of_an_item_are_found_together(tmp_path: Path) -> None:
    few = {"premise": "It rained.", "choice1": "I read a book.", "choice2": "I ran."}
    path = lines(tmp_path / "some.jsonl", few, ITEM)
    texts = ["So it rained: I read a book.", "It rained. I ran.", "It rained. I ran. I read it."]
    assert hits(path, *texts, "It rained. I read a book. I ran.") == [1, 0, 0, 3]
    found = load_benchmarks([path])
    assert (found.items, found.too_short) == (2, 1)


def test_eight_characters_in_a_row_are_found_in_text_without_spaces(tmp_path: Path) -> None:
    path = lines(tmp_path / "zh.jsonl", {"premise": "那个男人打开了水龙头洗手。"})
    assert hits(path, "昨天，那个男人打开了水龙头洗手，然后", "那个男人打开了门") == [5, 0]


def test_lines_of_plain_text_are_items(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text("\ufeffone two three four five\n\nsix seven\n", encoding="utf-8")
    found = load_benchmarks([path])
    assert found.hits(units(["zero one two three four five six", "six seven"])).tolist() == [1, 0]


def test_without_benchmarks_nothing_is_hit() -> None:
    found = load_benchmarks([])
    assert found.hits(units(["one two three four five six seven eight nine"])).tolist() == [0]


def test_what_cannot_be_read_whole_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    with pytest.raises(UserError, match=r"some\.jsonl: cannot be read"):
        load_benchmarks([path])
    path.write_text('{"text": "one"}\n{"text": \n', encoding="utf-8")
    with pytest.raises(UserError, match=r"some\.jsonl:2: is not JSON"):
        load_benchmarks([path])
    cut_off = tmp_path / "cut.txt.gz"
    cut_off.write_bytes(gzip.compress(b"one two three" * 1000)[:-20])
    with pytest.raises(UserError, match="cannot be read"):
        load_benchmarks([cut_off])


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"(?s)is not a file of benchmarks.*\.jsonl or \.txt"):
        load_benchmarks([path])


def test_accents_are_found_however_they_are_stored(tmp_path: Path) -> None:
    written = "Él comió más tortilla después de más café según él"
    path = lines(tmp_path / "es.jsonl", {"premise": unicodedata.normalize("NFD", written)})
    assert hits(path, written) == [3]
