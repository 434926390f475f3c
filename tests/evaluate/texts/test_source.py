import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tongues.errors import UserError
from tongues.evaluate.texts import read_texts
from tongues.tokens import load_tokenizer, open_tokens


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "texts"
    place.mkdir()
    write(
        place / "de.jsonl",
        [{"text": f"Satz {n}", "id": f"d{n}", "group": f"{n}"} for n in range(3)],
    )
    rows = "".join(json.dumps({"text": f"phrase {n}", "group": n}) + "\n" for n in range(2))
    with gzip.open(place / "fr.jsonl.gz", "wt") as file:
        file.write(rows + "half a line")
    (place / "qu.txt").write_text("one\nblock\n\nanother\n")
    (place / "README.txt").write_text("what this is")
    return place


def test_a_folder_has_files_named_for_languages(folder: Path, tmp_path: Path) -> None:
    reasons: list[str] = []
    found = read_texts(str(folder), tmp_path, fault=lambda one: reasons.append(one.reason))
    assert {lang: [one.text for one in own] for lang, own in found.items()} == {
        "de": ["Satz 0", "Satz 1", "Satz 2"],
        "fr": ["phrase 0", "phrase 1"],
        "qu": ["one\nblock", "another"],
    }
    assert [one.id for one in found["de"]] == ["d0", "d1", "d2"]
    assert [one.group for one in found["fr"]] == ["0", "1"]
    assert reasons == ["cut off"]


def test_languages_and_an_amount_can_be_asked_for(folder: Path, tmp_path: Path) -> None:
    found = read_texts(str(folder), tmp_path, languages=["fr", "de"], most=1)
    assert {lang: len(own) for lang, own in found.items()} == {"fr": 1, "de": 1}
    assert list(read_texts(str(folder / "de.jsonl"), tmp_path)) == ["de"]
    with pytest.raises(UserError, match=r"no text of `df`"):
        read_texts(str(folder), tmp_path, languages=["df"])


def test_what_is_not_there_is_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no prepared tokens, no file and no folder `gone`"):
        read_texts("gone", tmp_path)
    with pytest.raises(UserError, match="named for a language"):
        read_texts(str(folder / "README.txt"), tmp_path)
    write(folder / "it.jsonl", [{"text": " "}])
    with pytest.raises(UserError, match=r"no document of `it`\n  empty"):
        read_texts(str(folder), tmp_path, languages=["it"])


def test_of_prepared_tokens_the_half_is_read_that_nothing_was_tuned_on(workspace: Path) -> None:
    found = read_texts("small", workspace)
    tokens = open_tokens(workspace / "tokens/small")
    tokenizer = load_tokenizer(tokens.tokenizer_path)
    assert list(found) == ["qaa", "qab"]
    for lang, own in found.items():
        shard = tokens.shard(lang, "valid")
        assert len(own) == (len(shard.bounds) - 1) // 2
        for number, document in enumerate(own):
            ids = tokenizer.encode(document.text, add_special_tokens=False).ids
            stored = shard.tokens[shard.bounds[number] : shard.bounds[number + 1] - 1]
            np.testing.assert_array_equal(ids, stored)
    assert [one.id for one in read_texts("small", workspace, most=2)["qaa"]] == [
        "small/qaa/0",
        "small/qaa/1",
    ]


def test_blocks_of_a_text_file_are_told_apart(folder: Path, tmp_path: Path) -> None:
    found = read_texts(str(folder / "qu.txt"), tmp_path)["qu"]
    assert len({one.group for one in found}) == 2
