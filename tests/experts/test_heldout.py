"""Held-out text of an ensemble that grew: what nobody was trained on, and what is said of it."""

import json
from itertools import pairwise
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from tests.experts.ensemble.making import TEXT, VOCABULARY, make_tokenizer
from tests.records import make_run
from tongues.core.files import file_hash, read_json, write_json
from tongues.experts.ensemble.lineage import Expert, Lineage
from tongues.experts.heldout import (
    base_shares,
    held_out_cautions,
    same_tokenizer,
    scored_documents,
    tuning_documents,
    unseen_documents,
)
from tongues.runs.record import Base, write_run
from tongues.text.tokens import Tokens, load_tokenizer, open_tokens
from tongues.text.tokens.shards import Shard, shard_dtype, write_shard
from tongues.text.tokens.tokenizer import END

MOVED = 5  # documents


@pytest.fixture
def added(workspace: Path) -> tuple[Tokens, Lineage]:
    """Tokens that hold more out than those which the experts of an ensemble were trained on."""
    before, folder = open_tokens(workspace / "tokens/small"), workspace / "tokens/more"
    copytree(before.path.resolve(), folder)
    train, valid = before.shard("qaa", "train"), before.shard("qaa", "valid")
    manifest = read_json(folder / "tokens.json") | {"fingerprint": "another"}
    counts = manifest["languages"]["qaa"]
    cut = int(train.bounds[MOVED])
    parts = {
        "valid": [(train.tokens[:cut], np.diff(train.bounds)[:MOVED]), whole(valid)],
        "train": [(train.tokens[cut:], np.diff(train.bounds)[MOVED:])],
    }
    for split, documents in parts.items():
        write_shard(folder / "qaa" / split, documents, shard_dtype(before.vocabulary_size))
        counts[split]["documents"] = sum(len(lengths) for _, lengths in documents)
        counts[split]["tokens"] = sum(len(tokens) for tokens, _ in documents)
    write_json(folder / "tokens.json", manifest)
    mark, shares = before.fingerprint, {"qaa": 0.5, "qab": 0.5}
    write_run(workspace / "runs/small/one", make_run(tokens_fingerprint=mark, shares=shares))
    expert = Expert("small/one", "", {}, {"qaa": 1.0}, None, "small/one", 0)
    return open_tokens(folder), Lineage((expert,), {}, "seed", "", None, {})


def whole(shard: Shard) -> tuple[np.ndarray, np.ndarray]:
    return shard.tokens, np.diff(shard.bounds)


def test_only_what_was_held_out_then_and_is_now_tells_of_experts(
    added: tuple[Tokens, Lineage], workspace: Path
) -> None:
    tokens, lineage = added
    unseen = unseen_documents(tokens, [lineage], workspace)
    assert not unseen["qaa"][:MOVED].any() and unseen["qaa"][MOVED:].all()
    assert unseen["qab"].all()
    bounds = tokens.shard("qaa", "valid").bounds
    before = open_tokens(workspace / "tokens/small").shard("qaa", "valid").bounds
    for chosen in (scored_documents, tuning_documents):
        numbers = chosen(bounds, 1000, unseen["qaa"])
        np.testing.assert_array_equal(numbers - MOVED, chosen(before, 1000))


def in_other_tokens(tokens: Tokens, folder: Path) -> Tokens:
    """The same text by another tokenizer."""
    copytree(tokens.path, folder)
    own, other = load_tokenizer(tokens.tokenizer_path), load_tokenizer(make_tokenizer(folder))
    mark = {"fingerprint": "respelt", "tokenizer_sha256": file_hash(folder / "tokenizer.json")}
    manifest = read_json(folder / "tokens.json") | mark
    for lang, splits in manifest["languages"].items():
        for split, counts in splits.items():
            shard = tokens.shard(lang, split)
            ids = [shard.tokens[start:end].tolist() for start, end in pairwise(shard.bounds)]
            texts = own.decode_batch(ids)
            spelt = [[*other.encode(text).ids, other.token_to_id(END)] for text in texts]
            flat, lengths = np.concatenate(spelt), np.array(list(map(len, spelt)))
            write_shard(folder / lang / split, [(flat, lengths)], shard_dtype(VOCABULARY))
            counts["tokens"] = len(flat)
    write_json(folder / "tokens.json", manifest)
    return open_tokens(folder)


