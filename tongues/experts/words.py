"""What is said of experts: progress, cautions, and notes of partitions, each a whole sentence."""

# Progress
FITTING = "{ensemble}: fitting the router on held-out text"
WHOLE = "{folder} is whole all the same"

# Cautions
HELD_OUT_MOVED = (
    "older experts were trained on some of the tokens that are held out now. Losses before and "
    "after are of the others: {shares}. What one language holds out is held out of all, with "
    "translations and copies"
)
HELD_OUT_ALL_KNOWN = "{moved}. Of {languages} no other is left, so all are scored"
HELD_OUT_UNKNOWN = (
    "a model was trained on tokens that are gone, or were prepared again since. It may have read "
    "what is held out of {languages} now, so losses may be too low"
)
ONE_PARENT = (
    "seeds {seeds} all branch from {folder}, since it has no like of each seed. They differ less "
    "than whole repetitions would"
)

# Notes of partitions
SYNTHETIC = "synthetic languages, by how far they drifted"
GRADIENTS = "by the gradients of {model}, {windows} windows of {context} tokens a language"
TYPOLOGY = "by {data}: {least} to {most} of {width} known of a language"
NONE_KNOWN = "no feature is known of {languages}: placed at distance 1 from every language"
FEW_KNOWN = "`{language}`: {count} of {width} features are known"
NONE_SHARED = "no feature is known of both {pairs}: placed at distance 1"
TOPICS = "documents are compared by their tokens, which works in every script"
TOPIC = "topic {number}: {terms}"
