"""Ready recipes for bases: a base, a language and its text make one.

Of the catalogue those whose vocabulary, context and licence are known. A recipe names only what the
base does not decide; the rest follows from it (`tongues.train.defaults`).
"""

import json
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from pydantic import TypeAdapter

from tongues.errors import UserError, nearest
from tongues.hub import local
from tongues.languages import find_language
from tongues.plan.bases import BaseCheckpoint, known_bases, read_base
from tongues.plan.published import published_projects, usual_replay
from tongues.quantities import Budget, show_count
from tongues.runs import read_run
from tongues.tokens.trial import NEW_TOKENS, TokenizerTrial
from tongues.train.base import find_base, find_run
from tongues.train.metadata import languages_of

_RECIPE = """\
# {short} on `{target}`. What the recipe leaves out follows from the base: `tongues check` shows it.
# The base: {parameters:,} parameters, licence {licence}.{gated}
name: {name}
text:
{texts}
tokens:
  base: {tokenizer}
  held_out: {held_out} tokens    # never trained on, for `tongues evaluate`
{fallback}train:
  base: {{model: {model}, languages: [{languages}]}}{assumed}
{mixture}
  budget: {budget}    # replay included; in tokens, FLOPs, hours or days
{evaluations}"""
_EXTEND = "extend: {{new_tokens: {}, languages: [{}], preserve: [{}]}}    # {}"
_HELD_OUT = 100_000  # tokens of a language, and at most this share of its text
_HELD_SHARE = 0.1
_PER_TOKEN = 4  # bytes of text in a token, about
_SHORT = 10_000_000  # tokens of a run, below which evaluations during it would take long
_STORE = Path("runs")  # of this folder


@dataclass(frozen=True, slots=True)
class ReadyBase:
    """A base with a ready recipe."""

    base: str  # id of the hub, a run of the store, or a folder
    parameters: int
    vocabulary: int  # rows of its embeddings
    context: int
    licence: str
    gated: bool  # its terms must be accepted on its page
    first: str  # what its tokenizer puts before a text; empty: nothing, or not known
    languages: tuple[str, ...]  # of those that its makers name
    folder: str = ""  # of its model; empty: on the hub
    assumed: bool = False  # whether nothing says its languages

    @property
    def short(self) -> str:
        """The name without the organisation, or without the folders that it is in."""
        path = Path(self.base)
        return path.parent.name if path.name == "model" else path.name

    def recipe_name(self, language: str) -> str:
        """The usual name of a recipe, and so of its run."""
        return f"{self.short.lower()}-{language}"

    @property
    def tokenizer(self) -> Path | None:
        """The folder of its tokenizer; None where it is not on this disk."""
        folder = Path(self.folder) if self.folder else local(self.base)
        return folder if folder and (folder / "tokenizer.json").is_file() else None

    def replay(self, language: str, texts: Container[str] | None) -> dict[str, float]:
        """The share of its first language that there is text of; texts: None for the hub's."""
        others = (lang for lang in self.languages if lang != language)
        replayed = next((lang for lang in others if texts is None or lang in texts), None)
        return {replayed: usual_replay(published_projects())[0]} if replayed else {}

    def row(self) -> dict[str, str]:
        """As a row of a table."""
        return {
            "base": self.base,
            "parameters": show_count(self.parameters),
            "vocabulary": f"{self.vocabulary:,}",
            "context": f"{self.context:,}",
            "first token": self.first,
            "licence": self.licence + (", gated" if self.gated else ""),
            "languages": " ".join(self.languages[:6]) + (" …" if len(self.languages) > 6 else ""),
        }


@lru_cache
def ready_bases() -> dict[str, ReadyBase]:
    """The bases by their id, in the order of the catalogue."""
    return {
        base.name: _ready(base)
        for base in known_bases().values()
        if base.vocabulary and base.context and base.licence
    }


def _ready(base: BaseCheckpoint, folder: str = "") -> ReadyBase:
    return ReadyBase(
        base.name,
        round(base.params),
        base.vocabulary or 0,
        base.context or 0,
        base.licence,
        base.gated,
        base.first,
        base.languages or ("en",),
        folder,
        not base.languages,
    )


def find_ready(base: str) -> ReadyBase:
    """A base with a ready recipe by its id or the end of it, or one from a run or its folder."""
    if run := find_run(base, Path()):
        place, store = run.resolve(), _STORE.resolve()
        inside = place.is_relative_to(store)
        name = str(place.relative_to(store) if inside else run / "model")
        find_base(name, Path())  # it must be finished
        return _of_folder(name, run / "model", read_run(run).languages)
    if (folder := Path(base)).is_dir():
        return _of_folder(base, folder, languages_of(folder))
    by_name = {
        name.lower(): one for one in ready_bases().values() for name in (one.base, one.short)
    }
    if ready := by_name.get(base.lower()):
        return ready
    runs = (str(file.parent.relative_to(_STORE)) for file in _STORE.rglob("run.json"))
    folders = (str(file.parent) for file in folder.parent.glob("*/config.json"))
    hint = nearest(base, [*(one.short for one in ready_bases().values()), *runs, *folders])
    hint += "\n  any other base: name a run or a Hugging Face folder, or change the ids in a recipe"
    raise UserError(f"there is no ready recipe for `{base}`", where="BASE", hint=hint)


