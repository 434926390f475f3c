"""Four ways to give an English tokenizer pieces for a new language, on text they did not see.

usage: python benchmarks/extension.py [PIECES] > benchmarks/extension.txt

Claim: fewer tokens than with a second tokenizer's merges appended, in a new script and in a Latin
one, and every id of the kept English as before. The base is byte-level BPE trained on the shared
English text and, as tokenizers in use are, on a little of every other language; the same is done
with one that never saw another language, where appended merges meet none of the base's own and
do their best. Groups of documents are held out whole. At last only the Bible's English is kept,
and two other sources tell what the ids of English change by. With 4,000 PIECES it takes about
five minutes.
"""

import os

os.environ |= {"TOKENIZERS_PARALLELISM": "false"}

import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from pydoc_data.topics import topics
from time import perf_counter

import numpy as np
from tokenizers import AddedToken, Tokenizer

from tongues.text.tokens.extend import extend_tokenizer
from tongues.text.tokens.fertility import changed_share
from tongues.text.tokens.frame import TextFrame, encode_framed
from tongues.text.tokens.spelling import token_bytes
from tongues.text.tokens.tokenizer import train_tokenizer, vocabulary_size

__all__ = ["main"]

TEXT = Path(__file__).parents[1] / "../shared/data/text"
SOURCES = ("mdn", "bible", "freecodecamp", "ms_beginners")
LANGUAGES = {"el": "new script", "hi": "new script", "sw": "Latin"}
OTHERS = (
    *("ar", "bg", "de", "el", "es", "fr", "he", "hi", "ja"),
    *("ko", "pl", "ru", "sv", "sw", "tr", "ur", "vi", "zh"),
)
LITTLE = 0.02  # of each of the others, against English
HELD_OUT = 0.1  # of the groups


@dataclass(frozen=True, slots=True)
class Texts:
    """A language's documents, and those that nothing is learned from."""

    seen: list[str]
    unseen: list[str]


Way = Callable[[Tokenizer, Texts, Texts, int], Tokenizer]


def read(lang: str, sources: Sequence[str] = SOURCES) -> Texts:
    """All shared text of a language, or that of some sources."""
    seen: list[str] = []
    unseen: list[str] = []
    for source in sources:
        path = TEXT / source / f"{lang}.jsonl.gz"
        data = gzip.decompress(path.read_bytes()) if path.exists() else b""
        for line in data.splitlines():
            document = json.loads(line)
            digest = blake2b(document["group"].encode(), digest_size=8).digest()
            held_out = int.from_bytes(digest) < HELD_OUT * 2**64
            (unseen if held_out else seen).append(document["text"])
    return Texts(seen, unseen)


def size_of(texts: Sequence[str]) -> int:
    """Bytes of texts."""
    return sum(len(text.encode()) for text in texts)


def trained(texts: Texts, vocabulary: int) -> Tokenizer:
    """A tokenizer of one language."""
    return train_tokenizer({"": texts.seen}, {"": size_of(texts.seen)}, vocabulary)


def trained_on_all(english: Texts, vocabulary: int) -> Tokenizer:
    """A tokenizer of English and a little of every other language."""
    samples = {"en": english.seen} | {lang: read(lang).seen for lang in OTHERS}
    size = size_of(english.seen)
    sizes = {lang: size if lang == "en" else round(LITTLE * size) for lang in samples}
    return train_tokenizer(samples, sizes, vocabulary)


def continued(base: Tokenizer, target: Texts, source: Texts, pieces: int) -> Tokenizer:
    """Ours: the base's merges go on, but for pairs that the source needs apart."""
    return extend_tokenizer(base, {"": target.seen}, source.seen, pieces).tokenizer


def unrestricted(base: Tokenizer, target: Texts, source: Texts, pieces: int) -> Tokenizer:
    """The base's merges go on, whatever that does to the source."""
    return extend_tokenizer(base, {"": target.seen}, [], pieces).tokenizer


