"""A folder as GGUF, by llama.cpp's own script, and whether its tokenizer gives the same ids.

llama.cpp knows pre-tokenizers by name, and the script finds the name by a hash of some ids, which
new tokens change. Here it is found by the tokenizer's own settings, or by trying every name.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tongues.core.beside import read_beside
from tongues.core.errors import UserError
from tongues.core.files import read_json
from tongues.core.pages import Table, as_markdown, text_table
from tongues.core.ranks import Say
from tongues.text import Document
from tongues.text.tokens import load_tokenizer
from tongues.use.export.weights import dtype_name

Texts = Mapping[str, Sequence[Document]]

LLAMA_CPP = "LLAMA_CPP"  # in the environment: the folder of llama.cpp's source
_SCRIPT = "convert_hf_to_gguf.py"
_TYPES = {"bf16": "bf16", "fp16": "f16", "fp32": "f32"}
_MOST = 0.01  # of a language's documents that may have other ids
_ERROR = 400  # last characters of what the script prints, shown

_NAMES = read_beside(__file__, "gguf.toml")
# Run in a process of its own: the script with the pre-tokenizer's name set.
_RUN = (Path(__file__).parent / "convert.py.txt").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Ids:
    """How often the ids of llama.cpp are those of a tokenizer."""

    language: str
    documents: int
    other: int  # documents with other ids
    first: str = ""  # the text from where the first of them differs


def add_gguf(folder: Path, name: str, texts: Texts, say: Say) -> list[str]:
    """Write `model-TYPE.gguf` into a folder, in the type of its weights; what its card says of it.

    name: in the file, as programs show it. texts: held out, on which ids are compared. A UserError
    where more than 1 % of a language's documents differ.
    """
    script, kind = find_script(), _TYPES[dtype_name(folder) or "fp32"]
    out = folder / f"model-{kind}.gguf"
    installed = find_spec("llama_cpp") is not None
    pre = known_pre(folder)
    if installed and texts:
        pre = _best_pre(script, folder, texts, pre)
    if pre is None:
        what = "has a pre-tokenizer whose settings match none of llama.cpp's"
        hint = "install `llama-cpp-python`, with which every name is tried"
        raise UserError(what, where=str(folder / "tokenizer.json"), hint=hint)
    with TemporaryDirectory() as scratch:
        named = Path(scratch) / name  # from which the script takes more than the model's name
        named.symlink_to(folder.resolve())
        _convert(script, named, out, pre, "--outtype", kind, "--model-name", name)
    size = out.stat().st_size
    notes = [f"`{out.name}` is the same for llama.cpp, {size / 1e6:,.0f} MB."]
    say(f"{out.name}: {size / 1e6:,.0f} MB" + (f", pre-tokenizer {pre}" if pre else ""))
    if not (installed and texts):
        why = "there is no held-out text" if installed else "`llama-cpp-python` is not installed"
        say(f"caution: ids were not compared with llama.cpp's: {why} (ids_unknown)")
        return [*notes, "Whether llama.cpp gives its texts the same ids was not looked at."]
    found = list(compare_ids(out, folder, texts))
    rows = [
        {"language": x.language, "documents": f"{x.documents:,}", "other ids": f"{x.other:,}"}
        for x in found
    ]
    say(text_table(rows))
    for each in found:
        if each.other > _MOST * each.documents:
            what = (
                f"`{each.language}`: llama.cpp gives {each.other} of {each.documents} documents "
                f"other ids than training saw, first from {each.first!r}"
            )
            hint = "leave out `--gguf`, and use the folder by transformers or vLLM"
            raise UserError(what, where=str(out.name), hint=hint)
        if each.other:
            say(f"caution: `{each.language}`: other ids from {each.first!r} (other_ids)")
    title = "Held-out documents to which it gives other ids:"
    return [*notes, title, as_markdown([Table.of(rows)])]


def find_script() -> Path:
    """llama.cpp's conversion script, in its source or in that of llama-cpp-python."""
    named = os.environ.get(LLAMA_CPP)
    hint = (
        "`pip download --no-deps --no-binary llama-cpp-python llama-cpp-python`, unpack the "
        f"archive, and name its folder in {LLAMA_CPP}"
    )
    if not named:
        raise UserError("which llama.cpp converts is not named", where="--gguf", hint=hint)
    for place in (Path(named), Path(named) / "vendor/llama.cpp"):
        if (place / _SCRIPT).is_file():
            return (place / _SCRIPT).resolve()
    raise UserError(f"holds no {_SCRIPT}", where=named, hint=hint)


