"""Thresholds of `text.clean` fitted to clean text, what they cost there, and the junk they find.

Run as `python benchmarks/cleaning.py`; `cleaning.txt` holds what it printed. It reads the shared
text next to the project.
"""

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tongues import recipe
from tongues.text import find_sources
from tongues.text.corpus import open_corpus
from tongues.text.gather import gather
from tongues.text.select import select

TEXT = Path(__file__).parents[1] / "../shared/data/text"
SIGNALS = ("characters", "repetition", "repeated_lines", "symbols", "digits")
BEFORE = dict.fromkeys(SIGNALS[1:], "p99.5") | {"characters": "p0.5"}  # always the worst 0.5 %
MOST = 800  # documents of a source
SHARE = 0.0005  # of the bytes of a source, lost to a fitted threshold
PLANTED = 12  # documents of each kind of junk


def read(path: Path) -> list[str]:
    """The first texts of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for _, line in zip(range(MOST), lines, strict=False)]


def junk(texts: Sequence[str], rng: random.Random) -> dict[str, list[str]]:
    """What crawls hold, made of clean text: repeated sentences and menus, tables, code, scraps."""
    kinds: dict[str, list[str]] = {
        kind: [] for kind in ("phrase", "menu", "table", "code", "scrap")
    }
    for _ in range(PLANTED):
        text = rng.choice(texts)
        words = text.split() if " " in text else list(text)
        kinds["phrase"].append(" ".join(words[:9]) + (" " + " ".join(words[:9])) * 30)
        lines = [" ".join(words[i : i + 4]) for i in range(0, 40, 4)]
        kinds["menu"].append("\n".join(lines * 5))
        cells = [f"{rng.random() * 1e6:.2f}" for _ in range(200)]
        kinds["table"].append(" ".join([*words[:20], *cells]))
        signs = [rng.choice(("{", "}", "=>", "//", "();", "[0]", "<b>", "&&", "##")) for _ in words]
        kinds["code"].append(" ".join(x for pair in zip(words, signs, strict=True) for x in pair))
        kinds["scrap"].append(text[: rng.randint(4, 18)])
    return kinds


def dropped(
    lang: str, texts: Sequence[str], clean: dict[str, object]
) -> tuple[list[str], np.ndarray]:
    """Why each text is dropped, and its bytes."""
    with TemporaryDirectory() as place:
        path = Path(place) / f"{lang}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        settings = recipe.Text.model_validate({"files": {lang: str(path)}, "clean": clean})
        sources = find_sources(settings)
        gather(sources, lambda line: None, settings, Path(place) / "corpus")
        corpus = open_corpus(Path(place) / "corpus", sources)
        selection = select(settings, corpus, sources)
        why = [selection.reasons[number] for number in selection.reason]
        values = {name: corpus.numbers(name) for name in SIGNALS}
        for name, value in values.items():
            FITTED.setdefault(name, []).append(needed(name, value, corpus.numbers("bytes")))
        return why, corpus.numbers("bytes").astype(np.int64)


def needed(name: str, values: np.ndarray, sizes: np.ndarray) -> float:
    """The threshold at which a source loses no more than `SHARE` of its bytes."""
    order = np.argsort(values if name == "characters" else -values, kind="stable")
    lost = np.cumsum(sizes[order], dtype=np.int64) / sizes.sum(dtype=np.int64)
    return float(values[order][np.searchsorted(lost, SHARE, side="right")])


FITTED: dict[str, list[float]] = {}


def main() -> None:
    """Print the three tables."""
    print("clean text: bytes lost by default, copies apart; of it to each filter; and before,")
    print("when the worst 0.5 % of the documents of a language by each signal was always dropped")
    paths = sorted(TEXT.glob("*/*.jsonl.gz"))
    languages = sorted({path.name.split(".")[0] for path in paths})
    worst: dict[str, float] = {}
    for lang in languages:
        texts = [text for path in paths if path.name.startswith(f"{lang}.") for text in read(path)]
        shares = []
        for clean in ({"near": "off"}, {"near": "off", **BEFORE}):
            why, sizes = dropped(lang, texts, dict(clean))
            bytes_by: dict[str, int] = {}
            for reason, size in zip(why, sizes.tolist(), strict=True):
                bytes_by[reason] = bytes_by.get(reason, 0) + size
            total = sum(bytes_by.values()) - bytes_by.pop("copy", 0)
            parts = {x: n / total for x, n in bytes_by.items() if x != "kept"}
            shares.append(parts)
        worst[lang] = sum(shares[0].values())
        filters = ", ".join(f"{x} {n:.2%}" for x, n in shares[0].items())
        size = sum(len(text.encode()) for text in texts) / 1e6
        print(
            f"{lang}  {size:6.2f} MB  lost {worst[lang]:.2%} (before "
            f"{sum(shares[1].values()):.2%})  {filters}",
            flush=True,
        )
    under = sum(share < 0.005 for share in worst.values())
    print(f"under 0.5 %: {under} of {len(worst)} languages")
    print("\nthe threshold that the most demanding source needs, to lose 0.05 % of its bytes")
    for name in SIGNALS:
        end = min(FITTED[name]) if name == "characters" else max(FITTED[name])
        print(f"{name:16}{end:8.3f}")
    print(f"\nplanted junk found, of {PLANTED} documents of each kind; before, in brackets")
    for lang in languages:
        texts = [text for path in paths if path.name.startswith(f"{lang}.") for text in read(path)]
        kinds = junk(texts, random.Random(1))
        planted = [text for each in kinds.values() for text in each]
        found = []
        for clean in ({"near": "off"}, {"near": "off", **BEFORE}):
            why, _ = dropped(lang, [*planted, *texts], {**clean, "language": "off"})
            gone = np.array([reason not in ("kept", "copy") for reason in why[: len(planted)]])
            found.append(gone.reshape(len(kinds), PLANTED).sum(axis=1))
        rows = zip(kinds, found[0].tolist(), found[1].tolist(), strict=True)
        print(
            f"{lang}  " + "  ".join(f"{kind} {now} ({old})" for kind, now, old in rows), flush=True
        )


if __name__ == "__main__":
    main()
