"""Five real languages full of planted faults: prepared in peace, prepared under kills, checked.

Of English, Russian, Chinese, Hebrew and Turkish it copies TEXT/bible and TEXT/mdn (one
`<lang>.jsonl.gz` each) aside and plants faults. They are prepared by one rank that is left alone,
then elsewhere by two ranks killed at random in every stage, and in the end by three; the bytes must
be the same. What lies in the shards is then decoded and compared with what was planted, without
any of the code that looks for copies: by whole texts and sets of triples, with no sampling.
Run as `python benchmarks/five_languages.py TEXT`; `five_languages.txt` holds what it printed.
"""

import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tongues.files import read_json
from tongues.tokens import Split, open_tokens

LANGUAGES = ("en", "ru", "zh", "he", "tr")
SOURCES = ("bible", "mdn")
COPIES = 10  # exact ones and as many near ones, in each language
ENGLISH = 20  # documents in the Turkish
ALIKE = 0.8  # Jaccard similarity of the near copies planted, and from which a pair is a leak
KILLS = 2  # in each stage
STAGES = ("reading", "the tokenizer", "the step to encoding", "encoding", "writing")
SPLITS: tuple[Split, Split] = ("train", "valid")

Row = dict[str, str]
Side = list[tuple[str, str]]  # language and text of every document of a split

RECIPE = """
name: five
text: {files: FILES}
tokens: {vocab_size: 16000, sample: 2 MB, held_out: 50k tokens}
model: {shape: 0.05M}
train: {mixture: {en: 100%}, budget: 100k tokens}
"""


@dataclass(slots=True)
class Planted:
    """What was planted, and the groups of every text that there was before or after."""

    faults: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    exact: list[tuple[str, str]] = field(default_factory=list)  # language, text
    near: list[tuple[str, str, str]] = field(default_factory=list)  # language, original, copy
    english: list[str] = field(default_factory=list)
    groups: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))


def plain(text: str) -> str:
    """A text as it is kept: composed, with plain line ends."""
    return unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")


def words(lang: str, text: str) -> list[str]:
    """Its words, or its characters where words are not spaced."""
    return list("".join(text.split())) if lang == "zh" else text.split()


def triples(lang: str, text: str) -> set[tuple[str, ...]]:
    """Every three words in a row; a shorter text is one."""
    parts = words(lang, text)
    return {tuple(parts[i : i + 3]) for i in range(max(len(parts) - 2, 1))}


def jaccard(left: set[Any], right: set[Any]) -> float:
    """The share of what both hold in what either holds."""
    return len(left & right) / max(len(left | right), 1)


def near_copy(lang: str, text: str, others: list[str], chance: random.Random) -> str:
    """The text with as many words exchanged as leave it just at the similarity wanted."""
    parts = list(text) if lang == "zh" else text.split(" ")
    own = triples(lang, text)
    places = [i for i, part in enumerate(parts) if part.strip()]
    chance.shuffle(places)
    copy = text
    for place in places:
        parts[place] = chance.choice(others)
        changed = ("" if lang == "zh" else " ").join(parts)
        if jaccard(own, triples(lang, changed)) < ALIKE:
            break
        copy = changed
    return copy


def rows_of(path: Path) -> list[Row]:
    """Every row of an archive of JSON lines."""
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def plant(text: Path, folder: Path) -> Planted:
    """Copy the text aside with its faults, and say which."""
    chance, planted = random.Random(5), Planted()
    rows = {
        (source, lang): rows_of(text / source / f"{lang}.jsonl.gz")
        for source in SOURCES
        for lang in LANGUAGES
    }
    pages = rows["mdn", "en"]
    foreign = chance.sample([row for row in pages if 1000 < len(row["text"]) < 5000], ENGLISH)
    rows["mdn", "en"] = [row for row in pages if row not in foreign]
    planted.english = [plain(row["text"]) for row in foreign]
    for lang in LANGUAGES:
        own = [row for source in SOURCES for row in rows[source, lang]]
        fit = [row for row in own if 150 <= len(words(lang, row["text"])) <= 1500]
        others = words(lang, " ".join(row["text"] for row in chance.sample(fit, 20)))
        chosen = chance.sample(fit, 2 * COPIES)
        extra: list[Row] = []
        for number, row in enumerate(chosen):
            copy = row["text"]
            if number < COPIES:
                planted.exact.append((lang, plain(copy)))
            else:
                copy = near_copy(lang, copy, others, chance)
                planted.near.append((lang, plain(row["text"]), plain(copy)))
            extra.append({"text": copy, "id": f"p{number}", "group": f"planted {lang} {number}"})
        rows["planted", lang] = extra + (foreign if lang == "tr" else [])
        for row in own + rows["planted", lang]:
            planted.groups[lang, plain(row["text"])].add(row["group"])
    for (source, lang), those in rows.items():
        lines = [json.dumps(row, ensure_ascii=False).encode() for row in those]
        path = folder / source / f"{lang}.jsonl.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(spoilt(source, lang, lines, planted.faults[lang], chance))
    return planted