def appended(base: Tokenizer, target: Texts, source: Texts, pieces: int) -> Tokenizer:
    """The merges of a tokenizer trained on the target alone, behind those of the base."""
    layout = json.loads(base.to_str())
    vocabulary, merges = layout["model"]["vocab"], layout["model"]["merges"]
    first, known = len(vocabulary), {tuple(merge) for merge in merges}
    other = json.loads(trained(target, first + 2 * pieces).to_str())["model"]["merges"]
    for left, right in other:
        if len(vocabulary) == first + pieces:
            break
        vocabulary.setdefault(left + right, len(vocabulary))
        if (left, right) not in known:
            merges.append([left, right])
    tokenizer = Tokenizer.from_str(json.dumps(layout))
    tokenizer.encode_special_tokens = True
    return tokenizer


def whole_words(base: Tokenizer, target: Texts, source: Texts, pieces: int) -> Tokenizer:
    """The commonest words, each with the space before it, by `add_tokens`."""
    tokenizer = Tokenizer.from_str(base.to_str())
    tokenizer.encode_special_tokens = True
    counts = Counter(word for text in target.seen for word in text.split())
    words = [f" {word}" for word, _ in counts.most_common(pieces)]
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in words])
    return tokenizer


WAYS: dict[str, Way] = {
    "continued, ours": continued,
    "continued, unrestricted": unrestricted,
    "second merges appended": appended,
    "whole words added": whole_words,
}


def ids_of(tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    """All ids of texts, without the ends."""
    end = vocabulary_size(tokenizer)
    ids, _ = encode_framed(tokenizer, TextFrame(None, end), texts, np.dtype(np.int64))
    return ids[ids != end]


def compare(base: Tokenizer, source: Texts, lang: str, pieces: int) -> None:
    """Print what each way makes of a language."""
    target = read(lang)
    unseen = size_of(target.unseen)
    before = unseen / len(ids_of(base, target.unseen))
    print(
        f"{lang}, {LANGUAGES[lang]}: {size_of(target.seen) / 1e6:.1f} MB to learn from, "
        f"{unseen / 1e6:.1f} MB unseen at {before:.2f} bytes per token by the base"
    )
    for name, way in WAYS.items():
        start = perf_counter()
        tokenizer = way(base, target, source, pieces)
        seconds = perf_counter() - start
        used = np.bincount(ids_of(tokenizer, target.seen), minlength=len(token_bytes(tokenizer)))
        added = used[vocabulary_size(base) :]
        ratio = unseen / len(ids_of(tokenizer, target.unseen))
        changed = [changed_share(base, tokenizer, texts) for texts in (source.seen, source.unseen)]
        print(
            f"  {name:24} {ratio:5.2f} bytes per token  dead {np.mean(added == 0):6.1%} of "
            f"{len(added):,}  English ids changed: kept {changed[0]:7.3%}, unseen {changed[1]:7.3%}"
            f"  {seconds:5.1f} s"
        )


def across(base: Tokenizer, pieces: int) -> None:
    """Print what Swahili tokens change of English from other sources than the one that is kept."""
    target, kept, web = read("sw"), read("en", ["bible"]), read("en", ["mdn"])
    others = {"web documentation": web.seen + web.unseen, "Python's": list(topics.values())}
    for name in ("continued, ours", "continued, unrestricted"):
        tokenizer = WAYS[name](base, target, kept, pieces)
        ratio = size_of(target.unseen) / len(ids_of(tokenizer, target.unseen))
        shares = {"Bible": kept.unseen, **others}
        changed = (f"{of} {changed_share(base, tokenizer, shares[of]):.3%}" for of in shares)
        print(
            f"  {name:24} {ratio:5.2f} bytes per token  English ids changed: {', '.join(changed)}"
        )


def main() -> None:
    """Compare the ways in each language."""
    pieces = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    source = read("en")
    print(
        f"{date.today()}  tokenizers {version('tokenizers')}, one thread; {pieces:,} tokens added; "
        f"{size_of(source.seen) / 1e6:.1f} MB of English to keep"
    )
    bases = {
        f"English and {LITTLE:.0%} of each of {len(OTHERS)} others": trained_on_all(source, 16_000),
        "English alone": trained(source, 8000),
    }
    for name, base in bases.items():
        print(f"\nbase of {vocabulary_size(base):,} pieces from {name}")
        for lang in LANGUAGES:
            compare(base, source, lang, pieces)
    for count in (pieces // 4, pieces):
        print(f"\nthe first base, {count:,} tokens for Swahili; of English only the Bible is kept")
        across(next(iter(bases.values())), count)


if __name__ == "__main__":
    main()
