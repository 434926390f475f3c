"""Grammar: the syntax features of lang2vec, where it is installed.

lang2vec's data is under CC BY-SA 4.0 and is not part of this package; only its arrays are read.
"""

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

SYNTAX = "S_"  # begins the names of the features that the published clusters of X-ELM come from


@cache
def lang2vec_folder() -> Path | None:
    """The folder of lang2vec's data; the package cannot be imported with a new setuptools."""
    try:
        folder = Path(str(distribution("lang2vec").locate_file("lang2vec/data")))
    except PackageNotFoundError:
        return None
    return folder if folder.is_dir() else None


@cache
def syntax_features(folder: Path) -> tuple[dict[str, int], np.ndarray]:
    """Rows by ISO code, and the features in lang2vec's data: 0 to 1, NaN where unknown."""
    with np.load(folder / "feature_averages.npz") as data:
        values = data["data"][:, np.char.startswith(data["feats"], SYNTAX), 0]
        rows = {code: row for row, code in enumerate(data["langs"].tolist())}
    return rows, np.where(values < 0, np.nan, values)
