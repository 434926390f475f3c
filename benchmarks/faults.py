"""Commands killed at random moments, and commands in places and states where something is wrong.

usage: python benchmarks/faults.py kills [COUNT] [VERB...] | faults [NAME...]

A killed command (SIGKILL, to the process or to all of its group, up to three times in a row) and
started again must end with the bytes of one left alone: of all files that two undisturbed runs
write alike. With a fault a command ends in the same bytes, or in an error without a traceback;
started again without the fault it ends in the same bytes. What was found is in `faults.txt`.
"""

import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
EXAMPLES = ("study", "family", "experts")
SHORT = {
    "study": "train.budget=20k tokens;study.shapes=[0.05M];study.source_budgets=[20k tokens]",
    "family": "text.synthetic.size=200 kB",
    "experts": "text.synthetic.size=200 kB;train.budget=40k tokens;"
    "experts.partitions=[{by: typology, k: 2}]",
}
# Names of files that are of one life of a process, or differ by time.
PASSING = re.compile(r"\.lock$|checkpoints/|\.part(/|$)|(^|/)work/|^\.cache")
PATIENCE = 300.0  # seconds of one command
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"  # of Debian's `libfaketime`
# The code of a command, all it printed, the files then, and what went wrong when it ran again.
Found = tuple[int | None, str, dict[str, str], str]


def workspace(place: Path) -> Path:
    """A folder with the recipes."""
    from tongues.recipe import load_text_recipe, show_recipe

    place.mkdir(parents=True)
    shutil.copy(ROOT / "tests/inputs/small-recipe.yaml", place / "small.yaml")
    for name in EXAMPLES:
        recipe = load_text_recipe(ROOT / f"docs/examples/{name}.yaml", SHORT[name].split(";"))
        (place / f"{name}.yaml").write_text(show_recipe(recipe), encoding="utf-8")
    return place


def elsewhere(place: Path) -> None:
    """The run of another trainer, with our model in its checkpoint."""
    out = place / "elsewhere/checkpoint-40"
    if (place / "runs/small/model").is_dir() and not out.exists():
        shutil.copytree(place / "runs/small/model", out)
        rows = [{"step": step, "loss": 5 - step / 40} for step in range(1, 41)]
        rows.append({"step": 40, "eval_qaa_loss": 4.2})
        state = {"global_step": 40, "max_steps": 40, "log_history": rows}
        (out / "trainer_state.json").write_text(json.dumps(state))
        (place / "held").mkdir()
        (place / "held/qaa.txt").write_text("a b c d e f\n" * 50)


def start(command: str, place: Path, log: Path, setting: dict[str, Any] | None = None) -> int:
    """Begin `tongues COMMAND` in a process forked from this one, which holds torch."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.setsid()
        os.chdir(place)
        for number, path in enumerate((os.devnull, log, log)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), number)
        apply(setting or {})
        sys.argv = ["tongues", *shlex.split(command)]
        from tongues.verbs.main import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):  # a full device, and none
                stream.flush()
        os._exit(code)


def ended(process: int, seconds: float) -> int | None:
    """How a process ended within this time; None if it did not."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        number, status = os.waitpid(process, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def finish(command: str, place: Path, log: Path) -> str:
    """Run to the end; what went wrong, if something did."""
    code = ended(start(command, place, log), PATIENCE)
    text = log.read_text(errors="replace")
    if "Traceback" in text:
        return f"a traceback: {text.strip().splitlines()[-1][:100]}"
    return "" if code == 0 else f"ended with {code}: {text.strip()[-200:]}"


def digests(place: Path) -> dict[str, str]:
    """SHA-256 of every file that is meant to stay, by its path."""
    files = {os.fsdecode(os.fsencode(path.relative_to(place))): path for path in place.rglob("*")}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in sorted(files.items())
        if path.is_file() and not PASSING.search(name)
    }


def differing(alone: Sequence[dict[str, str]], other: dict[str, str]) -> list[str]:
    """Files that are missing, too many, or other bytes where two undisturbed runs have the same."""
    first, second = alone
    same = {name for name in first if first[name] == second.get(name)}
    more = [name for name in {*first, *other} if (name in first) != (name in other)]
    return sorted(more) + sorted(x for x in same if x in other and other[x] != first[x])


