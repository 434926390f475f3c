"""Texts and tasks of an evaluation seen alike: their tables, for page, terminal and cards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from statistics import fmean, median
from types import MappingProxyType
from typing import Literal, Self

from tongues.core.estimate import Estimate
from tongues.core.pages import Cell, Entry, Show, Table, estimate_cell, fixed, value_cell
from tongues.core.quantities import counted, show_count
from tongues.core.roles import Role
from tongues.core.significance import Chance
from tongues.evaluate.choice import differing_roles
from tongues.evaluate.evaluation import (
    Accuracy,
    Comparison,
    EvaluatedModel,
    Evaluation,
    Loss,
    TaskScores,
    TextScores,
)

_UNITS = {"bits/byte": "bits per byte", "nats/token": "nats per token"}
_LARGE = 10.0  # chosen; from which one decimal is enough, as of chrF
_Column = Mapping[str, Entry]  # by language
Reference = Literal["base", "first"]  # what models are compared with: each its base, or one model


def labels(evaluation: Evaluation) -> dict[str, str]:
    """The models' names, without the folder that all of them share."""
    parts = {model.name: model.name.split("/") for model in evaluation.models}
    same = takewhile(
        lambda each: len(set(each)) == 1, zip(*(x[:-1] for x in parts.values()), strict=False)
    )
    shared = len(list(same)) if len(parts) > 1 else 0
    return {name: "/".join(each[shared:]) for name, each in parts.items()}


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

    names: of the models, as they are shown. roles: of the languages, where they differ; a mean over
    languages of different roles would say nothing.
    title: what was measured, kind: by one word; quantity: what a value is; unit: of differences;
    factor: from a score to the value shown.
    """

    name: str
    scores: TextScores | TaskScores
    values: Mapping[str, Mapping[str, Estimate]]
    names: Mapping[str, str]
    roles: Mapping[str, tuple[Role, ...]]
    title: str
    kind: str
    quantity: str
    unit: str
    factor: float

    @classmethod
    def of(cls, evaluation: Evaluation) -> list[Self]:
        """Every text, then every task."""
        names, measures = labels(evaluation), list[Self]()
        for name, scores in (*evaluation.texts.items(), *evaluation.tasks.items()):
            roles = differing_roles(evaluation, scores.languages)
            measures.append(cls._of_scores(name, scores, names, roles))
        return measures

    @classmethod
    def _of_scores(
        cls,
        name: str,
        scores: TextScores | TaskScores,
        names: Mapping[str, str],
        roles: Mapping[str, tuple[Role, ...]],
    ) -> Self:
        if isinstance(scores, TextScores):
            by_model = scores.losses
            unit, factor = _UNITS[scores.unit], 1.0
            about = (f"Losses on {name}", "Losses", "bits per byte")
        else:
            by_model = scores.accuracies
            unit, factor = ("points", 100.0) if scores.share else (scores.metric, 1.0)
            about = (f"Accuracy in {name}", "Accuracy", "% of the items right")
            about = (name, name.partition(" ")[0], unit) if scores.metric else about
        values = {m: {x: _value(of, factor) for x, of in by_model[m].items()} for m in by_model}
        return cls(name, scores, values, names, roles, *about, unit, factor)

    @property
    def task(self) -> bool:
        """Whether these are scores of items, as accuracies are."""
        return isinstance(self.scores, TaskScores)

    @property
    def lower_is_better(self) -> bool:
        """As of losses."""
        return isinstance(self.scores, TextScores) or self.scores.lower_is_better

    @property
    def show(self) -> Show:
        """Writes a value or a difference; of metrics other than shares, by their size."""
        share = isinstance(self.scores, TaskScores) and self.scores.share
        each = [abs(of.value) for by in self.values.values() for of in by.values()]
        return fixed(1 if share or (self.task and median(each) >= _LARGE) else 3)

    @property
    def versus(self) -> dict[Reference, Sequence[Comparison]]:
        """What there is of the two."""
        each: dict[Reference, Sequence[Comparison]]
        each = {"base": self.scores.versus_base, "first": self.scores.versus_first}
        return {reference: compared for reference, compared in each.items() if compared}

    def called(self, reference: Reference) -> str:
        """What models are compared with, in words."""
        if reference == "base":
            return "its base"
        return f"the model {next(iter(self.names.values()))}"  # the text may have the same name

    def differences(self, comparison: Comparison) -> dict[str, Estimate]:
        """Those of a comparison by language, in `unit`."""
        return {lang: of.times(self.factor) for lang, of in comparison.languages.items()}

    def leaders(self, language: str) -> Sequence[str]:
        """The models that none is significantly better than."""
        return self.scores.leaders.get(language, list(self.values))

    def score_table(self, models: Sequence[str] = ()) -> Table:
        """Values above their intervals; bold: no model is significantly better, and some is worse.

        Of tasks chance with its standard error, and the accuracy of always choosing the place that
        is right most often. Last rows: the mean, and in how many languages a
        model is the best. models: by default all.
        """
        scores, models = self.scores, models or list(self.values)
        best = {x: of for x in scores.languages if len(of := self.leaders(x)) < len(self.values)}
        columns = [
            {x: self._cell(of, strong=m in best.get(x, ())) for x, of in self.values[m].items()}
            for m in models
        ]
        rest: dict[str, list[Cell]] = {}
        if isinstance(scores, TextScores):
            last: dict[str, _Column] = {"documents": self._documents(scores)}
        else:
            each = [scores.accuracies[model] for model in models]
            last = {"chance": {x: _chance(of.chance) for x, of in each[0].items()}}
            last["majority"] = {x: _share(of.majority) for x, of in each[0].items()}
            last["items"] = {x: _items([by[x] for by in each]) for x in each[0]}
            means = [self._cell(scores.mean[model].times(self.factor)) for model in models]
            rest["mean"] = [*means, _chance(scores.chance)]
        if len(models) > 1 and all(model in scores.best for model in models):
            rates = [scores.best[model] for model in models]
            won = [_count(of.alone + of.shared, of.languages, of.shared, "shared") for of in rates]
            rest["best in"] = won
        return self._table([*self._heads(models), *last], [*columns, *last.values()], rest)

    def comparison_table(self, comparisons: Sequence[Comparison]) -> Table:
        """Differences, a column per comparison; last their mean."""
        means = [
            self._difference(of and of.times(self.factor)) for of in (c.mean for c in comparisons)
        ]
        heads = self._heads([each.model for each in comparisons])
        if len({each.other for each in comparisons}) > 1:
            heads = [
                replace(head, below=f"{head.below} versus {self.names[each.other]}".strip())
                for head, each in zip(heads, comparisons, strict=True)
            ]
        columns = list(map(self._differences, comparisons))
        return self._table(heads, columns, {"mean": means})

    def perplexity_table(self, models: Sequence[str]) -> Table:
        """Perplexities of a token, and their mean."""
        assert isinstance(self.scores, TextScores)
        losses = [self.scores.losses[model] for model in models]
        each = [{lang: of.perplexity or float("inf") for lang, of in by.items()} for by in losses]
        columns = [{lang: show_perplexity(of) for lang, of in by.items()} for by in each]
        means = [show_perplexity(fmean(by.values())) for by in each]
        return self._table(self._heads(models), columns, {"mean": means})

    def segment_table(self, models: Sequence[str]) -> Table:
        """Bits of segments that are translations of each other, which compare between languages."""
        assert isinstance(self.scores, TextScores)
        bits = {model: of for model, of in self.scores.bits_per_segment.items() if model in models}
        columns = [{lang: f"{of:,.1f}" for lang, of in by.items()} for by in bits.values()]
        return self._table(self._heads(list(bits)), columns)

    def source_table(self, models: Sequence[str] = ()) -> Table | None:
        """Of a text: values by source, then paired differences; None where no language has several.

        models: by default all.
        """
        if not isinstance(self.scores, TextScores) or self.scores.by_source is None:
            return None
        scores, names = self.scores.by_source, self.names
        inner = self._of_scores(self.name, scores, names, {})
        models = models or list(self.values)
        pairs = [each for of in inner.versus.values() for each in of if each.model in models]
        heads = [Cell(names[each.model], below=f"versus {names[each.other]}") for each in pairs]
        values = [{key: self._cell(of) for key, of in inner.values[m].items()} for m in models]
        parts = {key: key.partition(": ") for key in scores.languages}
        columns = [{key: language for key, (language, _, _) in parts.items()}]
        columns += [{key: source for key, (*_, source) in parts.items()}, *values]
        columns += [self._documents(scores), *map(inner._differences, pairs)]
        heads = ["language", "source", *self._heads(models), "documents", *heads]
        return Table(heads, [[of.get(key) for of in columns] for key in parts])

    def _table(
        self,
        heads: Sequence[str | Cell],
        columns: Sequence[_Column],
        rest: Mapping[str, Sequence[Entry]] = MappingProxyType({}),
    ) -> Table:
        """A row per language with its role; the rest only where they have one role."""
        langs = self.scores.languages
        roles = [{lang: " or ".join(of) for lang, of in self.roles.items()}] if self.roles else []
        rows = [[lang, *(of.get(lang) for of in (*roles, *columns))] for lang in langs]
        if not self.roles and len(langs) > 1:
            empty = [None] * len(columns)
            rows += [[name, *of, *empty[len(of) :]] for name, of in rest.items()]
        return Table(["language", *(["role"] if self.roles else []), *heads], rows)

    def _heads(self, models: Sequence[str]) -> list[Cell]:
        parts = [self.names[model].partition("@") for model in models]
        return [Cell(name, below=routing) for name, _, routing in parts]

    def _differences(self, comparison: Comparison) -> _Column:
        return {x: self._difference(of) for x, of in self.differences(comparison).items()}

    def _difference(self, of: Estimate | None) -> Cell:
        if of is None:
            return Cell("")
        cell = self._cell(of, plus=True, quiet=not of.significant)
        if of.low is None or of.significant:
            return cell
        return replace(cell, below=f"{cell.below}, {'too few' if of.reason else 'not significant'}")

    def _cell(self, of: Estimate, *, strong: bool = False, **more: bool) -> Cell:
        return replace(estimate_cell(of, self.show, **more), strong=strong)

    def _documents(self, scores: TextScores) -> _Column:
        """How many there are; in brackets how many groups they are in, if fewer."""
        found: dict[str, Entry] = {}
        for x, of in (pair for by in reversed([*scores.losses.values()]) for pair in by.items()):
            groups = of.bits_per_byte.n or of.documents  # each counts as one document
            shown = f"{of.documents} ({counted(groups, 'group')})"
            found[x] = Cell(shown, of.documents) if groups < of.documents else of.documents
        return found


def model_table(evaluation: Evaluation) -> Table:
    """What each model is, and how a run was trained."""
    names = labels(evaluation)
    hashes = list(dict.fromkeys(model.tokenizer for model in evaluation.models))

    def row(model: EvaluatedModel) -> dict[str, Entry]:
        run = model.trained
        kind = model.kind if model.experts == 1 else f"ensemble of {model.experts}"
        texts = "" if model.prompted else "of texts, not of prompts"
        return {
            "model": names[model.name],
            "kind": f"{kind}, {model.routing}" if model.routing else kind,
            "base": names.get(model.base or "", model.base),
            "trained": f"{run.strategy}, {run.roles}" if run else None,
            "parameters": run and run.params,
            "tokens": run and value_cell(run.tokens, show_count),
            "context": model.context or Cell("any"),
            "first token": Cell(model.first or "none", below=texts),
        } | ({"tokenizer": hashes.index(model.tokenizer) + 1} if len(hashes) > 1 else {})

    return Table.of(map(row, evaluation.models))


def _value(of: Loss | Accuracy, factor: float) -> Estimate:
    return of.bits_per_byte if isinstance(of, Loss) else of.share.times(factor)


def _count(part: int, whole: int, more: int, name: str) -> Cell:
    return Cell(f"{part} of {whole}", below=f"{more} {name}" if more else "")


def _items(each: Sequence[Accuracy]) -> Cell:
    counts = sorted({of.items for of in each})
    items = "–".join(f"{count:,}" for count in dict.fromkeys([counts[0], counts[-1]]))
    groups = f"{each[0].groups:,} groups" if each[0].groups < each[0].items else ""
    groups = f"{groups}, as {each[0].worth:.1f} alike" if each[0].worth else groups
    return Cell(items, counts[0], below=groups)


def _share(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(f"{100 * value:.1f}", value)


def _chance(chance: Chance | None) -> Cell:
    if chance is None:
        return Cell("–")
    return Cell(f"{100 * chance.level:.1f}", chance.level, f"± {100 * chance.error:.1f}")
