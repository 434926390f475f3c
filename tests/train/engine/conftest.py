from pathlib import Path
from typing import Any

import pytest
import torch

from tests.train.engine.together import course, halve, make_scorer, run_together
from tongues.train.engine.processes import Processes

Found = dict[str, Any]


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The course of one process."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("alone")
    scorer = make_scorer()
    return {"folder": folder, "losses": course(scorer, Processes(), folder), "scorer": scorer}


@pytest.fixture(scope="session")
def two(alone: Found, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Found]]:
    """A folder of checkpoints by two processes, and what each of the two found."""
    folder = tmp_path_factory.mktemp("two")
    halve(alone["folder"], folder / "from-one")
    return folder, run_together(2, folder)
