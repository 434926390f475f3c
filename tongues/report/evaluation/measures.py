"""Texts and tasks of an evaluation seen alike: their tables, for page, terminal and cards."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Self

from tongues.estimate import LEVEL, Estimate
from tongues.evaluate.evaluation import Comparison, Evaluation, TaskScores, TextScores
from tongues.pages import Cell, Entry, Show, Table, estimate_cell, fixed, interval
from tongues.quantities import show_count
from tongues.significance import Chance

__all__ = ["Measure", "how", "labels", "model_table", "show_perplexity"]

_UNITS = {"bits/byte": "bits per byte", "nats/token": "nats per token"}

_COMPARED = {
    "token": "mean log-probability of a token",
    "character": "log-probability per character",
    "byte": "log-probability per byte",
    "sum": "log-probability",
    "pmi": "pointwise mutual information with the prompt",
}


def labels(evaluation: Evaluation) -> dict[str, str]:
    """The models' names, without the folder that all of them share."""
    names = [model.name for model in evaluation.models]
    folders = [name.split("/")[:-1] for name in names] if len(names) > 1 else []
    shared = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared += 1
    return {name: "/".join(name.split("/")[shared:]) for name in names}


def show_perplexity(value: float | None) -> str:
    """At about three figures; None: over 1e299."""
    if value is None or value == float("inf"):
        return "over 1e299"
    if value >= 1e7:
        return f"{value:.1e}".replace("e+", "e")
    return f"{value:,.{2 if value < 10 else 1 if value < 1000 else 0}f}"


@dataclass(frozen=True, slots=True)
class Measure:
    """A text or a task: bits per byte, or % of items right, by model and language.

    names: of the models, as they are shown. roles: of the languages in runs that have a base, or
    else in all, where they differ; a mean over languages of different roles would say nothing.
    """

    name: str
    scores: TextScores | TaskScores
    values: Mapping[str, Mapping[str, Estimate]]
    names: Mapping[str, str]
    roles: Mapping[str, str]

    @classmethod
    def of(cls, evaluation: Evaluation) -> list[Self]:
        """Every text, then every task."""
        names = labels(evaluation)
        measures: list[Self] = []
        runs = [model.trained.roles for model in evaluation.models if model.trained]
        runs = [roles for roles in runs if roles.base_languages] or runs
        for name, scores in (*evaluation.texts.items(), *evaluation.tasks.items()):
            if isinstance(scores, TextScores):
                values = {
                    m: {lang: loss.bits_per_byte for lang, loss in by.items()}
                    for m, by in scores.losses.items()
                }
            else:
                values = {
                    m: {lang: of.share.times(100.0) for lang, of in by.items()}
                    for m, by in scores.accuracies.items()
                }
            each = {lang: {r.role(lang): None for r in runs} for lang in scores.languages}
            alike = len({tuple(roles) for roles in each.values()}) == 1
            alike = alike and all(len(roles) < 2 for roles in each.values())
            roles = {} if alike else {lang: " or ".join(roles) for lang, roles in each.items()}
            measures.append(cls(name, scores, values, names, roles))
        return measures

    @property
    def task(self) -> bool:
        """Whether these are accuracies, of which more is better."""
        return isinstance(self.scores, TaskScores)

    @property
    def title(self) -> str:
        """What was measured."""
        return f"{'Accuracy in' if self.task else 'Losses on'} {self.name}"

    @property
    def show(self) -> Show:
        """Writes a value or a difference."""
        return fixed(1 if self.task else 3)

    @property
    def unit(self) -> str:
        """Of differences."""
        return _UNITS[self.scores.unit] if isinstance(self.scores, TextScores) else "points"

    @property
    def versus_base(self) -> Sequence[Comparison]:
        """Every model versus its base, of texts."""
        return self.scores.forgotten if isinstance(self.scores, TextScores) else ()

    @property
    def versus_first(self) -> Sequence[Comparison]:
        """Every model versus the first, but for those versus its base."""
        bases = {(each.model, each.other) for each in self.versus_base}
        return [each for each in self.scores.compared if (each.model, each.other) not in bases]

    def differences(self, comparison: Comparison) -> dict[str, Estimate]:
        """Those of a comparison by language, in `unit`."""
        factor = 100.0 if self.task else 1.0
        return {lang: of.times(factor) for lang, of in comparison.languages.items()}

    def leaders(self, language: str) -> Sequence[str]:
        """The models that none is significantly better than."""
        return self.scores.leaders.get(language, list(self.values))

    def score_table(self, models: Sequence[str] = ()) -> Table:
        """Values above their intervals; bold: no model is significantly better, and some is worse.

        Of tasks chance with its standard error. Last rows: the mean, and in how many languages a
        model is the best. models: by default all.
        """
        scores, models = self.scores, models or list(self.values)

        def cells(language: str) -> list[Entry]:
            leaders = self.leaders(language)
            bold = set(leaders) if len(leaders) < len(self.values) else set()
            own = [(model, self.values[model].get(language)) for model in models]
            shown: list[Entry] = [_cell(of, self.show, strong=m in bold) for m, of in own]
            if isinstance(scores, TextScores):
                losses = [by[language] for by in scores.losses.values() if language in by]
                return [*shown, losses[0].documents]
            each = [scores.accuracies[model][language] for model in models]
            counts = sorted({of.items for of in each})
            items = "–".join(f"{count:,}" for count in dict.fromkeys([counts[0], counts[-1]]))
            return [*shown, _chance(each[0].chance), Cell(items, counts[0])]

        rest: list[list[Entry]] = []
        ends: list[Entry] = [None]
        if isinstance(scores, TaskScores):
            ends = [None, None]
            means = [_cell(scores.mean[model].times(100.0), self.show) for model in models]
            rest.append(["mean", *means, _chance(scores.chance), None])
        if len(models) > 1 and all(model in scores.best for model in models):
            won = [
                Cell(f"{rate.alone + rate.shared} of {rate.languages}", below=shared)
                for rate in (scores.best[model] for model in models)
                for shared in (f"{rate.shared} shared" if rate.shared else "",)
            ]
            rest.append(["best in", *won, *ends])
        last = ["chance", "items"] if self.task else ["documents"]
        return self._table([*self._heads(models), *last], cells, rest)

    def comparison_table(self, comparisons: Sequence[Comparison]) -> Table:
        """Differences, a column per comparison; last their mean, and languages ahead."""
        columns = [self.differences(each) for each in comparisons]
        factor = 100.0 if self.task else 1.0

        def cell(of: Estimate | None) -> Cell:
            return _cell(of, self.show, difference=True)

        ahead = [
            Cell(f"{s.wins} of {s.wins + s.losses + s.ties}", below=ties, quiet=(s.p or 1) > LEVEL)
            for s in (each.signs for each in comparisons)
            for ties in (f"{s.ties} level" if s.ties else "",)
        ]
        means = [each.mean and each.mean.times(factor) for each in comparisons]
        heads = self._heads([each.model for each in comparisons])
        if len({each.other for each in comparisons}) > 1:
            heads = [
                replace(head, below=f"{head.below} versus {self.names[each.other]}".strip())
                for head, each in zip(heads, comparisons, strict=True)
            ]
        rest: list[list[Entry]] = [["mean", *map(cell, means)], ["ahead in", *ahead]]
        return self._table(heads, lambda lang: [cell(of.get(lang)) for of in columns], rest)

    def perplexity_table(self, models: Sequence[str]) -> Table:
        """Perplexities of a token, and their mean."""
        assert isinstance(self.scores, TextScores)
        losses = [self.scores.losses[model] for model in models]
        each = [{lang: of.perplexity or float("inf") for lang, of in by.items()} for by in losses]
        means = [show_perplexity(fmean(of.values())) for of in each]
        return self._table(
            self._heads(models),
            lambda lang: [show_perplexity(of[lang]) if lang in of else None for of in each],
            [["mean", *means]],
        )

    def segment_table(self, models: Sequence[str] = ()) -> Table:
        """Bits of segments that are translations of each other, which compare between languages."""
        assert isinstance(self.scores, TextScores)
        bits = self.scores.bits_per_segment
        shown = [model for model in models or bits if model in bits]
        return self._table(
            self._heads(shown), lambda lang: [f"{bits[model][lang]:,.1f}" for model in shown]
        )

    def _table(
        self,
        heads: Sequence[str | Cell],
        cells: Callable[[str], Sequence[Entry]],
        rest: Sequence[Sequence[Entry]] = (),
    ) -> Table:
        """A row per language with its role; the rest only where they have one role."""
        role, languages = ["role"] if self.roles else [], self.scores.languages
        rows = [[lang, *([self.roles[lang]] if role else []), *cells(lang)] for lang in languages]
        more = rest if len(languages) > 1 and not role else ()
        return Table(["language", *role, *heads], [*rows, *more])

    def _heads(self, models: Sequence[str]) -> list[Cell]:
        """Names as columns are headed, a routing below."""
        parts = [self.names[model].partition("@") for model in models]
        return [Cell(name, below=routing) for name, _, routing in parts]


