"""Recipes of other trainers: what of them a recipe here takes over.

Known by their keys: axolotl's and LLaMA-Factory's YAML.
"""

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


@dataclass(frozen=True, slots=True)
class ForeignRecipe:
    """What another trainer's recipe says; None where it does not.

    text: paths or names of its data sets. tokens: of all steps, on one device. settings: keys of
    our `train` section.
    """

    trainer: str
    base: str
    text: tuple[str, ...]
    tokens: int | None
    settings: Mapping[str, str]

    @property
    def taken(self) -> str:
        """What was taken over, as a sentence."""
        settings = ", ".join(f"{key} {value}" for key, value in self.settings.items())
        budget = f", {self.tokens:,} tokens" if self.tokens else ""
        return f"of {self.trainer}'s recipe: base {self.base}{budget}, {settings}"


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
    with suppress(TypeError, ValueError):  # YAML reads `1e-4` as a word
        rate = float(values.get("learning_rate", 0.0))
        settings |= {"learning_rate": f"{rate:g}"} if 0 < rate < 1 else {}
    length = count("max_steps", 0) * batch or None
    return ForeignRecipe(trainer, values[base], _texts(values), length, settings)


def _texts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Axolotl lists data sets with their paths, LLaMA-Factory names them in one word."""
    listed, named = values.get("datasets"), values.get("dataset")
    if isinstance(listed, list):
        paths = (one.get("path") for one in listed if isinstance(one, Mapping))
        return tuple(path for path in paths if isinstance(path, str))
    return tuple(word.strip() for word in named.split(",")) if isinstance(named, str) else ()
