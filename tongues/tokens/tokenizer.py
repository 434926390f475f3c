"""The tokenizer: byte-level BPE, trained on equal amounts of every language."""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from tongues.errors import UserError
from tongues.files import write_json, write_text
from tongues.text import Document
from tongues.tokens.split import group_hash

__all__ = [
    "END",
    "END_ID",
    "SAMPLE_BYTES",
    "load_tokenizer",
    "sample_text",
    "save_tokenizer",
    "token_bytes",
    "train_tokenizer",
]

END = "<|end|>"  # ends a document and so stands before the next
END_ID = 0
SAMPLE_BYTES = 1_000_000  # of each language

# Words with their vowel signs (many scripts need the marks), up to three digits, the rest.
_WORDS = r" ?[\p{L}\p{M}]+| ?\p{N}{1,3}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"


def sample_text(documents: Iterable[Document]) -> list[str]:
    """Texts of a language, together a little over `SAMPLE_BYTES` or all there are.

    They are taken by descending hash of their group, so from all over the language, and
    from the other end than the held-out ones.
    """
    kept: list[tuple[int, str, int]] = []
    size = 0
    for document in documents:
        text_size = len(document.text.encode())
        heapq.heappush(kept, (group_hash(document.group), document.text, text_size))
        size += text_size
        while size - kept[0][2] >= SAMPLE_BYTES:
            size -= heapq.heappop(kept)[2]
    return [text for _, text, _ in sorted(kept, reverse=True)]


def train_tokenizer(samples: Mapping[str, list[str]], vocabulary: int) -> Tokenizer:
    """Train on the same number of bytes of each language.

    That is `SAMPLE_BYTES`, or the size of the largest sample if it is less; a smaller sample
    is repeated. The vocabulary is smaller than asked for if the text yields no more pieces.
    """
    sizes = [sum(len(text.encode()) for text in texts) for texts in samples.values()]
    size = min(SAMPLE_BYTES, max(sizes))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = (text for sample in samples.values() for text in _exactly(sample, size))
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.encode_special_tokens = True
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, directory: Path) -> None:
    """Write the files that Hugging Face's `AutoTokenizer.from_pretrained` reads."""
    write_text(directory / "tokenizer.json", tokenizer.to_str(pretty=True))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END,
        "eos_token": END,
        "clean_up_tokenization_spaces": False,
        "model_max_length": int(1e30),
    }
    write_json(directory / "tokenizer_config.json", settings)


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a `tokenizer.json`; text that spells out a special token is encoded as text."""
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        reason = f"is no tokenizer ({error})"
        raise UserError(reason, where=str(path), hint="prepare again with `--rebuild`") from None
    tokenizer.encode_special_tokens = True
    return tokenizer


def token_bytes(tokenizer: Tokenizer) -> np.ndarray:
    """How many bytes of UTF-8 each token id stands for; 0 for the end token."""
    lengths = np.zeros(tokenizer.get_vocab_size(), dtype=np.int64)
    for piece, number in tokenizer.get_vocab().items():
        lengths[number] = len(piece)  # the byte-level alphabet spells a byte as one character
    lengths[END_ID] = 0
    return lengths


def _exactly(texts: list[str], size: int) -> Iterator[str]:
    """Texts over and over, cut at `size` bytes."""
    for text in cycle(texts):
        data = text.encode()[:size]
        yield data.decode(errors="ignore")
        size -= len(data)
        if size == 0:
            return
