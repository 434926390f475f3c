"""What this machine offers, and what is missing in it."""

import fcntl
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_path
from tempfile import TemporaryFile
from typing import Any, Literal

from tongues import __version__
from tongues.cores import core_count, cpu_quota, threads_for
from tongues.extras import EXTRAS
from tongues.hardware import host_memory, visible_gpus
from tongues.quantities import show_bytes

__all__ = ["Diagnosis", "Finding", "available_memory", "doctor"]

_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "pydantic")
_OLDEST = (3, 11)
_MEMORY = 4e9  # bytes: torch with a base of 135M parameters, its gradients and Adam's moments
_DISK = 10e9  # bytes: text, tokens and two checkpoints of the same base


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. advice: what to do about it, where there is something."""

    name: str
    state: Literal["ok", "note", "problem"]
    value: str
    advice: str = ""

    def row(self) -> dict[str, str]:
        """As a row of a table."""
        mark = "" if self.state == "ok" else self.state
        return {"": self.name, "found": self.value, "state": mark, "advice": self.advice}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings."""

    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Those that keep `tongues` from working."""
        return tuple(of for of in self.findings if of.state == "problem")

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        extras = {extra.name: extra.is_installed for extra in EXTRAS.values()}
        return {"findings": [asdict(of) for of in self.findings], "extras": extras}


def doctor(workspace: Path | str = ".") -> Diagnosis:
    """Look at versions, GPUs, compiler, threads, memory, disk, extras; makes no network requests.

    workspace: the folder whose disk is meant.
    """
    findings = [*_versions(), *_gpus(), _compiler(), _threads(), _memory()]
    return Diagnosis((*findings, *_disk(Path(workspace)), *_extras()))


def _versions() -> Iterator[Finding]:
    yield Finding("tongues", "ok", __version__)
    running, new = platform.python_version(), sys.version_info >= _OLDEST
    advice = "" if new else "use Python 3.11 or newer"
    yield Finding("Python", "ok" if new else "problem", running, advice)
    linux = sys.platform == "linux"
    yield Finding(
        "system",
        "ok" if linux else "note",
        f"{platform.system()} {platform.machine()}",
        "" if linux else "only Linux is tested",
    )
    for name in _PACKAGES:
        try:
            yield Finding(name, "ok", version(name))
        except PackageNotFoundError:
            yield Finding(name, "problem", "missing", f"pip install {name}")


def _gpus() -> Iterator[Finding]:
    try:
        import torch
    except (ImportError, OSError) as error:
        yield Finding("GPU", "problem", "torch cannot be imported", str(error).splitlines()[0])
        return
    if not torch.cuda.is_available():
        built = f"none; torch is built {'with' if torch.version.cuda else 'without'} CUDA"
        if shutil.which("nvidia-smi") is None:
            yield Finding("GPU", "ok", "none: the processor computes")
        else:
            advice = "there is an NVIDIA driver: install the torch that fits it (pytorch.org)"
            yield Finding("GPU", "note", built, advice)
        return
    for number in range(torch.cuda.device_count()):
        name = torch.cuda.get_device_name(number)
        try:
            free, total = torch.cuda.mem_get_info(number)
            torch.ones(8, device=f"cuda:{number}").sum().item()  # the driver may fit, kernels not
        except RuntimeError as error:
            yield Finding(f"GPU {number}", "problem", name, str(error).splitlines()[0])
            continue
        kind = "bfloat16" if torch.cuda.is_bf16_supported() else "no bfloat16"
        value = f"{name}, {show_bytes(free)} of {show_bytes(total)} free, {kind}"
        yield Finding(f"GPU {number}", "ok", value)


def _compiler() -> Finding:
    """What PyTorch compiles layers by: C++ on a processor; on GPUs Triton, which writes C."""
    on_gpu, needed = bool(visible_gpus()), "layers are not compiled, and training is slower"
    names = ("CC", "gcc", "clang") if on_gpu else ("CXX", "g++")
    compiler = os.environ.get(names[0]) or next(filter(shutil.which, names[1:]), "")
    if not compiler or shutil.which(compiler) is None:
        language = "C" if on_gpu else "C++"
        advice = f"{needed}: install gcc and g++, as by `apt-get install gcc g++`"
        return Finding(
            "compiler", "note", f"no {language} compiler ({compiler or names[1]})", advice
        )
    if on_gpu and find_spec("triton") is None:
        return Finding("compiler", "note", "Triton is missing", f"{needed}: pip install triton")
    if not Path(get_path("include"), "Python.h").is_file():
        advice = f"{needed}: install Python's headers, as by `apt-get install python3-dev`"
        return Finding("compiler", "note", f"{compiler}, but no Python.h", advice)
    return Finding("compiler", "ok", f"{compiler} with Triton" if on_gpu else compiler)


def _threads() -> Finding:
    cores, online = core_count(), os.cpu_count() or 1
    threads, quota = threads_for(), cpu_quota()
    value = f"{cores} of {online} cores, {threads} thread{'s' * (threads > 1)}"
    if quota < online:
        value += f", quota {quota:g}"
    load, named = os.getloadavg()[0], os.environ.get("OMP_NUM_THREADS", "")
    advice = ""
    if named.isdigit() and int(named) > cores:
        advice = f"OMP_NUM_THREADS={named} is more than the cores: unset it"
    elif load > online / 2:
        advice = f"other programs compute here (load {load:.1f}): training will be slower"
    return Finding("processor", "note" if advice else "ok", value, advice)


def _memory() -> Finding:
    total, free = host_memory(), available_memory()
    few = free < _MEMORY
    advice = f"under {show_bytes(_MEMORY)}: too little to train a base of 135M" if few else ""
    value = f"{show_bytes(free)} of {show_bytes(total)} available"
    return Finding("memory", "note" if few else "ok", value, advice)


def available_memory(
    info: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")
) -> float:
    """Bytes that may still be used: of the machine, or of a container's limit."""
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    named = dict(line.split(":", 1) for line in lines if ":" in line)
    free = host_memory()
    if "MemAvailable" in named:
        free = float(named["MemAvailable"].split()[0]) * 1024
    try:
        most, used = (
            (group / name).read_text().strip() for name in ("memory.max", "memory.current")
        )
        return min(free, float(most) - float(used)) if most != "max" else free
    except (OSError, ValueError):  # no limit is set here
        return free


def _disk(workspace: Path) -> Iterator[Finding]:
    place = next(path for path in (workspace, *workspace.absolute().parents) if path.is_dir())
    try:
        with TemporaryFile(dir=place) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        advice = f"{error.strerror}: name a folder that can be written and locked, by `-w`"
        yield Finding("disk", "problem", str(place), advice)
        return
    free = shutil.disk_usage(place).free
    few = free < _DISK
    advice = f"under {show_bytes(_DISK)}: `tongues check RECIPE` shows the need" if few else ""
    yield Finding("disk", "note" if few else "ok", f"{show_bytes(free)} free", advice)


def _extras() -> Iterator[Finding]:
    for extra in EXTRAS.values():
        if extra.is_installed:
            yield Finding(f"extra {extra.name}", "ok", "installed")
        else:
            advice = f"for {extra.purpose}: {extra.install}"
            yield Finding(f"extra {extra.name}", "note", "missing", advice)
