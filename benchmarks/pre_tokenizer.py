"""What the split of text that llama.cpp knows costs a new tokenizer, in bytes per token.

usage: python benchmarks/pre_tokenizer.py

Claim: no language loses more than 1 % of bytes per token against a split with words and their
vowel signs, up to three digits, and the rest, which llama.cpp does not know. Each language gets a
tokenizer of 8,000 tokens from 1 MB of its shared text; every tenth document is held out. It takes
about four minutes. The result also goes to `pre_tokenizer.txt`.
"""

import gzip
import json
from datetime import date
from pathlib import Path

from tokenizers import Tokenizer

from tongues.text.tokens import tokenizer as own
from tongues.text.tokens.tokenizer import train_tokenizer

__all__ = ["main"]

TEXT = Path(__file__).parents[1] / "../shared/data/text"
LANGUAGES = ("bible/en", "bible/he", "bible/ru", "bible/ar", "bible/zh", "bible/tr", "mdn/en")
LANGUAGES += ("mdn/zh", "mdn/vi", "mdn/ko", "mdn/ja", "ms_beginners/hi", "ms_beginners/el")
LANGUAGES += ("ms_beginners/ur",)
OTHER = r" ?[\p{L}\p{M}]+| ?\p{N}{1,3}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"
SIZE = 1_000_000  # bytes of a language
VOCABULARY = 8000


def read(name: str) -> list[str]:
    """Some of the shared documents of a language."""
    texts: list[str] = []
    for line in gzip.decompress((TEXT / f"{name}.jsonl.gz").read_bytes()).splitlines():
        texts.append(json.loads(line)["text"])
        if sum(len(text.encode()) for text in texts) > 1.2 * SIZE:
            break
    return texts


def rate(tokenizer: Tokenizer, texts: list[str]) -> float:
    """Bytes per token."""
    count = sum(len(made.ids) for made in tokenizer.encode_batch(texts))
    return sum(len(text.encode()) for text in texts) / count


def main() -> None:
    """A tokenizer by each split, in each language."""
    used = own.WORDS
    lines = [f"{date.today()}, bytes per token of held-out text, {VOCABULARY:,} tokens", ""]
    lines += ["language          other split  used here    change"]
    for name in LANGUAGES:
        texts = read(name)
        held, learned = texts[::10], [text for n, text in enumerate(texts) if n % 10]
        rates = []
        for words in (OTHER, used):
            own.WORDS = words
            made = train_tokenizer({"it": learned}, {"it": SIZE}, VOCABULARY)
            rates.append(rate(made, held))
        change = rates[1] / rates[0] - 1
        lines.append(f"{name:16} {rates[0]:11.4f} {rates[1]:10.4f} {change:+9.2%}")
        print(lines[-1], flush=True)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
