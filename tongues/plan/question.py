"""What is asked: the compute to spend or the loss to reach, and what is fixed beforehand.

Amounts come as people write them behind an option: `1.4B`, `1e21`, `5%`, `llama=8B@15T`.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tongues.errors import Caution, UserError
from tongues.hardware import PRICED, USUAL_MFU, Cluster, find_gpu
from tongues.quantities import show_count

__all__ = [
    "USUAL_RATIO",
    "BaseCheckpoint",
    "Question",
    "ask",
    "read_base",
    "read_count",
    "read_number",
    "read_share",
    "read_shares",
]

USUAL_RATIO = 20.0  # tokens per parameter of the bases that laws of continued training know
_COUNT = re.compile(r"^(\d[\d_]*\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?([kMBGT]?)$")
_SCALE = {"": 0, "k": 3, "M": 6, "B": 9, "G": 9, "T": 12}
_LEAST = 1e6  # FLOPs; less than this trains nothing
_LEAST_TEXT = 1e4  # tokens; no law of repeats was fitted on anywhere near as few
_WAYS = "`--flops 1e21`, `--gpus 8 --gpu h100 --hours 72`, `--cost 5000 --gpu h100`"


@dataclass(frozen=True, slots=True)
class BaseCheckpoint:
    """A checkpoint that training may continue from: its parameters, and the tokens it has read."""

    name: str
    params: float
    tokens: float

    @property
    def ratio(self) -> float:
        """Tokens it has read per parameter."""
        return self.tokens / self.params


def _value(text: str) -> float:
    """A number; 40% is 0.4, and what is no number is NaN."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return math.nan


def read_number(text: str, flag: str, most: float = math.inf) -> float:
    """A number above 0; `flag` names the option in the UserError. 40% is 0.4."""
    number = _value(text)
    if not 0 < number <= most or math.isinf(number):
        bound = "" if math.isinf(most) else f" and at most {most:g}"
        raise UserError(f"`{text}` is no number above 0{bound}", where=flag)
    return number


def read_count(text: str, flag: str) -> float:
    """A count above 0, which `k`, `M`, `B` (or `G`) and `T` scale."""
    match = _COUNT.match(text.strip())
    if match is None:
        hint, bare = "write it like `1.4B`, `30M` or `1e21`", re.sub(r"[\s,]", "", text)
        letter = bare[-1:].upper()  # of its scale, in the case that is read
        if bare and _COUNT.match(scaled := bare[:-1] + {"K": "k"}.get(letter, letter)):
            hint = f"did you mean `{scaled}`?"
        raise UserError(f"`{text}` is no count", where=flag, hint=hint)
    digits, exponent, letter = match.groups()
    power = int(exponent or 0) + _SCALE[letter]
    number = float(f"{digits.replace('_', '')}e{power}")  # read once: 1.4B is 1.4e9 to the last bit
    if not 0 < number < math.inf:
        raise UserError(f"`{text}` is not more than nothing, or more than can be", where=flag)
    return number


def read_share(text: str, flag: str) -> float:
    """A share of at least 0 and below 1; 5% is 0.05."""
    if not 0 <= (number := _value(text)) < 1:
        hint = "write a share like `5%`, and several like `0,5%,20%`"
        raise UserError(f"`{text}` is no share from 0 to below 100%", where=flag, hint=hint)
    return number


def read_shares(text: str, flag: str) -> tuple[float, ...]:
    """Shares of at least 0 and below 1, in rising order: `0,5%,0.2`."""
    return tuple(sorted({read_share(part.strip(), flag) for part in text.split(",")}))


def read_base(text: str) -> BaseCheckpoint:
    """A checkpoint written `NAME=PARAMS@TOKENS`."""
    name, equals, sizes = text.rpartition("=")
    params, at, tokens = sizes.partition("@")
    if not (name.strip() and equals and at):
        hint = "write `NAME=PARAMS@TOKENS`, such as `--base llama=8B@15T`"
        raise UserError(f"`{text}` is no checkpoint", where="--base", hint=hint)
    return BaseCheckpoint(name.strip(), read_count(params, "--base"), read_count(tokens, "--base"))


