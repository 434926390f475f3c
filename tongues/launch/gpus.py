"""The GPUs of this machine: which there are, and which has room for one more run."""

import os
import subprocess
from collections.abc import Mapping
from shutil import which

__all__ = ["choose_gpus", "free_memory"]


def free_memory() -> dict[str, float]:
    """Bytes free on each GPU that this process may use and that tells them.

    torch is not asked, for it is slow.
    """
    if not which("nvidia-smi"):
        return {}
    command = ["nvidia-smi", "--query-gpu=index,uuid,memory.free"]
    command.append("--format=csv,noheader,nounits")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line.split(", ") for line in done.stdout.splitlines()] if not done.returncode else []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    wanted = None if visible is None else visible.split(",")
    return {
        index: float(mebibytes) * 2**20
        for index, uuid, mebibytes in rows
        if mebibytes.isdigit() and (wanted is None or index in wanted or uuid in wanted)
    }


def choose_gpus(free: Mapping[str, float], need: float, count: int) -> list[str] | None:
    """The `count` emptiest GPUs; None where one of them has not `need` bytes left."""
    emptiest = sorted(free, key=lambda gpu: -free[gpu])[:count]
    return emptiest if all(free[gpu] >= need for gpu in emptiest) else None
