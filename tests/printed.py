"""The commands that the docs print, run as printed, and held to the answers there.

They are of four workspaces, so that a part can be replayed without the others.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.command import run_command, start_command

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = DOCS / "how-to"
PAGES = ("languages", "check", "prepare", "train", "study", "ls", "fit", "plan", "report")
PAGES += ("experts", "evaluate", "export", "costs")
BLOCK = re.compile(r"```console( varies)?\n(.*?)```", re.DOTALL)
PROGRESS = re.compile(r"^[\w.-]+(: \d+ (runs?|experts?))?: \d+%  ")
NUMBER = re.compile(r"-?\d[\d.]*(e[+-]\d+)?( (s|min|h)\b)?")  # durations with their units


def commands(page: str) -> Iterator[tuple[str, list[str], bool]]:
    """Each command of a page, what it is said to answer, and whether its numbers vary."""
    for varies, block in BLOCK.findall((GUIDES / f"{page}.md").read_text(encoding="utf-8")):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *answer = piece.rstrip("\n").split("\n")
            yield command, answer, bool(varies)


def marks(folder: Path) -> set[Path]:
    """The checkpoints that there are."""
    return set(folder.glob("runs/**/checkpoints/step-*"))


def answered(command: str, folder: Path) -> list[str]:
    """What a command prints on both streams, without the live lines of a slow machine."""
    program, *words = shlex.split(command)
    if program == "tongues":
        printed = run_command(words, folder, joined=True).stdout
    elif program == "timeout":  # a kill, as soon as there is something to resume from
        words = words[words.index("tongues") + 1 :]
        before, started = marks(folder), start_command(words, folder, joined=True)
        while started.process.is_alive() and marks(folder) == before:
            time.sleep(0.01)
        started.process.kill()
        printed = started.wait().stdout
    else:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        printed = subprocess.run(
            [program, *words],
            cwd=folder,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        ).stdout
    return [line.rstrip() for line in printed.splitlines() if not PROGRESS.match(line)]


def without_numbers(lines: list[str]) -> str:
    return " ".join(NUMBER.sub("#", " ".join(lines)).split())


def workspace_of(page: str, command: str) -> str:
    """What a command of a page needs there: experts, the runs of a study, single runs, nothing."""
    if page == "experts" or re.search("(?<!-)family|typology|elsewhere", command):
        return "experts"
    if page in ("study", "ls") or "study" in command:
        return "study"
    return "runs" if page in ("prepare", "train", "report") else "nothing"


def replay(workspace: str, folder: Path) -> None:
    """Run the commands of a workspace in a folder, in the order of the pages."""
    shutil.copytree(DOCS / "examples", folder, dirs_exist_ok=True)
    for page in PAGES:
        for command, expected, varies in commands(page):
            if workspace_of(page, command) != workspace:
                continue
            lines = answered(command, folder)
            if varies:  # numbers, and with them cautions, differ between processors
                for place in (slice(1), slice(-1, None)):
                    assert without_numbers(lines[place]) == without_numbers(expected[place]), (
                        command
                    )
            elif expected[-1:] == ["…"]:
                assert lines[: len(expected) - 1] == expected[:-1], command
            else:
                assert lines == expected, command