@dataclass(frozen=True, slots=True)
class Question:
    """What a plan answers: exactly one of `flops` and `target_loss` is given.

    flops: operations to spend, C = 6 N D.
    scratch_flops: the same of training from scratch, where exact operations a token of its size
        make it another number by that rule; None: `flops`.
    target_loss: nats per token to reach with as few operations as possible.
    params, tokens: N or D that are settled already; with both, `flops` follows from them.
    bases: checkpoints that training may continue from.
    available: tokens of different text in the target language; infinite when nobody counted.
    replay: shares of source-language text to set out; none given leaves it to the planner.
    keep: rise of the base's loss on its own language that is allowed, 0.01 for 1 %; None: no
        share of replay is sought for it.
    source_loss: the base's loss on its own language, nats per token.
    cluster: what trains; None leaves hours and costs open.
    warnings: what had to be assumed.
    """

    flops: float | None = None
    scratch_flops: float | None = None
    target_loss: float | None = None
    params: float | None = None
    tokens: float | None = None
    bases: tuple[BaseCheckpoint, ...] = ()
    available: float = math.inf
    replay: tuple[float, ...] = ()
    keep: float | None = None
    source_loss: float | None = None
    cluster: Cluster | None = None
    warnings: tuple[Caution, ...] = ()

    def __post_init__(self) -> None:
        """Hold the one rule: either compute or a loss."""
        if (self.flops is None) == (self.target_loss is None):
            raise ValueError("a question has either flops or a target_loss")

    def to_json(self) -> dict[str, Any]:
        """The question as plain numbers; hours and costs where the compute is known."""
        plain: dict[str, Any] = {
            "flops": self.flops,
            "target_loss": self.target_loss,
            "params": self.params,
            "tokens": self.tokens,
            "available_tokens": None if math.isinf(self.available) else self.available,
            "keep": self.keep,
            "source_loss": self.source_loss,
        }
        if cluster := self.cluster:
            plain |= {"gpu": cluster.gpu.name, "gpus": cluster.count, "mfu": cluster.mfu}
            plain |= {"peak_flops": cluster.gpu.peak, "price": cluster.price}
            if self.flops:
                hours = cluster.hours(self.flops)
                plain |= {"hours": hours, "cost": cluster.cost(hours)}
        return plain


_READERS: Mapping[str, Callable[[str, str], float]] = {
    **dict.fromkeys(("flops", "params", "tokens", "cost", "gpus", "available_tokens"), read_count),
    **dict.fromkeys(("hours", "target_loss", "source_loss", "price"), read_number),
    "mfu": partial(read_number, most=1),
    "keep": read_share,
}


def ask(
    *,
    gpu: str | None = None,
    bases: Sequence[str] = (),
    replay: str | None = None,
    **words: str | float | None,
) -> Question:
    """The question from what a user typed behind each option; a UserError names a wrong one.

    words: flops, hours, cost, target_loss, params, tokens, gpus, mfu, price, available_tokens,
        keep and source_loss, as of `tongues plan`.
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
        raise UserError(f"{unused[0]} says nothing without `--gpu`", hint="such as `--gpu h100`")
    cluster, assumed = _cluster(gpu, given) if gpu else (None, ())
    compute = given.get("flops", compute)
    if cluster and "hours" in given:
        compute = cluster.flops(given["hours"])
    elif cluster and "cost" in given:
        compute = cluster.flops(cluster.hours_for(given["cost"]))
    if compute is not None and compute < _LEAST:
        raise UserError(f"{show_count(compute)} FLOPs train nothing", code="too_little")
    available = given.get("available_tokens", math.inf)
    if available < _LEAST_TEXT:
        raise UserError(
            f"`{words['available_tokens']}` is too little text: no law knows what so few tokens "
            "teach",
            where="--available-tokens",
            code="too_little_text",
            hint="count tokens, not documents; `100M` stands for a hundred million",
        )
    named = tuple(read_base(text) for text in bases)
    if len({base.name for base in named}) < len(named):
        raise UserError("two checkpoints have one name", where="--base")
    return Question(
        flops=compute,
        target_loss=given.get("target_loss"),
        params=N,
        tokens=D,
        bases=named,
        available=available,
        replay=() if replay is None else read_shares(replay, "--replay"),
        keep=given.get("keep"),
        source_loss=given.get("source_loss"),
        cluster=cluster,
        warnings=assumed,
    )


def _cluster(gpu: str, given: Mapping[str, float]) -> tuple[Cluster, tuple[Caution, ...]]:
    """The machine, and what was assumed about it."""
    kind, count, assumed = find_gpu(gpu), given.get("gpus", 1.0), list[Caution]()
    if count != round(count):
        raise UserError(f"`{count:g}` is no whole number", where="--gpus")
    if "mfu" not in given:
        what = f"assumed: training reaches {USUAL_MFU:.0%} of the GPU's peak speed; hours and "
        what += "costs change in proportion, so measure yours and give it with --mfu"
        assumed.append(Caution("assumed_mfu", what))
    if "price" not in given:
        what = f"assumed: one {kind.name} costs ${kind.price:.2f} an hour (renting on demand, "
        what += f"{PRICED}, roughly); give your own with --price"
        assumed.append(Caution("assumed_price", what))
    mfu, price = given.get("mfu", USUAL_MFU), given.get("price", kind.price)
    return Cluster(kind, round(count), mfu, price), tuple(assumed)
