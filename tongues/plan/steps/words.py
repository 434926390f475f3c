"""Why a step is the next one: a sentence for each state. Names in braces are its facts."""

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    # a folder
    "nothing_here": "there is no recipe here; this writes one",
    "work_inside": "there is no recipe here; runs are in that folder",
    # a recipe
    "invalid": "{why}",
    "no_base": "the base that it continues from is to be named",
    "unsound": "{why}",
    "not_prepared": "its text is not prepared yet",
    "other_tokens": "its tokens: {why}",
    "renamed": "{before} was trained with other settings",
    "text_alone": "its text is prepared: the page shows what was kept",
    "not_trained": "its text is prepared, and nothing is trained yet",
    "other_run": "{before} was trained with other settings",
    "runs_added": "{count} of {of} runs are not trained yet",
    "ensembles_missing": "{count} of {ensembles} ensembles are written",
    "not_measured": "the ensembles are not measured",
    "pilot_finished": "the pilot is finished",
    # runs
    "damaged": "{run}: {why}",
    "failed": "{run} failed: {why}",
    "stopped": "{run} stopped at step {step} of {steps}",
    "waiting": "{run} is not begun",
    "running": "{run} is in training",
    "no_page": "it is trained, and its page is not written",
    # studies
    "no_law": "its runs are finished; no law is fitted",
    "law": "there is a law of its runs: plan by it, for the compute that you have",
    "loose_law": "its runs do not pin its law down: train more, and fit again",
    "one_size": "its runs are of one size, and laws need several: train more",
    # models
    "not_evaluated": "{name} is not evaluated",
    "evaluated_in_part": "{name} was evaluated with `--limit {limit}`, too little to choose by",
    "not_scored": "{name} has no text here to be evaluated on",
    "best": "{name} is the best by its evaluation",
    "as_good": "{name} is the best by its page, without a significant difference to dense",
    "not_best": "`{best}` is better: try {name} before it is used",
    "undecided": "{name} is evaluated, and no model is significantly better: try it",
    "exported": "{name} is exported: try it",
    "best_is_gone": "no ensemble of the best partition is here",
}
