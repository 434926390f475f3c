"""What cleaning costs on clean text, and the junk and the foreign text it finds.

Run as `python benchmarks/cleaning.py`; `cleaning.txt` holds what it printed. It reads the shared
text next to the project.
"""

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tongues import recipe
from tongues.text import find_sources
from tongues.text.corpus import open_corpus
from tongues.text.gather import gather
from tongues.text.select import select
from tongues.text.signals import language

TEXT = Path(__file__).parents[1] / "../shared/data/text"
SIGNALS = ("characters", "repetition", "repeated_lines", "symbols", "digits")
# Pages in another language than their folder's, by their first words: not clean text in it.
MISPLACED = {"Bu səhifə JavaScript-in": "Azerbaijani", "SKU Selection Guide - Choosing": "English"}
FOREIGN = ("bible/en", "mdn/fr", "bible/es", "bible/de", "bible/sv", "bible/vi", "bible/ar")
FOREIGN += ("ms_beginners/bg",)
# Sources of clean documents.
UNKNOWN = {"sw": ("ms_beginners", "bible"), "pl": ("bible", "mdn"), "tr": ("bible", "mdn")}
UNKNOWN |= {"ru": ("bible", "mdn"), "es": ("bible", "mdn"), "vi": ("mdn", "bible")}
UNKNOWN |= {"ko": ("bible", "mdn"), "de": ("bible", "mdn")}
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


def text_section(lang: str, path: str, clean: dict[str, object]) -> recipe.Text:
    """A recipe's section of text."""
    return recipe.Text.model_validate({"files": {lang: path}, "clean": clean})


def dropped(
    lang: str, texts: Sequence[str], clean: dict[str, object]
) -> tuple[list[str], np.ndarray]:
    """Why each text is dropped, and its bytes."""
    with TemporaryDirectory() as place:
        path = Path(place) / f"{lang}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        settings = text_section(lang, str(path), clean)
        sources = find_sources(settings)
        gather(sources, lambda line: None, settings, Path(place) / "corpus")
        corpus = open_corpus(Path(place) / "corpus", sources)
        selection = select(settings, corpus, sources)
        why = [selection.reasons[number] for number in selection.reason]
        for name in SIGNALS:
            value = corpus.numbers(name)
            FITTED.setdefault(name, []).append(needed(name, value, corpus.numbers("bytes")))
        return why, corpus.numbers("bytes").astype(np.int64)


def needed(name: str, values: np.ndarray, sizes: np.ndarray) -> float:
    """The threshold at which a source loses no more than `SHARE` of its bytes."""
    order = np.argsort(values if name == "characters" else -values, kind="stable")
    lost = np.cumsum(sizes[order], dtype=np.int64) / sizes.sum(dtype=np.int64)
    return float(values[order][np.searchsorted(lost, SHARE, side="right")])


FILTER: dict[str, object] = {"near": "off", "characters": "off", "repetition": "off"}
FILTER |= {"repeated_lines": "off", "symbols": "off", "digits": "off"}  # by language alone
FITTED: dict[str, list[float]] = {}


def without(lang: str) -> None:
    """Take a language away from the identifier, as if it did not know it."""
    model, classes = KNOWN
    prior = np.where(np.array(classes) == lang, -1e6, model.prior).astype(np.float32)
    setattr(language, MODEL, lambda: (replace(model, prior=prior), classes))
    vars(language)["_py3langid"].cache_clear()


MODEL = "_byte_model"  # of the module: a classifier and its classes
KNOWN = vars(language)[MODEL]()