class Case:
    """A verb that is killed: where it starts, and what two undisturbed runs left."""

    def __init__(self, name: str, place: Path) -> None:
        before, self.command = TABLE["kills"][name]
        self.name, self.place, self.log = name, place, place / "log"
        place.mkdir()
        made = place.parent / f"made-{before.replace('/', '-')}"
        if not made.exists():
            workspace(made)
            for command in filter(None, (each.strip() for each in before.split(";"))):
                fault = finish(command, made, self.log)
                assert not fault, fault
            elsewhere(made)
        (place / "start").symlink_to(made)
        self.alone, self.seconds = [], 0.0
        for _ in range(2):
            begun = time.monotonic()
            with self.fresh() as fresh:
                fault = finish(self.command, fresh, self.log)
                assert not fault, fault
                self.seconds = time.monotonic() - begun
                self.alone.append(digests(fresh))
        self.hits, self.trials, self.wrong, self.late = 0, 0, list[str](), 0

    @contextmanager
    def fresh(self) -> Iterator[Path]:
        """The start, copied to where every run of this case is."""
        shutil.copytree(self.place / "start", self.place / "run")
        self.log.unlink(missing_ok=True)
        yield self.place / "run"
        shutil.rmtree(self.place / "run")

    def trial(self, chance: random.Random) -> None:
        """Kill it, up to three times, and let it end."""
        self.trials += 1
        with self.fresh() as fresh:
            for _ in range(chance.randint(1, 3)):
                process = start(self.command, fresh, self.log)
                if ended(process, chance.random() * self.seconds) is not None:
                    self.late += 1
                    continue
                kill = chance.choice((os.kill, os.killpg))
                kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                self.hits += 1
            fault = finish(self.command, fresh, self.log)
            other = differing(self.alone, digests(fresh))
            self.wrong += [f"{self.name}: {fault}"] if fault else []
            self.wrong += [f"{self.name}: other bytes: {', '.join(other[:4])}"] if other else []

    def line(self) -> str:
        """What came of it."""
        same = sum(self.alone[0][name] == self.alone[1].get(name) for name in self.alone[0])
        return (
            f"{self.name:22} {self.hits:5} kills {self.trials:4} trials "
            f"{self.trials - len(self.wrong):4} with the same bytes "
            f"({same} of {len(self.alone[0])} files are the same in two runs)"
        )


def load() -> None:
    """Import what takes seconds, once, before processes are forked."""
    import tongues.evaluate.runner
    import tongues.experts.ensemble.model
    import tongues.report.study
    import tongues.train.run
    import tongues.use.export.run  # noqa: F401

    os.fsync = lambda fd: None  # it is for power cuts, which nobody makes here


def kills(count: int, names: Sequence[str] = ()) -> Iterator[str]:
    """Verbs in turn, until so many kills have hit."""
    load()
    chance = random.Random(5)
    with TemporaryDirectory() as folder:
        cases = [Case(name, Path(folder) / name) for name in names or TABLE["kills"]]
        while sum(case.hits for case in cases) < count:
            case = min(cases, key=lambda case: case.hits)
            case.trial(chance)
            print(case.line(), flush=True)
        yield f"{sum(case.hits for case in cases)} kills in {sum(x.trials for x in cases)} trials"
        for case in cases:
            yield f"  {case.line()}"
            yield from (f"  WRONG {line}" for line in case.wrong)


def apply(setting: dict[str, Any]) -> None:
    """Make this process, a command about to begin, one with a fault."""
    for name in ("NOFILE", "AS", "FSIZE"):
        if name in setting:
            kind = getattr(resource, f"RLIMIT_{name}")
            resource.setrlimit(kind, (setting[name], resource.getrlimit(kind)[1]))
    if "umask" in setting:
        os.umask(setting["umask"])
    if "output" in setting:
        os.dup2(os.open(setting["output"], os.O_WRONLY), 1)
    for number in setting.get("closed", ()):
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)  # as Python has them then


def outside(verb: str, setting: dict[str, Any], place: Path, log: Path) -> int | None:
    """Run a verb by a new interpreter, for what one reads as it starts."""
    changes = dict(setting.get("set", {}))
    if clock := setting.get("clock"):
        changes = {"LD_PRELOAD": FAKETIME, "FAKETIME": clock}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **changes}
    environment.pop(setting.get("unset", ""), None)
    command = [sys.executable, "-m", "tongues", *shlex.split(TABLE["verbs"][verb])]
    with log.open("ab") as out:
        return subprocess.run(
            command, cwd=place, env=environment, stdout=out, stderr=out
        ).returncode


