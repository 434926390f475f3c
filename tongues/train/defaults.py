"""What a recipe leaves out where it continues a base: values by published practice.

A base that was trained here repeats the settings it was trained with. Any other gets values by its
size, its longest context and the budget; `benchmarks/base_defaults.txt` has the projects that the
rules follow, and how far the rules are from each of them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongues.core.errors import Caution, UserError
from tongues.core.quantities import show_count
from tongues.models.folders import read_config, stored_shapes
from tongues.recipe import LowRank, Recipe
from tongues.runs.record import Run, read_run
from tongues.train import words
from tongues.train.base import find_base, model_folder
from tongues.train.rules import batch_by_size

# Of published projects that continued all weights of a base (benchmarks/base_defaults.txt): the
# median number of steps, the largest batch, the longest usual context, the median warm-up.
_STEPS, _LARGEST_BATCH, _CONTEXT, _WARMUP = 22_000, 2**22, 4096, 0.04
_SHORT, _SHORT_CONTEXT = 1e9, 2048  # tokens of a budget below which the one such project took less
# Tokens of the best batch by those of the budget (Step law: Li et al. 2025, arXiv 2503.04715).
_BEST_BATCH, _BEST_BATCH_POWER = 0.58, 0.571
# Peak rate for all weights of a base of 7B parameters, and the power of its size: 1.55 times off
# published ones in the median, each study left out, a constant 1.65 times, Step law's power 2.07.
_RATE, _AT, _POWER = 1e-4, 7e9, -0.1
# In few steps, rate times steps: 0.02 for SmolLM2-135M (the same); at most the highest published.
_PATH, _HIGHEST = 0.0135, 3e-4
# Projects with LoRA trained at 1 to 3 times that rate (the same); ten times is above all of them.
LORA_RATE = 3.0
# In 16 steps a rate four times as high ruined SmolLM2 at once, without a step of warm-up: 4 % of
# the steps is none.
_WARMING, _MOST_WARMING = 10, 0.2
_ROUGHLY = 100e6  # tokens that a budget in time counts as, on any machine
# Tokens of a micro-batch, so that its activations are few: 4,096 are as fast, 256 take 1.6 times as
# long (5M parameters, one thread, November 2026).
_AT_A_TIME = 2048
_FAR = 10.0  # times the rule, or a part of it, from which a rate is questioned
# Training tokens for each new one: 9,800 hurt LlamaTurk, 7,500 Arabic (docs/explanation).
_FEWEST_FOR_NEW = 10_000


@dataclass(frozen=True, slots=True)
class Default:
    """A value that follows from the base, and the rule that it follows from."""

    key: str  # of `train`
    value: object  # as a recipe has it
    rule: str


@dataclass(frozen=True, slots=True)
class BaseFacts:
    """What the rules need to know of a base."""

    params: int
    positions: int | None  # the longest context
    run: Run | None  # of a base that was trained here


def base_context(positions: int | None, tokens: float) -> int:
    """Tokens of a context for a base with these positions, and a budget of `tokens`."""
    return min(positions or _SHORT_CONTEXT, _SHORT_CONTEXT if tokens < _SHORT else _CONTEXT)


def base_batch(tokens: float, context: int) -> int:
    """Tokens of a batch for a budget of `tokens`: a power of two of contexts.

    As many as make the usual number of steps; in short runs more, the best by Step law.
    """
    batch = max(tokens / _STEPS, _BEST_BATCH * tokens**_BEST_BATCH_POWER)
    return 2 ** max(0, round(math.log2(min(batch, _LARGEST_BATCH) / context))) * context


def base_rate(params: float, steps: float) -> float:
    """Peak learning rate for all weights of a base of `params` parameters, in a run of `steps`."""
    return min(_HIGHEST, max(_RATE, _PATH / steps)) * (params / _AT) ** _POWER


def base_warmup(steps: float) -> float:
    """Share of the steps over which the rate rises: that of the projects, but some ten steps."""
    return max(_WARMUP, min(_MOST_WARMING, _WARMING / steps))


def rate_cautions(recipe: Recipe, usual: Sequence[Default]) -> Iterator[Caution]:
    """About a learning rate of the recipe's own that is far from the rule for its base."""
    train = recipe.train
    rule = next(float(str(one.value)) for one in usual if one.key == "learning_rate")
    rate = train.learning_rate if "learning_rate" in train.model_fields_set else rule
    if isinstance(rate, float) and max(rate / rule, rule / rate) > _FAR:
        yield words.unusual_rate(rate, rule, isinstance(train.trainable, LowRank), LORA_RATE)


