"""What `prepare` promises on real text: nothing shared across the split, the same bytes however.

Run as `python benchmarks/held_apart.py`; `held_apart.txt` holds what it printed. It prepares part
of the shared text next to the project and measures, without the code under test: pairs of a
held-out and a training document of which one contains more than half of the other's runs of 13
words; the shards after kill -9 at four moments, with two ranks, and with files added afterwards,
next to those of one go; when the first line comes, and memory; and what `clean.paragraphs: 3` takes
out of clean text, in bytes and in time.
"""

import gzip
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from tongues.files import read_json
from tongues.tokens import open_tokens
from tongues.tokens.store import Split
from tongues.tokens.tokenizer import load_tokenizer

TEXT = Path(__file__).parents[1] / "../shared/data/text"
LANGUAGES = ("en", "sw", "tr", "ru")
CLEAN = ("en", "fr", "ru", "zh", "ja", "ko", "tr", "pl", "es", "vi")
MOST = 4_000_000  # bytes of a language
RUN = 13
KILLED = (0.15, 0.35, 0.6, 0.9)  # of the time that one go takes
RECIPE: dict[str, Any] = {"tokens": {"vocab_size": 4000, "sample": "1 MB", "held_out": "2%"}}
WORD = re.compile(r"[\u4e00-\u9fff\u3040-\u30ff]|[^\W_]+")


def write_text(folder: Path, languages: Iterable[str], most: int) -> dict[str, list[str]]:
    """Files by language, from all sources, a file each; up to `most` bytes of each."""
    files = dict[str, list[str]]()
    folder.mkdir(exist_ok=True)
    for lang in languages:
        sources = sorted(TEXT.glob(f"*/{lang}.jsonl.gz"))
        for source in sources:
            size, path = 0, folder / f"{source.parent.name}.{lang}.jsonl"
            with path.open("wb") as file, gzip.open(source) as lines:
                for line in lines:
                    if (size := size + len(line)) > most / len(sources):
                        break
                    file.write(line)
            files.setdefault(lang, []).append(str(path))
    return files


def recipe(folder: Path, name: str, files: dict[str, list[str]], **clean: Any) -> Path:
    """The file of a recipe."""
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({"name": "a", "text": {"files": files, "clean": clean}, **RECIPE}))
    return path


def command(path: Path, space: Path, ranks: int = 1) -> list[str]:
    """What prepares a recipe."""
    every = [sys.executable, "-m", "tongues", "prepare", path, "--workspace", space, "--overwrite"]
    return [*map(str, every), "--ranks", str(ranks)]


def prepared(path: Path, space: Path, ranks: int = 1) -> tuple[float, float, float]:
    """Seconds of the processor; by the clock and of the processor until the first line."""
    start, before, first = time.perf_counter(), used(), (0.0, 0.0)
    piped: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command(path, space, ranks), **piped) as process:
        said = list[str]()
        for line in process.stdout or ():
            if not said:
                own = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
                ticks = int(own[11]) + int(own[12])
                first = time.perf_counter() - start, ticks / os.sysconf("SC_CLK_TCK")
            said.append(line)
    assert process.returncode == 0, "".join(said)
    return used() - before, *first


def used() -> float:
    """Seconds of the processor of all children so far."""
    rusage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return rusage.ru_utime + rusage.ru_stime


def digest(space: Path) -> str:
    """A hash of all shards and of the tokenizer."""
    names = ("*.bin", "*.idx", "tokenizer.json")
    files = sorted(file for name in names for file in (space / "tokens").rglob(name))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def texts(space: Path, lang: str, split: Split) -> list[str]:
    """The documents of a split, from its shard."""
    tokens = open_tokens(space / "tokens" / "a")
    tokenizer, shard = load_tokenizer(tokens.tokenizer_path), tokens.shard(lang, split)
    places = pairwise(shard.bounds.tolist())
    return [tokenizer.decode(shard.tokens[begin : end - 1].tolist()) for begin, end in places]


def runs(text: str) -> set[str]:
    """The runs of 13 words of a text."""
    words = WORD.findall(text.lower())
    return {" ".join(words[k : k + RUN]) for k in range(len(words) - RUN + 1)}