def test_text_that_was_held_out_in_other_tokens_was_held_out(
    added: tuple[Tokens, Lineage], workspace: Path
) -> None:
    tokens, lineage = added
    respelt = in_other_tokens(tokens, workspace / "tokens/respelt")
    assert len(respelt.valid("qaa")) != len(tokens.valid("qaa"))
    unseen, same = (unseen_documents(of, [lineage], workspace) for of in (tokens, respelt))
    for lang in ("qaa", "qab"):
        np.testing.assert_array_equal(same[lang], unseen[lang])


def test_it_is_said_when_held_out_text_moved(
    added: tuple[Tokens, Lineage], workspace: Path
) -> None:
    tokens, lineage = added
    (caution,) = held_out_cautions(tokens, lineage, workspace)
    assert caution.code == "held_out_moved"
    assert "`qaa` 2.08k of 2.94k." in caution.sentence
    assert held_out_cautions(open_tokens(workspace / "tokens/small"), lineage, workspace) == []
    (workspace / "tokens/small").unlink()
    told = held_out_cautions(tokens, lineage, workspace)
    assert [one.code for one in told] == ["held_out_unknown"]
    assert "`qaa` and `qab` now" in told[0].sentence


def test_where_nothing_is_left_all_is_taken() -> None:
    bounds = np.arange(0, 2100, 100)
    none = np.zeros(20, dtype=bool)
    assert scored_documents(bounds, 500, none).tolist() == list(range(10))
    assert tuning_documents(bounds, 500, none).tolist() == list(range(10, 15))
    assert tuning_documents(bounds, 1).tolist() == [10]


def store_run(workspace: Path, name: str, *, base: str | None = None, **about: Any) -> None:
    folder = workspace / "runs" / name
    folder.mkdir(parents=True)
    of_base = Base(base, ("qaa",), "p") if base else None
    write_run(folder, make_run(run=name, base=of_base, **about))


def test_a_run_has_read_what_those_before_it_read(tmp_path: Path) -> None:
    store_run(tmp_path, "first", tokens=3000, shares={"qaa": 0.5, "qaz": 0.5})
    store_run(tmp_path, "seed", tokens=1000, shares={"qaa": 0.2, "qab": 0.8}, base="first")
    shares = base_shares("seed", ["qaa", "qab", "qac"], tmp_path)
    assert shares == pytest.approx({"qaa": 1700 / 4000, "qab": 800 / 4000, "qac": 0.0})


def test_what_a_model_of_the_hub_read_is_not_known(tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    hub.mkdir()
    (hub / "config.json").write_text("{}")
    store_run(tmp_path, "seed", tokens=1000, shares={"qaa": 1.0}, base=str(hub))
    store_run(tmp_path, "orphan", tokens=1000, shares={"qaa": 1.0}, base="gone")
    for base in ("seed", "orphan", str(hub)):
        assert base_shares(base, ["qaa"], tmp_path) is None


def test_tokenizers_are_the_same_however_their_files_are_written(tmp_path: Path) -> None:
    one = make_tokenizer(tmp_path / "one")
    other = make_tokenizer(tmp_path / "other", "многие языки, ਕਈ ਭਾਸ਼ਾਵਾਂ. " + TEXT[::-1])
    spaced = tmp_path / "spaced.json"
    spaced.write_text(json.dumps(json.loads(one.read_text()), indent=7))
    assert same_tokenizer(one, spaced)
    assert not same_tokenizer(one, other)