def spoilt(
    source: str, lang: str, lines: list[bytes], faults: Counter[str], chance: random.Random
) -> bytes:
    """The archive of some lines with the faults that are this file's."""

    def insert(line: bytes) -> None:
        lines.insert(chance.randrange(len(lines)), line)

    if (source, lang) == ("bible", "zh"):
        for line in chance.sample(lines, 10):
            middle = len(line) // 2
            insert(line[:middle] + b"\xff" + line[middle:])
        faults["bad encoding"] += 10
    if (source, lang) == ("bible", "tr"):
        for number in range(10):
            insert(json.dumps({"text": " \n" * number}).encode())
        faults["empty"] += 10
    if (source, lang) == ("bible", "he"):
        insert(b'{"text": "' + b"x " * 50_000_000 + b'"}')
        faults["too long"] += 1
    if (source, lang) == ("planted", "en"):
        lines.append(lines[-1][: len(lines[-1]) // 2])
        faults["cut off"] += 1
        return gzip.compress(b"\n".join(lines), 1)
    archive = gzip.compress(b"\n".join(lines) + b"\n", 1)
    if (source, lang) == ("mdn", "ru"):
        archive = archive[: len(archive) * 9 // 10]
        faults["archive cut off"] += 1
        faults["cut off"] += not zlib.decompressobj(31).decompress(archive).endswith(b"\n")
    return archive


def command(recipe: Path, workspace: Path, ranks: int) -> list[str]:
    """The command line that prepares the recipe."""
    prepare = [sys.executable, "-m", "tongues", "prepare", str(recipe)]
    return [*prepare, "--workspace", str(workspace), "--ranks", str(ranks)]


def stage(workspace: Path) -> str:
    """What is going on, by what lies there."""
    corpus = workspace / "corpus/five"
    signs = ("corpus.json", "work/tokens", "work/encoded", "work/tokens/en")
    return STAGES[sum((corpus / sign).exists() for sign in signs)]


def killed(
    line: list[str], workspace: Path, wanted: str, after: float, all_at_once: bool
) -> str | None:
    """Kill the command so many seconds after it is that far; what went on, None if it ended."""
    silent = subprocess.DEVNULL
    process = subprocess.Popen(line, start_new_session=True, stdout=silent, stderr=silent)
    while process.poll() is None and STAGES.index(stage(workspace)) < STAGES.index(wanted):
        time.sleep(0.005)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        # Its ranks are killed with it, or are left to notice that it is gone.
        (os.killpg if all_at_once else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
        return stage(workspace)
    return None


def contents(workspace: Path) -> dict[str, str]:
    """SHA-256 of every file of the corpus and the tokens but for the lock."""
    files = (path for part in ("corpus", "tokens") for path in (workspace / part).rglob("*"))
    return {
        str(path.relative_to(workspace)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_file() and path.suffix != ".lock"
    }


def decoded(path: Path) -> dict[Split, Side]:
    """Language and text of every document of the shards, by its side of the split."""
    tokens = open_tokens(path)
    tokenizer = Tokenizer.from_file(str(tokens.tokenizer_path))
    sides: dict[Split, Side] = {split: [] for split in SPLITS}
    for lang in tokens.languages:
        for split in SPLITS:
            shard = tokens.shard(lang, split)
            each = [ids[:-1].tolist() for ids in np.split(shard.tokens, shard.bounds[1:-1])]
            texts = tokenizer.decode_batch(each, skip_special_tokens=False)
            sides[split] += [(lang, text) for text in texts]
    return sides


def alike(lang: str, train: Sequence[str], valid: Sequence[str]) -> int:
    """Pairs across the split at or above the similarity: every pair that shares a triple."""
    sets = [triples(lang, text) for text in valid]
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, each in enumerate(sets):
        for triple in each:
            holders[triple].append(number)
    pairs = 0
    for text in train:
        own = triples(lang, text)
        shared = Counter(number for triple in own for number in holders.get(triple, ()))
        for number, both in shared.items():
            pairs += both / (len(own) + len(sets[number]) - both) >= ALIKE
    return pairs


def check(planted: Planted, workspace: Path, tell: Callable[[str, bool], None]) -> None:
    """Say what became of what was planted, and what lies on both sides of the split."""
    about = read_json(workspace / "corpus/five/corpus.json")["languages"]
    for lang in LANGUAGES:
        faults: Counter[str] = Counter()
        for source in about[lang]["sources"]:
            faults.update(source["faults"])
        listed = ", ".join(f"{reason} {n}" for reason, n in sorted(faults.items())) or "none"
        read, kept = about[lang]["read"]["documents"], about[lang]["kept"]["documents"]
        line = f"{lang}: {read} documents read, {kept} kept; faults: {listed}"
        tell(line, faults == planted.faults[lang])
    sides = decoded(workspace / "tokens/five")
    everything = Counter(document for side in sides.values() for document in side)
    strange = sum(document not in planted.groups for document in everything)
    tell(f"{everything.total()} documents decoded, {strange} of them not in the files", not strange)
    both = sum(
        (lang, original) in everything and (lang, copy) in everything
        for lang, original, copy in planted.near
    )
    neither = sum(
        (lang, original) not in everything and (lang, copy) not in everything
        for lang, original, copy in planted.near
    )
    least = min(
        jaccard(triples(lang, left), triples(lang, right)) for lang, left, right in planted.near
    )
    count = len(planted.near)
    seen = sum(alike(lang, [original], [copy]) for lang, original, copy in planted.near)
    tell(f"the check itself sees {seen} of {count} planted near copies as alike", seen == count)
    line = f"near copies: {count} planted at a similarity of {least:.3f} or just above, "
    line += f"{count - both} dropped (of {neither} pairs the original too)"
    tell(line, both <= 0.02 * count)
    twice = sum(number > 1 for number in everything.values())
    counted = sum(about[lang]["dropped"].get("copy", {}).get("documents", 0) for lang in LANGUAGES)
    line = f"exact copies: {len(planted.exact)} planted, {counted} counted, {twice} left"
    tell(line, not twice and counted >= len(planted.exact))
    left = sum(("tr", text) in everything for text in planted.english)
    counted = about["tr"]["dropped"].get("other language", {}).get("documents", 0)
    line = f"English in the Turkish: {ENGLISH} planted, {counted} counted as of another language, "
    tell(line + f"{left} left", not left and counted >= ENGLISH)
    texts = [{text for _, text in sides[split]} for split in SPLITS]
    same = len(texts[0] & texts[1])
    tell(f"texts on both sides of the split, in any two languages: {same}", not same)
    start = time.perf_counter()
    found: list[str] = []
    for lang in LANGUAGES:
        train, valid = ([text for own, text in sides[split] if own == lang] for split in SPLITS)
        found.append(f"{lang} {alike(lang, train, valid)} ({len(train)} x {len(valid)})")
    line = f"pairs across the split at {ALIKE} or more: {', '.join(found)}"
    took = time.perf_counter() - start
    tell(f"{line}; {took:.0f} s", all(f"{lang} 0 " in " ".join(found) for lang in LANGUAGES))
    groups = [
        {group for document in sides[split] for group in planted.groups[document]}
        for split in SPLITS
    ]
    across = len(groups[0] & groups[1])
    line = f"groups on both sides, over all languages: {across} (of {len(groups[0])} in training "
    tell(line + f"and {len(groups[1])} held out)", not across)


def main(text: Path) -> int:
    """Plant, prepare twice, compare, check; the number of expectations that did not hold."""
    wrong = 0

    def tell(line: str, holds: bool) -> None:
        nonlocal wrong
        wrong += not holds
        print(line if holds else f"WRONG: {line}", flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        planted = plant(text, folder)
        files = {
            lang: [str(folder / source / f"{lang}.jsonl.gz") for source in (*SOURCES, "planted")]
            for lang in LANGUAGES
        }
        recipe = folder / "five.yaml"
        recipe.write_text(RECIPE.replace("FILES", json.dumps(files)))
        start = time.perf_counter()
        subprocess.run(command(recipe, folder / "alone", 1), check=True, capture_output=True)
        alone = time.perf_counter() - start
        print(f"{date.today()}, left alone with 1 rank: {alone:.0f} s", flush=True)
        chance, start = random.Random(7), time.perf_counter()
        kills: Counter[str] = Counter()
        for wanted in STAGES:
            for all_at_once in range(KILLS):
                workspace = folder / "killed"
                line = command(recipe, workspace, 2)
                longest = {"reading": 10.0, "the tokenizer": 5.0, "encoding": 2.0}.get(wanted, 0.1)
                after = chance.uniform(0.0, longest)
                during = killed(line, workspace, wanted, after, bool(all_at_once))
                kills.update([during] if during else [])
        subprocess.run(command(recipe, folder / "killed", 3), check=True, capture_output=True)
        took = time.perf_counter() - start
        during = ", ".join(f"{number} during {name}" for name, number in kills.items())
        line = f"killed {kills.total()} times with 2 ranks ({during}), then ended with 3"
        print(f"{line}: {took:.0f} s", flush=True)
        before, after = contents(folder / "alone"), contents(folder / "killed")
        other = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        line = f"files: {len(before)}, with other bytes: {len(other)} {' '.join(other[:3])}"
        tell(line.rstrip(), bool(before) and not other)
        check(planted, folder / "killed", tell)
    print("all of it holds" if not wrong else f"{wrong} of it does not hold")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