def _of_folder(base: str, folder: Path, languages: tuple[str, ...]) -> ReadyBase:
    read = replace(read_base(str(folder)), name=base, languages=languages)
    return _ready(read, str(folder))


def hub_text(language: str, limit: str) -> dict[str, str]:
    """Public text of a language on the hub: FineWeb, or FineWeb-2 for what is not English."""
    if language == "en":
        source = {"dataset": "HuggingFaceFW/fineweb", "subset": "sample-10BT"}
    else:
        one = find_language(language)
        source = {"dataset": "HuggingFaceFW/fineweb-2", "subset": f"{one.code}_{one.script}"}
    return source | {"limit": limit}


def text_limit(tokens: float, bytes_per_token: float = _PER_TOKEN, most: float = math.inf) -> str:
    """How much text to read for that many tokens, of `most` bytes; some of it is dropped."""
    return f"{min(max(1.25 * bytes_per_token * tokens, 2e6), most) / 1e6:.0f} MB"


def ready_recipe(
    base: str,
    language: str,
    budget: str = "100M tokens",
    files: Mapping[str, Sequence[str]] | None = None,
    sizes: Mapping[str, int] | None = None,
    trial: TokenizerTrial | None = None,
    name: str | None = None,
) -> str:
    """A recipe in YAML that continues a base on a language.

    base: as `find_ready` takes it. budget: in tokens. files: paths by language; None: text of the
    hub. sizes: bytes of these. trial: of the base's tokenizer on them. name: None: of base and
    language. A language of the base is replayed where there is text of it.
    """
    ready = find_ready(base)
    replay = ready.replay(language, files)
    replayed, share = next(iter(replay.items()), ("", 0.0))
    mixture = [f"  mixture: {{{language}: 100%}}"]
    if language in ready.languages:
        mixture.insert(0, f"  targets: [{language}]")
    if replayed:
        mixture.append(f"  replay: {{{replayed}: {share:.0%}}}    # median of published projects")
    elif files is not None:
        other = "another" if language in ready.languages else "a"
        mixture.append(f"  # no replay: there is no text of {other} language of the base")
    shares = {language: 1 - share} | replay
    held_out = _HELD_OUT
    if sizes:
        held_out = min(
            held_out, round(_HELD_SHARE * min(sizes.values()) / _PER_TOKEN / 1000) * 1000
        )
    evaluations = ""
    if (tokens := _tokens(budget)) < _SHORT:
        of_each = max(round(tokens / 64), 4096)
        evaluations = (
            "  num_evals: 4    # during training, each of this many held-out tokens a language:\n"
        )
        evaluations += f"  eval_tokens: {of_each} tokens\n"
    return _RECIPE.format(
        short=ready.short,
        target=language,
        parameters=ready.parameters,
        licence=ready.licence,
        gated=f"\n# Gated: accept its terms at huggingface.co/{ready.base}" if ready.gated else "",
        name=name or ready.recipe_name(language),
        texts="\n".join(_texts(shares, budget, files)),
        held_out=f"{max(held_out, 1000):,}".replace(",000", "k"),
        model=ready.base,
        tokenizer=ready.folder or ready.base,
        languages=", ".join(ready.languages),
        assumed="    # assumed: write the languages that it knows" if ready.assumed else "",
        mixture="\n".join(mixture),
        budget=budget,
        evaluations=evaluations,
        fallback="".join(f"  {line}\n" for line in _fallback(ready, language, replayed, trial)),
    )


def _fallback(
    ready: ReadyBase, language: str, replayed: str, trial: TokenizerTrial | None
) -> Iterator[str]:
    """What a recipe says of text that the base's tokenizer has too few tokens for."""
    if trial is None:
        if replayed and language not in ready.languages:
            why = "if the base falls back to bytes"
            yield f"# {_EXTEND.format(NEW_TOKENS, language, replayed, why)}"
        return
    if trial.new_tokens:
        why = "the base falls back to bytes"
        yield _EXTEND.format(trial.new_tokens, language, replayed, why)
    if trial.unfit:
        langs = ", ".join(trial.unfit)
        yield f"byte_fallback: allow    # the base has too few tokens for {langs}"


def _tokens(budget: str) -> float:
    """Of a budget, which is in tokens."""
    amount = TypeAdapter(Budget).validate_python(budget)
    assert amount.unit == "tokens"
    return amount.amount


def _texts(
    shares: Mapping[str, float], budget: str, files: Mapping[str, Sequence[str]] | None
) -> Iterator[str]:
    roles = dict(zip(shares, ("learned", "a language of the base, to be replayed"), strict=False))
    if files is not None:
        yield "  files:    # folders, files or globs of .txt, .jsonl, .parquet, .csv"
        for lang in shares:
            paths = json.dumps(list(files[lang]), ensure_ascii=False)
            yield f"    {lang}: {paths}    # {roles[lang]}"
        return
    tokens = _tokens(budget)
    yield "  hub:    # streamed; own text: `files: {sw: [FOLDER]}`, or `tongues new --text FOLDER`"
    for lang, share in shares.items():
        source = hub_text(lang, text_limit(tokens * share))
        words = ", ".join(f"{key}: {value}" for key, value in source.items())
        yield f"    {lang}: {{{words}}}    # {roles[lang]}"
