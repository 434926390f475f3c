from pathlib import Path

import pytest

from benchmarks.real_base import TEXT


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where text is prepared and runs are trained once, for all that is measured on them."""
    if not TEXT.is_dir():
        pytest.skip("the shared texts are not here")
    return tmp_path_factory.mktemp("real_base")
