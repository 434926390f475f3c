"""The sections of a recipe and the keys of each, typed and strict."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tongues.quantities import Amount, Budget, Bytes, Seconds, Share, Threshold, Tokens

__all__ = [
    "Clean",
    "Columns",
    "Drift",
    "Extend",
    "Files",
    "Hub",
    "Made",
    "Model",
    "Recipe",
    "Study",
    "Text",
    "TokenSettings",
    "Train",
]

_Rate = Annotated[float, Field(gt=0, lt=1)]
Rate = _Rate | Annotated[dict[str, _Rate], Field(min_length=1)]

_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
Off = Literal["off"]


def _readable_name(name: str) -> str:
    """The name, when it is fit for a folder."""
    if not _NAME.match(name):
        raise ValueError("a name is made of letters, digits, dot, dash and underscore")
    return name


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Drift(_Section):
    """How a made language came to be: its mother and how far it drifted from her."""

    mother: str | None = None
    distance: float = Field(default=0.0, ge=0, le=1, strict=False)


class Made(_Section):
    """A family of made languages that speak about one made-up world."""

    seed: int = Field(default=1, ge=0)
    size: Bytes = 6_000_000  # of text, per language
    languages: dict[str, Drift]


class Columns(_Section):
    """What a source calls the parts of a document; `id` and `group` may be missing there."""

    text: str = "text"
    id: str = "id"
    group: str = "group"


class Files(_Section):
    """The files of a language."""

    paths: list[str] = Field(min_length=1)  # files, directories and globs
    columns: Columns = Columns()
    documents: Literal["files", "paragraphs"] = "files"  # what a document of a .txt is
    at_most: Amount | None = None  # the first so many documents or bytes, or tokens by hash order

    @field_validator("paths", mode="before")
    @classmethod
    def _one_path_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class Hub(_Section):
    """A data set of the hub, or a folder laid out like one, read as a stream."""

    dataset: str
    subset: str | None = None
    split: str = "train"
    columns: Columns = Columns()
    at_most: Amount | None = None


class Clean(_Section):
    """What is dropped: documents beyond these thresholds; `off` switches one off.

    A percentile such as `p99` is taken among the language's own documents.
    """

    language: Share | Off = 0.5  # least share of a document identified as its own language
    script: Share | Off = "off"  # least share of its letters in the language's main script
    characters: Threshold | Off = "p0.5"  # fewest characters
    repetition: Threshold | Off = "p99.5"  # largest share of what a document says again
    repeated_lines: Threshold | Off = "p99.5"  # largest share of it in lines said before
    symbols: Threshold | Off = "p99.5"  # largest share of symbols and punctuation
    digits: Threshold | Off = "p99.5"
    near: Share | Off = 0.7  # Jaccard similarity from which one of two documents goes
    benchmark: Annotated[int, Field(ge=1)] | Off = 1  # n-grams shared with a named benchmark


class Text(_Section):
    """Where the text of each language comes from, and what of it is kept."""

    made: Made | None = None
    files: dict[str, Files] = {}
    hub: dict[str, Hub] = {}
    clean: Clean = Clean()
    benchmarks: list[str] = []  # files whose text must not be trained on
    identifier: str | None = None  # a fastText model such as GlotLID's; py3langid without

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language that has text, in the order written."""
        made = self.made.languages if self.made else ()
        return tuple(dict.fromkeys((*made, *self.files, *self.hub)))

    @model_validator(mode="after")
    def _some_text(self) -> "Text":
        if not self.languages:
            raise ValueError("no language has text; give `made.languages`, `files` or `hub`")
        twice = set(self.made.languages if self.made else ()) & {*self.files, *self.hub}
        if twice:
            raise ValueError(f"`{min(twice)}` is both a made language and one from files")
        return self

    @field_validator("files", mode="before")
    @classmethod
    def _paths_alone(cls, value: Any) -> Any:
        """A path or a list of paths stands for files with nothing else said."""
        if not isinstance(value, Mapping):
            return value
        lists = {lang: [x] if isinstance(x, str) else x for lang, x in value.items()}
        return {lang: {"paths": x} if isinstance(x, list) else x for lang, x in lists.items()}


class Extend(_Section):
    """New pieces for some languages, which leave the segmentation of others as it is."""

    pieces: int = Field(ge=1, le=1_000_000)
    languages: list[str] = Field(min_length=1)  # that the new pieces are for
    keep: list[str] = Field(min_length=1)  # whose segmentation must not change


class TokenSettings(_Section):
    """How text becomes tokens."""

    base: str | None = None  # a tokenizer to take: a Hugging Face folder or a tokenizer.json
    extend: Extend | None = None  # adds pieces to the base
    vocabulary: int = Field(default=1024, ge=260, le=1_000_000)  # of a tokenizer trained anew
    sample: Bytes = 5_000_000  # of each language, to train it on
    sampling: float = Field(default=0.0, ge=0, le=1, strict=False)  # 0: equal bytes; 1: as sizes
    spelling: Literal["refuse", "allow"] = "refuse"  # of a language at about a byte per token
    held_out: Tokens = 1_000_000  # per language, never trained on

    @model_validator(mode="after")
    def _something_to_extend(self) -> "TokenSettings":
        if self.extend and self.base is None:
            raise ValueError("there is no `base` to extend; name one, or leave out `extend`")
        return self


class Model(_Section):
    """The model of a run."""

    shape: str | None = None  # a name from `tongues.models.SHAPES`
    tied_embeddings: bool = False
    new_embeddings: Literal["mean", "similar", "plain"] = "similar"  # of pieces the parent lacks


