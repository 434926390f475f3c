"""The real trainers, each in an environment of its own: their packages exclude one another's."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINNED = Path(__file__).parent / "requirements"
# PyPI's is compiled for CUDA alone, and LLaMA-Factory imports it; it imports without that part.
COMPILED = {"llamafactory": "lib/python3.*/site-packages/torchaudio/lib"}


def environment(engine: str) -> Path:
    """The folder of programs of an engine's environment, made once: minutes and 2 GB each."""
    place = ROOT / ".engines" / engine
    done = place / "done"
    wanted = (PINNED / f"{engine}.txt").read_text()
    if not done.is_file() or done.read_text() != wanted:
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        install = [str(place / "bin/pip"), "install", "--quiet", "--no-deps", "--requirement"]
        subprocess.run([*install, str(PINNED / f"{engine}.txt")], check=True)
        for compiled in place.glob(COMPILED.get(engine, "none")):
            shutil.rmtree(compiled)
        done.write_text(wanted)
    return place / "bin"
