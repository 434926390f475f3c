"""Laws of the user's own runs, or of print, in a plan: `--law`; losses are then nats per token."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.laws import PRESETS, Law, Predictor, allocate, preset, read_laws_file

Array = np.ndarray
_BEYOND = 100.0  # times a law's largest and smallest runs, among which the best size is looked for
_SIZES = 241  # that are tried; chosen: steps of some 6 %
_SMALLEST, _LARGEST = 1e4, 1e13  # parameters, where a law's runs are not known
_LARGEST_TEXT = 1e20  # tokens: where nobody counted


@dataclass(frozen=True, slots=True)
class OwnLaws:
    """Laws by role: `scratch`, `cpt`, `forgetting`, `experts` and `repetition`, each at most once.

    names: as they were given, by role. target: the language they are of; empty where none is named.
    """

    laws: Mapping[str, Law]
    names: Mapping[str, str]
    target: str = ""

    def __bool__(self) -> bool:
        return bool(self.laws)

    def find(self, role: str) -> Law | None:
        """The law of a role."""
        return self.laws.get(role)

    def draws(self, role: str, **variables: float | Array) -> Array:
        """Draws of what one run ends at, nats per token; only what the law's form takes is read."""
        law = self.laws[role]
        taken = {name: variables[name] for name in law.equation.variables}
        draws = _predictor(law).draws(**taken)[0]
        return draws.reshape(len(draws), *np.broadcast_shapes(*map(np.shape, taken.values())))

    def best_size(self, flops: float, unique: float, most: float) -> float:
        """Parameters from scratch that learn most from `flops`, with `unique` tokens of text.

        most: tokens to read, repeats included.

        A UserError where the law has no best size, or its runs do not pin it down.
        """
        law, name = self.laws["scratch"], self.names["scratch"]
        if law.loose:
            reasons = "; ".join(dict.fromkeys(caution.sentence for caution in law.loose))
            what = f"the runs behind `{name}` do not pin it down ({reasons})"
            hint = "train more runs, of other sizes and budgets, and fit again"
            raise UserError(what, where="--law", code="not_pinned_down", hint=hint)
        if allocate(law) is None and "U" not in law.equation.variables:
            what = f"by the law `{name}` no size is the best"
            hint = "settle one by `--params`"
            raise UserError(what, where="--law", code="no_interior_optimum", hint=hint)
        low, high = law.range.get("N", (_SMALLEST * _BEYOND, _LARGEST / _BEYOND))
        sizes = np.geomspace(low / _BEYOND, high * _BEYOND, _SIZES)
        tokens = np.minimum(flops / (6.0 * sizes), most)
        variables = {"N": sizes, "D": tokens, "U": np.full(_SIZES, min(unique, _LARGEST_TEXT))}
        taken = {key: variables[key] for key in law.equation.variables}
        return float(sizes[int(np.argmin(law.loss(**taken)))])

    def beyond(self, role: str, params: float, tokens: float) -> tuple[float, str]:
        """How many times outside of the law's runs, and in what; 1 where it is inside."""
        law = self.laws.get(role)
        if law is None:
            return 1.0, ""
        at = {"N": params, "D": tokens, "D/N": tokens / params}
        words = {"N": "parameters", "D": "tokens", "D/N": "tokens per parameter"}
        factors = [
            (max(at[name] / high, low / at[name]), words[name])
            for name, (low, high) in law.range.items()
            if name in at and low > 0
        ]
        return max([(1.0, ""), *factors])


def read_laws(names: Sequence[Law | Path | str], target: str = "") -> OwnLaws:
    """The laws of `--law`: names of published ones, files that `tongues fit` wrote, and laws.

    target: the language whose laws are taken, where a file has several.
    """
    found, called = dict[str, Law](), dict[str, str]()
    for word in names:
        for law, name in _read(word, target):
            role = _role(law, name)
            if role in found:
                what = f"`{called[role]}` and `{name}` are both laws of {role}"
                hint = "give one of them"
                raise UserError(what, where="--law", hint=hint, code="two_laws")
            found[role], called[role] = law, name
    if found and not set(found) - {"forgetting"}:
        hint = "give one, such as `--law hoffmann2022`, or fit your own by `tongues fit`"
        raise UserError("no law here predicts what a model learns", where="--law", hint=hint)
    if "repetition" in found and "scratch" not in found:  # it is a law of loss as well
        found["scratch"], called["scratch"] = found["repetition"], called["repetition"]
    languages = {law.target for law in found.values() if law.target}
    return OwnLaws(found, called, next(iter(languages), ""))


def _read(word: Law | Path | str, target: str) -> list[tuple[Law, str]]:
    if isinstance(word, Law):
        return [(word, word.form)]
    path = Path(word)
    if word in PRESETS:
        return [(preset(str(word)), str(word))]
    if path.exists():
        laws = read_laws_file(path)
        languages = sorted({law.target for law in laws if law.target})
        if len(languages) > 1 and target not in languages:
            hint = f"choose one by `--language`: {', '.join(languages)}"
            raise UserError(f"has laws of {len(languages)} languages", where=str(word), hint=hint)
        wanted = [law for law in laws if law.target in ("", target) or len(languages) == 1]
        return [(law, f"{path.name} {law.form}") for law in wanted]
    if path.suffix or len(path.parts) > 1:
        files = sorted(file.name for file in path.parent.glob("*.json"))
        makes = f"`tongues fit RUNS -o {shlex.quote(str(word))}` writes one"
        hint = nearest(path.name, files) if files else makes
        raise UserError("there is no such file", where=str(word), hint=hint)
    what = f"no published law is called `{word}`, and no file"
    raise UserError(what, where="--law", hint=nearest(str(word), PRESETS))


def _role(law: Law, name: str) -> str:
    role = law.equation.role
    if "k" in law.equation.variables:
        return "experts"
    if role == "compute":
        what = f"`{name}` knows compute alone, and no size or tokens"
        hint = "give a law by size and tokens, such as `--law besiroglu2024`"
        raise UserError(what, where="--law", hint=hint, code="no_size")
    if role != "loss":
        return role
    strategy = law.strategy or law.equation.strategy or "scratch"
    return "cpt" if strategy == "cpt" else "scratch"


def middle(ends: tuple[float, float]) -> float:
    """The geometric middle of a range."""
    return math.sqrt(ends[0] * ends[1])


@lru_cache(maxsize=64)
def _predictor(law: Law) -> Predictor:
    return law.predictor()
