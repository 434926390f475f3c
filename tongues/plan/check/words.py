"""What is said of a recipe that was checked; names in braces are its facts."""

HIGH_RATE = (
    "a learning rate of {rate:.3g} is {times:.3g} times what is usual for this size, {usual:.2g}; "
    "the run is likely to diverge"
)
FEW_STEPS = (
    "the budget is {steps} of {batch:,} tokens, and fewer than {fewest} teach little; raise "
    "`train.budget`, or lower `train.batch` or `train.context`"
)
EVALUATION = (
    "{share:.0%} of the tokens that a run reads are held-out text; less of it by "
    "`train.eval_tokens` and `train.num_evals`"
)
TIME = (
    "{hours:,.3g} GPU-hours at {mfu:.0%} of the peak, without evaluations; ${cost:,.3g} at "
    "${price:.2f} an hour ({priced})"
)
MEMORY = "{needs}, {at_once} at a time"
MEMORY_OF_GPUS = "{needs} of {has} on each GPU of {machine}"
ROWS = "; documents in rows, uncompiled: up to twice the tokens"

# Errors.
ON_GPUS = "needs {needs} of memory on each GPU of {machine}, which has {has}"
HERE = "needs {needs} of memory; this machine has {has}"
TOGETHER_HERE = "{at_once} at a time, the runs need {needs} of memory; this machine has {has}"
ELSEWHERE = (
    "{fits}; for a run on other machines check with `--gpu`, such as `--gpu {gpu} --gpus {count}`"
)
DISK = "needs {needs} of disk; there are {free} for it"
LESS_DISK = (
    "make room, set another `--workspace`, keep fewer `train.milestones`, or train fewer or "
    "smaller runs"
)
