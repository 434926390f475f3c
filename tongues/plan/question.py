"""What is asked: a budget or a loss to reach, the bases, the languages and the text there is."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.hardware import USUAL_MFU, Cluster, find_gpu
from tongues.languages import OwnRun
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import bytes_per_token
from tongues.magnitudes import parse_count
from tongues.plan.amounts import read_bytes, read_count, read_number, read_share
from tongues.plan.bases import BaseCheckpoint, read_base
from tongues.plan.budget import Budget

_LEAST_TEXT = 1e4  # tokens; no law of repeats was fitted on anywhere near as few
_LEAST_FLOPS, _MOST_FLOPS, _MOST_TOKENS = 1e6, 1e30, 1e15
_BUDGETS = ("flops", "hours", "cost", "target_loss", "tokens")


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

    budget: what may be spent; None where `target_loss` is to be reached for as little as possible.
    target_loss: in bits per byte, or in nats per token where own laws are given.
    losses: of bases before any training, by name, in the same unit.
    params: of a model from scratch, where they are settled.
    bases: checkpoints to continue from. chosen: whether the planner chose them.
    replay: share of text in the base's languages; None leaves it to the planner.
    max_forgetting: rise of the loss on the base's languages that is allowed, 0.01 for 1 %.
    runs: small runs of one's own from scratch on the same text.
    cluster: what trains; None leaves hours and money open.
    """

    budget: Budget | None = None
    target_loss: float | None = None
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


_READERS: Mapping[str, Callable[[str, str], float]] = {
    **dict.fromkeys(("flops", "params", "tokens", "cost", "gpus"), read_count),
    **dict.fromkeys(("hours", "target_loss", "base_loss", "price"), read_number),
    "mfu": partial(read_number, most=1),
    **dict.fromkeys(("max_forgetting", "replay"), read_share),
}


def ask(
    *,
    gpu: str | None = None,
    bases: Sequence[str] = (),
    available_text: str | None = None,
    languages: Sequence[str] = (),
    runs: Sequence[OwnRun] = (),
    budget: Budget | None = None,
    targets: tuple[Target, ...] = (),
    **words: str | float | None,
) -> Question:
    """The question from what a user typed behind each option; a UserError names a wrong one.

    budget, targets: where they are read already.
    words: flops, hours, cost, target_loss, params, tokens, gpus, mfu, price, replay,
        max_forgetting and base_loss, as of `tongues.plan`.
    """
    flags = {
        name: f"--{name.replace('_', '-')}" for name, word in words.items() if word is not None
    }
    given = {name: _READERS[name](str(words[name]), flag) for name, flag in flags.items()}
    cluster = _cluster(gpu, given, flags)
    if available_text is not None and not available_text.strip():
        raise UserError("is empty", where="--available-text", hint="such as `3GB` or a folder")
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
        budget=_checked(budget, cluster) if budget else _budget(given, flags, cluster),
        target_loss=given.get("target_loss"),
        targets=learned,
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


def _budget(
    given: Mapping[str, float], flags: Mapping[str, str], cluster: Cluster | None
) -> Budget | None:
    kinds = [name for name in _BUDGETS if name in given]
    if len(kinds) > 1:
        what = f"{' and '.join(flags[name] for name in kinds)} at once"
        hint = "keep one of them; the others follow from it"
        raise UserError(what, code="two_budgets", hint=hint)
    if not kinds:
        hint = "give one of `--hours 72`, `--cost 5000` (with `--gpu`), `--tokens 40B`"
        raise UserError("there is no budget", code="no_budget", hint=f"{hint}, `--flops 1e21`")
    kind = kinds[0]
    return None if kind == "target_loss" else _checked(Budget(given[kind], kind), cluster)


def _checked(budget: Budget, cluster: Cluster | None) -> Budget:
    """A budget that can be turned into tokens."""
    if budget.kind in ("hours", "cost") and cluster is None:
        what = "hours and money buy tokens on GPUs that are named"
        raise UserError(what, where="--gpu", hint="such as `--gpu h100 --gpus 8`")
    flops = budget.flops(cluster)
    if flops is not None and not _LEAST_FLOPS <= flops <= _MOST_FLOPS:
        what = f"{flops:.3g} FLOPs are not what a model takes"
        raise UserError(what, code="implausible", hint="give from 1e6 to 1e30 FLOPs")
    if budget.kind == "tokens" and budget.amount > _MOST_TOKENS:
        what = f"{budget.amount:.3g} tokens are more than there are"
        raise UserError(what, code="implausible", hint="write it like `40B tokens`")
    return budget


def _cluster(
    gpu: str | None, given: Mapping[str, float], flags: Mapping[str, str]
) -> Cluster | None:
    if gpu is None:
        unused = [flags[name] for name in ("gpus", "mfu", "price") if name in given]
        if unused:
            raise UserError(f"{unused[0]} needs `--gpu`", hint="such as `--gpu h100`")
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
    if len(languages) > 1:
        return tuple(
            read_target(Path(available), tag, bases) if available else _target(None, tag, bases)
            for tag in languages
        )
    return (_target(available, languages[0] if languages else "", bases),)


def _target(available: str | None, language: str, bases: Sequence[BaseCheckpoint]) -> Target:
    if available is None:
        known = find_language(language).text_bytes if language else 0
        return Target(language, float(known)) if known else Target(language)
    words = available.split()
    if len(words) == 2 and words[1] == "tokens" and parse_count(words[0]) is not None:
        tokens = read_count(words[0], "--available-text")
        if not language:
            return Target(language, tokens=tokens)
        each = Target(language).bytes_per_token(bases[0] if bases else None)
        return Target(language, tokens * each.value)
    amount = read_bytes(available, "--available-text")
    if isinstance(amount, Path):
        return read_target(amount, language, bases)
    if not language and bases:
        hint = "add `--language sw`, or write it as `200M tokens`"
        raise UserError("bytes become tokens by a language", where="--available-text", hint=hint)
    return Target(language, amount)
