"""What the runs of a study cannot show, and which of them are not compared, a sentence each."""

from collections.abc import Iterator, Sequence

from tongues.laws.observed import RunCurves
from tongues.train.study.outcomes import Outcome


def left_out(
    runs: Sequence[RunCurves],
    targets: Sequence[str],
    outcomes: Sequence[Outcome],
    rows: Sequence[Outcome],
) -> Iterator[str]:
    """Why outcomes have no savings or no forgetting, and which runs the rows leave out."""
    if not targets:
        yield "No run learned a target language, so nothing is compared."
    options = {"scratch", "cpt"} & {run.strategy for run in runs if run.target in targets}
    for target in targets:
        own = [o for o in outcomes if o.target == target]
        yield from _apart(target, own, [row for row in rows if row.target == target])
        yield from _unpaired(target, own) if len(options) > 1 else ()
        continued = [o for o in own if o.strategy == "cpt"]
        if continued and not any(outcome.rises for outcome in continued):
            yield (
                f"No CPT run on `{target}` was evaluated at the start on a language of its base, "
                "so forgetting is not known."
            )


def _apart(target: str, outcomes: Sequence[Outcome], rows: Sequence[Outcome]) -> Iterator[str]:
    """Which runs are of another size or length than those they would be compared with."""
    if any(row.group for row in rows):
        yield f"Runs on `{target}` differ in size or length: compare rows of the same alone."
    shown = sum(len(row.runs) for row in rows)
    if more := sum(len(o.runs) for o in outcomes) - shown:
        those = "1 run is" if more == 1 else f"{more} runs are"
        where = "the losses are in the table of runs alone"
        yield f"{those} of a size or length that not all options on `{target}` have: {where}."


def _unpaired(target: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Why it is not known what CPT saves."""
    unknown = "so what CPT saves there is not known."
    continued = [o for o in outcomes if o.strategy == "cpt"]
    saved = [o.saved for o in continued if o.pairs]
    if not continued:
        yield f"No CPT run learned `{target}`, {unknown}"
    elif len(continued) == len(outcomes):
        yield f"No run learned `{target}` from scratch, {unknown}"
    elif not saved:
        twins = "a twin from scratch of its shape and seed"
        yield f"No CPT run on `{target}` has {twins}, {unknown}"
    elif None in saved:
        yield f"On `{target}`, CPT and scratch have no loss in common to compare at."
