"""What experts gain over one model: laws of ensembles, by language and of the mean of all.

An ensemble of k experts, or the dense model (k = 1), continues one base on the text of several
languages, and each language is read by one expert. D is what all experts of an ensemble read
together, so that ensembles of as many tokens cost the same. To divide text among twice as many
experts is worth G times the tokens.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tongues.core.errors import Caution, UserError
from tongues.core.magnitudes import counted, show_count
from tongues.core.roles import list_languages
from tongues.laws import words
from tongues.laws.fit import fit_observed
from tongues.laws.forms import EXPERTS
from tongues.laws.law import Law
from tongues.laws.observed import RunCurves
from tongues.laws.targets import SETTLED
from tongues.laws.uncertainty import percentiles
from tongues.runs.record import JOINED
from tongues.runs.tables import Observations

_MEMBER = re.compile(r"-e\d+(?=-s\d+$)")  # of the name of an expert's run
_WHOLE = 0.95  # of a language's text that one expert has read; else its text itself is divided
_LIKE = 1.05  # times a length, up to which another one is the same but for whole steps
_ENDS = 6  # ensembles of several lengths from which final losses are enough


@dataclass(frozen=True, slots=True)
class _Ensemble:
    """The expert of each language among k, as that language sees it."""

    name: str
    k: int
    tokens: float
    own: Mapping[str, RunCurves]

    def losses(self, lang: str) -> tuple[np.ndarray, np.ndarray]:
        """Shares of the tokens, and the loss there."""
        curve = self.own[lang].learned
        return curve.tokens / curve.tokens[-1], curve.loss


def fit_experts(runs: Sequence[RunCurves], draws: int = 400) -> tuple[list[Law], list[Caution]]:
    """The law of each language of the ensembles and of their mean, or why there is none."""
    ensembles = _ensembles(runs)
    counts = Counter(one.k for one in ensembles)
    if not ensembles:
        return [], []
    first = next(iter(ensembles[0].own.values()))
    languages = list(ensembles[0].own)
    if len(counts) < 2 or 1 not in counts:
        what = "only the dense model" if 1 in counts else "no dense model next to it"
        named = list_languages(languages)
        return [], [words.caution("no_experts_law.few", what=what, languages=named)]
    lengths = [one.tokens for one in ensembles]
    ended = max(lengths) > _LIKE * min(lengths) and len(ensembles) >= _ENDS
    laws, refused = list[Law](), list[Caution]()
    joined = JOINED.join(languages)
    for target in dict.fromkeys((*languages, joined)):
        seen = languages if target == joined else [target]
        rows = _rows(ensembles, seen, ended=ended)
        try:
            law = fit_observed(rows, EXPERTS.name, draws=draws)
        except UserError as error:
            refused.append(
                words.caution("no_experts_law.refused", target=target, reason=error.what)
            )
            continue
        doubts = law.warnings
        if not ended:
            doubts += (words.caution("mid_schedule"),)
        params = float(first.params)
        known = law.range | {"N": (params, params)}
        laws.append(replace(law, strategy="cpt", target=target, range=known, warnings=doubts))
    return laws, refused


def _ensembles(runs: Sequence[RunCurves]) -> list[_Ensemble]:
    """Those that branch from the usual base and know all languages, each in one expert."""
    members = defaultdict[str, list[RunCurves]](list)
    for run in runs:
        if run.strategy == "expert" and _MEMBER.search(run.name) and run.learned.tokens[0] == 0:
            members[_MEMBER.sub("", run.name)].append(run)
    bases = Counter(of[0].base for of in members.values())
    usual = max(bases, key=bases.__getitem__, default=None)
    members = {name: of for name, of in members.items() if of[0].base == usual}
    every = {run.lang for of in members.values() for run in of}
    ensembles: list[_Ensemble] = []
    for name, of in members.items():
        own: dict[str, RunCurves] = {}
        for lang in sorted(every):
            readers = [run for run in of if run.lang == lang]
            read = [float(run.seen[lang][-1]) for run in readers]
            if read and max(read) >= _WHOLE * sum(read):
                own[lang] = readers[int(np.argmax(read))]
        if set(own) == every:
            lengths = {run.name: run.tokens for run in of}
            ensembles.append(_Ensemble(name, len(lengths), sum(lengths.values()), own))
    return ensembles


def _rows(ensembles: Sequence[_Ensemble], languages: Sequence[str], *, ended: bool) -> Observations:
    """Final losses, or all past the warm-up, in the mean of some languages."""
    rows: list[tuple[str, tuple[float, ...]]] = []
    for one in ensembles:
        shares, _ = one.losses(languages[0])
        each = [np.interp(shares, *one.losses(lang)) for lang in languages]
        losses = np.mean(each, axis=0)
        late = shares >= (1.0 if ended else SETTLED)
        rows += [
            (one.name, (share * one.tokens, losses[0], one.k, loss))
            for share, loss in zip(shares[late], losses[late], strict=True)
        ]
    D, S, k, loss = np.array([row for _, row in rows]).T
    return Observations({"D": D, "S": S, "k": k}, loss, runs=[name for name, _ in rows])


def worth_sentence(law: Law) -> str:
    """What the most experts that were trained are worth in tokens, with its interval."""
    most, ends = law.range["k"][1], None
    doublings = np.log2(most)
    if len(draws := law.draws.get("G", ())):
        low, high = percentiles(np.asarray(draws) ** doublings)
        ends = (float(low), float(high))
    return words.law_line(
        "worth",
        target=law.target,
        experts=most,
        worth=words.with_interval(law.params["G"] ** doublings, ends),
        tokens=show_count(law.range["D"][1]),
        ensembles=counted(law.n_runs, "ensemble"),
    )
