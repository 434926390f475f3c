"""How sure an advice is: against which options it holds, and what its law is worth."""

from collections.abc import Sequence

import numpy as np

from tongues.plan.options import Option
from tongues.plan.question import Question
from tongues.quantities import show_count

__all__ = ["FLAT", "certainty"]

FLAT = 0.005  # a loss this little above the lowest is as good: laws are off by more beyond runs
_SURE = 0.95
_NAMED = 4  # options named in one sentence
_UNKNOWN = "not known: the laws have no intervals"
_THIN = ("few_runs",)  # cautions of a law that rests on little


def certainty(
    best: Option,
    as_good: Sequence[Option],
    worse: Sequence[Option],
    question: Question,
    repeats_decide: bool,
) -> tuple[float | None, str]:
    """The share of draws in which the best beats all of the worse, and how sure that is in words.

    as_good: the others that come within `FLAT` of the lowest loss. The share is None without
    draws, or without a worse one. `repeats_decide`: whether it rests on what a repeat is worth.
    """
    share, against = _against(best, worse, question)
    said = [*_in_doubt(best, repeats_decide), *_standing(best, as_good, worse, share, against)]
    if best.params_interval:
        low, high = (show_count(end) for end in best.params_interval)
        said.append(f"the best size lies between {low} and {high} (95 %)")
    if best.farthest:
        said.append(f"it is a projection, {best.farthest}")
    return share, " ".join(f"{one[0].upper()}{one[1:]}." for one in said)


def _against(
    best: Option, worse: Sequence[Option], question: Question
) -> tuple[float | None, dict[str, float]]:
    """The share of draws in which it beats all of them, and each; draws pair by their number."""
    if not worse or not all(option.way.law.draws for option in (best, *worse)):
        return None, {}
    draws = [_draws(option, question) for option in (best, *worse)]
    count = min(len(values) for values in draws)
    own, others = draws[0][:count], np.stack([values[:count] for values in draws[1:]])
    wins = np.isfinite(own) & (own <= others)  # what never gets there does not win
    names = (option.name for option in worse)
    return float(wins.all(0).mean()), dict(zip(names, wins.mean(1).tolist(), strict=True))


def _draws(option: Option, question: Question) -> np.ndarray:
    """What is compared: the loss, or the compute to the loss."""
    if question.target_loss is None:
        return option.way.loss_draws(np.array(option.flops))
    return option.way.compute_draws(question.target_loss, near=option.flops)


def _in_doubt(best: Option, repeats_decide: bool) -> list[str]:
    """What is known too little to be sure of anything, told before any share."""
    law = best.way.law
    reasons = dict.fromkeys(c.sentence for c in law.warnings if c.code in _THIN)
    said = []
    if reasons:
        said.append(f"the law `{best.way.law_name}` is shaky ({'; '.join(reasons)})")
    if repeats_decide:
        said.append("the rule for repeated text decides, which no share counts")
    return [f"less than it looks: {', and '.join(said)}"] if said else []


def _standing(
    best: Option,
    as_good: Sequence[Option],
    worse: Sequence[Option],
    share: float | None,
    against: dict[str, float],
) -> list[str]:
    """Against which options it holds."""
    has_draws = bool(best.way.law.draws)
    if not as_good and not worse:
        alone = "there is no other option to weigh it against"
        return [alone if has_draws else f"{alone}, and the law has no intervals"]
    said = []
    if as_good:
        names = _listed([option.name for option in (best, *as_good)])
        said.append(f"{names} come within {FLAT:.1%}: it hardly matters which")
    if share is None:
        return (
            said
            if not worse
            else [*said, _UNKNOWN if not said else f"for the others it is {_UNKNOWN}"]
        )
    return [*said, _told_apart(best, share, against)]


def _told_apart(best: Option, share: float, against: dict[str, float]) -> str:
    count = len(next(iter(best.way.law.draws.values())))
    fits = f"{count:,} resampled fits"
    unclear = {name: part for name, part in against.items() if part < _SURE}
    if not unclear:
        rest = f"`{next(iter(against))}`" if len(against) == 1 else "each of the others"
        return f"in {share:.1%} of {fits} `{best.name}` comes out better than {rest}"
    apart = f"`{best.name}` cannot be told apart from {_listed(list(unclear))}"
    if len(unclear) == 1:
        (part,) = unclear.values()
        return f"{apart}: it comes out better in {part:.1%} of {fits}"
    return f"{apart}: against the nearest of them it comes out better in " + (
        f"{min(unclear.values()):.1%} of {fits}"
    )


def _listed(names: Sequence[str]) -> str:
    """`a`, `b` and `c`; of many the first few."""
    shown = [f"`{name}`" for name in names[:_NAMED]]
    if len(names) > _NAMED:
        shown.append(f"{len(names) - _NAMED} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
