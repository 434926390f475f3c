"""The sections on text: where it comes from, what of it is kept, how it becomes tokens."""

import codecs
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    SerializeAsAny,
    TypeAdapter,
    create_model,
    field_validator,
    model_validator,
)

from tongues.core.errors import nearest
from tongues.core.quantities import Amount, Bytes, Share, Tokens
from tongues.core.registry import registry
from tongues.recipe.base import RecipeSection, readable_name, refuse

Off = Literal["off"]


class Ancestry(RecipeSection):
    """Where a synthetic language comes from: its parent, and how far it diverged."""

    parent: str | None = None
    """The language it descends from; none for a root."""
    divergence: float = Field(default=0.0, ge=0, le=1, strict=False)
    """How far it is from its parent, 0 to 1."""


class Synthetic(RecipeSection):
    """A family of synthetic languages that describe one invented world."""

    seed: int = Field(default=1, ge=0)
    """Random seed of the world and its languages."""
    size: Bytes = 6_000_000
    """Text of each language."""
    languages: dict[str, Ancestry]
    """Tag to `{}` for a root or `{parent: TAG, divergence: 0.3}`; tags `qaa` to `qtz`."""


class Columns(RecipeSection):
    """What a source calls the parts of a document; `id` and `group` may be missing there."""

    text: str = "text"
    """Column of the text."""
    id: str = "id"
    """Column of the document's name."""
    group: str = "group"
    """Column of the group; documents of a group are never on both sides of the held-out split."""


class Files(RecipeSection):
    """The files of a language."""

    paths: list[str] = Field(min_length=1)
    """Files, folders and globs: text, Markdown, JSON, CSV, Parquet, packed or not."""
    columns: Columns = Columns()
    """Names of the columns."""
    documents: Literal["files", "paragraphs"] = "files"
    """What a document of a `.txt` is: the file, or each paragraph."""
    encoding: str = ""
    """Encoding of the files, such as `cp1251`; default: by the byte order mark, else UTF-8."""
    limit: Amount | None = None
    """The first documents or bytes (`2 GB`), or tokens in the order of hashes."""

    @field_validator("encoding")
    @classmethod
    def _encoding_of_python(cls, value: str) -> str:
        try:
            return codecs.lookup(value).name if value else ""
        except LookupError:
            raise ValueError(f"`{value}` is not an encoding; write one such as `cp1251`") from None

    @field_validator("paths", mode="before")
    @classmethod
    def _one_path_is_a_list(cls, value: Any) -> Any:
        for one in value if isinstance(value, list) else ():
            if isinstance(one, Mapping):
                keys = "".join(f", {key}: …" for key in one if key not in ("path", "paths"))
                raise ValueError(f"is a list of paths alone; write `{{paths: [FILE]{keys}}}`")
        return [value] if isinstance(value, str) else value


class Hub(RecipeSection):
    """A data set of the hub, or a folder laid out like one, read as a stream."""

    dataset: str
    """Its name on the hub, or a local folder laid out like one."""
    subset: str | None = None
    """Its configuration."""
    split: str = "train"
    """Its split."""
    columns: Columns = Columns()
    """Names of the columns."""
    limit: Amount | None = None
    """As of `files`."""


class Clean(RecipeSection):
    """What is dropped: documents beyond these thresholds; `off` switches one off.

    The keys are those of the signals (`tongues.text.signals`) of this package, and of those of
    other packages that are named; `on` means a signal's own threshold.
    """

    languages: dict[str, dict[str, float | str]] = Field(default={})
    """Tag to thresholds that differ for that language."""

    @property
    def levels(self) -> dict[str, float | str]:
        """Every threshold by its key: a number or `off`."""
        keys = (key for key in type(self).model_fields if key not in Clean.model_fields)
        return {key: getattr(self, key) for key in keys}

    def levels_of(self, lang: str) -> dict[str, float | str]:
        """The thresholds of a language."""
        return {**self.levels, **self.languages.get(lang, {})}

    def __reduce__(self) -> tuple[Any, ...]:
        """The classes of thresholds are made as they are needed: other processes make theirs."""
        return _read_clean, (self.model_dump(mode="json"),)


def _read_clean(value: Any) -> Clean:
    if isinstance(value, Clean):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("write thresholds by their signal, such as `{digits: 0.2}`")
    built_in = {signal.key for signal in registry("signal").built_in}
    by_language = value.get("languages", {})
    if not isinstance(by_language, Mapping) or not all(
        isinstance(each, Mapping) for each in by_language.values()
    ):
        raise ValueError("`languages` is a map from tags to thresholds, `{ga: {language: off}}`")
    every = {str(key) for each in (value, *by_language.values()) for key in each}
    kind = _clean_of(frozenset(every) - built_in - set(Clean.model_fields))
    usual = {key: field.default for key, field in kind.model_fields.items()}

    def checked(levels: Mapping[str, Any]) -> Clean:
        keys = usual.keys() - Clean.model_fields.keys()
        levels = {k: usual[k] if v == "on" and k in keys else v for k, v in levels.items()}
        return kind.model_validate(levels)

    rules = {signal.key: signal.rule for signal in registry("signal").built_in if signal.rule}
    same = {key for key, rule in rules.items() if rule.keeps == "one of each"}
    own: dict[str, dict[str, float | str]] = {}
    for lang, levels in by_language.items():
        if wrong := (same | set(Clean.model_fields)) & set(levels):
            raise ValueError(f"`{min(wrong)}` is the same for all languages")
        clean = checked(levels)
        own[lang] = {key: getattr(clean, key) for key in levels}
    rest = {key: level for key, level in value.items() if key != "languages"}
    return checked(rest).model_copy(update={"languages": own})