def show_clean(paths: Sequence[Path], languages: Sequence[str]) -> None:
    """Bytes lost of clean text to each filter."""
    print("clean text: bytes lost by default, copies apart, and to each filter")
    lost: list[float] = []
    for lang in languages:
        every = [text for path in paths if path.name.startswith(f"{lang}.") for text in read(path)]
        texts = [text for text in every if not text.startswith(tuple(MISPLACED))]
        why, sizes = dropped(lang, texts, {"near": "off"})
        total = sizes[np.array([reason != "copy" for reason in why])].sum()
        by = {reason: sizes[np.array(why) == reason].sum() / total for reason in sorted(set(why))}
        filters = {reason: share for reason, share in by.items() if reason not in ("kept", "copy")}
        lost.append(sum(filters.values()))
        print(
            f"{lang}  {sum(map(len, map(str.encode, texts))) / 1e6:5.2f} MB  lost {lost[-1]:.2%}  "
            + ", ".join(f"{reason} {share:.2%}" for reason, share in filters.items()),
            flush=True,
        )
    print(f"under 0.5 %: {sum(n < 0.005 for n in lost)} of {len(lost)} languages")
    print("pages in another language, left out: " + ", ".join(MISPLACED.values()))
    print("\nthe threshold that the most demanding source needs, to lose 0.05 % of its bytes")
    for name in SIGNALS:
        end = min(FITTED[name]) if name == "characters" else max(FITTED[name])
        print(f"{name:16}{end:8.3f}")


def show_planted(paths: Sequence[Path], languages: Sequence[str]) -> None:
    """Planted junk that is found."""
    print(f"\nplanted junk found, of {PLANTED} documents of each kind")
    for lang in languages:
        texts = [text for path in paths if path.name.startswith(f"{lang}.") for text in read(path)]
        texts = texts[:: max(len(texts) // 300, 1)]
        kinds = junk(texts, random.Random(1))
        planted = [text for each in kinds.values() for text in each]
        why, _ = dropped(lang, [*planted, *texts], {"near": "off", "language": "off"})
        gone = np.array([reason not in ("kept", "copy") for reason in why[: len(planted)]])
        found = gone.reshape(len(kinds), PLANTED).sum(axis=1).tolist()
        rows = zip(kinds, found, strict=True)
        print(f"{lang}  " + "  ".join(f"{kind} {count}" for kind, count in rows), flush=True)


def show_foreign(paths: Sequence[Path], languages: Sequence[str]) -> None:
    """Documents of other languages that are found: every 20th of the files, in three lengths."""
    print("\nforeign documents kept, of those planted whole, in 1,500 and in 300 characters")
    rows: list[tuple[str, str]] = []
    for path in paths:
        texts = [text for text in read(path)[::20] if not text.startswith(tuple(MISPLACED))]
        rows += [(path.name[:2], text) for text in texts]
    for lang in languages:
        texts = [text for other, text in rows if other != lang]
        counts = [
            sum(reason == "kept" for reason in dropped(lang, [x[:cut] for x in texts], FILTER)[0])
            for cut in (None, 1500, 300)
        ]
        print(f"{lang}  " + ", ".join(map(str, counts)) + f" of {len(texts)}", flush=True)


def show_unknown() -> None:
    """Documents lost and kept in a language that was taken away from the identifier."""
    print(
        "\na language taken away from the identifier: clean documents lost of two sources, foreign"
    )
    print("documents kept")
    foreign = {
        each: [text[:1500] for text in read(TEXT / f"{each}.jsonl.gz")[:40]] for each in FOREIGN
    }
    for lang, sources in UNKNOWN.items():
        without(lang)
        rows = [
            [text[:3000] for text in read(TEXT / x / f"{lang}.jsonl.gz")[:123]] for x in sources
        ]
        good = [text for each in rows for text in each]
        others = [x for name, texts in foreign.items() if not name.endswith(lang) for x in texts]
        why = dropped("qaa", [*good, *others], FILTER)[0]
        lost = sum(reason not in ("kept", "copy") for reason in why[: len(good)])
        kept = why[len(good) :].count("kept")
        print(f"{lang}  lost {lost} of {len(good)}  kept {kept} of {len(others)}", flush=True)


def main() -> None:
    """Print the tables."""
    paths = sorted(TEXT.glob("*/*.jsonl.gz"))
    languages = sorted({path.name.split(".")[0] for path in paths})
    show_clean(paths, languages)
    show_planted(paths, languages)
    show_foreign(paths, languages)
    show_unknown()


if __name__ == "__main__":
    main()
