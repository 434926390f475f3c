"""Bases to continue from, by id, folder or size; `bases.csv` has what their makers state."""

import csv
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from pydantic import TypeAdapter

from tongues.core.errors import UserError, nearest
from tongues.core.hub import local
from tongues.core.quantities import show_count
from tongues.models.folders import read_config, stored_shapes
from tongues.plan.budget import read_number
from tongues.runs.record import read_run
from tongues.train.base import find_base, find_run
from tongues.train.metadata import UNKNOWN, languages_of, licence_of

_SIZES = (1e4, 1e13)  # parameters
_STORE = Path("runs")  # of this folder
_NOT_KNOWN = "write its size and the tokens it has read, `{}=4B@36T`, or name a folder"


@dataclass(frozen=True, slots=True)
class BaseCheckpoint:
    """A checkpoint that training may continue from.

    name: its id on the hub, a folder, or the name it was given with its size.
    params: of its text part, embeddings and all experts included.
    tokens: read in pre-training; NaN where nobody says.
    tokenizer: its family (`llama3`, as `tongues.languages.fertility` has them), or a folder.
    languages: those that its makers name, or in which it was at three quarters of its English
        untouched (Mistral 7B, by EuroEval): it knows them already. Of lists above 70 names only
        those that its makers put first (Qwen3 names 119, Qwen3.5 201, Gemma 3 and 4 140).
    active: parameters that a token meets in a mixture of experts; None: all.
    vocabulary: rows of its embeddings. context: tokens. hidden: numbers for a token
        between layers. tied: whether its output matrix is its embeddings. None: not known.
    gated: whether its terms must be accepted on its page.
    first: what its tokenizer puts before a text; empty: nothing, or not known.
    released: year and month. instruct: id of the instruction model made from it.
    asked: the instruction model that was named in its place.
    folder: of its weights on this disk; empty where they are on the hub.
    """

    name: str
    params: float
    tokens: float = math.nan
    tokenizer: str = ""
    languages: tuple[str, ...] = ()
    active: float | None = None
    vocabulary: int | None = None
    context: int | None = None
    hidden: int | None = None
    layers: int | None = None
    tied: bool | None = None
    licence: str = ""
    gated: bool = False
    first: str = ""
    released: str = ""
    instruct: str = ""
    asked: str = ""
    folder: str = ""

    @property
    def met(self) -> float:
        """Parameters that each token meets: what a token costs."""
        return self.active or self.params

    @property
    def dense(self) -> float:
        """Parameters of a model without experts that is about as good: the geometric mean."""
        return math.sqrt(self.met * self.params)

    def attention(self, context: int) -> float:
        """Operations of a training step for each token, at the length it sees on average.

        By layers and width alone: more than models with windows or without attention take.
        """
        return 6.0 * (self.layers or 0) * (self.hidden or 0.0) * (context + 1)

    @property
    def short(self) -> str:
        """The name without the organisation, or without the folders that it is in."""
        path = Path(self.name)
        return path.parent.name if path.name == "model" else path.name

    @property
    def tokenizer_folder(self) -> Path | None:
        """The folder of its tokenizer; None where it is not on this disk."""
        place = Path(self.folder) if self.folder else local(self.name)
        return place if place and (place / "tokenizer.json").is_file() else None

    def row(self) -> dict[str, str]:
        """As a row of a table."""
        context = f"{self.context:,}" if self.context else ""
        return {
            "base": self.name,
            "parameters": show_count(self.params),
            "read": "" if math.isnan(self.tokens) else show_count(self.tokens),
            "context": context,
            "released": self.released,
            "licence": self.licence + (", gated" if self.gated else ""),
            "languages": " ".join(self.languages[:6]) + (" …" if len(self.languages) > 6 else ""),
        }


@lru_cache
def known_bases() -> dict[str, BaseCheckpoint]:
    """The bases of `bases.csv` by their id on the Hugging Face hub, in its order."""
    text = (files("tongues.plan") / "bases.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    read = TypeAdapter(BaseCheckpoint).validate_python
    found = dict[str, BaseCheckpoint]()
    for row in rows:
        known = {key: cell for key, cell in row.items() if cell}
        listed = {"name": row["base"], "languages": row["languages"].split()}
        found[row["base"]] = read(known | listed)
    return found


@lru_cache
def _by_short_name() -> dict[str, BaseCheckpoint]:
    """The bases and their instruction models, by the end of their ids in lower case."""
    known = known_bases().values()
    named = [(one.instruct, replace(one, asked=one.instruct)) for one in known if one.instruct]
    named += [(one.name, one) for one in known]
    return {name.split("/")[-1].lower(): one for name, one in named}


def read_base(text: str, where: str = "--base") -> BaseCheckpoint:
    """A base written `NAME=PARAMS@TOKENS`, or a hub id, a run or a folder, with `@TOKENS` or not.

    where: what an error names.
    """
    if not text.strip():
        raise UserError("is empty", where=where, hint="such as `Qwen/Qwen3-4B-Base`")
    word, at, amount = text.strip().partition("@")
    tokens = read_number(amount, where) if at else math.nan
    name, equals, size = word.rpartition("=")
    known = _by_short_name().get((name if equals else word).split("/")[-1].lower())
    if equals and name.strip():
        params = read_number(size, where)
        if not _SIZES[0] <= params <= _SIZES[1]:
            hint = "write its parameters like `4B`"
            raise UserError(f"`{size}` is not the size of a model", where=where, hint=hint)
        tokenizer, languages = (known.tokenizer, known.languages) if known else ("", ())
        return BaseCheckpoint(name.strip(), params, tokens, tokenizer, languages)
    if not equals and (run := find_run(word, Path())):
        place, store = run.resolve(), _STORE.resolve()
        inside = place.is_relative_to(store)
        name = str(place.relative_to(store) if inside else run / "model")
        find_base(name, Path())  # it must be finished
        return replace(_of_folder(name, run / "model", tokens), languages=read_run(run).languages)
    if (folder := Path(word)).is_dir() and not equals:
        return _of_folder(word, folder, tokens)
    if known is None or equals:
        what = f"`{text}` is neither a folder nor a base of the catalogue"
        hint = _NOT_KNOWN.format(Path(word).name if word and not equals else "mine")
        names = [*known_bases(), *_by_short_name()]
        close = nearest(word, names) if word else ""
        hint = f"{close}\n  or {hint}" if close.startswith("did") and not equals else hint
        raise UserError(what, where=where, hint=hint)
    return replace(known, tokens=tokens) if at else known


def _of_folder(name: str, folder: Path, tokens: float) -> BaseCheckpoint:
    if not any(folder.glob("*.safetensors")):
        hint = "write `NAME=PARAMS@TOKENS`"
        raise UserError("there are no weights to count", where=str(folder), hint=hint)
    config = read_config(folder)
    text = config.get("text_config", config)
    return BaseCheckpoint(
        name,
        float(sum(math.prod(shape) for shape in stored_shapes(folder).values())),
        tokens,
        str(folder),
        languages_of(folder),
        vocabulary=text.get("vocab_size"),
        context=text.get("max_position_embeddings"),
        hidden=text.get("hidden_size"),
        layers=text.get("num_hidden_layers"),
        tied=config.get("tie_word_embeddings"),
        licence="" if (licence := licence_of(str(folder)).licence) == UNKNOWN else licence,
        folder=str(folder),
    )
