"""A model of a GGUF file: llama.cpp computes, and all else is as with other models.

llama.cpp gives the logits behind texts and remembers their keys and values; sampling, routing,
log-probabilities and the API are the package's own. What it remembers of an ended text is used
again by the next one that begins alike.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import BPE
from torch import Tensor

from tongues.cores import threads_for
from tongues.errors import UserError
from tongues.experts.ensemble.caches import TokenSequence
from tongues.experts.ensemble.ensemble import Ensemble, ExpertModels
from tongues.experts.ensemble.lineage import Expert, Lineage
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.request import Request
from tongues.experts.ensemble.routing import default_routing
from tongues.experts.ensemble.writer import Writer
from tongues.models.placement import Placement
from tongues.tokens.frame import TextFrame

__all__ = ["GgufModel", "LlamaCaches", "gguf_file", "llama_package", "open_gguf"]

_BATCH = 1024  # tokens that are read at a time
_CELLS = 32_768  # tokens that are remembered, or one context where that is more
_HINT = "`pip install llama-cpp-python`"


def gguf_file(folder: Path) -> Path:
    """A GGUF file: itself, or the only one of a folder; a UserError where there is none."""
    if folder.is_file():
        return folder
    files = sorted(folder.glob("*.gguf"))
    if len(files) != 1:
        what = "holds no GGUF" if not files else f"holds {len(files)} files of GGUF"
        hint = "`tongues export --gguf` writes it" if not files else f"name one, such as {files[0]}"
        raise UserError(what, where=str(folder), hint=hint)
    return files[0]


def llama_package() -> Any:
    """llama.cpp's Python package; a UserError where it is not installed."""
    try:
        llama: Any = import_module("llama_cpp")
    except ImportError:
        raise UserError("llama.cpp is not installed", where="--engine", hint=_HINT) from None
    llama.llama_log_set(_QUIET.setdefault(0, llama.llama_log_callback(_ignore)), None)
    llama.llama_backend_init()
    return llama


def _ignore(level: int, text: bytes, data: object) -> None:
    pass


_QUIET: dict[int, Any] = {}  # what ctypes calls must be kept