def shared(held: list[str], train: list[str], contained: float) -> int:
    """Pairs of which one contains so much of the other's runs, or more."""
    of_held = [runs(text) for text in held]
    owners = defaultdict[str, list[int]](list)
    for number, own in enumerate(of_held):
        for run in own:
            owners[run].append(number)
    pairs = 0
    for text in train:
        own = runs(text)
        common = Counter(number for run in own for number in owners.get(run, ()))
        pairs += sum(
            count > contained * min(len(own), len(of_held[number]))
            for number, count in common.items()
        )
    return pairs


def killed(path: Path, space: Path, seconds: float) -> int:
    """Kill a preparation at moments of the time it takes, each a start; how often it was alive."""
    alive = 0
    for share in KILLED:
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command(path, space), **quiet) as process:
            time.sleep(share * seconds)
            alive += process.poll() is None
            process.send_signal(signal.SIGKILL)
    return alive


def tell_promises(work: Path) -> None:
    """Print what is shared across the split, and whether all ways give the same bytes."""
    files = write_text(work / "text", LANGUAGES, MOST)
    size = sum(os.path.getsize(path) for paths in files.values() for path in paths)
    print(f"{size / 1e6:.1f} MB in {len(LANGUAGES)} languages")
    path, start = recipe(work, "whole", files), time.perf_counter()
    took, first, spent = prepared(path, work / "one")
    seconds = time.perf_counter() - start
    whole = digest(work / "one")
    print(f"in one go: {whole}, {took:.1f} s of processor time, {seconds:.0f} s by the clock")
    print(f"first line after {spent:.1f} s of processor time, {first:.1f} s by the clock")
    for lang in LANGUAGES:
        held, train = texts(work / "one", lang, "valid"), texts(work / "one", lang, "train")
        pairs = [shared(held, train, least) for least in (0.5, 0.3)]
        print(
            f"{lang}: {len(held)} held out, {len(train)} to train on, "
            f"{pairs[0]} pairs above 0.5 of the runs of 13 words, {pairs[1]} above 0.3",
            flush=True,
        )
    prepared(path, work / "two", ranks=2)
    print(f"two ranks: {'same' if digest(work / 'two') == whole else 'OTHER'} bytes", flush=True)
    alive = killed(path, work / "killed", seconds)
    prepared(path, work / "killed")
    same = "same" if digest(work / "killed") == whole else "OTHER"
    print(f"killed {alive} times and gone on: {same} bytes", flush=True)
    fewer = {lang: paths[:-1] or paths for lang, paths in files.items()}
    prepared(recipe(work, "fewer", fewer), work / "added")
    before = {lang: set(texts(work / "added", lang, "valid")) for lang in LANGUAGES}
    prepared(path, work / "added")
    same = "same" if digest(work / "added") == whole else "OTHER"
    moved = sum(len(own & set(texts(work / "added", x, "train"))) for x, own in before.items())
    count = sum(map(len, before.values()))
    print(
        f"with files added: {same} bytes; {moved} of {count} held-out documents moved to training"
    )
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    print(f"at most {most:.0f} MB in a process", flush=True)


def tell_paragraphs(work: Path) -> None:
    """Print what `clean.paragraphs: 3` takes out of clean text, and its time."""
    files = write_text(work / "clean", CLEAN, MOST)
    path = recipe(work, "kept", files)
    took, *_ = prepared(path, work / "kept")
    cut, *_ = prepared(recipe(work, "cut", files, paragraphs=3), work / "cut")
    print(f"clean.paragraphs: 3: {cut:.1f} s of processor time, {took:.1f} s without")
    languages = read_json(work / "cut" / "corpus" / "a" / "corpus.json")["languages"]
    for lang, about in languages.items():
        removed = sum(row["bytes"] for row in about["removed"].values())
        kept = about["kept"]["bytes"]
        print(f"{lang}: {removed / 1e3:.1f} kB of {kept / 1e6:.2f} MB, {removed / kept:.3%}")


def main() -> None:
    """Print all of it."""
    print(f"{date.today()}  {os.cpu_count()} cores, shared with other work")
    with tempfile.TemporaryDirectory() as place:
        tell_promises(Path(place))
        tell_paragraphs(Path(place))


if __name__ == "__main__":
    main()
