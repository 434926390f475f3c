"""The laws of a plan, by name or from files, and the role of each."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongues.errors import Caution, UserError, nearest
from tongues.laws import PRESETS, Law, preset, read_laws_file
from tongues.laws.presets import law_files

_ALONE = {"repetition": "the value of repeated text", "forgetting": "forgetting"}
_STRATEGIES = ("scratch", "cpt")
PUBLISHED_PAIR = ("zheng2024-scratch", "zheng2024-cpt")  # the only published pair of one study
_CONTRADICTS = "contradicts_savings"


@dataclass(frozen=True, slots=True)
class Known:
    """A law with its name and the training strategy it describes."""

    name: str
    law: Law
    strategy: str  # scratch or cpt; "" for both
    level: float = 0.0  # deviation of its log loss as a whole, where a prior set it

    @property
    def role(self) -> str:
        """`scratch` or `cpt`, with ` by compute` for laws of compute, or the form's own role."""
        role = self.law.equation.role
        if "k" in self.law.equation.variables:
            return "experts"
        if role in _ALONE:
            return role
        return f"{self.strategy} by compute" if of_compute(self.law) else self.strategy

    @property
    def study(self) -> str:
        """The publication whose runs it was fitted on; "" for the user's own."""
        return self.law.source.split(",")[0]

    @property
    def contradiction(self) -> str:
        """A sentence where the law contradicts its source; otherwise empty."""
        contradicts = any(caution.code == _CONTRADICTS for caution in self.law.warnings)
        return (
            f"`{self.name}` contradicts the savings that its authors report" if contradicts else ""
        )


@dataclass(frozen=True, slots=True)
class PlanLaws:
    """The laws in the order named; several of one role give one forecast with a spread."""

    known: tuple[Known, ...]

    def all(self, role: str) -> tuple[Known, ...]:
        """The laws of a role that their runs determine well; if none, all of that role."""
        of_role = tuple(one for one in self.known if one.role == role)
        return tuple(one for one in of_role if not one.law.loose) or of_role

    def find(self, role: str) -> Known | None:
        """The first law of a role."""
        return next(iter(self.all(role)), None)

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """The cautions of all laws, each with the law's name."""
        return tuple(
            Caution(caution.code, f"{one.name}: {caution.sentence}")
            for one in self.known
            for caution in one.law.warnings
        )


def of_compute(law: Law) -> bool:
    """Whether compute is the law's only variable."""
    return law.equation.role == "compute"


def published_law(name: str) -> Known:
    """A published law."""
    law = preset(name)
    return Known(name, law, _strategy(law, name))


def gather_laws(known: Iterable[Known]) -> PlanLaws:
    """The laws of a plan; a UserError for two laws of repetition or of forgetting."""
    gathered, seen = tuple(known), dict[str, str]()
    for one in gathered:
        if one.role in _ALONE and one.role in seen:
            what = f"`{seen[one.role]}` and `{one.name}` are both laws of {_ALONE[one.role]}"
            raise UserError(what, where="--law", hint="give one of them", code="two_laws")
        seen[one.role] = one.name
    if not set(seen) - {"forgetting"}:
        hint = "give one, such as `--law hoffmann2022`, or fit your own by `tongues fit`"
        raise UserError("no law here predicts what a model learns", where="--law", hint=hint)
    return PlanLaws(gathered)


def read_laws(names: Sequence[Law | Path | str], target: str | None = None) -> PlanLaws:
    """The laws of `--law`: names of published ones, files that `tongues fit` wrote, and laws.

    target: the language whose laws are taken. Without `names`, a published pair of laws.
    """
    known: list[Known] = []
    for word in [one for one in names if not isinstance(one, Law)] if names else PUBLISHED_PAIR:
        path = Path(word)
        if word in PRESETS:
            known.append(published_law(str(word)))
        elif path.exists():
            known += _of_one_language(read_laws_file(path), str(word), path.name, target)
        elif path.suffix or len(path.parts) > 1:
            files = [file.name for file in law_files(path.parent)]
            makes = f"`tongues fit RUNS -o {shlex.quote(str(word))}` writes one"
            hint = nearest(path.name, files) if files else makes
            raise UserError("there is no such file", where=str(word), hint=hint)
        else:
            what = f"no published law is called `{word}`, and no file"
            raise UserError(what, where="--law", hint=nearest(str(word), PRESETS))
    laws = [one for one in names if isinstance(one, Law)]
    return gather_laws([*known, *_of_one_language(laws, "laws", "", target)])


def _of_one_language(laws: Sequence[Law], where: str, name: str, target: str | None) -> list[Known]:
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
    if law.equation.role in _ALONE:
        return ""
    strategy = "scratch" if law.strategy == "source" else law.strategy  # both from random weights
    if strategy and strategy not in _STRATEGIES:
        what = f"`{strategy}` is not a strategy of its {law.form} law"
        raise UserError(what, where=where, hint=nearest(strategy, _STRATEGIES))
    return strategy or law.equation.strategy or "scratch"
