"""What is asked: the compute to spend or the loss to reach, and what is fixed beforehand."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tongues.errors import Caution, UserError
from tongues.estimate import Estimate
from tongues.hardware import USUAL_MFU, Cluster, find_gpu
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import bytes_per_token
from tongues.plan.amounts import read_bytes, read_count, read_number, read_share, read_shares
from tongues.plan.bases import BaseCheckpoint, read_base, sample_tokens
from tongues.quantities import show_bytes, show_count

USUAL_RATIO = 20.0  # tokens per parameter of the bases that laws of continued training know
_LEAST = 1e6  # FLOPs; less than this trains nothing
_LEAST_TEXT = 1e4  # tokens; no law of repeats was fitted on anywhere near as few
_WAYS = "`--flops 1e21`, `--gpus 8 --gpu h100 --hours 72`, `--cost 5000 --gpu h100`"


@dataclass(frozen=True, slots=True)
class Question:
    """What a plan answers: exactly one of `flops` and `target_loss` is given.

    flops: operations to spend, C = 6 N D.
    target_loss: nats per token to reach with as few operations as possible.
    params, tokens: N or D that are settled already; with both, `flops` follows from them.
    bases: checkpoints that training may continue from.
    available: tokens of unique text in the target language; infinite when nobody counted.
    text: the same in bytes; a base's tokenizer and `language` make tokens of it.
    text_place: its file or folder, if one was given.
    bytes_per_token: of that text, where it is known.
    replay: shares of source-language text to set out; none given leaves it to the planner.
    max_forgetting: rise of the base's loss on its own language that is allowed, 0.01 for 1 %.
    base_loss: the base's loss on the target before training, in nats per token.
    nats_per_bit: nats per token of one bit per byte, where losses are shown in bits per byte.
    cluster: what trains; None leaves hours and costs open.
    warnings: what had to be assumed.
    """

    flops: float | None = None
    target_loss: float | None = None
    params: float | None = None
    tokens: float | None = None
    bases: tuple[BaseCheckpoint, ...] = ()
    available: float = math.inf
    text: float | None = None
    text_place: str = ""
    language: str = ""
    bytes_per_token: float | None = None
    replay: tuple[float, ...] = ()
    max_forgetting: float | None = None
    base_loss: float | None = None
    nats_per_bit: float | None = None
    cluster: Cluster | None = None
    warnings: tuple[Caution, ...] = ()

    def __post_init__(self) -> None:
        """Hold the one rule: either compute or a loss."""
        if (self.flops is None) == (self.target_loss is None):
            raise ValueError("a question has either flops or a target_loss")

    @property
    def loss_unit(self) -> str:
        """What losses are shown in."""
        return "bits/byte" if self.nats_per_bit else "loss"

    @property
    def unit(self) -> str:
        """The same in words."""
        return "bits per byte" if self.nats_per_bit else "nats per token"

    def knows_already(self, base: BaseCheckpoint) -> bool:
        """Whether a base knows the language, and its loss on it is not given."""
        return self.language in base.languages and self.base_loss is None

    def may_forget(self, base: BaseCheckpoint | None) -> bool:
        """Whether a base may know another language than this one."""
        return base is not None and base.languages != (self.language,)

    def show_loss(self, nats: float) -> str:
        """A loss on the target, of nats per token, in the unit of this plan."""
        return f"{nats / self.nats_per_bit:.3f}" if self.nats_per_bit else f"{nats:#.4g}"

    def unique(self, base: BaseCheckpoint | None) -> float:
        """Tokens of unique text there are, by the base's tokenizer or a new one."""
        if self.text is None:
            return self.available
        return self.text / (self.bytes_per_token or _per_token(self.language, base).value)

    def own_tokens(self, base: BaseCheckpoint) -> float:
        """Tokens of a vocabulary of the language's own in the text of one of the base's.

        1 where laws are not at a language's level: they count tokens as their runs did.
        """
        if not self.nats_per_bit:
            return 1.0
        own = _per_token(self.language, None).value
        return (self.bytes_per_token or _per_token(self.language, base).value) / own

    def to_json(self) -> dict[str, Any]:
        """The question as plain numbers; hours and costs where the compute is known."""
        plain: dict[str, Any] = {
            "flops": self.flops,
            "target_loss": self.target_loss,
            "loss_unit": "nats per token",
            "nats_per_bit_per_byte": self.nats_per_bit,
            "params": self.params,
            "tokens": self.tokens,
            "available_tokens": None if math.isinf(self.available) else self.available,
            "available_text": self.text,
            "language": self.language or None,
            "max_forgetting": self.max_forgetting,
            "base_loss": self.base_loss,
        }
        if cluster := self.cluster:
            plain |= {"gpu": cluster.gpu.name, "gpus": cluster.count, "mfu": cluster.mfu}
            plain |= {"peak_flops": cluster.gpu.peak, "price": cluster.price}
            plain |= {"priced": cluster.gpu.priced}
            if self.flops:
                hours = cluster.hours(self.flops)
                plain |= {"hours": hours, "cost": cluster.cost(hours)}
        return plain