def known_pre(folder: Path) -> str | None:
    """llama.cpp's name for a tokenizer's pre-tokenizer; "" where it needs none, None: not known."""
    plain = read_json(folder / "tokenizer.json")
    model, first = plain["model"], plain.get("pre_tokenizer") or {}
    if model["type"] != "BPE" or model.get("byte_fallback"):
        return ""
    steps = []
    for step in first.get("pretokenizers", [first]):
        match step:
            case {"type": "ByteLevel", "use_regex": words}:
                steps.append("bytes by words" if words else "bytes")
            case {"type": "Digits", "individual_digits": True}:
                steps.append("digits")
            case {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated"}:
                steps.append(regex)
            case _:
                return None
    return next((name for name, each in _NAMES["known"].items() if each == steps), None)


def compare_ids(
    gguf: Path, folder: Path, texts: Texts, overrides: Mapping[str, str] | None = None
) -> Iterator[Ids]:
    """How often llama.cpp and a folder's tokenizer agree, by language."""
    llama_cpp: Any = import_module("llama_cpp")
    quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(quiet, None)
    settings = dict(overrides or {}) or None
    llama = llama_cpp.Llama(str(gguf), vocab_only=True, verbose=False, kv_overrides=settings)
    tokenizer = load_tokenizer(folder)
    for lang, documents in texts.items():
        other, first = 0, ""
        for document in documents:
            own = tokenizer.encode(document.text, add_special_tokens=False)
            theirs = llama.tokenize(document.text.encode(), add_bos=False, special=False)
            if theirs == own.ids:
                continue
            other += 1
            pairs = zip(own.ids, theirs, strict=False)
            same = next((n for n, (a, b) in enumerate(pairs) if a != b), 0)
            begin = own.offsets[same][0] if own.offsets else 0
            first = first or document.text[begin : begin + 30]
        yield Ids(lang, len(documents), other, first)


def _best_pre(script: Path, folder: Path, texts: Texts, known: str | None) -> str:
    """The name under which llama.cpp gives the fewest documents other ids; the known one first."""
    if known == "":
        return known
    with TemporaryDirectory() as scratch:
        gguf = Path(scratch) / "vocabulary.gguf"
        _convert(script, folder, gguf, known or "gpt-2", "--vocab-only")
        wrong: dict[str, int] = {}
        for name in sorted([*_NAMES["known"], *_NAMES["others"]], key=lambda name: name != known):
            try:
                found = list(compare_ids(gguf, folder, texts, {"tokenizer.ggml.pre": name}))
            except ValueError:  # a name that this llama.cpp does not have
                continue
            wrong[name] = sum(each.other for each in found)
            if not wrong[name]:
                return name
    return min(wrong, key=lambda name: wrong[name])


def _convert(script: Path, folder: Path, out: Path, pre: str, *options: str) -> None:
    words = [str(script), pre, str(folder), "--outfile", str(out), *options]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *words],
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode or not out.is_file():
        last = done.stdout.strip().splitlines()[-1:] or ["it printed nothing"]
        what = f"llama.cpp's script cannot convert it: {last[0][-_ERROR:]}"
        raise UserError(what, where=str(folder), hint="a newer llama.cpp may know this family")
