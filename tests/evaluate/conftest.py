from pathlib import Path

import pytest
import torch

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tests.models.families import save_tiny, tiny


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace: three experts, ensembles `small/small` and `small/copies`, a folder `hub`."""
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("house")
    tokenizer = make_tokenizer(place / "tokenizer")
    folders = [make_expert(place / f"models/e{n}", tokenizer, seed=n) for n in range(3)]
    make_ensemble(place, folders, tokenizer)
    make_ensemble(place, [folders[1]] * 3, tokenizer, name="copies")
    save_tiny(tiny("gpt-neox", 300), place / "hub", tokenizer)
    return place