@contextmanager
def mounted(place: Path, size: str) -> Iterator[None]:
    """A small disk at a place."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def faults(names: Sequence[str] = ()) -> Iterator[str]:
    """Every fault, for each of its verbs."""
    load()
    with TemporaryDirectory() as folder:
        ready, found = workspace(Path(folder) / "ready"), Counter[str]()
        for command in ("prepare small.yaml", "train small.yaml"):
            assert not finish(command, ready, Path(folder) / "log")
        alone: dict[str, list[dict[str, str]]] = {}
        for name in names or TABLE["faults"]:
            verbs, setting, codes = TABLE["faults"][name]
            ends = []
            for verb in verbs.split():
                if verb not in alone:
                    alone[verb] = [attempt(Path(folder), ready, verb, {})[2] for _ in range(2)]
                ends.append(
                    judged(attempt(Path(folder), ready, verb, setting), alone[verb], codes, setting)
                )
                found[ends[-1].split(":")[0]] += 1
                print(f"{name}, {verb}: {ends[-1]}", flush=True)
            yield f"  {name:36} " + "; ".join(
                f"{verb} {end}" for verb, end in zip(verbs.split(), ends, strict=True)
            )
        yield f"{sum(found.values())} commands with a fault: " + ", ".join(
            f"{count} {what}" for what, count in found.most_common()
        )


def attempt(folder: Path, ready: Path, verb: str, setting: dict[str, Any]) -> Found:
    """Run a verb with a fault, and again without where it failed."""
    place, log = (
        folder / setting.get("place", "place").replace("NOTUTF8", "b\udcffd"),
        folder / "log",
    )
    log.unlink(missing_ok=True)
    command = TABLE["verbs"][verb]
    with mounted(place, "60M") if "disk" in setting else nullcontext():
        shutil.copytree(ready, place, dirs_exist_ok=True)
        disk = setting.get("disk")
        if disk == "ro":
            subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        elif disk:
            left = 0 if disk == "full" else int(disk) * 1024
            (place / ".fill").write_bytes(bytes(shutil.disk_usage(place).free - left))
        if {"set", "unset", "clock"} & setting.keys():
            code = outside(verb, setting, place, log)
        else:
            other = start(command, place, log) if "twice" in setting else None
            code = ended(start(command, place, log, setting), PATIENCE)
            if other is not None:
                code = code or ended(other, PATIENCE)
        said = log.read_text(errors="replace")
        if disk == "ro":
            subprocess.run(["mount", "-o", "remount,rw", place], check=True)
        (place / ".fill").unlink(missing_ok=True)
        again = finish(command, place, log) if code else ""
        files = digests(place)
    shutil.rmtree(place)
    return code, said, files, again


def judged(
    found: Found, alone: list[dict[str, str]], codes: list[int], setting: dict[str, Any]
) -> str:
    """What to say of a command with a fault."""
    code, said, files, again = found
    if "Traceback" in said or "Traceback" in again:
        return f"TRACEBACK: {said.strip().splitlines()[-1][:150]}"
    if code not in codes:
        return f"CODE {code}: {said.strip()[-200:]}"
    if again and "place" not in setting:
        return f"NOT AGAIN: {again.strip()[-200:]}"
    timely = {"clock", "place"} & setting.keys() or (setting.get("disk") == "ro" and not code)
    if not timely and (other := differing(alone, files)):
        if "AS" in setting and all(name.startswith("reports/") for name in other):
            return "a page without its pictures"
        return f"OTHER BYTES: {', '.join(other[:3])}"
    return "same bytes" if code == 0 else "an error in words" + ", then same bytes" * (not again)


def main() -> None:
    """Kill commands, or start them with faults; the outcome replaces its part of `faults.txt`."""
    part, rest = sys.argv[1], sys.argv[2:]
    lines = [*(kills(int((rest or ["150"])[0]), rest[1:]) if part == "kills" else faults(rest))]
    if rest[1 if part == "kills" else 0 :]:
        print("\n".join(lines))  # a part of it is not kept
    else:
        keep(part, lines)


def keep(part: str, lines: Sequence[str]) -> None:
    """Put the lines of a part into `faults.txt`, in the place of its lines there."""
    file = Path(__file__).with_suffix(".txt")
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    parts = dict(re.findall(r"^== (\w+).*?\n(.*?)(?=^== |\Z)", text, re.MULTILINE | re.DOTALL))
    parts[part] = "\n".join([f"{date.today()}", *lines]) + "\n"
    file.write_text(
        "".join(f"== {name}\n{parts[name]}" for name in sorted(parts)), encoding="utf-8"
    )
    print("\n".join(lines))


if __name__ == "__main__":
    main()
