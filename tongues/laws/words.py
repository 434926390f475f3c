"""What laws say in words: cautions by their code, and the lines of an answer.

Every sentence is a template here; what is true is decided elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tongues.core.errors import Caution
from tongues.core.estimate import Estimate
from tongues.core.magnitudes import counted, show_count
from tongues.laws.rows import HoldOut

# By code; `code.case` where one code has several sentences.
_CAUTIONS = {
    # of the rows
    "duplicate_rows": "{rows} left out as copies of others: {named}",
    "strategies_pooled": "`{column}` separates scratch and continued rows; all were taken as one: "
    "name it with --column {flag}",
    "other_strategies": "{rows} rows of strategy {named} are left out; known are scratch and cpt",
    "few_sizes": "only {sizes} model sizes; the exponent of N is a guess",
    "few_runs": "only {runs} runs to resample; intervals are too narrow",
    "no_intervals": "{runs} to resample: too few",
    "implausible_amounts.params": "half of the rows have fewer than {median:g} parameters; if a "
    "table has them in millions, name the column like `params (M)`",
    "implausible_amounts.tokens": "half of the rows have fewer than {median:g} tokens; if a "
    "table has them in millions, name the column like `tokens (M)`",
    "implausible_amounts.swapped": "every row has fewer tokens than parameters: too few, or are "
    "columns swapped?",
    "sizes_and_tokens_together": "log N and log D correlate at {correlation:.3f}; what is due to "
    "size and what to tokens cannot be separated",
    # of the fit
    "outlying_runs": "runs far from the law, {far} of {runs}: {named}; look whether they "
    "diverged or are in another unit, and fit without them",
    "mixed_experiments.off": "runs are {spread:.0%} off the law; they are of several experiments "
    "(text, tokenizer, unit), or follow no such law: fit each alone with --where",
    "mixed_experiments.apart": "runs are {spread:.0%} off the law, and of like size and tokens "
    "{twins:.0%} apart; they are of several experiments (text, tokenizer, unit), or follow no such "
    "law: fit each alone with --where",
    "lack_of_fit": "the runs bend from this form: a curve over compute and tokens per parameter "
    "explains {explained:.0%} of what is left (F {F:.0f}), {size:.1%} of the loss; predictions "
    "follow it, parameters and best sizes do not",
    "below_base": "{below} of {rows} rows have a loss the base law's E + A/N^alpha forbids, of "
    "runs {named}; the base does not fit these runs",
    "loose_base": "its base is not pinned down either ({codes})",
    "base_without_draws": "the base law has no bootstrap draws; intervals leave out its "
    "uncertainty",
    "at_bound.exponent": "{name} stopped at the edge of what is searched, {value:.4g}",
    "at_bound.term": "the term of {name} vanished; it has no effect in these runs",
    "zero_E": "{name} is as good as zero; these runs do not show where loss levels off",
    "ill_conditioned": "very different parameters fit these runs equally well; trust the curve "
    "within its range, not the single parameters",
    "not_converged": "the gradient is still {gradient:.1e}",
    "no_interior_optimum": "no compute-optimal size exists: {beta} and {alpha} must both exceed "
    "{gamma}, and {A} and {B} be more than nothing, but here they are {values}",
    "optimum_in_doubt": "{outside:.0%} of the resamples have no compute-optimal size; the "
    "allocation's intervals leave them out",
    # of experts
    "no_experts_law.no_dense": "experts of {languages}: no dense model next to it: train "
    "`{{by: dense}}` and another partition of the same text",
    "no_experts_law.only_dense": "experts of {languages}: only the dense model: train "
    "`{{by: dense}}` and another partition of the same text",
    "no_experts_law.refused": "the law of experts on `{target}` was not fitted: {reason}",
    "mid_schedule": "the ensembles are of one length, so that losses in mid-schedule were fitted, "
    "which are too high: train two lengths",
    # of published laws
    "rounded": "exponents printed with two decimals move the loss by 1 to 3 % and the best size "
    "by more; hoffmann2022-full has all digits",
    "rounded.biased": "its exponents are printed with two decimals, which biases the loss by about "
    "1 %",
    "disputed": "a re-analysis of the same runs (besiroglu2024) found other parameters and far "
    "wider intervals",
    "delta": "these values are what a Huber threshold towards 0 gives, not 1e-3",
    "contradicts_savings": "this law's loss at its own optimum is above that of zheng2024-scratch "
    "(at 1e20 FLOPs 2.365 against 2.123), while the same authors' loss-compute pair saves 47 to "
    "43 % of compute; below about 4 tokens per parameter it is the lower of the two",
    "below_floor": "as a pure power it falls below the E = 1.55 of the same authors' law near "
    "1.25e23 FLOPs",
}
_FITTED = "fitted to {rows} rows of {runs} runs; mean Huber error {error:.3g}"
_LOOSE = "best size for C FLOPs: not pinned down by these runs, see below"
_SPLIT = ("size for C FLOPs: N = {N_coef:.3g} C^{a}", "tokens for C FLOPs: D = {D_coef:.3g} C^{b}")
_HELD = (
    "held out, compute above {above:.3g} ({runs}): off by {error:.2%} on average ({bias:+.2%}), "
    "within the fit by {error_within:.2%}"
)
_PREDICTED = (
    "predicted for one run of {where}: {value:.4g}, 95 % of such runs {low:.4g} to {high:.4g}"
)
_OF_SIZE = "{times:g} times the most compute, {params} parameters on {tokens} tokens"
_OF_LENGTH = "{tokens} tokens, {times:g} times the most"
_OF_BASE = "its base: {line}"
_OF_LAW = "{target}, {law} law: {caution}"
_REFUSED = "The {what} on `{target}` was not fitted: {reason}."
_WORTH = (
    "{target}: {experts:.0f} experts are worth {worth} times the tokens of one model, from "
    "{tokens} tokens and {ensembles}"
)
_NEAREST = "{rows}: {law} is nearest on the largest runs, off by {error:.2%}"
_FEW_HELD = "{rows}: too few runs to hold the largest out, so no law is preferred"
_FEW = "{rows}: too few runs to compare laws on"
_UNKNOWNS = "{runs} for {unknowns} unknowns"
_GAMMA = {
    "differs": "{rows}, {law}: gamma {value} differs from 0",
    "same": "{rows}, {law}: gamma {value} no significant difference from 0",
    "unknown": "{rows}, {law}: gamma {value} inconclusive: {doubt}",
}
NEXT = {
    "columns": "correct the columns as the cautions say, and fit again",
    "one experiment": "fit the runs of one experiment: choose them with --where",
    "hold": "add runs of other sizes and budgets, or hold parameters with --fix",
    "choose": "`--law NAME -o law.json` writes the law you choose",
    "write": "the same with `-o law.json` writes the law for `tongues plan`",
}


def caution(kind: str, **facts: object) -> Caution:
    """The caution of a kind, its code or `code.case`, with its sentence about these facts."""
    return Caution(kind.partition(".")[0], _CAUTIONS[kind].format(**facts))


def of_law(target: str, law: str, caution: Caution) -> str:
    """A caution of one of several laws."""
    return _OF_LAW.format(target=target, law=law, caution=caution)


def of_base(line: object) -> str:
    """A line about the law below."""
    return _OF_BASE.format(line=line)


def refused(what: str, target: str, reason: str) -> str:
    """What was not fitted, such as the `CPT law`, and why."""
    return _REFUSED.format(what=what, target=target, reason=reason)


def fitted(rows: int, runs: int, strategy: str, error: float) -> str:
    """What a law was fitted to, and how well."""
    return _FITTED.format(rows=rows, runs=f"{runs} {strategy}".strip(), error=error)


def held_out_line(test: HoldOut) -> str:
    """How far off a law is that was fitted without the runs of most compute."""
    return _HELD.format(**asdict(test), runs=counted(test.n_runs, "run"))


def with_interval(value: float, ends: tuple[float, float] | None) -> str:
    """As in `0.519 [0.5, 0.543]`."""
    return f"{value:.3g} [{ends[0]:.3g}, {ends[1]:.3g}]" if ends else f"{value:.3g}"


def best_split(
    numbers: Mapping[str, float], interval: Mapping[str, tuple[float, float]]
) -> list[str]:
    """Size and tokens as powers of compute, with the intervals of the exponents."""
    shown = {name: with_interval(numbers[name], interval.get(name)) for name in "ab"}
    return [f"best {line.format(**{**numbers, **shown})}" for line in _SPLIT]


def no_best_split() -> str:
    """That the runs do not pin down a best size."""
    return _LOOSE


def predicted(times: float, at: Mapping[str, float], loss: Estimate) -> str:
    """What one run of `times` the most compute, or tokens, would end at."""
    counts = {"tokens": show_count(at["D"]), "params": show_count(at.get("N", 0.0))}
    where = (_OF_SIZE if "N" in at else _OF_LENGTH).format(times=times, **counts)
    return _PREDICTED.format(where=where, value=loss.value, low=loss.low, high=loss.high)


def worth_line(target: str, experts: float, times: str, tokens: float, ensembles: int) -> str:
    """What experts are worth in tokens of one model; times: with its interval."""
    named = counted(ensembles, "ensemble")
    numbers = {"target": target, "experts": experts, "ensembles": named}
    return _WORTH.format(**numbers, worth=times, tokens=show_count(tokens))


def too_few_runs(runs: int, unknowns: int) -> str:
    """That parameters are as many as runs."""
    return _UNKNOWNS.format(runs=counted(runs, "run"), unknowns=unknowns)


def nearest_law(rows: str, errors: Mapping[str, float]) -> str:
    """Which law is nearest on the largest runs; errors: of each, where these were held out."""
    if not errors:
        return _FEW_HELD.format(rows=rows)
    first, *rest = sorted(errors, key=errors.__getitem__)
    others = [f"{name} {errors[name]:.2%}" for name in rest]
    line = _NEAREST.format(rows=rows, law=first, error=errors[first])
    return f"{line}; {', '.join(others)}" if others else line


def nothing_compared(rows: str) -> str:
    """That runs are too few to compare laws."""
    return _FEW.format(rows=rows)


def gamma_cell(gamma: Sequence[float]) -> str:
    """A value with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(*gamma)


def gamma_line(rows: str, law: str, gamma: tuple[float, float, float], doubt: str) -> str:
    """Whether a gamma differs from 0; doubt: why it is not known."""
    apart = "differs" if gamma[1] > 0 or gamma[2] < 0 else "same"
    line = _GAMMA["unknown" if doubt else apart]
    return line.format(rows=rows, law=law, value=gamma_cell(gamma), doubt=doubt)