@dataclass(frozen=True, eq=False)
class GgufModel(Model):
    """A model that llama.cpp computes; its tokenizer is llama.cpp's too."""

    llama: Any  # llama.cpp, by its Python package
    handle: Any  # of the weights
    vocab: Any

    @cached_property
    def token_bytes(self) -> list[bytes]:
        """The text of every token id; nothing of special tokens."""
        return [self._piece(token, special=False) for token in range(self.ensemble.vocabulary)]

    @cached_property
    def special(self) -> Mapping[int, str]:
        """The special tokens and their names."""
        control = self.llama.llama_vocab_is_control
        ids = range(self.ensemble.vocabulary)
        return {token: self.token_name(token) for token in ids if control(self.vocab, token)}

    def token_name(self, token: int) -> str:
        """A token as its tokenizer writes it."""
        return self._piece(token, special=True).decode("utf-8", "replace")

    def encode(self, text: str) -> np.ndarray:
        """The token ids of a text; names of special tokens are text as any."""
        content = text.encode()
        ids = (self.llama.llama_token * (len(content) + 8))()
        count = self.llama.llama_tokenize(
            self.vocab, content, len(content), ids, len(ids), False, False
        )
        return np.array(ids[:count], dtype=np.int64)

    def writer(self, texts: int, memory: int | None, *, pace: int | None = None) -> Writer:
        """See `Model.writer`."""
        size, cells = self.ensemble.vocabulary, self._cells(texts, memory)
        caches = LlamaCaches(self.llama, self.handle, size, self.cache_bytes, texts, cells)
        return Writer(self.ensemble, pace=pace, caches=caches)

    def cache_limit(self, texts: int, memory: int | None) -> int | None:
        """See `Model.cache_limit`."""
        return self._cells(texts, memory) * self.cache_bytes

    def cache_need(self, requests: Sequence[Request]) -> int:
        """See `Model.cache_need`; every text takes as much as it is long."""
        return sum(request.longest for request in requests) * self.cache_bytes

    def _cells(self, texts: int, memory: int | None) -> int:
        """Tokens that are remembered of this number of texts."""
        usual = max(_CELLS, self.context or 0)
        cells = min(usual, texts * (self.context or usual))
        return cells if memory is None else min(cells, memory // self.cache_bytes)

    @cached_property
    def cache_bytes(self) -> int:
        """Bytes of keys and values of a token."""
        llama, handle = self.llama, self.handle
        usual = llama.llama_model_n_embd(handle) // llama.llama_model_n_head(handle)
        kind = self._metadata("general.architecture")
        widths = (self._metadata(f"{kind}.attention.{of}_length") for of in ("key", "value"))
        kept = llama.llama_model_n_layer(handle) * llama.llama_model_n_head_kv(handle)
        return 2 * kept * sum(int(width or usual) for width in widths)  # in 16 bits

    def _metadata(self, key: str) -> str:
        """A value of the file's metadata; empty where it has none."""
        buffer = (self.llama.ctypes.c_char * 256)()
        args = (self.handle, key.encode(), buffer, len(buffer))
        return buffer.value.decode() if self.llama.llama_model_meta_val_str(*args) > 0 else ""

    def _piece(self, token: int, *, special: bool) -> bytes:
        room = 256
        buffer = (self.llama.ctypes.c_char * room)()
        size = self.llama.llama_token_to_piece(self.vocab, token, buffer, room, 0, special)
        if size < 0:  # this many bytes are needed
            room = -size
            buffer = (self.llama.ctypes.c_char * room)()
            size = self.llama.llama_token_to_piece(self.vocab, token, buffer, room, 0, special)
        return buffer.raw[:size]


def open_gguf(name: str, file: Path, *, device: str | None = None) -> GgufModel:
    """Open a GGUF file by llama.cpp. device: `cpu` uses no GPU."""
    llama = llama_package()
    settings = llama.llama_model_default_params()
    settings.n_gpu_layers = 0 if device == "cpu" else 999
    handle = llama.llama_model_load_from_file(str(file).encode(), settings)
    if not handle:
        hint = "`tongues export --gguf` writes it again"
        raise UserError("cannot be loaded by llama.cpp", where=str(file), hint=hint)
    vocab = llama.llama_model_get_vocab(handle)
    size, end = llama.llama_vocab_n_tokens(vocab), llama.llama_vocab_eos(vocab)
    start = llama.llama_vocab_bos(vocab) if llama.llama_vocab_get_add_bos(vocab) else None
    frame = TextFrame(start, end)
    stops = {token for token in range(size) if llama.llama_vocab_is_eog(vocab, token)}
    expert = Expert(name, str(file), {}, {}, None, None, 0)
    ensemble = Ensemble(
        lineage=Lineage((expert,), {}, name, "", None, {}),
        models=_Alone(file, llama.llama_model_size(handle)),
        router=None,
        tokenizer=file,
        frame=frame,
        vocabulary=size,
        context=llama.llama_model_n_ctx_train(handle) or None,
    )
    return GgufModel(
        name=name,
        kind="folder",
        ensemble=ensemble,
        routing=default_routing(1, None),
        first=frame.first,
        prompted=start is not None,
        stops=frozenset({end, *stops}),
        tokenizer=Tokenizer(BPE()),  # llama.cpp's is used
        base=None,
        fingerprint="",
        llama=llama,
        handle=handle,
        vocab=vocab,
    )


class _Alone(ExpertModels):
    """The one expert, which is open and has no modules of torch."""

    def __init__(self, file: Path, size: int) -> None:
        self.folders, self.bytes, self.memory = (file,), (size,), None
        self.placement = Placement()

    @property
    def held(self) -> tuple[int, ...]:
        return (0,)


class LlamaCaches:
    """What llama.cpp remembers of texts, and its logits for what follows; as `Caches`.

    size: bytes of a token. texts: at most. cells: tokens of all texts together.
    """

    def __init__(
        self, llama: Any, handle: Any, vocabulary: int, size: int, texts: int, cells: int
    ) -> None:
        self._llama, self._vocabulary, self._cells, self._size = llama, vocabulary, cells, size
        settings = llama.llama_context_default_params()
        settings.n_ctx, settings.n_seq_max = cells, texts
        settings.n_batch = settings.n_ubatch = min(_BATCH, cells)
        settings.n_threads = settings.n_threads_batch = max(1, threads_for() - (texts > 1))
        settings.kv_unified = True
        self._context = llama.llama_init_from_model(handle, settings)
        if not self._context:
            what = f"llama.cpp has no room for the keys and values of {cells:,} tokens"
            raise UserError(
                what, where="--max-cache", hint="allow fewer, such as `--max-cache 1GB`"
            )
        self._memory = llama.llama_get_memory(self._context)
        states = llama.llama_model_is_recurrent(handle) or llama.llama_model_is_hybrid(handle)
        self._copies = not states  # a part of a text can be taken over
        self._batch = llama.llama_batch_init(settings.n_batch, 0, 1)
        self._views = [
            np.ctypeslib.as_array(each, (settings.n_batch,))
            for each in (self._batch.token, self._batch.pos, self._batch.logits)
        ]
        for place in range(settings.n_batch):
            self._batch.n_seq_id[place] = 1
        self._most = settings.n_batch
        self._slots: dict[TokenSequence, int] = {}
        self._read: list[list[int]] = [[] for _ in range(texts)]  # tokens in each slot

    def __del__(self) -> None:
        if getattr(self, "_context", None):
            self._llama.llama_free(self._context)

    @property
    def bytes(self) -> int:
        """Bytes of keys and values that are held."""
        return self._size * sum(len(self._read[slot]) for slot in self._slots.values())

    def behind(self, expert: int, text: TokenSequence) -> int:
        """Tokens of the text that are yet to be read."""
        return len(text.tokens) - len(self._read[self._slot(text)])

    def logits(self, expert: int, texts: Sequence[TokenSequence]) -> Tensor:
        """Logits [texts, V] for the token behind each, after reading what was missed."""
        rows = torch.empty(len(texts), self._vocabulary)
        places: list[int] = []
        waiting = 0
        slots = [self._slot(text) for text in texts]
        for number, (text, slot) in enumerate(zip(texts, slots, strict=True)):
            stop = len(text.tokens)
            self._cut(slot, stop - 1)
            for start, end in _steps(len(self._read[slot]), stop, self._most):
                if waiting + end - start > self._most:
                    self._decode(waiting, rows, places)
                    waiting, places = 0, []
                self._put(waiting, text, slot, start, end, 1 if end == stop else 0)
                waiting += end - start
            places.append(number)
        self._decode(waiting, rows, places)
        return rows

    def read(self, expert: int, text: TokenSequence, stop: int, last: int = 1) -> Tensor:
        """Read a text up to its token `stop`; logits [last, V] behind its last tokens there."""
        slot = self._slot(text)
        self._cut(slot, stop - last)
        rows, known = torch.empty(last, self._vocabulary), 0
        for start, end in _steps(len(self._read[slot]), stop, self._most):
            wanted = max(0, end - max(start, stop - last))
            self._put(0, text, slot, start, end, wanted)
            self._decode(end - start, rows, list(range(known, known + wanted)))
            known += wanted
        return rows

    def forget(self, text: TokenSequence) -> None:
        """Free the slot of a text; what it holds is kept until the slot is wanted."""
        self._slots.pop(text, None)

    def _slot(self, text: TokenSequence) -> int:
        if text in self._slots:
            return self._slots[text]
        used = set(self._slots.values())
        same = [_common(read, text.tokens) for read in self._read]
        source = max(range(len(same)), key=same.__getitem__)
        free = (slot for slot in range(len(same)) if slot not in used)
        slot = min(free, key=lambda slot: len(self._read[slot]))  # whose loss costs least
        self._slots[text] = slot
        if self._copies and same[source] > same[slot]:
            self._cut(slot, 0)
            self._llama.llama_memory_seq_cp(self._memory, source, slot, 0, same[source])
            self._read[slot] = self._read[source][: same[source]]
        else:
            self._cut(slot, same[slot])
        return slot

    def _cut(self, slot: int, length: int) -> None:
        read = self._read[slot]
        if length >= len(read):
            return
        if not self._llama.llama_memory_seq_rm(self._memory, slot, length, -1):
            length = 0  # a state that only grows is read again from its start
            self._llama.llama_memory_seq_rm(self._memory, slot, -1, -1)
        del read[length:]

    def _put(
        self, at: int, text: TokenSequence, slot: int, start: int, end: int, wanted: int
    ) -> None:
        tokens, places, logits = self._views
        here = slice(at, at + end - start)
        tokens[here] = text.tokens[start:end]
        places[here] = np.arange(start, end)
        logits[here] = 0
        logits[here.stop - wanted : here.stop] = 1
        for place in range(here.start, here.stop):
            self._batch.seq_id[place][0] = slot
        self._read[slot] += text.tokens[start:end]
        text.computed += end - start

    def _decode(self, count: int, rows: Tensor, places: Sequence[int]) -> None:
        if not count:
            return
        self._batch.n_tokens = count
        self._make_room()
        status = self._llama.llama_decode(self._context, self._batch)
        if status:
            raise RuntimeError(f"llama.cpp could not compute ({status})")
        if places:
            pointer = self._llama.llama_get_logits(self._context)
            found = np.ctypeslib.as_array(pointer, (len(places), self._vocabulary))
            rows[list(places)] = torch.from_numpy(found)

    def _make_room(self) -> None:
        used = set(self._slots.values())
        for slot in range(len(self._read)):
            if sum(map(len, self._read)) <= self._cells:
                return
            if slot not in used:
                self._cut(slot, 0)


def _steps(start: int, stop: int, most: int) -> Iterator[tuple[int, int]]:
    for begin in range(start, stop, most):
        yield begin, min(begin + most, stop)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))
