"""What is asked: a budget, the bases, the languages and the text there is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.hardware import USUAL_MFU, Cluster, find_gpu
from tongues.core.quantities import Bytes, Share, Tokens, show_count
from tongues.languages import OwnRun
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import bytes_per_token
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.budget import Budget, read_as, read_budget, read_number

_LEAST_TEXT = 1e4  # tokens; no law of repeats was fitted on anywhere near as few
PER_TOKEN = 4  # bytes of text in a token, where nothing is known of the language
# Tokens of each language that a recipe holds out, and at most this share of its text. Chosen;
# the interval of every later evaluation follows from them.
_HELD_OUT, _HELD_SHARE = 100_000, 0.1
_TEXT = "--available-text"
_MUCH = 0.1  # rise of the loss, from where a share without `%` may be a slip; chosen
_SHARES = ("mfu", "replay", "max_forgetting")


@dataclass(frozen=True, slots=True)
class Target:
    """A language to learn and the different text there is of it.

    language: a tag. text: bytes; infinite where nobody counted. tokens: of that text, where they
    were counted instead, of no language that is known. files: paths of it on this disk. per_token:
    bytes of a token by the tokenizer of a base, where it was measured on this text. sample: of it.
    """

    language: str
    text: float = math.inf
    tokens: float | None = None
    files: tuple[str, ...] = ()
    per_token: Mapping[str, float] | None = None
    sample: tuple[str, ...] = ()

    def bytes_per_token(self, base: BaseCheckpoint | None) -> Estimate:
        """By the base's tokenizer, or by a vocabulary of the language's own."""
        measured = (self.per_token or {}).get(base.name if base else "")
        if measured:
            return Estimate(measured, method="measured on your text")
        if not self.language:
            return Estimate(math.nan, reason="no language is named")
        return bytes_per_token(find_language(self.language), base.tokenizer if base else "own")

    def unique(self, base: BaseCheckpoint | None) -> float:
        """Tokens of different text, by the tokenizer of the base or one of the language's own."""
        if self.tokens is not None:
            return self.tokens
        return math.inf if math.isinf(self.text) else self.text / self.bytes_per_token(base).value


@dataclass(frozen=True, slots=True)
class Question:
    """What a plan answers.

    replayed: text in a language of the base that is on this disk.
    usual: whether nobody gave the budget.
    losses: of bases before any training, by name, in bits per byte, or in nats per token where own
    laws are given. params: of a model from scratch, where they are settled.
    bases: checkpoints to continue from. chosen: whether the planner chose them.
    replay: share of text in the base's languages; None leaves it to the planner.
    max_forgetting: rise of the loss on the base's languages that is allowed, 0.01 for 1 %.
    runs: small runs of one's own from scratch on the same text.
    cluster: what trains; None leaves hours and money open.
    settings: of `train` in its recipe, that are not the planner's.
    """

    budget: Budget
    targets: tuple[Target, ...] = (Target(""),)
    replayed: Target | None = None
    usual: bool = False
    params: float | None = None
    bases: tuple[BaseCheckpoint, ...] = ()
    chosen: bool = False
    replay: float | None = None
    max_forgetting: float | None = None
    losses: Mapping[str, float] = field(default_factory=dict)
    runs: tuple[OwnRun, ...] = ()
    cluster: Cluster | None = None
    settings: Mapping[str, str | float] = field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        """Tags of the languages to learn."""
        return tuple(target.language for target in self.targets if target.language)

    @property
    def held_out(self) -> int:
        """Tokens of each language that its recipe holds out."""
        texts = [self.replayed] if self.replayed else []
        smallest = min(target.text for target in (*self.targets, *texts))
        if math.isinf(smallest):
            return _HELD_OUT
        return max(1000, min(_HELD_OUT, round(_HELD_SHARE * smallest / PER_TOKEN / 1000) * 1000))

    def unique(self, base: BaseCheckpoint | None) -> float:
        """Tokens of different text in all languages to learn."""
        return sum(target.unique(base) for target in self.targets)

    def with_text(
        self, targets: tuple[Target, ...], replayed: Target | None = None, where: str = _TEXT
    ) -> "Question":
        """With the text there is; a UserError about `where` where that is too little."""
        if self.losses and len(targets) != 1:
            what, hint = "is of one base on one language", "name them, or leave it out"
            raise UserError(what, where="--base-loss", hint=hint)
        asked = replace(self, targets=targets, replayed=replayed)
        if (tokens := asked.unique(self.bases[0] if self.bases else None)) < _LEAST_TEXT:
            what = f"about {show_count(tokens)} tokens are too little text: no law knows so few"
            hint = f"give {show_count(_LEAST_TEXT)} tokens or more"
            raise UserError(what, where=where, code="too_little_text", hint=hint)
        return asked


