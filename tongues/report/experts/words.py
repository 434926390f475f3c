"""What the page of experts says, each a whole sentence. Losses are in nats per token."""

from enum import Enum


class Verdict(Enum):
    """Whether experts or one dense model are to be taken, and why."""

    EXPERTS = "experts"  # significantly better
    DENSE = "dense"  # significantly better
    UNTESTED = "untested"  # too few documents
    EITHER = "either"  # no significant difference


CHOICE = {
    Verdict.EXPERTS: "Take the experts: their mean loss is {size} nats per token lower.",
    Verdict.DENSE: "Take the dense model, trained on as many tokens: the mean loss of experts is "
    "{size} nats per token higher.",
    Verdict.UNTESTED: "Not decided: the mean loss is {size} nats per token lower with {lower}, "
    "which cannot be tested: {reason}.",
    Verdict.EITHER: "Either may be taken: the mean loss of `{name}` is not significantly different "
    "from that of the dense model: {size} nats per token. The dense model is smaller.",
}
BEST = (
    "Of the experts' partitions and routings `{name}` has the lowest mean loss: {loss} nats per "
    "token, perplexity {perplexity}, {bits} bits per byte."
)
NEEDS_LANGUAGE = (
    "This routing must be given each text's language. Of those that need not, `{name}` is best, at "
    "{loss}."
)
VERSUS = "`{name}` versus {other}: {changes}."
REFERENCES = {"base": "the base model", "dense": "the dense model", "before": "before"}

CERTAINTY = (
    "Brackets are 95 % confidence intervals over held-out documents; differences are significant "
    "at p < 0.05, Holm-corrected for all languages and settings."
)
ONE_SEED = "One random seed of training: intervals do not include the variance between seeds."
SEEDS = "`{name}` versus dense by random seed of training: {each} nats per token; {agreement}."
AGREE = {True: "all agree", False: "they do not agree"}

MORE_TEXT = "{few} Hold out or score more text."
NO_INTERVAL = "Fewer than {least} held-out texts of {languages} were scored: no interval."
OTHER_TOKENIZER = (
    "The base model has another tokenizer. It read the same texts in its own tokens, and its "
    "losses are distributed over the experts' tokens, so they are comparable, as bits per byte are."
)
CHOSEN = (
    "The best of {count} settings was chosen on the text that it is scored on, so its loss is a "
    "little too low."
)
SAME_CLUSTERS = "{partitions} came to the same clusters: they differ by chance only."
