"""Findings in plain sentences, each with its uncertainty, welcome or not."""

from collections.abc import Container, Iterator

from tongues.estimate import Estimate
from tongues.laws import allocate
from tongues.laws.targets import TargetLaws
from tongues.pages import Show, fixed, number
from tongues.report.findings import Findings, Forgetting, Nearer, ReplayEffect, Transfer
from tongues.report.theme import series
from tongues.roles import list_languages

__all__ = [
    "ABOUT_LAWS",
    "ABOUT_MEANS",
    "findings_by_topic",
    "nats",
    "percent",
    "sentences",
    "show_nats",
    "unmeasured",
    "with_stop",
]

ABOUT_MEANS = (
    "Means are over the sizes that were trained, as they are: their intervals come from the spread "
    "among seeds of a size, and where seeds are too few, from that among all runs, sizes and all, "
    "which makes them rather too wide."
)
ABOUT_LAWS = (
    "Intervals of laws, γ among them, come from resampling runs, those of one shape and seed "
    "together; where these are few, they are too narrow, and no verdict is given on them."
)


def sentences(findings: Findings) -> list[str]:
    """What was found, most important first; a language is set in `backticks`."""
    found = [sentence for topic in findings_by_topic(findings).values() for sentence in topic]
    return [doubt, *found] if (doubt := unmeasured(findings)) else found


def findings_by_topic(
    findings: Findings, shares: Container[float] | None = None
) -> dict[str, list[str]]:
    """The same sentences under the words Saved, Forgotten and Laws, but for `unmeasured`.

    shares: of replay, those that are told; by default all.
    """

    def told(replay: float) -> bool:
        return shares is None or replay in shares

    return {
        "Saved": [
            *(_transfer(t) for t in findings.transfers if t.measured and told(t.replay)),
            *(_nearer(n) for n in findings.nearer),
        ],
        "Forgotten": [
            *(_forgetting(f) for f in findings.forgetting if told(f.replay)),
            *(_replay_effect(e) for e in findings.replay_effects if told(e.replay)),
        ],
        "Laws": [s for fitted in findings.laws for s in _laws(fitted)],
    }


def unmeasured(findings: Findings) -> str:
    """Of which targets it cannot be told how much CPT saves, and why; empty where it can."""
    found: dict[str, int] = {}
    for target in findings.targets:
        own = [t for t in findings.transfers if t.target == target]
        count = sum(t.saturated for t in own)
        if count and not any(t.measured for t in own):
            found[target] = count
    if not found:
        return ""
    pairs = f"all {sum(found.values())} pairs" if sum(found.values()) > 1 else "the only pair"
    return (
        f"How much CPT saves on {' and '.join(f'`{target}`' for target in found)} cannot be told: "
        f"in {pairs} the source model had, before its first step, the loss that the two are "
        "compared at, so that nothing was left to save. More tokens a run, or a source model that "
        "knows less of the target, would tell."
    )


def percent(estimate: Estimate) -> str:
    """`43 % [38, 47]` of a share."""
    return number(estimate.times(100.0), fixed(0), " %")


def points(estimate: Estimate) -> str:
    """`43 [38, 47]` of a difference of shares, in percentage points."""
    return number(estimate.times(100.0), fixed(0))


def nats(estimate: Estimate) -> str:
    """`0.83 [0.71, 0.95]` of a loss in nats per token."""
    return number(estimate, show_nats(estimate))


def show_nats(estimate: Estimate) -> Show:
    """To a hundredth of a nat, or a thousandth where it is small."""
    return fixed(2 if abs(estimate.value) >= 0.1 else 3)


def with_stop(words: str) -> str:
    """With a full stop, unless it ends as a sentence already."""
    return words if words.endswith((".", "?", "!")) else f"{words}."


def _direction(estimate: Estimate) -> int:
    """1 or -1, or 0 where the interval holds nothing; one pair alone goes by its value."""
    if (estimate.n or 0) > 1:
        return estimate.excludes_zero
    return 1 if estimate.value >= 0 else -1


def _pairs(estimate: Estimate, what: str = "pair") -> str:
    count = estimate.n or 0
    return f"{count} {what}s" if count > 1 else f"one {what}, so no interval"


