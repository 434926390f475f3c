import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.experts.ensemble.making import TEXT, make_tokenizer
from tests.records import make_run
from tongues.experts.origin import reread, same_tokenizer, seed_shares
from tongues.runs import Base, write_run
from tongues.tokens import load_tokenizer


def store_run(workspace: Path, name: str, *, base: str | None = None, **about: Any) -> None:
    folder = workspace / "runs" / name
    folder.mkdir(parents=True)
    of_base = Base(base, ("qaa",), "p") if base else None
    write_run(folder, make_run(run=name, base=of_base, **about))


def test_a_run_has_read_what_those_before_it_read(tmp_path: Path) -> None:
    store_run(tmp_path, "first", tokens=3000, shares={"qaa": 0.5, "qaz": 0.5})
    store_run(tmp_path, "seed", tokens=1000, shares={"qaa": 0.2, "qab": 0.8}, base="first")
    shares = seed_shares("seed", ["qaa", "qab", "qac"], tmp_path)
    assert shares == pytest.approx({"qaa": 1700 / 4000, "qab": 800 / 4000, "qac": 0.0})


def test_what_a_model_of_the_hub_read_is_not_known(tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    hub.mkdir()
    (hub / "config.json").write_text("{}")
    store_run(tmp_path, "seed", tokens=1000, shares={"qaa": 1.0}, base=str(hub))
    store_run(tmp_path, "orphan", tokens=1000, shares={"qaa": 1.0}, base="gone")
    for origin in ("seed", "orphan", str(hub)):
        assert seed_shares(origin, ["qaa"], tmp_path) is None


def test_text_is_read_in_another_tokenizers_tokens(tmp_path: Path) -> None:
    one = make_tokenizer(tmp_path / "one")
    other = make_tokenizer(tmp_path / "other", "многие языки, ਕਈ ਭਾਸ਼ਾਵਾਂ. " + TEXT[::-1])
    spaced = tmp_path / "spaced.json"
    spaced.write_text(json.dumps(json.loads(one.read_text()), indent=7))
    assert same_tokenizer(one, spaced)
    assert not same_tokenizer(one, other)
    texts = [" the ban of a mal", "языки ਭਾਸ਼ਾ"]
    ids = [np.array(load_tokenizer(one).encode(text).ids) for text in texts]
    found = reread(ids, one, other)
    assert [load_tokenizer(other).decode(row.tolist()) for row in found] == texts
    assert len(found[1]) < len(ids[1])