_READERS: Mapping[str, Callable[[str, str], float]] = {
    **dict.fromkeys(("flops", "params", "tokens", "cost", "gpus", "available_tokens"), read_count),
    **dict.fromkeys(("hours", "target_loss", "base_loss", "price", "bytes_per_token"), read_number),
    "mfu": partial(read_number, most=1),
    "max_forgetting": read_share,
}


def ask(
    *,
    gpu: str | None = None,
    bases: Sequence[str] = (),
    available_text: str | None = None,
    language: str | None = None,
    replay: str | None = None,
    **words: str | float | None,
) -> Question:
    """The question from what a user typed behind each option; a UserError names a wrong one.

    words: flops, hours, cost, target_loss, params, tokens, gpus, mfu, price, available_tokens,
        bytes_per_token, max_forgetting and base_loss, as of `tongues.plan`.
    """
    flags = {
        name: f"--{name.replace('_', '-')}" for name, word in words.items() if word is not None
    }
    given = {name: _READERS[name](str(words[name]), flag) for name, flag in flags.items()}
    N, D = given.get("params"), given.get("tokens")
    compute = 6.0 * N * D if N is not None and D is not None else None
    budgets = [flags[n] for n in ("flops", "hours", "cost", "target_loss") if n in flags]
    if not budgets and compute is None:
        hint = f"give one of {_WAYS}, or `--target-loss 2.4`"
        raise UserError("there is no budget", code="no_budget", hint=hint)
    if len(budgets) > 1:
        hint = "keep one of them; the others follow from it"
        raise UserError(f"{' and '.join(budgets)} at once", code="two_budgets", hint=hint)
    if budgets and compute is not None:
        what = f"--params and --tokens settle the compute, and so does {budgets[0]}"
        raise UserError(what, code="two_budgets", hint="leave one of the three out")
    unused = [flags[n] for n in ("gpus", "mfu", "price", "hours", "cost") if n in flags]
    if gpu is None and unused:
        raise UserError(f"{unused[0]} needs `--gpu`", hint="such as `--gpu h100`")
    cluster, assumed = _cluster(gpu, given) if gpu else (None, ())
    compute = given.get("flops", compute)
    if cluster and "hours" in given:
        compute = cluster.flops(given["hours"])
    elif cluster and "cost" in given:
        compute = cluster.flops(cluster.hours_for(given["cost"]))
    if compute is not None and compute < _LEAST:
        what, hint = f"{compute:.3g} FLOPs train nothing", f"give at least {_LEAST:.0e} FLOPs"
        raise UserError(what, code="too_little", hint=hint)
    named = tuple(read_base(text) for text in bases)
    if len({base.name for base in named}) < len(named):
        raise UserError("two checkpoints have one name", where="--base")
    size, per_token, counted = _text(available_text, language, given, named)
    place = read_bytes(available_text, "--available-text") if available_text else None
    question = Question(
        flops=compute,
        target_loss=given.get("target_loss"),
        params=N,
        tokens=D,
        bases=named,
        available=given.get("available_tokens", math.inf),
        text=size,
        text_place=str(place) if isinstance(place, Path) else "",
        language=language or "",
        bytes_per_token=per_token,
        replay=() if replay is None else read_shares(replay, "--replay"),
        max_forgetting=given.get("max_forgetting"),
        base_loss=given.get("base_loss"),
        cluster=cluster,
        warnings=(*assumed, *counted),
    )
    if question.unique(named[0] if named else None) < _LEAST_TEXT:
        raise UserError(
            f"`{words.get('available_tokens') or available_text}` is too little text: no law knows "
            "what that few tokens teach",
            where="--available-text" if size else "--available-tokens",
            code="too_little_text",
            hint="count tokens, not documents; `100M` is a hundred million",
        )
    return question