def ask(
    budget: str | None = None,
    *,
    bases: Sequence[BaseCheckpoint] = (),
    runs: Sequence[OwnRun] = (),
    gpu: str | None = None,
    **words: str | float | None,
) -> Question:
    """The question from what a user typed behind each option; a UserError names a wrong one.

    Its text comes later (`with_text`): reading that takes time, and a slip is found before.
    words: gpus, mfu, price, params, base_loss, replay and max_forgetting, as of `tongues.plan`.
    """
    given = {name: _read(name, word) for name, word in words.items() if word is not None}
    cluster = _cluster(gpu, given)
    if budget is None:
        hint = "such as `--budget '40B tokens'`, `'72 hours'`, `'5000 US$'` or `'1e21 FLOPs'`"
        raise UserError("there is no budget", code="no_budget", hint=hint)
    spent = read_budget(budget, "--budget", cluster)
    if len({base.name for base in bases}) < len(bases):
        raise UserError("two checkpoints have one name", where="--base")
    own = given.get("base_loss")
    if own and len(bases) != 1:
        what, hint = "is of one base on one language", "name them, or leave it out"
        raise UserError(what, where="--base-loss", hint=hint)
    if bases and "params" in given:
        what, hint = "is of a model from scratch, and a base is named", "leave one of them out"
        raise UserError(what, where="--params", hint=hint)
    return Question(
        spent,
        params=given.get("params"),
        bases=tuple(bases),
        replay=given.get("replay"),
        max_forgetting=given.get("max_forgetting"),
        losses={bases[0].name: own} if own else {},
        runs=tuple(runs),
        cluster=cluster,
    )


def _read(name: str, word: str | float) -> float:
    flag, text = f"--{name.replace('_', '-')}", str(word)
    if name not in _SHARES:
        return read_number(text, flag)
    share = read_as(Share, text, flag)
    if name == "max_forgetting" and isinstance(word, str) and share >= _MUCH and "%" not in word:
        what, hint = f"`{text}` is {share:.0%} of the loss", f"write `{text}%`, or `{share:.0%}`"
        raise UserError(what, where=flag, hint=hint)
    if name == "replay" and share == 1.0:
        raise UserError("all of the text would be replay", where=flag, hint="write it like `20%`")
    return share


def _cluster(gpu: str | None, given: Mapping[str, float]) -> Cluster | None:
    if gpu is None:
        if unused := [name for name in ("gpus", "mfu", "price") if name in given]:
            raise UserError(f"--{unused[0]} needs `--gpu`", hint="such as `--gpu h100`")
        return None
    kind, count = find_gpu(gpu), given.get("gpus", 1.0)
    if count != round(count):
        raise UserError(f"`{count:g}` is not a whole number", where="--gpus")
    return Cluster(kind, round(count), given.get("mfu", USUAL_MFU), given.get("price", kind.price))


def read_target(available: str | None, language: str, base: BaseCheckpoint | None) -> Target:
    """The text there is of a language: an amount such as `3GB` or `200M tokens` of the base's.

    available: no file or folder; None is for all that the catalogue knows of.
    """
    if available is None:
        known = find_language(language).text_bytes if language else 0
        return Target(language, float(known)) if known else Target(language)
    if not available.strip():
        raise UserError("is empty", where=_TEXT, hint="such as `3GB` or a folder")
    if available.split()[-1] in ("token", "tokens"):
        tokens = float(read_as(Tokens, available, _TEXT))
        if not language:
            return Target(language, tokens=tokens)
        return Target(language, tokens * Target(language).bytes_per_token(base).value)
    if not language and base:
        hint = "add `--language sw`, or write it as `200M tokens`"
        raise UserError("bytes become tokens by a language", where=_TEXT, hint=hint)
    try:
        return Target(language, float(read_as(Bytes, available, _TEXT)))
    except UserError:
        what = f"there is no file or folder `{available}`, and it is not an amount"
        hint = "give an amount such as `3GB` or `200M tokens`"
        raise UserError(what, where=_TEXT, hint=hint) from None
