"""What laws say in words: cautions by their code, and the lines of an answer.

Every sentence is a template here; what is true is decided elsewhere.
"""

from tongues.core.errors import Caution

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
    "implausible_amounts.few": "half of the rows have fewer than {median:g} {what}; if a table has "
    "them in millions, name the column like `{column} (M)`",
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
    "no_experts_law.few": "experts of {languages}: {what}: train `{{by: dense}}` and another "
    "partition of the same text",
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
# Of an answer and of a comparison.
_LINES = {
    "fitted": "fitted to {rows} rows of {runs} runs; mean Huber error {error:.3g}",
    "loose": "best size for C FLOPs: not pinned down by these runs, see below",
    "best size": "best size for C FLOPs: N = {N_coef:.3g} C^{a}",
    "best tokens": "best tokens for C FLOPs: D = {D_coef:.3g} C^{b}",
    "held out": "held out, compute above {above:.3g} ({runs}): off by {error:.2%} on average "
    "({bias:+.2%}), within the fit by {error_within:.2%}",
    "predicted by size": "predicted for one run of {times:g} times the most compute, {params} "
    "parameters on {tokens} tokens: {value:.4g}, 95 % of such runs {low:.4g} to {high:.4g}",
    "predicted by length": "predicted for one run of {tokens} tokens, {times:g} times the most: "
    "{value:.4g}, 95 % of such runs {low:.4g} to {high:.4g}",
    "base": "its base: {line}",
    "caution": "{target}, {law} law: {caution}",
    "refused": "The {law} on `{target}` was not fitted: {reason}.",
    "worth": "{target}: {experts:.0f} experts are worth {worth} times the tokens of one model, "
    "from {tokens} tokens and {ensembles}",
    "nearest": "{rows}: {law} is nearest on the largest runs, off by {error:.2%}",
    "nearest of several": "{rows}: {law} is nearest on the largest runs, off by {error:.2%}; "
    "{others}",
    "none held out": "{rows}: too few runs to hold the largest out, so no law is preferred",
    "none compared": "{rows}: too few runs to compare laws on",
    "unknowns": "{runs} for {unknowns} unknowns",
    "gamma differs": "{rows}, {law}: gamma {gamma} differs from 0",
    "gamma of 0": "{rows}, {law}: gamma {gamma} no significant difference from 0",
    "gamma unknown": "{rows}, {law}: gamma {gamma} inconclusive: {doubt}",
    # what to do next
    "columns": "correct the columns as the cautions say, and fit again",
    "one experiment": "fit the runs of one experiment: choose them with --where",
    "hold": "add runs of other sizes and budgets, or hold parameters with --fix",
    "choose": "`--law NAME -o law.json` writes the law you choose",
    "write": "the same with `-o law.json` writes the law for `tongues plan`",
}


def caution(kind: str, **facts: object) -> Caution:
    """The caution of a kind, its code or `code.case`, with its sentence about these facts."""
    return Caution(kind.partition(".")[0], _CAUTIONS[kind].format(**facts))


def law_line(kind: str, **facts: object) -> str:
    """The line of a kind about these facts."""
    return _LINES[kind].format(**facts)


def with_interval(value: float, ends: tuple[float, float] | None) -> str:
    """As in `0.519 [0.5, 0.543]`."""
    return f"{value:.3g} [{ends[0]:.3g}, {ends[1]:.3g}]" if ends else f"{value:.3g}"