def how(measure: Measure) -> str:
    """In which unit values are, and how choices were compared."""
    scores = measure.scores
    if isinstance(scores, TextScores):
        return "In bits per byte, which compare between tokenizers."
    draws = next(iter(next(iter(scores.accuracies.values())).values())).draws
    shots = f"{scores.shots} demonstrations, drawn {draws} times"
    shots = shots if scores.shots else "no demonstrations"
    return f"In %; choices compared by {_COMPARED[scores.normalisation]}, {shots}."


def model_table(evaluation: Evaluation) -> Table:
    """What each model is, and how a run was trained."""
    names = labels(evaluation)
    hashes = list(dict.fromkeys(model.tokenizer for model in evaluation.models))
    rows: list[dict[str, Entry]] = []
    for model in evaluation.models:
        run = model.trained
        kind = model.kind if model.experts == 1 else f"ensemble of {model.experts}"
        texts = "" if model.prompted else "of texts, not of prompts"
        row: dict[str, Entry] = {
            "model": names[model.name],
            "kind": f"{kind}, {model.routing}" if model.routing else kind,
            "base": names.get(model.base or "", model.base),
            "trained": f"{run.strategy}, {run.roles}" if run else None,
            "parameters": run and run.params,
            "tokens": Cell(show_count(run.tokens), run.tokens) if run else None,
            "context": model.context or Cell("any"),
            "first token": Cell(model.first or "none", below=texts),
        }
        more = {"tokenizer": hashes.index(model.tokenizer) + 1} if len(hashes) > 1 else {}
        rows.append(row | more)
    return Table.of(rows)


def _cell(
    of: Estimate | None, show: Show, *, difference: bool = False, strong: bool = False
) -> Cell:
    """A value above its interval; a difference says if it is not significant, or not tested."""
    if of is None:
        return Cell("")
    ends = interval(of, show) or "too few"
    if difference and of.low is not None and not of.significant:
        ends += ", too few" if of.reason else ", not significant"
    cell = estimate_cell(of, show, plus=difference, quiet=difference and not of.significant)
    return replace(cell, below=ends, strong=strong)


def _chance(chance: Chance) -> Cell:
    return Cell(f"{100 * chance.level:.1f}", chance.level, f"± {100 * chance.error:.1f}")
