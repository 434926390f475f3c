"""How often the language of real text is told right, and how fast, beside py3langid itself.

Run as `python benchmarks/language.py`; `language.txt` holds what it printed. It reads the
shared text beside the project.
"""

import gzip
import json
import os
import random
import time
from collections import defaultdict
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from tongues.text.signals.language import Identification, load_identifier, same_language, segments

TEXT = Path(__file__).parents[1] / "../shared/data/text"
TURNS = 5


def read(path: Path) -> list[str]:
    """The texts of one file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def agreement() -> None:
    """For each file the share of documents and of segments told right, and what they went to."""
    identifier = load_identifier(None)
    print(f"{identifier.name}, {len(identifier.languages)} languages")
    print("documents right: identified as the file's language; kept: at least half of it is;")
    print("segments: share of the bytes in segments told right, and what the others went to")
    print(f"{'':16}{'docs':>7}{'MB':>7}{'right':>9}{'kept':>9}{'segments':>10}  others")
    for path in sorted(TEXT.glob("*/*.jsonl.gz")):
        lang = path.name.split(".")[0]
        texts = read(path)
        sizes = [len(text.encode()) for text in texts]
        found = identifier.identify(texts)
        right = np.mean([same_language(lang, one.label) for one in found])
        shares: defaultdict[str, float] = defaultdict(float)
        own: list[float] = []
        for one, size in zip(found, sizes, strict=True):
            parts = [s for label, s in one.shares.items() if same_language(lang, label)]
            own.append(sum(parts))
            shares["own"] += size * own[-1]
            for label, share in one.shares.items():
                if not same_language(lang, label):
                    shares[label] += size * share
        total = sum(sizes)
        correct = shares.pop("own")
        most = sorted(shares.items(), key=lambda pair: -pair[1])[:4]
        others = ", ".join(f"{label} {n / total:.1%}" for label, n in most)
        name = f"{path.parent.name[:12]}/{lang}"
        kept = np.mean(np.array(own) >= 0.5)
        print(
            f"{name:16}{len(texts):7,}{total / 1e6:7.1f}{right:9.2%}{kept:9.2%}"
            f"{correct / total:10.2%}  {others}"
        )


def mixed() -> None:
    """How much of the English planted in other text is found: a fifth, as lines or passages."""
    english = [line for text in read(TEXT / "mdn/en.jsonl.gz")[:400] for line in text.split("\n")]
    english = [line for line in english if len(line) > 20]
    identifier = load_identifier(None)
    print("\nEnglish planted between the lines, a fifth of each document: share found of it")
    for name in ("bible/sw", "mdn/de", "ms_beginners/ur", "ms_beginners/sw"):
        texts = read(TEXT / f"{name}.jsonl.gz")[:250]
        natural = _english(identifier.identify(texts), texts)
        for lines in (1, 4):
            made = [_plant(text, english, lines, seed) for seed, text in enumerate(texts)]
            sizes = np.array([planted for _, planted in made])
            grown = [text for text, _ in made]
            found = _english(identifier.identify(grown), grown) - natural
            print(f"{name:16} {lines} at a time: {found.sum() / sizes.sum():6.1%}")


def _english(found: list[Identification], texts: list[str]) -> np.ndarray:
    """Bytes of each text identified as English."""
    sizes = [len(text.encode()) for text in texts]
    return np.array([f.shares.get("en", 0.0) * n for f, n in zip(found, sizes, strict=True)])


def _plant(text: str, english: list[str], lines: int, seed: int) -> tuple[str, int]:
    """The text with as many English lines as make a fifth of it, and their bytes."""
    rng = random.Random(seed)
    own, goal, planted = text.split("\n"), len(text.encode()) / 4, 0
    while planted < goal:
        start = rng.randrange(len(english) - lines)
        chosen = "\n".join(english[start : start + lines])
        own.insert(rng.randrange(len(own) + 1), chosen)
        planted += len(chosen.encode()) + 1
    return "\n".join(own), planted


def speed() -> None:
    """MB/s over the same text in turns, ours and py3langid's own loop over the same segments."""
    texts = [t for path in sorted(TEXT.glob("*/*.jsonl.gz")) for t in read(path)[:15]]
    size = sum(len(text.encode()) for text in texts) / 1e6
    start = time.perf_counter()
    ours = load_identifier(None)
    loading = time.perf_counter() - start
    theirs = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    rates: list[tuple[float, float]] = []
    for _ in range(TURNS):
        start = time.perf_counter()
        ours.identify(texts)
        middle = time.perf_counter()
        for text in texts:
            for segment in segments(text):
                theirs.classify(segment)
        rates.append((size / (middle - start), size / (time.perf_counter() - middle)))
    mine, peer = np.array(rates).T
    ratio = mine / peer
    print(f"\n{size:.1f} MB of all languages, {TURNS} turns, one thread; loading {loading:.1f} s")
    print(f"lockstep  {np.median(mine):5.1f} MB/s ({mine.min():.1f} to {mine.max():.1f})")
    print(f"py3langid {np.median(peer):5.1f} MB/s ({peer.min():.1f} to {peer.max():.1f})")
    print(f"ratio     {np.median(ratio):5.1f} × ({ratio.min():.1f} to {ratio.max():.1f})")


if __name__ == "__main__":
    agreement()
    mixed()
    speed()
