"""The laws a plan stands on: by name or from files, and what each of them is good for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongues.errors import Caution, UserError, nearest
from tongues.laws import PRESETS, Law, preset, read_laws_file

__all__ = ["Known", "LawsInHand", "gather_laws", "of_compute", "read_laws"]

_PURPOSES = {
    "scratch": "training from scratch, by size and tokens",
    "cpt": "continued training, by size and tokens",
    "scratch by compute": "training from scratch, by compute",
    "cpt by compute": "continued training, by compute",
    "repetition": "the value of repeated text",
    "forgetting": "forgetting",
}
_STRATEGIES = ("scratch", "cpt")


@dataclass(frozen=True, slots=True)
class Known:
    """A law, what people call it, and which way of training it speaks of."""

    name: str
    law: Law
    strategy: str  # scratch or cpt; "" where it speaks of both

    @property
    def role(self) -> str:
        """What it is good for: `scratch`, `cpt`, by size or `by compute`, or its form's role."""
        role = self.law.equation.role
        if role in ("repetition", "forgetting"):
            return role
        return f"{self.strategy} by compute" if of_compute(self.law) else self.strategy


@dataclass(frozen=True, slots=True)
class LawsInHand:
    """The laws by role, in the order given."""

    known: tuple[Known, ...]

    def find(self, role: str) -> Known | None:
        """The law of that role, if there is one."""
        return next((one for one in self.known if one.role == role), None)

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Why to doubt each law, its name before the sentence."""
        return tuple(
            Caution(caution.code, f"{one.name}: {caution.sentence}")
            for one in self.known
            for caution in one.law.warnings
        )


def of_compute(law: Law) -> bool:
    """Whether the law knows compute alone, and neither size nor tokens."""
    return law.equation.role == "compute"


def gather_laws(known: Iterable[Known]) -> LawsInHand:
    """The laws by what they are good for; two for one purpose are refused."""
    seen: dict[str, Known] = {}
    for one in known:
        if one.role in seen:
            what = f"`{seen[one.role].name}` and `{one.name}` both speak of {_PURPOSES[one.role]}"
            hint = "give one law for each purpose"
            raise UserError(what, where="--law", hint=hint, code="two_laws")
        seen[one.role] = one
    if not set(seen) - {"forgetting"}:
        hint = "give one, such as `--law hoffmann2022`, or fit your own by `tongues fit`"
        raise UserError("no law tells what a model learns", where="--law", hint=hint)
    return LawsInHand(tuple(seen.values()))


def read_laws(given: Sequence[Law | Path | str], target: str | None = None) -> LawsInHand:
    """The laws of `--law`: names of published ones, files that `tongues fit` wrote, and laws.

    `target` chooses among the languages of a file, and of the laws.
    """
    known: list[Known] = []
    for word in (one for one in given if not isinstance(one, Law)):
        path = Path(word)
        if word in PRESETS:
            law = preset(str(word))
            known.append(Known(str(word), law, _strategy(law, str(word))))
        elif path.is_file():
            known += _of_one_language(read_laws_file(path), str(word), path.name, target)
        elif path.suffix or len(path.parts) > 1:
            files = path.parent.glob("*.json") if path.parent.is_dir() else ()
            hint = nearest(path.name, (file.name for file in files))
            raise UserError("there is no such file", where=str(word), hint=hint)
        else:
            what = f"no published law is called `{word}`, and no file"
            raise UserError(what, where="--law", hint=nearest(str(word), PRESETS))
    laws = [one for one in given if isinstance(one, Law)]
    return gather_laws([*known, *_of_one_language(laws, "laws", "", target)])


def _of_one_language(laws: Sequence[Law], where: str, name: str, target: str | None) -> list[Known]:
    """The laws of one language; those without a language speak of all."""
    languages = sorted({law.target for law in laws if law.target})
    if target is None and len(languages) > 1:
        hint = f"choose one by `--target`: {', '.join(languages)}"
        raise UserError(f"has laws of {len(languages)} languages", where=where, hint=hint)
    if target is not None and languages and target not in languages:
        raise UserError(f"has no law of `{target}`", where=where, hint=nearest(target, languages))
    return [
        Known(" ".join(filter(None, (name, law.target, law.form))), law, _strategy(law, where))
        for law in laws
        if law.target in ("", target or law.target)
    ]


def _strategy(law: Law, where: str) -> str:
    """What the law itself says, else its form."""
    if law.equation.role in ("repetition", "forgetting"):
        return ""
    strategy = "scratch" if law.strategy == "source" else law.strategy  # both from random weights
    if strategy and strategy not in _STRATEGIES:
        what = f"`{strategy}` is no strategy of its {law.form} law"
        raise UserError(what, where=where, hint=nearest(strategy, _STRATEGIES))
    return strategy or law.equation.strategy or "scratch"
