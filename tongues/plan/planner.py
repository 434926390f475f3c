"""The options of a plan: what comes of a base, of a model from scratch, and of experts."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tongues.core.quantities import show_bytes, show_count
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.budget import FORWARD_AND_BACKWARD
from tongues.plan.fits import ALL_WEIGHTS, largest_from_scratch, method_for
from tongues.plan.options import LeftOut, Option
from tongues.plan.outlook import Outlook, estimate
from tongues.plan.own_laws import OwnLaws, middle
from tongues.plan.question import Question
from tongues.plan.replay import USUAL, forgetting, probability_within, share_within
from tongues.plan.vocabulary import MOST_NEW, Vocabulary, choose_vocabulary
from tongues.train.defaults import LORA_RATE, base_batch, base_context, base_rate

Array = np.ndarray
# Tokens per parameter of a model from scratch: on 21 budgets of three studies it had less regret
# than a fitted law (median 0.09 % of the loss, at most 0.7 %, against 0.22 and 11 %).
PER_PARAMETER = 20.0
# Probability with which a share of replay must keep the base's languages: with four in five the
# prior would ask for half of all tokens at 2 %, and published projects took a quarter.
KEEPS = 2.0 / 3.0
_LIMIT = 0.02  # rise that counts as keeping them, where none is given and a law knows
# Of the loss, which the last readings of a text must gain: Poro 2 gained nothing by 2 and 3.
_ENOUGH = 0.01
_FEWEST = 1e4  # tokens that teach anything
_LONGEST = 8766.0  # hours: a year
_SHARES = np.linspace(0.0, 0.95, 96)  # of replay, by a law of forgetting
_ROUNDS = 3  # tokens, replay and new tokens depend on each other
_SEARCHED, _HALVINGS = 1e-3, 40  # how far below the most tokens enough of them are looked for


@dataclass(frozen=True, slots=True)
class Planner:
    """Lays out options: the question, the user's own laws, and the outlook of each language."""

    question: Question
    laws: OwnLaws
    outlooks: Mapping[str, Outlook]

    def continued(self, base: BaseCheckpoint) -> Option | LeftOut:
        """What comes of a base that is continued."""
        cluster = self.question.cluster
        option = Option(base.short, "continue", base, ALL_WEIGHTS, self.question.targets)
        option = replace(option, context=self._context(option, self._tokens(option)))
        method = method_for(base, cluster, option.context)
        if method is None and cluster:
            gpus = f"{cluster.count} {cluster.gpu.name} of {show_bytes(cluster.gpu.memory)}"
            what = f"{show_count(base.params)} parameters do not fit {gpus}, LoRA included"
            hint = "`--base auto` takes one that fits; or give more GPUs"
            return LeftOut(base.short, "out_of_memory", what, hint)
        option = replace(option, method=method or ALL_WEIGHTS)
        for _ in range(_ROUNDS):
            option = replace(option, vocabularies=self._vocabularies(option))
            option = replace(option, replay=self._replay(option))
        ended = self._finish(option)
        return self._as_continued(ended) if isinstance(ended, Option) else ended

    def scratch(self) -> Option | LeftOut:
        """A model from random weights: 20 tokens per parameter, or the best size by an own law."""
        question, cluster, budget = self.question, self.question.cluster, self.question.budget
        model = BaseCheckpoint("scratch", question.params or 1.0)
        option = Option("scratch", "scratch", model, ALL_WEIGHTS, question.targets)
        if question.params is None and budget.kind == "tokens per parameter":
            what = "tokens per parameter do not say how many parameters"
            return LeftOut("scratch", "no_size", what, "give `--params` too")
        if question.params is None:
            size, flops = self._tokens(option) / PER_PARAMETER, budget.flops(cluster)
            if flops is not None and self.laws.find("scratch"):
                size = self.laws.best_size(flops, option.text, option.most)
            elif flops is not None:
                size = math.sqrt(flops / FORWARD_AND_BACKWARD / PER_PARAMETER)
                size = min(size, option.most / PER_PARAMETER)
            size = min(size, largest_from_scratch(cluster)) if cluster else size
            option = replace(option, model=BaseCheckpoint("scratch", float(f"{size:.3g}")))
        return self._finish(option)

    def ensembles(self) -> Iterator[Option | LeftOut]:
        """One model and each number of experts that the runs of a law of experts had."""
        law = self.laws.find("experts")
        if law is None or "N" not in law.range:
            return
        base = BaseCheckpoint("the base of the experts", middle(law.range["N"]))
        counts = law.rows.variables["k"] if law.rows else law.range["k"]
        for k in sorted({int(count) for count in counts}):
            name = "one model" if k == 1 else f"{k} experts"
            option = Option(name, "experts", base, ALL_WEIGHTS, self.question.targets, experts=k)
            yield self._finish(option)

    def _finish(self, option: Option) -> Option | LeftOut:
        """With its tokens, its loss, and what it takes."""
        cluster, name = self.question.cluster, option.name
        measured = self.question.losses.get(option.model.name)
        known = {"laws": self.laws, "outlooks": self.outlooks, "measured": measured}
        tokens = self._tokens(option)
        if tokens < _FEWEST:
            what = f"the budget pays for {tokens:,.0f} tokens"
            return LeftOut(name, "too_little", what, "give more hours, money or tokens")
        ended = option.after(tokens, **known)
        if tokens >= 0.999 * option.most:
            ended = replace(ended, limit="text")
            if ended.loss:  # the last readings of a text gain next to nothing
                once = option.text / (1.0 - option.replay)
                low, high = math.log(_SEARCHED * tokens), math.log(tokens)
                for _ in range(_HALVINGS):
                    between = (low + high) / 2.0
                    loss = option.after(math.exp(between), **known).loss
                    enough = loss is not None and loss.value <= (1.0 + _ENOUGH) * ended.loss.value
                    low, high = (low, between) if enough else (between, high)
                ended = ended.after(min(tokens, max(math.exp(high), once)), **known)
        hours = cluster.hours(ended.flops) if cluster else None
        if cluster is None or hours is None:
            return ended
        if hours > _LONGEST:
            what = f"it takes {hours / _LONGEST:,.3g} years on {cluster.count} {cluster.gpu.name}"
            return LeftOut(name, "too_long", what, "give more GPUs, or a smaller budget")
        return replace(ended, hours=hours, cost=cluster.cost(hours))

    def _as_continued(self, option: Option) -> Option:
        """With the settings that follow from its base, and what is forgotten."""
        base, tokens, limit = option.model, option.tokens, self.question.max_forgetting
        given, usual = self.question.settings, base_batch(tokens, option.context)
        batch = float(str(given.get("batch", usual)).split()[0])
        rate = base_rate(base.params, tokens / batch)
        rate *= 1.0 if option.method.all_weights else LORA_RATE
        option = replace(option, batch=batch, rate=float(given.get("learning_rate", rate)))
        if not self._may_forget(base):
            return option
        if self.laws.find("forgetting"):
            draws = self._source(np.array([option.replay]), tokens)[:, 0]
            kept = float((draws <= limit).mean()) if limit is not None else None
            return replace(option, rise=estimate(draws), kept=kept)
        kept = None if limit is None else probability_within(limit, option.replay)
        return replace(option, rise=forgetting(option.replay), kept=kept)

    def _context(self, option: Option, tokens: float) -> int:
        """Tokens of a context, as a recipe gets it: halved until held-out text fills one."""
        context = base_context(option.model.context, tokens)
        while context >= self.question.held_out:
            context //= 2
        return context

    def _tokens(self, option: Option) -> float:
        """The tokens of a run: as many as the budget pays for, and the text allows."""
        budget, cluster = self.question.budget, self.question.cluster
        paid = budget.tokens(option.params, option.per_token_flops, cluster)
        return min(paid, option.most)

    def _vocabularies(self, option: Option) -> dict[str, Vocabulary]:
        base, kept = option.model, replace(option, vocabularies={})
        parts = replace(kept, tokens=self._tokens(kept)).parts
        most, replays = MOST_NEW // len(option.targets), self.question.replay != 0.0
        learns = option.method.new_tokens and replays and self._may_forget(base) and not self.laws
        return {
            target.language: choose_vocabulary(
                target, base, parts[target.language], learns=learns, most=most
            )
            for target in option.targets
            if target.language
        }

    def _may_forget(self, base: BaseCheckpoint) -> bool:
        """Whether a base may know another language than those to be learned."""
        return not (base.languages and set(base.languages) <= set(self.question.languages))

    def _replay(self, option: Option) -> float:
        question, limit = self.question, self.question.max_forgetting
        if question.replay is not None:
            return question.replay
        if not self._may_forget(option.model):
            return 0.0
        if self.laws.find("forgetting"):
            source = self._source(_SHARES, self._tokens(option))
            kept = (source <= (_LIMIT if limit is None else limit)).mean(axis=0) >= KEEPS
            return float(_SHARES[int(np.argmax(kept))]) if kept.any() else float(_SHARES[-1])
        return USUAL if limit is None else share_within(limit, KEEPS)

    def _source(self, shares: Array, tokens: float) -> Array:
        """Draws of the rise of the source's loss by a law of forgetting, a column a share."""
        start = middle(self.laws.laws["forgetting"].range.get("S", (1.0, 1.0)))
        at = {"D": np.full(len(shares), tokens), "r": shares, "S": np.full(len(shares), start)}
        return self.laws.draws("forgetting", **at) / start - 1.0
