"""What this machine offers, and what is missing in it."""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_path
from tempfile import TemporaryFile

from tongues import __version__
from tongues.core.cores import core_count, threads_for
from tongues.core.extras import EXTRAS
from tongues.core.hardware import host_memory, visible_gpus
from tongues.core.quantities import show_bytes
from tongues.verbs.actions.results import Diagnosis, Finding
from tongues.verbs.guide import Doctor

_MEMORY = 4e9  # bytes: torch with a base of 135M parameters, its gradients and Adam's moments
_DISK = 10e9  # bytes: text, tokens and two checkpoints of the same base


def diagnose(asked: Doctor) -> Diagnosis:
    """What this machine offers, and what is missing in it."""
    found = [Finding("tongues", "ok", __version__), *_torch(), _compiler(), _cores(), _memory()]
    return Diagnosis((*found, _disk(Path(asked.workspace)), *_extras()))


def _torch() -> Iterator[Finding]:
    """PyTorch, and the GPUs that it computes on."""
    try:
        import torch
    except ModuleNotFoundError:
        yield Finding("torch", "note", "missing", "to train: pip install 'tongues[standard]'")
        return
    except (ImportError, OSError) as error:
        yield Finding("torch", "problem", "cannot be imported", str(error).splitlines()[0])
        return
    yield Finding("torch", "ok", torch.__version__)
    if not torch.cuda.is_available():
        if shutil.which("nvidia-smi") is None:
            yield Finding("GPU", "ok", "none: the processor computes")
        else:
            built = f"none; torch is built {'with' if torch.version.cuda else 'without'} CUDA"
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
        value = f"{name}, {show_bytes(free)} of {show_bytes(total)} free"
        yield Finding(f"GPU {number}", "ok", value)


def _compiler() -> Finding:
    """What PyTorch compiles layers by: C++ on a processor; on GPUs Triton, which writes C."""
    on_gpu = bool(visible_gpus())
    names = ("CC", "gcc", "clang") if on_gpu else ("CXX", "g++")
    compiler = os.environ.get(names[0]) or next(filter(shutil.which, names[1:]), "")
    slower = "layers are not compiled, and training is slower: install"
    missing = (
        (
            not compiler or shutil.which(compiler) is None,
            f"no {'C' if on_gpu else 'C++'} compiler ({compiler or names[1]})",
            "gcc and g++",
        ),
        (on_gpu and find_spec("triton") is None, "Triton is missing", "triton, by pip"),
        (
            not Path(get_path("include"), "Python.h").is_file(),
            f"{compiler}, but no Python.h",
            "python3-dev",
        ),
    )
    for lacks, value, package in missing:
        if lacks:
            return Finding("compiler", "note", value, f"{slower} {package}")
    return Finding("compiler", "ok", f"{compiler} with Triton" if on_gpu else compiler)


def _cores() -> Finding:
    cores, online, named = core_count(), os.cpu_count() or 1, os.environ.get("OMP_NUM_THREADS", "")
    value = f"{cores} of {online} cores, threads: {threads_for()}"
    if named.isdigit() and int(named) > cores:
        advice = f"OMP_NUM_THREADS={named} is more than the cores: unset it"
        return Finding("processor", "note", value, advice)
    return Finding("processor", "ok", value)


def _memory() -> Finding:
    """All of it; on Linux also what is free or would be freed, as the kernel estimates."""
    total, kernel = host_memory(), Path("/proc/meminfo")
    text = kernel.read_text(encoding="ascii") if kernel.is_file() else ""
    found = re.search(r"MemAvailable: +(\d+) kB", text)
    left = min(total, 1024 * int(found[1])) if found else total
    value = f"{show_bytes(left)} of {show_bytes(total)} available" if found else show_bytes(total)
    few = left < _MEMORY
    advice = f"under {show_bytes(_MEMORY)}: too little to train a base of 135M" if few else ""
    return Finding("memory", "note" if few else "ok", value, advice)


def _disk(workspace: Path) -> Finding:
    place = next(path for path in (workspace, *workspace.absolute().parents) if path.is_dir())
    try:
        with TemporaryFile(dir=place) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        advice = f"{error.strerror}: name a folder that can be written and locked, by `-w`"
        return Finding("disk", "problem", str(place), advice)
    free = shutil.disk_usage(place).free
    few = free < _DISK
    advice = f"under {show_bytes(_DISK)}: `tongues check RECIPE` shows the need" if few else ""
    return Finding("disk", "note" if few else "ok", f"{show_bytes(free)} free", advice)


def _extras() -> Iterator[Finding]:
    for extra in EXTRAS.values():
        if extra.is_installed:
            yield Finding(f"extra {extra.name}", "ok", "installed")
        else:
            advice = f"for {extra.purpose}: {extra.install}"
            yield Finding(f"extra {extra.name}", "note", "missing", advice)
