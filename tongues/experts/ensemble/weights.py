"""The files of weights of a Hugging Face folder."""

from pathlib import Path

from tongues.files import read_json
from tongues.models.folders import stored_shapes

__all__ = ["weight_files"]


def weight_files(folder: Path) -> list[Path]:
    """Its safetensors files, in order; a UserError where one lacks or cannot be read."""
    stored_shapes(folder)
    whole = folder / "model.safetensors"
    if whole.is_file():
        return [whole]
    places = read_json(folder / "model.safetensors.index.json")["weight_map"]
    return [folder / name for name in sorted(set(places.values()))]
