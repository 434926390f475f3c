"""GGUF files that somebody made to do harm, or by mistake: refused, and others are served."""

import math
import re
import struct
import time
from collections.abc import Callable
from pathlib import Path

import gguf
import pytest

from tests.experts.ensemble.making import make_expert, make_tokenizer
from tests.serve.gguf_files import write_gguf
from tongues.serve.opening import open_served

pytest.importorskip("llama_cpp")

LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}x"
HEADS, LAYERS = "llama.attention.head_count", "llama.block_count"
EPSILON, BASE = "llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base"
ENDED = "cannot be opened: the process that tried ended with -6"  # it would have been the server

Harm = Callable[[bytearray, gguf.GGUFReader], object]


def write(place: int, kind: str, value: float) -> Harm:
    """Another number at a place of the file."""
    return lambda content, reader: struct.pack_into(kind, content, place, value)


def setting(key: str, kind: str, value: float) -> Harm:
    """Another number in its metadata."""
    return lambda content, reader: struct.pack_into(
        kind, content, reader.fields[key].offset + 8 + len(key) + 4, value
    )


def rename(old: str, new: str) -> Harm:
    """A key or a tensor of another name."""

    def do(content: bytearray, reader: gguf.GGUFReader) -> None:
        at = content.index(old.encode())
        content[at : at + len(old)] = new.encode()

    return do


def shape(rows: int) -> Harm:
    """The first tensor with other dimensions."""
    return lambda content, reader: struct.pack_into(
        "<Q",
        content,
        reader.tensors[0].field.offset + 8 + len(reader.tensors[0].name) + 4,
        rows,
    )


def cut(part: float) -> Harm:
    """Only the beginning of the file."""

    def do(content: bytearray, reader: gguf.GGUFReader) -> None:
        del content[int(part * len(content)) :]

    return do


HARMS: dict[str, tuple[Harm, str]] = {
    "empty": (cut(0), "cannot be loaded"),
    "half": (cut(0.5), "cannot be loaded"),
    "head": (cut(0.01), "cannot be loaded"),
    "magic": (write(0, "<I", 0x12345678), "cannot be loaded"),
    "version": (write(4, "<I", 99), "cannot be loaded"),
    "tensors": (write(8, "<Q", 2**62), "cannot be loaded"),
    "settings": (write(16, "<Q", 2**62), "cannot be loaded"),
    "shape": (shape(2**40), "cannot be loaded"),
    "many layers": (setting(LAYERS, "<I", 10**9), ENDED),
    "no layers": (setting(LAYERS, "<I", 0), ENDED),
    "epsilon": (setting(EPSILON, "<f", math.nan), ENDED),
    "rotation": (setting(BASE, "<f", math.nan), "predicts NaN"),
    "heads": (setting(HEADS, "<I", 0), "cannot be"),
    "kind": (rename("\4" + "\0" * 7 + "gpt2", "\5" + "\0" * 7 + "llama"), "ended with -6"),
    "vocabulary": (rename("tokenizer.ggml.tokens", "tokenizer.ggml.tokenz"), "cannot be loaded"),
    "missing": (rename("blk.0.ffn_up.weight", "blk.0.ffn_uq.weight"), "cannot be loaded"),
}


def test_they_are_refused_in_seconds_and_the_others_are_served(tmp_path: Path) -> None:
    folder = make_expert(tmp_path / "e", make_tokenizer(tmp_path / "tokenizer"), seed=1)
    good = write_gguf(folder, tmp_path / "good.gguf")
    looping = write_gguf(folder, tmp_path / "looping.gguf", LOOP)
    content, reader = good.read_bytes(), gguf.GGUFReader(good)
    names = {str(looping): "longer than 2 seconds"}
    for name, (harm, message) in HARMS.items():
        harmed = bytearray(content)
        harm(harmed, reader)
        file = tmp_path / f"{name}.gguf"
        file.write_bytes(harmed)
        names[str(file)] = message
    lines: list[str] = []
    began = time.process_time()
    opened, rules = open_served([*names, str(good)], tmp_path, say=lines.append)
    assert time.process_time() - began < 10
    assert list(opened) == [str(good)]
    for each in rules.values():
        each.close()
    for line, (name, message) in zip(lines, names.items(), strict=True):
        assert line.startswith(f"caution: `{name}` is not served: "), line
        assert re.search(message, line), line
