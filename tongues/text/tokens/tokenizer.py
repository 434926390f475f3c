"""The tokenizer: byte-level BPE trained on the languages' text, or any other."""

import shutil
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from tongues.core.errors import UserError
from tongues.core.files import write_json, write_text
from tongues.core.foreign.folder import check_rules
from tongues.core.hub import fetch, is_hub_id
from tongues.text.tokens.frame import (
    NAME_THE_END,
    TextFrame,
    apply_frame,
    read_frame,
    read_settings,
)

END = "<|end|>"  # of a tokenizer trained here: ends a document and so comes before the next
END_ID = 0  # the trainer puts special tokens first

# Words with their vowel signs (many scripts need the marks) and what precedes them, single digits,
# the rest: what llama.cpp calls `qwen35`, so that it gives texts the same ids. Chosen: in twelve
# languages a token held 0 to 7 % more bytes than by words and digits.
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# A tokenizer's own settings; its other files hold the vocabulary again, from before an extension.
_SETTINGS = (*NAME_THE_END, "chat_template.jinja", "chat_template.json")


def train_tokenizer(
    samples: Mapping[str, list[str]], sizes: Mapping[str, int], vocabulary: int
) -> Tokenizer:
    """Train on `sizes` bytes of each language's sample; a smaller sample is repeated.

    The vocabulary is smaller than `vocabulary` if the text yields no more tokens.
    """
    tokenizer = Tokenizer(models.BPE())
    words = pre_tokenizers.Split(Regex(WORDS), behavior="isolated")
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, letters])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = (text for lang, sample in samples.items() for text in _exactly(sample, sizes[lang]))
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.encode_special_tokens = True
    apply_frame(tokenizer, TextFrame(END_ID, END_ID), {})
    return tokenizer


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a Hugging Face tokenizer: its folder, or its `tokenizer.json`.

    Text that spells out a special token is encoded as text; nothing is cut or padded.
    """
    file = path / "tokenizer.json" if path.is_dir() else path
    if not path.exists():
        hint = "name a folder or file on this machine; nothing is fetched"
        raise UserError("there is no such tokenizer", where=str(path), hint=hint)
    if path.is_dir() and not file.is_file():
        hint = "save it by `AutoTokenizer.from_pretrained(...).save_pretrained(...)` first"
        raise UserError("holds no tokenizer.json", where=str(path), hint=hint)
    check_rules(path)
    try:
        tokenizer = Tokenizer.from_buffer(file.read_bytes())
    except Exception as error:  # the library raises nothing narrower
        hint = "if `tongues prepare` made it, prepare again with `--overwrite`"
        raise UserError(f"is not a tokenizer ({error})", where=str(file), hint=hint) from None
    if not isinstance(tokenizer.model, models.BPE | models.Unigram):
        reason = f"is a {type(tokenizer.model).__name__} tokenizer, which cannot spell every text"
        raise UserError(reason, where=str(file), hint="take one of kind BPE or Unigram")
    if isinstance(tokenizer.model, models.BPE):
        tokenizer.model.dropout = None  # the same text must give the same tokens
    tokenizer.encode_special_tokens = True
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def save_tokenizer(
    tokenizer: Tokenizer, directory: Path, base: Path | None = None, start: str = "auto"
) -> None:
    """Write the files that Hugging Face's `AutoTokenizer.from_pretrained` reads.

    base: the folder or file of the tokenizer it came from, whose settings, such as special tokens
    and chat template, are copied. start: as of `read_frame`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for source in tokenizer_files(base):
        if source.name in _SETTINGS:
            shutil.copyfile(source, directory / source.name)
    file = directory / "tokenizer_config.json"
    frame, settings = read_frame(tokenizer, base, start), read_settings(file)
    if not settings:
        settings = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
        }
        settings |= {"eos_token": tokenizer.id_to_token(frame.end), "model_max_length": int(1e30)}
    framed = apply_frame(tokenizer, frame, settings)
    if framed != read_settings(file):
        write_json(file, framed)
    write_text(directory / "tokenizer.json", tokenizer.to_str(pretty=True))


def tokenizer_files(path: Path | None) -> list[Path]:
    """The files that decide what a tokenizer does, of its folder or it alone."""
    if path is None:
        return []
    if path.is_file() and path.name != "tokenizer.json":
        return [path]
    path = path.parent if path.is_file() else path
    files = [path / name for name in ("tokenizer.json", *_SETTINGS)]
    return [file for file in files if file.is_file()]


def find_tokenizer(base: str) -> Path:
    """The folder or file of a tokenizer; one of a model of the hub is fetched into its cache."""
    if is_hub_id(base):
        return fetch(base, weights=False, where="tokens.base")
    if not Path(base).exists():
        hint = "name a folder or file on this machine, or a model of the hub, `org/name`"
        raise UserError(f"`{base}`: there is no such tokenizer", where="tokens.base", hint=hint)
    return Path(base)


def vocabulary_size(tokenizer: Tokenizer) -> int:
    """One more than the largest id, which is what a model's embedding needs."""
    return max(tokenizer.get_vocab().values()) + 1


def _exactly(texts: list[str], size: int) -> Iterator[str]:
    """Texts over and over, cut at `size` bytes."""
    for text in cycle([text for text in texts if text]):
        data = text.encode()[:size]
        yield data.decode(errors="ignore")
        size -= len(data)
        if size <= 0:
            return