def _transfer(transfer: Transfer) -> str:
    saved, name = transfer.saved, series("cpt", transfer.replay)
    assert saved is not None
    start = f"On `{transfer.target}`, {name}"
    if _direction(saved) == 0:
        said = (
            f"{start} and training from scratch cannot be told apart: {percent(saved)} fewer "
            f"tokens to the same loss ({_pairs(saved)})."
        )
    elif saved.value > 0:
        said = (
            f"{start} reached the loss of training from scratch with {percent(saved)} fewer "
            f"tokens ({_pairs(saved)})."
        )
    else:
        said = (
            f"{start} needed {percent(-saved)} more tokens than training from scratch "
            f"for the same loss ({_pairs(saved)})."
        )
    behind = sum(not pair.reached for pair in transfer.pairs)
    if behind:
        said += (
            f" In {behind} of {len(transfer.pairs)} it never reached the final loss of its twin; "
            "there the two are compared at the lowest loss both reached."
        )
    if transfer.saturated:
        said += (
            f" In {transfer.saturated} of {len(transfer.pairs)} the source model had that loss "
            "before its first step, so that no more could be saved."
        )
    return said


def _nearer(nearer: Nearer) -> str:
    difference = points(nearer.difference)
    if nearer.saturated or _direction(nearer.difference) == 0:
        return (
            f"Whether CPT saves more on `{nearer.near}` than on `{nearer.far}` cannot be told: the "
            f"difference is {difference} percentage points ({_pairs(nearer.difference)})."
        )
    less = nearer.difference.value < 0
    return (
        f"CPT saved {'less' if less else 'more'} on `{nearer.near}` than on `{nearer.far}`, by "
        f"{points(-nearer.difference if less else nearer.difference)} percentage points "
        f"({_pairs(nearer.difference)})."
    )


def _forgetting(forgetting: Forgetting) -> str:
    rise, how = forgetting.rise, _how(forgetting.replay)
    learning = list_languages(f"`{lang}`" for lang in forgetting.targets)
    start, source = f"{how}, learning {learning}", forgetting.lang
    if _direction(rise) == 0:
        said = (
            f"Whether learning {learning} {how[0].lower()}{how[1:]} raises or lowers "
            f"the loss on `{source}` cannot be told: {nats(rise)} nats per token"
        )
    elif rise.value >= 0:
        said = f"{start} raised the loss on `{source}` by {nats(rise)} nats per token"
    else:
        said = f"{start} lowered the loss on `{source}` by {nats(-rise)} nats per token"
    higher = forgetting.peak.value > max(rise.value, 0.0) + 0.005
    peak = nats(Estimate(forgetting.peak.value))
    after = f", the highest evaluation on the way {peak} above its start" if higher else ""
    return f"{said}{after} ({_pairs(rise, 'run')})."


def _replay_effect(effect: ReplayEffect) -> str:
    ratio, cost = f"{effect.replay * 100:.3g} % replay", effect.on_target
    clauses = []
    for lang, change in effect.on_base.items():
        if _direction(change) < 0:
            clauses.append(f"spared `{lang}` {nats(-change)}")
        else:
            clauses.append(f"did not measurably spare `{lang}`, {nats(change)}")
    if _direction(cost) == 0:
        clauses.append(f"cost `{effect.target}` nothing that can be told, {nats(cost)}")
    elif cost.value >= 0:
        clauses.append(f"cost `{effect.target}` {nats(cost)}")
    else:
        clauses.append(f"gained `{effect.target}` {nats(-cost)}")
    said = ", and ".join(clauses)
    return f"{ratio} {said} nats per token, at equal tokens ({_pairs(cost)})."


def _laws(fitted: TargetLaws) -> Iterator[str]:
    for strategy, law in fitted.laws.items():
        which = f"{series(strategy, 0.0)} law on `{fitted.target}`"
        loose, best = fitted.loose(strategy), allocate(law)
        if loose or best is None:
            yield f"{law.n_runs} runs do not pin down the {which}: {'; '.join(loose)}."
            continue
        low, high = best.interval.get("a", (None, None))
        said = number(Estimate(best.a, low, high), fixed(2))
        yield (
            f"By the {which}, the best size for compute C grows as C^{said} ({law.n_runs} runs)."
        )


def _how(replay: float) -> str:
    return f"With {replay * 100:.3g} % replay" if replay else "Without replay"