class Train(_Section):
    """One run, or what all runs of a study have in common."""

    run: str | None = None  # its name; by default the recipe's
    mixture: dict[str, Share] = {}
    replay: dict[str, Share] = {}  # of all tokens; the mixture shares out the rest
    documents: Literal["joined", "apart"] = "joined"  # whether a sample's documents attend across
    init_from: str | None = None  # a run of the store, or a Hugging Face folder
    budget: Budget
    batch: Tokens | Literal["by size"] = 2048
    context: Tokens = 128
    optimizer: Literal["adamw", "muon"] = "adamw"
    rate: Rate = 3e-3  # at its peak; or the best rates found at smaller shapes, by shape
    schedule: Literal["cosine", "linear", "wsd", "infinite"] = "cosine"
    warmup: Share = 0.05  # of the steps
    cooldown: Share = 0.25  # infinite: of the steps, from the peak down to the plateau
    plateau: Share = 0.5  # infinite: the constant rate, of the peak
    decay: Share = 0.2  # wsd, infinite: of the steps, the last ones, down to the final rate
    final_rate: Share = 0.1  # of the peak rate
    weight_decay: float = Field(default=0.1, ge=0, le=1, strict=False)
    clip: float = Field(default=1.0, gt=0, strict=False)
    z_loss: float = Field(default=0.0, ge=0, lt=1, strict=False)
    embeddings_first: Share = 0.0  # of the steps, the first ones, in which only embeddings learn
    on_spike: Literal["tell", "back", "stop"] = "tell"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    evaluate: list[str] = []  # languages whose held-out loss is taken; all when empty
    scored: Tokens = 250_000  # of each one's held-out text, the same at each evaluation
    evaluations: int = Field(default=10, ge=1, le=1000)  # at log-spaced points, besides the start
    seed: int = 1
    # The machine's business: no part of what the run is.
    checkpoint_every: Seconds = 60.0
    keep: int = Field(default=2, ge=1, le=1000)  # newest checkpoints
    milestones: list[Share] = []  # of the steps: after these the checkpoint is kept for good
    micro_batch: Tokens | None = None  # computed at a time in each process; its share of the batch
    recompute: bool = False  # layers anew in the backward pass: less memory, more work
    compile: Literal["auto", "on", "off"] = "auto"
    threads: int | None = Field(default=None, ge=1)
    track: Literal["trackio", "tensorboard"] | None = None

    @field_validator("run")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        return None if value is None else _readable_name(value)

    @model_validator(mode="after")
    def _consistent(self) -> "Train":
        for what, size in (("batch", self.batch), ("micro-batch", self.micro_batch)):
            if isinstance(size, int) and size % self.context:
                near = max(round(size / self.context), 1) * self.context
                reason = f"a {what} of {size} tokens is no whole number of contexts"
                hint = f"of {self.context} tokens; the nearest is `{near} tokens`"
                raise ValueError(f"{reason} {hint}")
        if isinstance(self.batch, int) and (self.micro_batch or 0) > self.batch:
            reason = f"a micro-batch of {self.micro_batch} tokens is more than the batch"
            raise ValueError(f"{reason} of {self.batch} tokens that it is a part of")
        if 0.0 in self.milestones:
            raise ValueError("at 0% nothing is learned yet; the first milestone comes after it")
        stages = {"wsd": self.warmup + self.decay}
        stages["infinite"] = self.warmup + self.cooldown + self.decay
        if stages.get(self.schedule, 0.0) > 1 + 1e-9:
            taken = stages[self.schedule] * 100
            raise ValueError(f"warm-up, cooldown and decay take {taken:.4g}% of the steps")
        if self.schedule == "infinite" and self.plateau < self.final_rate:
            raise ValueError("the plateau lies below the final rate")
        if self.mixture and abs(sum(self.mixture.values()) - 1) > 1e-6:
            raise ValueError(f"the mixture adds up to {sum(self.mixture.values()):.4g}, not 100%")
        return self


class Study(_Section):
    """Many runs: every shape, strategy, target, replay ratio and seed."""

    source: str
    targets: list[str] = Field(min_length=1)
    shapes: list[str] = Field(min_length=1)
    strategies: list[Literal["scratch", "cpt"]] = Field(["scratch", "cpt"], min_length=1)
    replay: list[Share] = Field([0.0], min_length=1)
    source_budget: Budget | None = None  # of the source models; by default `train.budget`
    seeds: list[int] = Field([1], min_length=1)
    workers: int | None = Field(default=None, ge=1)  # runs at a time; by default one per core

    @field_validator("replay")
    @classmethod
    def _some_target(cls, value: list[float]) -> list[float]:
        if max(value) >= 1:
            raise ValueError("at 100% replay nothing of the target is learned")
        return value


class Recipe(_Section):
    """All of it. `name` becomes the folder of what is made."""

    name: str
    text: Text
    tokens: TokenSettings = TokenSettings()
    model: Model = Model()
    train: Train
    study: Study | None = None

    @field_validator("name")
    @classmethod
    def _readable(cls, value: str) -> str:
        return _readable_name(value)

    @model_validator(mode="after")
    def _extended_for_languages_there_are(self) -> "Recipe":
        extend = self.tokens.extend
        for lang in (*extend.languages, *extend.keep) if extend else ():
            if lang not in self.text.languages:
                raise ValueError(f"`tokens.extend` names `{lang}`, which has no text")
        return self
