"""The options of a plan: what comes of a base, of a model from scratch, and of experts."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.budget import FORWARD_AND_BACKWARD
from tongues.plan.fits import ALL_WEIGHTS, TrainingMethod, largest_from_scratch, method_for
from tongues.plan.outlook import Outlook, estimate
from tongues.plan.own_laws import OwnLaws, middle
from tongues.plan.question import Question
from tongues.plan.replay import USUAL, forgetting, probability_within, share_within
from tongues.plan.vocabulary import MOST_NEW, Vocabulary, choose_vocabulary
from tongues.plan.ways import SEARCHED, Way, mean_of
from tongues.quantities import show_bytes, show_count
from tongues.train.defaults import LORA_RATE, base_batch, base_context, base_rate

Array = np.ndarray
# Tokens per parameter of a model from scratch: on 21 budgets of three studies it had less regret
# than a fitted law (median 0.09 % of the loss, at most 0.7 %, against 0.22 and 11 %).
PER_PARAMETER = 20.0
# Probability with which a share of replay must keep the base's languages: with four in five the
# prior would ask for half of all tokens at 2 %, and published projects took a quarter.
KEEPS = 2.0 / 3.0
_LIMIT = 0.02  # rise that counts as keeping them, where none is given and a law knows
_GAIN = 0.01  # of the loss, from where training a base is worth it
# Of the loss, which the last readings of a text must gain: Poro 2 gained nothing by 2 and 3.
_ENOUGH = 0.01
_FEWEST = 1e4  # tokens that teach anything
_LONGEST = 8766.0  # hours: a year
_SHARES = np.linspace(0.0, 0.95, 96)  # of replay, by a law of forgetting
_ROUNDS = 3  # tokens, replay and new tokens depend on each other


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A way that cannot be taken: its name, a code, why, and what to do."""

    name: str
    code: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One way to spend the budget.

    kind: `continue`, `scratch` or `experts`. params: all, new rows included. tokens: with replay;
    parts: of each language to learn. epochs: how often the text that is read most is read; None
    where nobody counted it. limit: what ended it: `budget`, `text` or `loss`. rate: peak learning
    rate; batch: tokens; None from scratch. losses: in the end, by language, in the plan's unit;
    none where no law knows. draws: of their mean. rise: of the loss on the base's languages, 0.01
    for 1 %; kept: the probability that it stays within the limit that was set.
    """

    name: str
    kind: str
    params: float
    tokens: float
    replay: float
    parts: Mapping[str, float]
    epochs: float | None
    limit: str
    method: TrainingMethod
    flops: float
    base: BaseCheckpoint | None = None
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)
    batch: float | None = None
    rate: float | None = None
    hours: float | None = None
    cost: float | None = None
    losses: Mapping[str, Estimate] = field(default_factory=dict)
    draws: Array | None = None
    rise: Estimate | None = None
    kept: float | None = None
    experts: int = 0

    @property
    def loss(self) -> Estimate | None:
        """The mean over the languages."""
        return None if self.draws is None else estimate(self.draws)

    @property
    def new_tokens(self) -> int:
        """Tokens that its tokenizer gets."""
        return sum(one.new_tokens for one in self.vocabularies.values())

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        left = ("draws", "vocabularies", "method", "base", "losses", "rise")
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in left}
        loss, rise, counted = self.loss, self.rise, self.vocabularies.items()
        return plain | {
            "base": self.base and self.base.name,
            "method": self.method.name,
            "train": self.method.settings,
            "memory_per_gpu": self.method.memory,
            "new_tokens": {lang: one.new_tokens for lang, one in counted},
            "bytes_per_token": {lang: one.before.to_json() for lang, one in counted},
            "bytes_per_new_token": {lang: one.after.to_json() for lang, one in counted},
            "losses": {lang: one.to_json() for lang, one in self.losses.items()},
            "loss": loss and loss.to_json(),
            "rise": rise and rise.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Planner:
    """Lays out options: the question, the user's own laws, and the outlook of each language."""

    question: Question
    laws: OwnLaws
    outlooks: Mapping[str, Outlook]

    def continued(self, base: BaseCheckpoint) -> Option | LeftOut:
        """What comes of a base that is continued."""
        question = self.question
        way = Way("continue", base, ALL_WEIGHTS, question.targets)
        method = method_for(base, question.cluster, base_context(base.context, self._tokens(way)))
        if method is None and (cluster := question.cluster):
            what = f"{show_count(base.params)} parameters do not fit {cluster.count} "
            what += f"{cluster.gpu.name} of {show_bytes(cluster.gpu.memory)}, LoRA included"
            return LeftOut(
                base.short,
                "out_of_memory",
                what,
                "`--base auto` takes one that fits; or give more GPUs",
            )
        way = replace(way, method=method or ALL_WEIGHTS)
        for _ in range(_ROUNDS):
            way = replace(way, vocabularies=self._vocabularies(way))
            way = replace(way, share=self._replay(way))
        return self._finish(base.short, way, self._tokens(way))

    def of_any_base(self) -> Option | LeftOut:
        """Continued from a base of the size that an own law prefers: nobody named one."""
        question = self.question
        way = Way("continue", BaseCheckpoint("", 1.0), ALL_WEIGHTS, question.targets)
        flops = question.budget and question.budget.flops(question.cluster)
        size = question.params or self.laws.best_size("cpt", flops or math.inf, way.text, way.most)
        return self.continued(BaseCheckpoint("a base of that size", float(f"{size:.3g}")))

    def scratch(self) -> Option | LeftOut:
        """A model from random weights: 20 tokens per parameter, or the best size by an own law."""
        question, cluster, budget = self.question, self.question.cluster, self.question.budget
        way = Way("scratch", BaseCheckpoint("scratch", 1.0), ALL_WEIGHTS, question.targets)
        most, size, flops = way.most, question.params, budget and budget.flops(cluster)
        if flops is None:
            tokens = min(budget.tokens(size or 1.0, cluster) if budget else math.inf, most)
            if math.isinf(tokens) and size is None:
                hint = "give a budget, or `--params`"
                return LeftOut("scratch", "no_size", "nothing here gives its size", hint)
            size = size or tokens / PER_PARAMETER
        elif size is None and self.laws.find("scratch"):
            size = self.laws.best_size("scratch", flops, way.text, most)
        elif size is None:
            square = flops / FORWARD_AND_BACKWARD
            size = min(math.sqrt(square / PER_PARAMETER), most / PER_PARAMETER)
        if cluster and question.params is None:
            size = min(size, largest_from_scratch(cluster))
        size = float(f"{size:.3g}")
        tokens = min(budget.tokens(size, cluster), most) if budget else most
        way = replace(way, base=BaseCheckpoint("scratch", size))
        return self._finish("scratch", way, tokens if math.isfinite(tokens) else 1e13)

    def ensembles(self) -> Iterator[Option | LeftOut]:
        """One model and each number of experts that the runs of a law of experts had."""
        law = self.laws.find("experts")
        if law is None or "N" not in law.range:
            return
        base = BaseCheckpoint("the base of the experts", middle(law.range["N"]))
        counts = law.rows.variables["k"] if law.rows else law.range["k"]
        way = Way("experts", base, ALL_WEIGHTS, self.question.targets)
        for k in sorted({int(count) for count in counts}):
            name = "one model" if k == 1 else f"{k} experts"
            yield self._finish(name, replace(way, experts=k), self._tokens(way))

    def _finish(self, name: str, way: Way, tokens: float) -> Option | LeftOut:
        """What comes of a way with at most that many tokens."""
        question, cluster, base = self.question, self.question.cluster, way.base
        own = question.losses.get(base.name)
        known = {"laws": self.laws, "outlooks": self.outlooks, "own": own}
        limit = "text" if tokens >= 0.999 * way.most else "budget"
        if tokens < _FEWEST:
            what = f"the budget pays for {tokens:,.0f} tokens"
            return LeftOut(name, "too_little", what, "give more hours, money or tokens")
        losses = way.losses(tokens, **known)
        lowest = float(np.median(mean_of(losses))) if losses else math.nan
        if own and way.kind == "continue" and lowest > (1.0 - _GAIN) * own:
            what = f"its loss is {own:g} before any training, and hardly lower afterwards"
            return LeftOut(name, "above_base", what, "leave it as it is, or name another")
        if (asked := question.target_loss) is not None:
            found = way.fewest(asked, tokens, **known)
            if found is None:
                what = f"no amount of the text here reaches a loss of {asked:g}"
                what += f", and ends at {lowest:.3f}" if losses else ""
                return LeftOut(name, "out_of_reach", what, "ask for more, or find more text")
            if found < 2.0 * SEARCHED * tokens:
                what = f"it may be at a loss of {asked:g} before any training"
                return LeftOut(name, "there_already", what, "measure it: name folder and text")
            tokens, limit = found, "loss"
        elif limit == "text" and losses:  # the last readings of a text gain next to nothing
            once = way.text / (1.0 - way.share)
            fewer = way.fewest((1.0 + _ENOUGH) * lowest, tokens, **known) or tokens
            tokens = min(tokens, max(fewer, once))
        losses = way.losses(tokens, **known)
        flops = FORWARD_AND_BACKWARD * way.method.work * (base.met + way.rows) * tokens
        hours = cluster.hours(flops) if cluster else None
        if cluster and hours and hours > _LONGEST:
            what = f"it takes {hours / _LONGEST:,.3g} years on {cluster.count} {cluster.gpu.name}"
            return LeftOut(name, "too_long", what, "give more GPUs, or a smaller budget")
        parts = way.parts((1.0 - way.share) * tokens)
        option = Option(
            name=name,
            kind=way.kind,
            params=base.params + way.rows,
            tokens=tokens,
            replay=way.share,
            parts={t.language: part for t, part in zip(way.targets, parts, strict=True)},
            epochs=way.epochs(tokens),
            limit=limit,
            method=way.method,
            flops=flops,
            vocabularies=way.vocabularies,
            hours=hours,
            cost=cluster.cost(hours) if cluster and hours is not None else None,
            losses={lang: estimate(draws) for lang, draws in losses.items()},
            draws=mean_of(losses) if losses else None,
            experts=way.experts,
        )
        return self._as_continued(option, way) if way.kind == "continue" else option

    def _as_continued(self, option: Option, way: Way) -> Option:
        """With its base, the settings that follow from it, and what is forgotten."""
        base, tokens, limit = way.base, option.tokens, self.question.max_forgetting
        batch = base_batch(tokens, base_context(base.context, tokens))
        rate = base_rate(base.params, tokens / batch)
        rate *= 1.0 if way.method.all_weights else LORA_RATE
        option = replace(option, base=base, batch=float(batch), rate=rate)
        if not self._may_forget(base):
            return option
        if self.laws.find("forgetting"):
            draws = self._source(np.array([way.share]), tokens)[:, 0]
            kept = float((draws <= limit).mean()) if limit is not None else None
            return replace(option, rise=estimate(draws), kept=kept)
        kept = None if limit is None else probability_within(limit, way.share)
        return replace(option, rise=forgetting(way.share), kept=kept)

    def _tokens(self, way: Way) -> float:
        """The tokens of a run: as many as the budget pays for, and the text allows."""
        budget, per = self.question.budget, FORWARD_AND_BACKWARD * way.method.work
        if budget is None:
            return way.most if math.isfinite(way.most) else 1e13
        params = way.base.met + way.rows
        return min(budget.tokens(params, self.question.cluster, per), way.most)

    def _vocabularies(self, way: Way) -> dict[str, Vocabulary]:
        kept = replace(way, vocabularies={})
        parts = kept.parts((1.0 - way.share) * self._tokens(kept))
        most, replays = MOST_NEW // len(way.targets), self.question.replay != 0.0
        learns = way.method.new_tokens and replays and self._may_forget(way.base) and not self.laws
        return {
            target.language: choose_vocabulary(target, way.base, part, learns=learns, most=most)
            for target, part in zip(way.targets, parts, strict=True)
            if target.language
        }

    def _may_forget(self, base: BaseCheckpoint) -> bool:
        """Whether a base may know another language than those to be learned."""
        return not (base.languages and set(base.languages) <= set(self.question.languages))

    def _replay(self, way: Way) -> float:
        question, limit, tokens = self.question, self.question.max_forgetting, self._tokens(way)
        if question.replay is not None:
            return question.replay
        if not self._may_forget(way.base):
            return 0.0
        if self.laws.find("forgetting"):
            source = self._source(_SHARES, tokens)
            kept = (source <= (_LIMIT if limit is None else limit)).mean(axis=0) >= KEEPS
            return float(_SHARES[int(np.argmax(kept))]) if kept.any() else float(_SHARES[-1])
        return USUAL if limit is None else share_within(limit, KEEPS)

    def _source(self, shares: Array, tokens: float) -> Array:
        """Draws of the rise of the source's loss by a law of forgetting, a column a share."""
        start = middle(self.laws.laws["forgetting"].range.get("S", (1.0, 1.0)))
        at = {"D": np.full(len(shares), tokens), "r": shares, "S": np.full(len(shares), start)}
        return self.laws.draws("forgetting", **at) / start - 1.0


def refuse_empty(options: list[Option], left_out: list[LeftOut]) -> None:
    """A UserError where nothing can be done, with the reasons."""
    if options:
        return
    first = left_out[0]
    what = "; ".join(f"`{one.name}`: {one.reason}" for one in left_out[:3])
    raise UserError(what, code=first.code, hint=first.hint)
