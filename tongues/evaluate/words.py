"""The words of an evaluation while it runs: what is left out, cautions, and progress.

Every sentence is a template here; errors are where they are raised.
"""

# What was not scored.
LEFT_OUT = "{count} left out: {reason} (first {source}, {place}: {sample})"
NO_ITEM = "`{task}` in `{language}`: no item suits every model ({reasons})"
NO_VALUE = "`{task}` {metric} in `{language}`: no item with a value of every model"
TRAINED_ON = "text that the models were trained on"
DOCUMENTS_TRAINED_ON = "{count} of {all} held-out documents of `{language}` are left out: {why}"
NOT_NAMED = "{source}: left out, as not named for a language: {files}; {hint}"
NAME_FILES = "name files for their languages, such as `de.jsonl`"

# Why an item was not scored: samples of faults.
TOO_LONG = "{tokens} tokens, {shots}-shot; the context of `{model}` is {context}"
NO_TOKENS = "the tokenizer of `{model}` has no tokens for {share:.0%} of its letters"
SAME_TOKENS = "the tokenizer of `{model}` makes the same tokens of two choices"

# Cautions.
LETTERS_LOST = (
    "`{language}`: the tokenizer loses {share:.1%} of its letters and marks (in {count} of {all} "
    "documents); they add almost no loss, so its losses are too low"
)
BYTE_BY_BYTE = (
    "`{language}`: the tokenizer spells it byte by byte ({rate:.2f} bytes a token); compare it by "
    "bits per byte alone"
)

# What is said on the way.
READ_AS = "{file} is read as `{language}`"
POWER = "`{task}` in `{language}`: {count}, differences from about {size} points can be detected"
HAS_READ = "`{expert}` has read {count:,} of {total:,} texts"
LM_EVAL_READS = "lm-eval reads `{name}`"  # seconds; offline too
NO_PAGE = "no page: {purpose} need `{install}`"
FREE_NAME = "the result is `{name}`: `evaluation` has scores of other models or texts"
REPLACED = "`{name}` is replaced, with its scores of {lost}"
