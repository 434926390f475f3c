"""The rows of the table put together again: one run, its losses through training, its twin."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any

import numpy as np

from tongues.core.errors import UserError
from tongues.core.roles import list_languages
from tongues.laws.transfer import Curve
from tongues.runs.record import JOINED

_NAMED = 3  # runs in a sentence
_LIKE = 0.01  # budgets nearer than this are one: batches and sizes round them


@dataclass(frozen=True, slots=True, eq=False)
class RunCurves:
    """A run of the table as one of its target languages sees it.

    A run of several targets gives one of these for each. `curves` holds, by language, the loss at
    each evaluation. seen: by language, the tokens of that language alone up to each evaluation.
    base: the model it continues. base_tokens: what that was trained on, where it is in the table.
    new_tokens: whether its vocabulary has tokens that the base does not have.
    """

    name: str
    strategy: str
    lang: str  # the target language in view
    targets: tuple[str, ...]
    base_languages: tuple[str, ...]
    replay: float  # share of all tokens that is replay of base languages
    shares: Mapping[str, float]  # of all tokens, by language that was evaluated
    shape: str
    seed: int
    params: int
    curves: Mapping[str, Curve]
    bits_per_byte: Mapping[str, float]  # at the end, by language
    seen: Mapping[str, np.ndarray] = field(default_factory=dict)
    base_tokens: float | None = None
    base: str | None = None
    new_tokens: bool = False

    @property
    def target(self) -> str:
        """The language in view, and with which others it was learned: such as `tr (with he)`."""
        others = [lang for lang in self.targets if lang != self.lang]
        return f"{self.lang} (with {list_languages(others)})" if others else self.lang

    @property
    def forgettable(self) -> tuple[str, ...]:
        """Base languages that are not learned further, as far as they were evaluated."""
        known = (lang for lang in self.base_languages if lang not in self.targets)
        return tuple(lang for lang in known if lang in self.curves)

    @property
    def learned(self) -> Curve:
        """The loss on the language in view."""
        return self.curves[self.lang]

    @property
    def tokens(self) -> float:
        """Trained on, all languages together."""
        return float(self.learned.tokens[-1])

    def final(self, lang: str) -> float | None:
        """The loss at the end in nats per token, where that language was evaluated."""
        return float(self.curves[lang].loss[-1]) if lang in self.curves else None

    @property
    def unit(self) -> tuple[str, int]:
        """Shape and seed: runs that share both are not independent of each other."""
        return self.shape, self.seed

    def as_long_as(self, other: "RunCurves") -> bool:
        """Whether both trained on the same number of tokens, but for rounding to whole batches."""
        return abs(log(self.tokens / other.tokens)) < _LIKE

    def like(self, other: "RunCurves") -> bool:
        """Whether both have the same shape, seed and number of tokens, and bases of one length."""
        return (
            self.unit == other.unit
            and self.base_tokens == other.base_tokens
            and self.as_long_as(other)
        )


def gather_runs(rows: Iterable[Mapping[str, Any]]) -> list[RunCurves]:
    """The runs behind the rows of `runs.record.run_rows`, smallest first, once for each target.

    A target that a run was never evaluated on is left out.
    """
    texts: dict[str, dict[str, None]] = defaultdict(dict)  # the runs of each
    by_run: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(rows, key=lambda row: row["step"]):
        texts[row["tokens_fingerprint"]][row["run"]] = None
        by_run[row["run"]][row["lang"]].append(row)
    if len(texts) > 1:
        groups = "; ".join(_named(list(names)) for names in texts.values())
        raise UserError(
            f"the runs were trained on {len(texts)} different preparations of text: {groups}",
            where="runs",
            hint="losses compare within one tokenizer and one held-out text: name the runs of one",
        )
    firsts = {name: next(iter(langs.values())) for name, langs in by_run.items()}
    lengths = {name: float(own[-1]["tokens"]) for name, own in firsts.items()}
    runs: list[RunCurves] = []
    for name, langs in by_run.items():
        first = firsts[name][0]
        column = {
            key: {lang: np.array([row[key] for row in own], float) for lang, own in langs.items()}
            for key in ("tokens", "flops", "loss", "tokens_lang")
        }
        run = RunCurves(
            **{key: first[key] for key in ("strategy", "replay", "shape", "seed", "params")},
            name=name,
            lang="",
            targets=tuple(first["target"].split(JOINED)),
            base_languages=tuple(filter(None, (first["base_languages"] or "").split(JOINED))),
            shares={lang: own[0]["share"] for lang, own in langs.items()},
            curves={
                lang: Curve(column["tokens"][lang], column["flops"][lang], column["loss"][lang])
                for lang in langs
            },
            bits_per_byte={lang: own[-1]["bits_per_byte"] for lang, own in langs.items()},
            seen=column["tokens_lang"],
            base=first["base"],
            base_tokens=lengths.get(first["base"] or ""),
            new_tokens=any("loss_new_tokens" in row for own in langs.values() for row in own),
        )
        runs += [replace(run, lang=lang) for lang in run.targets if lang in langs]
    return sorted(runs, key=lambda run: (run.params, run.shape, run.seed, run.name))


def _named(names: Sequence[str]) -> str:
    """The first of some runs, and how many more there are."""
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return list_languages([*names[:_NAMED], *more])


def once(runs: Iterable[RunCurves]) -> list[RunCurves]:
    """Each run once, as its first target sees it: for what is not about one target."""
    return list({run.name: run for run in reversed(list(runs))}.values())[::-1]


def twin(run: RunCurves, runs: Iterable[RunCurves]) -> RunCurves | None:
    """The scratch run of the same target, shape and seed that a run is compared with.

    Of several the one whose number of tokens is nearest, then the one of the same study.
    """
    same = [
        other
        for other in runs
        if other.strategy == "scratch" and (other.target, *other.unit) == (run.target, *run.unit)
    ]
    study = run.name.rpartition("/")[0]

    def far(other: RunCurves) -> tuple[int, bool]:
        apart = abs(log(run.tokens / other.tokens))
        return round(apart / _LIKE), other.name.rpartition("/")[0] != study

    return min(same, key=far, default=None)


def usual_bases(runs: Sequence[RunCurves]) -> list[RunCurves]:
    """Without the continued runs whose base was trained for another number of tokens than usual.

    Usual, for each shape, is what most of its runs continue from; of several, the shortest.
    """
    counts: dict[str, Counter[float | None]] = defaultdict(Counter)
    for run in runs:
        if run.strategy == "cpt":
            counts[run.shape][run.base_tokens] += 1
    usual = {
        shape: min(bases, key=lambda base: (-bases[base], base or 0.0))
        for shape, bases in counts.items()
    }
    return [run for run in runs if run.strategy != "cpt" or run.base_tokens == usual[run.shape]]


def continued(runs: Sequence[RunCurves]) -> list[RunCurves]:
    """The continued runs whose base was trained for the usual number of tokens."""
    return [run for run in usual_bases(runs) if run.strategy == "cpt"]


def size_order(runs: Iterable[RunCurves]) -> list[str]:
    """The shapes, smallest first."""
    return list(dict.fromkeys(run.shape for run in sorted(runs, key=lambda run: run.params)))
