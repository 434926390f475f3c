from pathlib import Path

import pytest
import torch

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tongues.experts.ensemble.ensemble import Ensemble, open_ensemble


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three experts in `runs/`."""
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("experts")
    tokenizer = make_tokenizer(place / "tokens")
    for number in range(3):
        make_expert(place / f"runs/e{number}/model", tokenizer, seed=number)
    return place


@pytest.fixture(scope="session")
def tokenizer(workspace: Path) -> Path:
    return workspace / "tokens/tokenizer.json"


@pytest.fixture(scope="session")
def folders(workspace: Path) -> list[Path]:
    return [workspace / f"runs/e{number}/model" for number in range(3)]


@pytest.fixture(scope="session")
def folder(workspace: Path, folders: list[Path], tokenizer: Path) -> Path:
    return make_ensemble(workspace, folders, tokenizer)


@pytest.fixture
def ensemble(folder: Path) -> Ensemble:
    return open_ensemble(folder)


@pytest.fixture(scope="session")
def copies(workspace: Path, folders: list[Path], tokenizer: Path) -> Ensemble:
    """Three times the same expert."""
    return open_ensemble(make_ensemble(workspace, [folders[1]] * 3, tokenizer, name="copies"))
