"""Recipes of other trainers: what of them a recipe here takes over.

Known by their keys: axolotl's and LLaMA-Factory's YAML.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

# What each trainer calls the base, the tokens of a sample, and the samples of a micro-batch.
_TRAINERS = {
    "axolotl": ("base_model", "sequence_len", "micro_batch_size"),
    "LLaMA-Factory": ("model_name_or_path", "cutoff_len", "per_device_train_batch_size"),
}
_CONTEXT = 2048  # LLaMA-Factory's own, where it names none (0.9.5)
_OTHERS = ("gradient_accumulation_steps", "max_steps", "datasets", "dataset")  # that are taken


@dataclass(frozen=True, slots=True)
class ForeignRecipe:
    """What another trainer's recipe says; None where it does not.

    text: paths or names of its data sets. tokens: of all steps, on one device. settings: keys of
    our `train` section. left: its keys that are not taken over.
    """

    trainer: str
    base: str
    text: tuple[str, ...]
    tokens: int | None
    settings: Mapping[str, str]
    left: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, str]:
        """What was taken over and what was not, a sentence each."""
        settings = ", ".join(f"{key} {value}" for key, value in self.settings.items())
        budget = f", {self.tokens:,} tokens" if self.tokens else ""
        taken = f"of {self.trainer}'s recipe: base {self.base}{budget}, {settings}"
        return taken, f"not taken: {', '.join(self.left) or 'none'}"


def read_foreign(values: Mapping[str, Any]) -> ForeignRecipe | None:
    """A recipe of another trainer; None where it is none that is known."""
    known = (name for name, keys in _TRAINERS.items() if isinstance(values.get(keys[0]), str))
    if (trainer := next(known, None)) is None:
        return None
    base, context, samples = _TRAINERS[trainer]

    def count(key: str, usual: int) -> int:
        value = values.get(key)
        return value if type(value) is int and value > 0 else usual

    tokens = count(context, _CONTEXT)
    batch = tokens * count(samples, 1) * count("gradient_accumulation_steps", 1)
    settings = {"context": f"{tokens} tokens", "batch": f"{batch} tokens"}
    steps = count("max_steps", 0)
    shares = {"learning_rate": 1, "weight_decay": 1, "warmup_ratio": 1, "warmup_steps": steps}
    taken = {base, context, samples, *_OTHERS}
    for key, whole in shares.items():
        with suppress(TypeError, ValueError, ZeroDivisionError):  # YAML reads `1e-4` as a word
            if 0 <= (share := float(values.get(key, math.nan)) / whole) < 1:
                settings["warmup" if "warmup" in key else key] = f"{share:.6g}"
                taken.add(key)
    left = tuple(key for key, value in values.items() if value is not None and key not in taken)
    return ForeignRecipe(
        trainer, values[base], _texts(values), steps * batch or None, settings, left
    )


def _texts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Axolotl lists data sets with their paths, LLaMA-Factory names them in one word."""
    listed, named = values.get("datasets"), values.get("dataset")
    if isinstance(listed, list):
        paths = (one.get("path") for one in listed if isinstance(one, Mapping))
        return tuple(path for path in paths if isinstance(path, str))
    return tuple(word.strip() for word in named.split(",")) if isinstance(named, str) else ()
