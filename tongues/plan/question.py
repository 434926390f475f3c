"""What is asked: a budget, the bases, the languages and the text there is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.hardware import USUAL_MFU, Cluster, find_gpu
from tongues.languages import OwnRun
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import bytes_per_token
from tongues.plan.bases import BaseCheckpoint, read_base
from tongues.plan.budget import Budget, read_as, read_budget, read_number
from tongues.quantities import Bytes, Share, Tokens

_LEAST_TEXT = 1e4  # tokens; no law of repeats was fitted on anywhere near as few
_SHARES = ("mfu", "replay", "max_forgetting")


@dataclass(frozen=True, slots=True)
class Target:
    """A language to learn and the different text there is of it.

    language: a tag. text: bytes; infinite where nobody counted. tokens: of that text, where they
    were counted instead, of no language that is known. place: its file or folder. per_token: bytes
    of a token by the tokenizer of a base, where it was measured on this text. sample: of it.
    """

    language: str
    text: float = math.inf
    tokens: float | None = None
    place: str = ""
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

    losses: of bases before any training, by name, in bits per byte, or in nats per token where own
    laws are given. params: of a model from scratch, where they are settled.
    bases: checkpoints to continue from. chosen: whether the planner chose them.
    replay: share of text in the base's languages; None leaves it to the planner.
    max_forgetting: rise of the loss on the base's languages that is allowed, 0.01 for 1 %.
    runs: small runs of one's own from scratch on the same text.
    cluster: what trains; None leaves hours and money open.
    """

    budget: Budget
    targets: tuple[Target, ...] = (Target(""),)
    params: float | None = None
    bases: tuple[BaseCheckpoint, ...] = ()
    chosen: bool = False
    replay: float | None = None
    max_forgetting: float | None = None
    losses: Mapping[str, float] = field(default_factory=dict)
    runs: tuple[OwnRun, ...] = ()
    cluster: Cluster | None = None

    @property
    def languages(self) -> tuple[str, ...]:
        """Tags of the languages to learn."""
        return tuple(target.language for target in self.targets if target.language)

    def unique(self, base: BaseCheckpoint | None) -> float:
        """Tokens of different text in all languages to learn."""
        return sum(target.unique(base) for target in self.targets)


def ask(
    budget: str | None = None,
    *,
    bases: Sequence[str] = (),
    languages: Sequence[str] = (),
    available_text: str | None = None,
    targets: tuple[Target, ...] = (),
    runs: Sequence[OwnRun] = (),
    gpu: str | None = None,
    **words: str | float | None,
) -> Question:
    """The question from what a user typed behind each option; a UserError names a wrong one.

    targets: languages whose text is read already.
    words: gpus, mfu, price, params, base_loss, replay and max_forgetting, as of `tongues.plan`.
    """
    given = {name: _read(name, str(word)) for name, word in words.items() if word is not None}
    cluster = _cluster(gpu, given)
    if budget is None:
        hint = "such as `--budget '40B tokens'`, `'72 hours'`, `'5000 US$'` or `'1e21 FLOPs'`"
        raise UserError("there is no budget", code="no_budget", hint=hint)
    spent = read_budget(budget, "--budget", cluster)
    named = tuple(read_base(text) for text in bases if text != "auto")
    if len({base.name for base in named}) < len(named):
        raise UserError("two checkpoints have one name", where="--base")
    own, learned = given.get("base_loss"), targets or _targets(available_text, languages, named)
    if own and (len(named) != 1 or len(learned) != 1):
        what, hint = "is of one base on one language", "name them, or leave it out"
        raise UserError(what, where="--base-loss", hint=hint)
    if named and "params" in given:
        what, hint = "is of a model from scratch, and a base is named", "leave one of them out"
        raise UserError(what, where="--params", hint=hint)
    question = Question(
        spent,
        learned,
        params=given.get("params"),
        bases=named,
        replay=given.get("replay"),
        max_forgetting=given.get("max_forgetting"),
        losses={named[0].name: own} if own else {},
        runs=tuple(runs),
        cluster=cluster,
    )
    if question.unique(named[0] if named else None) < _LEAST_TEXT:
        raise UserError(
            f"`{available_text}` is too little text: no law knows what that few tokens teach",
            where="--available-text",
            code="too_little_text",
            hint="write it like `3GB` or `200M tokens`",
        )
    return question


def _read(name: str, text: str) -> float:
    flag = f"--{name.replace('_', '-')}"
    if name not in _SHARES:
        return read_number(text, flag)
    share = read_as(Share, text, flag)
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


def read_target(place: Path, language: str, bases: Sequence[BaseCheckpoint]) -> Target:
    """The text of a file or folder, of any kind that `prepare` reads, checked by a sample."""
    if not language:
        raise UserError(
            "text is of a language", where="--available-text", hint="add `--language sw`"
        )
    from tongues.text.folder import check_language, find_texts  # these read files of any kind
    from tongues.tokens.fertility import measure
    from tongues.tokens.tokenizer import load_tokenizer

    paths = find_texts(place, (language,))[language] if place.is_dir() else [str(place)]
    found = check_language({language: paths}, "--available-text")[language]
    measured: dict[str, float] = {}
    for base in bases:
        if folder := base.tokenizer_folder:
            counted = measure(load_tokenizer(folder), {language: [("", x) for x in found.sample]})
            measured[base.name] = counted[language].bytes_per_token
    return Target(language, float(found.bytes), None, str(place), measured, found.sample)


def _targets(
    available: str | None, languages: Sequence[str], bases: Sequence[BaseCheckpoint]
) -> tuple[Target, ...]:
    """The languages to learn with their text: as given, else what the catalogue knows of."""
    if len(languages) > 1 and available is not None and not Path(available).is_dir():
        what = "one amount of text, and several languages"
        hint = "name a folder with `sw/`, `yo/`; without it the catalogue's amounts are taken"
        raise UserError(what, where="--available-text", hint=hint)
    return tuple(_target(available, tag, bases) for tag in languages or ("",))


def _target(available: str | None, language: str, bases: Sequence[BaseCheckpoint]) -> Target:
    if available is None:
        known = find_language(language).text_bytes if language else 0
        return Target(language, float(known)) if known else Target(language)
    if not available.strip():
        raise UserError("is empty", where="--available-text", hint="such as `3GB` or a folder")
    if Path(available).exists():
        return read_target(Path(available), language, bases)
    if available.split()[-1] in ("token", "tokens"):
        tokens = float(read_as(Tokens, available, "--available-text"))
        if not language:
            return Target(language, tokens=tokens)
        each = Target(language).bytes_per_token(bases[0] if bases else None)
        return Target(language, tokens * each.value)
    if not language and bases:
        hint = "add `--language sw`, or write it as `200M tokens`"
        raise UserError("bytes become tokens by a language", where="--available-text", hint=hint)
    hint = "name a file or folder, or give tokens: `200M tokens`"
    return Target(language, float(read_as(Bytes, available, "--available-text", hint)))
