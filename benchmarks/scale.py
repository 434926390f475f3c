"""Time and memory of each stage of `tongues prepare` on millions of short documents.

Run as `python benchmarks/scale.py [MILLIONS] [RANKS]` (10 and 2 by default); `scale.txt` holds what
it printed. Half of the documents are one file of one language; the others are five files. A
document is a hundred to three hundred bytes of the shared text next to the project, with every
fifth word drawn anew, so that no two have a run of words in common. Memory is the most of one
process; processor time is that of all.
"""

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

TEXT = Path(__file__).parents[1] / "../shared/data/text"
LANGUAGES = ("en", "vi", "pl", "es", "fr", "sv")
WORDS = 33  # of a document: 200 bytes
EVERY = 5  # words, of which one is drawn anew
VOCABULARY = 60_000  # of a language's words, by which they are drawn
TICK = os.sysconf("SC_CLK_TCK")


def write_documents(lang: str, count: int, path: Path) -> int:
    """Write `count` documents of a language, and return their bytes."""
    words = [
        word
        for file in sorted(TEXT.glob(f"*/{lang}.jsonl.gz"))
        for line in gzip.decompress(file.read_bytes()).decode().splitlines()
        for word in json.loads(line)["text"].split()
    ]
    drawn, vocabulary, size = random.Random(lang), words[:VOCABULARY], 0
    with path.open("w", encoding="utf-8") as file:
        for _ in range(count):
            begin = drawn.randrange(len(words) - WORDS)
            chosen = words[begin : begin + WORDS]
            first = drawn.randrange(EVERY)
            chosen[first::EVERY] = drawn.choices(vocabulary, k=len(chosen[first::EVERY]))
            text = " ".join(chosen)
            size += len(text.encode())
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    return size


def run_one(stage: str, files: Path, work: Path, ranks: int) -> None:
    """Run a stage as `prepare_tokens` does."""
    from tongues.core.launch import run_ranks
    from tongues.recipe import TextRecipe
    from tongues.text import find_sources
    from tongues.text.tokens.prepare import STAGES, run_stage

    named = {path.stem: str(path) for path in sorted(files.glob("*.jsonl"))}
    tokens = {"vocab_size": 32_000}
    recipe = TextRecipe.model_validate({"name": "a", "text": {"files": named}, "tokens": tokens})
    sources = find_sources(recipe.text)
    count = ranks if STAGES[stage] else 1
    run_ranks(run_stage, (stage, recipe, work, sources), count, print, folder=work / "ranks")


def used_by(session: int) -> dict[int, tuple[float, float]]:
    """Processor seconds, and the most bytes held so far, of each process of a session."""
    used: dict[int, tuple[float, float]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) != session:
                continue
            peak = (folder / "status").read_text().partition("VmHWM:")[2].split()
            used[int(folder.name)] = (int(fields[11]) + int(fields[12])) / TICK, int(peak[0]) * 1024
        except (OSError, IndexError):  # gone meanwhile
            continue
    return used


def measure(stage: str, files: Path, work: Path, ranks: int) -> None:
    """Run a stage in a session of its own, and print what it took."""
    begun = time.monotonic()
    command = [sys.executable, __file__, stage, str(files), str(work), str(ranks)]
    with (work / "said.txt").open("a") as said:
        process = subprocess.Popen(command, stdout=said, start_new_session=True)
        used: dict[int, tuple[float, float]] = {}
        while process.poll() is None:
            used |= used_by(process.pid)
            time.sleep(0.2)
    seconds, peaks = zip(*used.values(), strict=True)
    print(
        f"{stage:7} {sum(seconds):7.0f} s of processor time  {time.monotonic() - begun:6.0f} s by"
        f" the clock  {max(peaks) / 1e9:5.2f} GB a process, at most",
        flush=True,
    )
    if process.returncode:
        raise SystemExit(f"{stage} failed: see {work / 'said.txt'}")


def main(millions: float, ranks: int) -> None:
    """Write the documents, and measure each stage."""
    from tongues.text.tokens.prepare import STAGES

    with tempfile.TemporaryDirectory(dir=os.environ.get("TONGUES_SCALE")) as folder:
        files, work = Path(folder) / "files", Path(folder) / "work"
        files.mkdir()
        work.mkdir()
        shares = [5, *[1] * (len(LANGUAGES) - 1)]
        size = 0
        for lang, share in zip(LANGUAGES, shares, strict=True):
            count = int(millions * 1e6 * share / sum(shares))
            size += write_documents(lang, count, files / f"{lang}.jsonl")
        print(f"{date.today()}  {millions:g} million documents, {size / 1e9:.2f} GB, {ranks} ranks")
        for stage in STAGES:
            measure(stage, files, work, ranks)
        taken = sum(path.stat().st_size for path in work.rglob("*") if path.is_file())
        print(f"the folder holds {taken / 1e9:.2f} GB")
        print((work / "said.txt").read_text().strip().splitlines()[-1])


if __name__ == "__main__":
    if len(sys.argv) == 5:
        run_one(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    else:
        given = dict(enumerate(sys.argv[1:]))
        main(float(given.get(0, 10)), int(given.get(1, 2)))