@cache
def _clean_of(others: frozenset[str]) -> type[Clean]:
    signals = registry("signal")
    named = [signal for signal in signals.built_in if signal.key]
    for key in sorted(others):
        found = next((signal for signal in signals if signal.key == key), None)
        if found is None:
            choices = [signal.key for signal in signals if signal.key]
            refuse(f"unknown key `{key}`", nearest(key, choices), (key,), key)
        named.append(found)
    rules = [(x.key, x.rule) for x in sorted(named, key=lambda signal: signal.rule.order)]
    fields: dict[str, Any] = {key: (rule.level | Off, rule.default) for key, rule in rules}
    return create_model("Clean", __base__=Clean, **fields)


class Text(RecipeSection):
    """Where the text of each language comes from, and what of it is kept."""

    name: str | None = None
    """Folder of the corpus, `corpus/NAME`, which recipes share; default: the recipe's name."""
    synthetic: Synthetic | None = None
    """Synthetic languages."""
    files: dict[str, Files] = Field(default={})
    """Tag to a path, a list of paths, or the section below."""
    hub: dict[str, Hub] = Field(default={})
    """Tag to a data set of the Hugging Face hub, read as a stream."""
    clean: Annotated[SerializeAsAny[Clean], PlainValidator(_read_clean)] = Field(
        default_factory=lambda: _read_clean({})
    )
    """Which documents are dropped."""
    benchmarks: list[str] = Field(default=[])
    """Files (`.jsonl`, `.txt`) whose text must not be trained on, such as test sets."""
    repair: bool = False
    """Whether UTF-8 that was read as another encoding is repaired by ftfy."""
    identifier: str | None = None  # a fastText model such as GlotLID's; py3langid without
    """A fastText model that identifies languages, such as GlotLID's; default: py3langid."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language that has text, in the order written."""
        made = self.synthetic.languages if self.synthetic else ()
        return tuple(dict.fromkeys((*made, *self.files, *self.hub)))

    @field_validator("name")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        return value if value is None else readable_name(value)

    @model_validator(mode="after")
    def _some_text(self) -> "Text":
        if not self.languages:
            raise ValueError("no language has text; give `synthetic.languages`, `files` or `hub`")
        twice = set(self.synthetic.languages if self.synthetic else ()) & {*self.files, *self.hub}
        if twice:
            raise ValueError(f"`{min(twice)}` is both a synthetic language and one from files")
        return self

    @field_validator("files", mode="before")
    @classmethod
    def _paths_alone(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {tag: {"paths": x} if isinstance(x, str | list) else x for tag, x in value.items()}


class Extend(RecipeSection):
    """New tokens for some languages; the segmentation of others stays the same."""

    new_tokens: int = Field(ge=1, le=1_000_000)
    """Number of tokens to add."""
    languages: list[str] = Field(min_length=1)
    """Languages that the new tokens are for."""
    preserve: list[str] = Field(min_length=1)
    """Languages whose segmentation must not change."""


class HeldOutLike(RecipeSection):
    """The held-out text of other tokens."""

    like: str
    """A folder of tokens: the groups that they hold out are held out, and no others."""


def _read_held_out(value: Any) -> int | float | HeldOutLike:
    if isinstance(value, Mapping | HeldOutLike):
        return HeldOutLike.model_validate(value)
    if isinstance(value, float) or (isinstance(value, str) and value.rstrip().endswith("%")):
        share = TypeAdapter(Share).validate_python(value)
        if not 0 < share <= 0.5:
            raise ValueError(f"`{value}` is not a share above 0 and up to 50%")
        return share
    return TypeAdapter(Tokens).validate_python(value)


def _show_held_out(value: int | float | HeldOutLike) -> str | dict[str, str]:
    if isinstance(value, HeldOutLike):
        return {"like": value.like}
    return f"{value * 100:.10g}%" if isinstance(value, float) else f"{value} tokens"


HeldOut = Annotated[
    int | float | HeldOutLike, PlainValidator(_read_held_out), PlainSerializer(_show_held_out)
]


class TokenSettings(RecipeSection):
    """How text becomes tokens."""

    base: str | None = None
    """A tokenizer to use (BPE or Unigram): a folder, a `tokenizer.json`, or `org/name@revision`."""
    extend: Extend | None = None
    """Tokens to add to the base."""
    trim: bool = False
    """Drop tokens of the base that this text does not use, with their embeddings."""
    replace: bool = False
    """Whether this tokenizer replaces the one of the base model."""
    vocab_size: int = Field(default=1024, ge=260, le=1_000_000)
    """Without a base: tokens of the byte-level BPE trained on the text."""
    sample: Bytes = 5_000_000
    """Text of each language that the tokenizer is trained on."""
    document_start: str = "auto"
    """Token before each document: `auto`, as the base's tokenizer has it; `none`; or its name."""
    byte_fallback: Literal["refuse", "allow"] = "refuse"
    """Whether a language below 1.25 bytes per token is refused."""
    held_out: HeldOut = 0.02
    """Text of each language not to train on: a share, tokens at least, or `like: FOLDER`."""

    def held_out_of(self, tokens: int) -> int:
        """Tokens that are held out of an amount of text, about."""
        wanted = self.held_out
        if isinstance(wanted, HeldOutLike):
            return TokenSettings().held_out_of(tokens)
        return wanted if isinstance(wanted, int) else round(wanted * tokens)

    @model_validator(mode="after")
    def _something_to_extend(self) -> "TokenSettings":
        if self.extend and self.base is None:
            raise ValueError("there is no `base` to extend; name one, or leave out `extend`")
        if self.document_start != "auto" and self.base is None:
            raise ValueError("`document_start` is of a base's tokenizer, and there is no `base`")
        if self.trim and (self.base is None or self.extend):
            raise ValueError("`trim` needs a `base`, and goes without `extend`")
        return self