def new_token_cautions(recipe: Recipe, facts: BaseFacts) -> Iterator[Caution]:
    """About new tokens that the budget is too short to learn."""
    extend, tokens = recipe.tokens.extend, _tokens(recipe, facts)
    if extend and tokens is not None and tokens < _FEWEST_FOR_NEW * extend.new_tokens:
        yield words.few_for_new_tokens(tokens, extend.new_tokens, _FEWEST_FOR_NEW)


def _tokens(recipe: Recipe, facts: BaseFacts) -> int | None:
    """Of the budget; None where it is a time."""
    budget = recipe.train.budget
    return None if budget.seconds else budget.tokens(facts.params, 6.0 * facts.params)


def base_facts(recipe: Recipe, workspace: Path) -> BaseFacts | None:
    """Of the base that a recipe continues; None without one, or where it cannot be read."""
    try:
        base = find_base(recipe.train.base_model, workspace, weights=False)
        if base is None:
            return None
        config = read_config(model_folder(base))
        shapes = stored_shapes(model_folder(base))
    except UserError:
        return None  # what is wrong with it is found where it is opened
    text = config.get("text_config", config)
    positions = text.get("max_position_embeddings") or text.get("n_positions")
    run = read_run(base) if (base / "run.json").is_file() else None
    return BaseFacts(sum(map(math.prod, shapes.values())), positions, run)


def usual_values(recipe: Recipe, facts: BaseFacts, device: str) -> list[Default]:
    """The value of each setting by the rules for the base, whether the recipe names it or not.

    device: `cpu` or `cuda`, on which it will be trained.
    """
    train = recipe.train
    given, run = train.model_fields_set, facts.run
    tokens = _tokens(recipe, facts) or _ROUGHLY
    own = run.settings if run else {}
    usual = int(str(own.get("context", 0)).split()[0]) or base_context(facts.positions, tokens)
    context = _fitting(usual, recipe)
    used = train.context if "context" in given else context
    batch = max(1, run.batch // used) * used if run else base_batch(tokens, used)
    step = train.batch if "batch" in given else batch
    step = batch_by_size(facts.params, used) if isinstance(step, str) else step
    rate = base_rate(facts.params, tokens / step)
    if run and run.learning_rate:
        rate = run.learning_rate * math.sqrt(min(1.0, step / run.batch))
    if isinstance(train.trainable, LowRank) and not run:
        rate *= LORA_RATE
    size = f"{show_count(facts.params)} parameters"
    rules = {
        "context": f"at most {_CONTEXT:,}, {_SHORT_CONTEXT:,} for less than 1B tokens, the base's",
        "batch": f"{show_count(tokens)} tokens / {_STEPS:,} steps, at least the best by Step Law",
        "learning_rate": f"published projects, carried to {size}; higher in few steps",
        "schedule": "published projects",
        "warmup": "median of published projects, in short runs ten steps or a fifth",
    }
    if run:
        rules = dict.fromkeys(rules, f"as `{run.run}` was trained")
    defaults: dict[str, object] = {
        "context": f"{context} tokens",
        "batch": f"{batch} tokens",
        "learning_rate": rate if run and step >= run.batch else float(f"{rate:.2g}"),
        "schedule": own.get("schedule", "cosine"),
        "warmup": own.get("warmup", f"{base_warmup(tokens / step):.0%}"),
    }
    if step > max(_AT_A_TIME, used) and device == "cpu":  # for GPUs when it starts
        defaults["micro_batch"] = f"{_divisor(step // used, _AT_A_TIME // used) * used} tokens"
        rules["micro_batch"] = f"about {_AT_A_TIME:,} tokens at a time; changes only rounding"
    return [Default(key, value, rules[key]) for key, value in defaults.items()]


def _fitting(context: int, recipe: Recipe) -> int:
    """The context halved until held-out text fills one and the recipe's batches are whole ones."""
    train = recipe.train
    sizes = [
        getattr(train, key) for key in ("batch", "micro_batch") if key in train.model_fields_set
    ]
    sizes = [size for size in sizes if isinstance(size, int)]
    held_out = recipe.tokens.held_out  # a share of the text is of unknown length
    most = held_out - 1 if isinstance(held_out, int) else context
    while context > 1 and (context > most or any(size % context for size in sizes)):
        context //= 2
    return context


def _divisor(samples: int, most: int) -> int:
    """The largest divisor of the samples of a batch up to `most`."""
    return next(n for n in range(max(1, min(most, samples)), 0, -1) if samples % n == 0)
