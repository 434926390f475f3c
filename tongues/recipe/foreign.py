"""Recipes of other trainers: what of them a recipe here takes over.

Known by their keys: axolotl's and LLaMA-Factory's YAML.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ForeignRecipe:
    """What another trainer's recipe says; None where it does not.

    text: paths or names of its data sets. batch: tokens of a step on one device. settings: keys
    of our `train` section.
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


@dataclass(frozen=True, slots=True)
class _Words:
    """What a trainer calls things."""

    trainer: str
    base: str
    context: str
    samples: str  # of a micro-batch


_TRAINERS = (
    _Words("axolotl", "base_model", "sequence_len", "micro_batch_size"),
    _Words("LLaMA-Factory", "model_name_or_path", "cutoff_len", "per_device_train_batch_size"),
)
_CONTEXT = 2048  # LLaMA-Factory's own, where it names none (0.9.5)


def read_foreign(values: Mapping[str, Any]) -> ForeignRecipe | None:
    """A recipe of another trainer; None where it is none that is known."""
    words = next((one for one in _TRAINERS if isinstance(values.get(one.base), str)), None)
    if words is None:
        return None
    context = _whole(values, words.context) or _CONTEXT
    samples = _whole(values, words.samples) or 1
    batch = context * samples * (_whole(values, "gradient_accumulation_steps") or 1)
    steps, settings = _whole(values, "max_steps"), dict[str, str]()
    settings |= {"context": f"{context} tokens", "batch": f"{batch} tokens"}
    rate = values.get("learning_rate")
    if isinstance(rate, int | float | str) and 0 < (number := _number(rate)) < 1:
        settings["learning_rate"] = f"{number:g}"
    return ForeignRecipe(
        trainer=words.trainer,
        base=values[words.base],
        text=tuple(_texts(values)),
        tokens=steps * batch if steps else None,
        settings=settings,
    )


def _texts(values: Mapping[str, Any]) -> list[str]:
    """Axolotl lists data sets with their paths, LLaMA-Factory names them in one word."""
    listed, named = values.get("datasets"), values.get("dataset")
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        paths = [one.get("path") for one in listed if isinstance(one, Mapping)]
        return [path for path in paths if isinstance(path, str)]
    return [word.strip() for word in named.split(",")] if isinstance(named, str) else []


def _whole(values: Mapping[str, Any], key: str) -> int | None:
    value = values.get(key)
    known = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return value if known else None


def _number(value: float | str) -> float:
    """YAML reads `1e-4` as a word."""
    try:
        return float(value)
    except ValueError:
        return 0.0