def _per_token(language: str, base: BaseCheckpoint | None) -> Estimate:
    """Bytes of text behind one token of the base's tokenizer, or of one of the language alone."""
    where = "--language"
    token = bytes_per_token(find_language(language, where), base.tokenizer if base else "own")
    if math.isnan(token.value):
        what = f"how many bytes a token of `{language}` has is not known here"
        raise UserError(
            what, where=where, hint="count the tokens, and give them by `--available-tokens`"
        )
    return token


def _text(
    available: str | None,
    language: str | None,
    given: Mapping[str, float],
    bases: Sequence[BaseCheckpoint],
) -> tuple[float | None, float | None, tuple[Caution, ...]]:
    flag, per_token = "--available-text", given.get("bytes_per_token")
    if available is None and language and "available_tokens" not in given:
        size = find_language(language, "--language").text_bytes
        available = f"{size} B" if size else None
        flag = f"--language {language}"
    if available is None:
        if not language or "available_tokens" in given:
            return None, None, ()
        what = f"the catalogue knows of no text in `{language}`, and the plan takes it to be "
        what += "without end: say how much there is by `--available-text`"
        return None, None, (Caution("no_text", what),)
    if "available_tokens" in given:
        what = "--available-text and --available-tokens at once"
        raise UserError(what, code="two_texts", hint="keep one of them")
    amount, base = read_bytes(available, flag), bases[0] if bases else None
    whose = "as given"
    if isinstance(amount, Path):
        amount, measured = sample_tokens(amount, base)
        if per_token is None and not math.isnan(measured):
            per_token, whose = measured, f"the tokenizer of `{base.name if base else ''}`, measured"
    if per_token is None:
        if not language:
            hint = "add `--language sw`, or count the tokens and give `--available-tokens`"
            raise UserError("bytes become tokens by a language", where=flag, hint=hint)
        token = _per_token(language, base)
        each, whose = token.value, token.method
    else:
        each = per_token
    what = f"{show_bytes(amount)} are {show_count(amount / each)} tokens of {each:.3g} bytes "
    return amount, per_token, (Caution("bytes_per_token", f"{what}({whose})"),)


def _cluster(gpu: str, given: Mapping[str, float]) -> tuple[Cluster, tuple[Caution, ...]]:
    kind, count, assumed = find_gpu(gpu), given.get("gpus", 1.0), list[Caution]()
    if count != round(count):
        raise UserError(f"`{count:g}` is not a whole number", where="--gpus")
    if "mfu" not in given:
        what = f"assumed: training reaches {USUAL_MFU:.0%} of the GPU's peak speed; hours and "
        what += "costs change in proportion, so measure yours and give it with `--mfu`"
        assumed.append(Caution("assumed_mfu", what))
    if "price" not in given:
        what = f"assumed: one {kind.name} costs ${kind.price:.2f} an hour ({kind.priced}); give "
        what += "your own with `--price`"
        assumed.append(Caution("assumed_price", what))
    mfu, price = given.get("mfu", USUAL_MFU), given.get("price", kind.price)
    return Cluster(kind, round(count), mfu, price), tuple(assumed)
