"""The sections on text: where it comes from, what of it is kept, how it becomes tokens."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PlainValidator,
    SerializeAsAny,
    create_model,
    field_validator,
    model_validator,
)

from tongues.errors import nearest
from tongues.quantities import Amount, Bytes, Tokens
from tongues.recipe.base import RecipeSection, refuse
from tongues.registry import registry

__all__ = ["Ancestry", "Clean", "Columns", "Extend", "Files", "Hub", "Synthetic", "Text"]
__all__ += ["TokenSettings"]

Off = Literal["off"]


class Ancestry(RecipeSection):
    """How a synthetic language came to be: its parent and how far it drifted from her."""

    parent: str | None = None
    divergence: float = Field(default=0.0, ge=0, le=1, strict=False)


class Synthetic(RecipeSection):
    """A family of synthetic languages that speak about one made-up world."""

    seed: int = Field(default=1, ge=0)
    size: Bytes = 6_000_000  # of text, per language
    languages: dict[str, Ancestry]


class Columns(RecipeSection):
    """What a source calls the parts of a document; `id` and `group` may be missing there."""

    text: str = "text"
    id: str = "id"
    group: str = "group"


class Files(RecipeSection):
    """The files of a language."""

    paths: list[str] = Field(min_length=1)  # files, directories and globs
    columns: Columns = Columns()
    documents: Literal["files", "paragraphs"] = "files"  # what a document of a .txt is
    limit: Amount | None = None  # the first so many documents or bytes, or tokens by hash order

    @field_validator("paths", mode="before")
    @classmethod
    def _one_path_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class Hub(RecipeSection):
    """A data set of the hub, or a folder laid out like one, read as a stream."""

    dataset: str
    subset: str | None = None
    split: str = "train"
    columns: Columns = Columns()
    limit: Amount | None = None


class Clean(RecipeSection):
    """What is dropped: documents beyond these thresholds; `off` switches one off.

    The keys are those of the signals (`tongues.text.signals`) of this package, and of those of
    other packages that are named; `on` stands for a signal's own threshold. A percentile such as
    `p99` is taken among the language's own documents.
    """

    @property
    def levels(self) -> dict[str, float | str]:
        """Every threshold by its key: a number, a percentile or `off`."""
        return {key: getattr(self, key) for key in type(self).model_fields}

    def __reduce__(self) -> tuple[Any, ...]:
        """The classes of thresholds are made as they are needed: other processes make theirs."""
        return _read_clean, (self.model_dump(mode="json"),)


def _read_clean(value: Any) -> Clean:
    if isinstance(value, Clean):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("write thresholds by their signal, such as `{digits: 0.2}`")
    built_in = {signal.key for signal in registry("signal").built_in}
    kind = _clean_of(frozenset(map(str, value)) - built_in)
    usual = {key: field.default for key, field in kind.model_fields.items()}
    return kind.model_validate({k: usual.get(k) if v == "on" else v for k, v in value.items()})


@cache
def _clean_of(others: frozenset[str]) -> type[Clean]:
    """The section with the thresholds of this package, and others by their keys."""
    signals = registry("signal")
    named = [signal for signal in signals.built_in if signal.key]
    for key in sorted(others):
        found = next((signal for signal in signals if signal.key == key), None)
        if found is None:
            choices = [signal.key for signal in signals if signal.key]
            refuse(f"unknown key `{key}`", nearest(key, choices), (key,), key)
        named.append(found)
    fields: dict[str, Any] = {
        signal.key: (signal.rule.level | Off, signal.rule.default)
        for signal in sorted(named, key=lambda signal: signal.rule.order)
    }
    return create_model("Clean", __base__=Clean, **fields)


class Text(RecipeSection):
    """Where the text of each language comes from, and what of it is kept."""

    synthetic: Synthetic | None = None
    files: dict[str, Files] = Field(default={})
    hub: dict[str, Hub] = Field(default={})
    clean: Annotated[SerializeAsAny[Clean], PlainValidator(_read_clean)] = Field(
        default_factory=lambda: _read_clean({})
    )
    benchmarks: list[str] = Field(default=[])  # files whose text must not be trained on
    identifier: str | None = None  # a fastText model such as GlotLID's; py3langid without

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language that has text, in the order written."""
        made = self.synthetic.languages if self.synthetic else ()
        return tuple(dict.fromkeys((*made, *self.files, *self.hub)))

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
        """A path or a list of paths stands for files with nothing else said."""
        if not isinstance(value, Mapping):
            return value
        lists = {lang: [x] if isinstance(x, str) else x for lang, x in value.items()}
        return {lang: {"paths": x} if isinstance(x, list) else x for lang, x in lists.items()}


class Extend(RecipeSection):
    """New pieces for some languages, which leave the segmentation of others as it is."""

    new_tokens: int = Field(ge=1, le=1_000_000)
    languages: list[str] = Field(min_length=1)  # that the new pieces are for
    preserve: list[str] = Field(min_length=1)  # whose segmentation must not change


class TokenSettings(RecipeSection):
    """How text becomes tokens."""

    base: str | None = None  # a tokenizer to take: a Hugging Face folder or a tokenizer.json
    extend: Extend | None = None  # adds pieces to the base
    vocab_size: int = Field(default=1024, ge=260, le=1_000_000)  # of a tokenizer trained anew
    sample: Bytes = 5_000_000  # of each language, to train it on
    sampling: float = Field(default=0.0, ge=0, le=1, strict=False)  # 0: equal bytes; 1: as sizes
    byte_fallback: Literal["refuse", "allow"] = "refuse"  # of a language at about a byte per token
    held_out: Tokens = 1_000_000  # per language, never trained on

    @model_validator(mode="after")
    def _something_to_extend(self) -> "TokenSettings":
        if self.extend and self.base is None:
            raise ValueError("there is no `base` to extend; name one, or leave out `extend`")
        return self
